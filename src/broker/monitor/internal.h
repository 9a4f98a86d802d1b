/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * monitor.c has the front's frames and the calls that are under way; answer.c what is sent back;
 * ask.c the calls that wait for an answer; refusal.c words for what was refused; powers.c
 * the enclave and the log. Handlers
 * see monitor.h alone.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "broker/monitor/monitor.h"
#include "broker/monitor/pool.h"
#include "policy/policy.h"
#include "wire/frame.h"

struct network;

enum {
	MONITOR_OUT_MAX = 32 << 20, /* bytes of answers that the front has not read: work waits */
	MONITOR_TURN_FRAMES = 64,   /* that are read before anything else has its turn */
};

/* A call, and what only the monitor knows of it. */
struct under_way {
	struct monitor_call call; /* first: handlers have a pointer to it */
	uint64_t id;
	size_t bytes; /* of the body, which it is charged for */
	char *body;   /* texts of the call point into it */
	bool is_over; /* it was cancelled, and answered; a thread still works for it */
	/* Work in a thread. */
	bool is_working;
	struct pool_job job;
	void (*work)(struct monitor_call *c);
	void (*done)(struct monitor_call *c);
	/* Notes that the caller has not taken. */
	unsigned n_notes;
	bool wants_room;
	/* Waiting for an answer. */
	bool is_asking, was_asked;
	uint64_t ask_until; /* ms */
	struct timer patience;
	char *ask_text; /* why it waits; or NULL */
	struct under_way *next, *previous;
};

/* A frame that the front's socket did not take yet. */
struct unsent {
	struct unsent *next;
	enum frame_type type;
	uint64_t id;
	struct buffer body;
};

struct monitor {
	struct monitor_options o;
	struct corral_audit *audit; /* or NULL */
	struct corral_enclave *enclave;
	struct network *network; /* or NULL: nothing was fetched yet */
	struct arena arena;
	struct policy *policy; /* the same permissions, for words about them */
	char token[CORRAL_TOKEN_BYTES];
	struct pool *pool;
	struct watcher front, answers;
	/* The front is to be given up, once no call is being handled. */
	void (*lost)(void *context, int code);
	void *context;
	struct timer losing;
	bool is_lost;
	int lost_code;
	struct under_way *first;
	size_t n_calls, bytes;
	bool is_ending; /* no thread begins anything any more */
	struct unsent *unsent, *last_unsent;
	size_t unsent_bytes;
	struct frame frame;
	struct timer tick; /* of the audit */
	struct pool_job ticking;
	bool is_ticking;
	/* events.c: how many more may be added, as of that time. */
	uint64_t events_left, events_ms;
};

static inline struct under_way *under_way_of(struct monitor_call *c)
{
	return (struct under_way *)(void *)c;
}

/* monitor.c */
/* Takes it out of the list and frees it. */
void under_way_free(struct under_way *u);
/* Calls its handler. */
void under_way_run(struct under_way *u);
/*
 * Whether one more call may take what is dear: of those under way that are ended by `cancel`, all
 * callers have less than max, and no process has more than it leaves for all others.
 */
bool monitor_has_room(
	const struct monitor_call *c, void (*cancel)(struct monitor_call *c), size_t max);
/* The front broke a rule, or has gone: nothing of it counts any more. */
void monitor_lose(struct monitor *m, int code);

/* network.c */
/* When the monitor ends, after all calls. Accepts NULL. */
void network_free(struct network *n);

/* powers.c */
int powers_make(struct monitor *m, struct corral_error **e);
void powers_end(struct monitor *m);

/* answer.c */
void answer_send(struct monitor *m, enum frame_type type, uint64_t id, struct buffer *body);
void answer_refuse(struct monitor *m, uint64_t id, const struct rpc_refusal *why);
/* Sends what the socket takes now. */
void answer_flush(struct monitor *m);
/* Forgets what was not sent. */
void answer_drop(struct monitor *m);

/* ask.c */
int ask_begin(struct monitor *m);
void ask_end(struct monitor *m);
/* The call waits no longer. */
void ask_forget(struct under_way *u);

/* refusal.c */
/* The patterns that the policy grants for an operation, in the arena: at most so many. */
enum { REFUSAL_ALLOWED_MAX = 32 };
const struct value_item *refusal_allowed(
	const struct monitor *m, enum operation op, struct arena *a, size_t *ret_n);
