/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A back end that runs, and the calls that it has. It speaks to servers, and may have been taken
 * over by one: what it sends is read by the rows of the table and nothing else, and what breaks a
 * rule ends it.
 *
 *     monitor -> back end   SERVICE, then CALL, CALL_CANCEL, SERVICE_PROBE
 *     back end -> monitor   READY or FAILED, then CALL_ANSWER, CALL_REFUSED, CALL_NOTE
 *
 * Calls wait until it is ready. When it ends, those that it had are refused: whether they were done
 * is not known. One that is given up, by the caller or by its timeout, is cancelled; a back end
 * that does not end a cancelled call is killed. The process is started again by the next call, but
 * no more than a few times in a while.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "broker/rpc-refusal.h"
#include "broker/service/start.h"
#include "event/loop.h"
#include "wire/frame.h"

enum {
	LINK_CALLS_MAX = 32, /* of one back end */
	LINK_STARTS_MAX = 5, /* in LINK_STARTS_MS */
	LINK_STARTS_MS = 10 * 1000,
	LINK_ABANDONED_MAX = 16,  /* calls that were given up and not ended by it */
	LINK_GRACE_MS = 5 * 1000, /* to end such a call */
};

struct link_call {
	const struct method *method; /* NULL: a probe */
	struct buffer body;          /* of FRAME_CALL; freed by the link */
	int fds[FRAME_FDS_MAX];      /* that go along; closed by the link */
	size_t n_fds;
	uint64_t timeout_ms;
	/* Exactly one of these two ends it; after that the link knows nothing of it. Values and
	 * texts are good during the call. */
	void (*answered)(struct link_call *c, const struct values *results);
	void (*refused)(struct link_call *c, const struct rpc_refusal *why);
	/* May be NULL. */
	void (*noted)(struct link_call *c, const struct values *notes);
	bool is_unserved; /* refused because a process that had served ended before it had this */
	/* private */
	struct service_link *link;
	uint64_t id;
	bool is_sent;
	struct timer timer;
	struct link_call *next, *previous;
};

struct service_link {
	const struct service_backend *backend;
	struct loop *loop;
	pid_t pid; /* 0: it does not run */
	bool is_ready;
	struct watcher watcher;
	struct chromium *chromium; /* that was started with it; or NULL */
	struct watcher sandbox;    /* of that */
	struct frame frame;
	struct link_call *first, *last;
	size_t n_calls;
	uint64_t last_id;
	uint64_t started_ms[LINK_STARTS_MAX]; /* a ring */
	size_t n_started;
	struct {
		uint64_t id, until_ms;
	} abandoned[LINK_ABANDONED_MAX];
	size_t n_abandoned;
	struct timer grace;
	/* Why it failed last, for calls while it may not be started. */
	char reason[512], hint[256];
};

void service_link_init(struct service_link *l, const struct service_backend *b, struct loop *loop);
/* Ends the process; its calls are forgotten, not answered. */
void service_link_deinit(struct service_link *l);

static inline bool service_link_runs(const struct service_link *l)
{
	return l->pid != 0;
}
/* Starts it, and takes over what was started with it. -EAGAIN: too often of late. */
int service_link_start(struct service_link *l, struct service_start *s);
/* The same for one that was started already, and speaks by child's socket, which it takes over. */
int service_link_attach(struct service_link *l, const struct child *child);
/* Takes the call over; it must stay where it is. -EBUSY: it has too many. The back end runs. */
int service_link_call(struct service_link *l, struct link_call *c);
/* The caller is not interested any more: the link forgets it. */
void service_link_cancel(struct link_call *c);
