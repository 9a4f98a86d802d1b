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
#include "broker/monitor/waiting.h"
#include "policy/algebra/ceiling.h"
#include "policy/policy.h"
#include "wire/frame.h"
#include "wire/ledger.h"

struct network;
struct broker_socket;
struct services;

enum {
	MONITOR_OUT_MAX = 32 << 20, /* bytes of answers that the front has not read: work waits */
	MONITOR_TURN_FRAMES = 64,   /* that are read before anything else has its turn */
	MONITOR_RETIRED_MAX = 16,
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
	char *ask_text;    /* why it waits; or NULL */
	uint64_t changes;  /* the monitor's, when it was last run */
	uint64_t question; /* its number; 0: none */
	struct under_way *next, *previous;
};

/* A frame that the front's socket did not take yet. */
struct unsent {
	struct unsent *next;
	enum frame_type type;
	uint64_t id;
	struct buffer body;
};

/* granting.c: all that the holder grants, by an order of this number. */
struct monitor_granted {
	uint64_t id;
	uint64_t at_ms;            /* CLOCK_BOOTTIME: those that had not ended then are in force */
	struct live_grant *grants; /* in the arena */
	size_t n;
	struct arena arena;
};

/* One change at a time, by a thread. */
struct granting {
	struct pool_job job;
	bool is_busy;
	bool is_own;                /* of the change: the time of a grant was over */
	struct monitor_granted all; /* that are in force */
	bool is_ordered;            /* that of the holder is under way, or follows one of our own */
	struct monitor_granted ordered;
	uint64_t at_ms;      /* of the change that is under way */
	struct timer over;   /* the time of the first that ends */
	struct policy *next; /* the words' */
	int code;
	struct error error;
};

struct monitor {
	struct monitor_options o;
	struct corral_audit *audit;
	struct corral_enclave *enclave;
	struct network *network;        /* or NULL: nothing was fetched yet */
	struct broker_socket *sockets;  /* of all connections; NULL: none */
	uint32_t n_sockets;             /* that were opened so far: the number of the last */
	struct services *services;      /* by back end; NULL: none was called yet */
	struct waiting_secrets secrets; /* that wait for a program */
	struct ledger *ledger;          /* or NULL */
	struct arena arena;
	/* The same permissions, for words about them; threads read it. Earlier ones are freed when
	 * no thread works. */
	struct policy *_Atomic policy;
	struct policy *retired[MONITOR_RETIRED_MAX];
	size_t n_retired;
	struct corral_permissions *base; /* those of the setup */
	uint64_t n_changes;              /* of what is granted, so far */
	struct granting granting;
	struct monitor_holder holder;
	struct corral_variable variables[VARIABLE_COUNT];
	size_t n_variables;
	int root; /* the sandbox's; -1: none */
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
	struct timer again; /* they are tried, after a shortage */
	struct frame frame;
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

/* sockets.c; without a fetcher network-absent.c */
/* A connection of the front's has ended: its sockets end with it. */
void sockets_end_of(struct monitor *m, uint64_t connection);
/* The front has gone, and so have all connections. */
void sockets_end_all(struct monitor *m);
/* What is granted has changed: those whose host is not any more are ended. */
void sockets_review(struct monitor *m, const struct policy *p);

/* services.c */
/* The same, for back ends. Accepts NULL. */
void services_end(struct services *s);

/* powers.c */
int powers_make(struct monitor *m, struct corral_error **e);
/* Makes the enclave, below m->root. */
int powers_enter(struct monitor *m, struct corral_error **e);
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
/* Something may be decided otherwise now: those who wait are run again. */
void ask_again(struct monitor *m);
/* The call waits no longer. */
void ask_forget(struct under_way *u);
/* The same, and its question is not waited for by it. */
void ask_leave(struct under_way *u, enum question_end how);
/* exec.c: the program and its arguments, as a pattern of just them. -EINVAL: there is none, or the
 * call says more than that. */
int exec_pattern(const struct monitor_call *c, struct buffer *out);

/* powers.c */
int powers_compile(struct monitor *m, const struct corral_permissions *all, struct policy **ret,
	struct error *e);
/* granting.c */
void granting_deinit(struct monitor *m);

/* refusal.c */
/* The patterns that the policy grants for an operation, in the arena: at most so many. */
enum { REFUSAL_ALLOWED_MAX = 32 };
const struct value_item *refusal_allowed(
	const struct monitor *m, enum operation op, struct arena *a, size_t *ret_n);
/* The values of all scopes that a service ("reminders.read:x") is granted in, as many. NULL: out of
 * memory. */
const struct value_item *refusal_scopes_of(
	const struct monitor *m, const char *target, struct arena *a, size_t *ret_n);
