/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The way of an event into the log, for whoever has something to tell, from any thread.
 *
 *     audit_trail_add()  ->  who, when, which number  ->  redaction  ->  ring  ->  store
 *
 * The ring is always there; the store is there if a file was named. There is no thread behind this:
 * of those who add, one at a time carries what lies in the ring into the store when a batch is full
 * or its time is over, and waits for the commit, which may wait for the disk. The others do not
 * wait for it, unless the ring is about to run over, because then events would be lost. Whoever has
 * a loop calls audit_trail_tick() in time. docs/audit.md lists which call takes which lock, and how
 * long each may wait.
 */
#include "audit/redact/redact.h"
#include "audit/ring.h"
#include "audit/store/store.h"

struct audit_trail;

struct audit_trail_options {
	size_t ring_bytes;                       /* 0: 1 MiB */
	const struct audit_store_options *store; /* NULL: in memory only */
	/* For events that do not say it themselves; copied. NULL: "" (user: the account's number).
	 */
	const char *session, *user, *sandbox;
	/* Hears of each event, complete and without its secrets, in the thread that added it. May
	 * be NULL. */
	void (*tell)(void *context, const struct audit_event *e);
	void *context;
};

int audit_trail_new(struct audit_trail **ret, const struct audit_trail_options *o, struct error *e);
/* What was added is committed and signed, if there is a store; frees it, also if that fails. */
int audit_trail_close(struct audit_trail *t, struct error *e);

/* A value that must not be seen in the log (redactor_add). At any time, by any thread; waits for
 * events that are being redacted, and those that come later wait for it. */
int audit_trail_secret(struct audit_trail *t, const char *name, const char *value);

/* Takes what must not be seen out of an event; texts that change are in the buffer, which the
 * caller keeps as long as the event. */
void audit_trail_redact(struct audit_trail *t, struct audit_event *e, struct buffer *texts);
/*
 * Tells of an event. time_ns, sequence, session, user, sandbox and count are filled in where they
 * are 0, NULL or ""; texts may be NULL. Returns its number in the ring; 0: it was no event. Who
 * becomes the carrier commits, and waits up to 50 ms for other processes; who finds the ring full
 * waits for the carrier, up to a second.
 */
uint64_t audit_trail_add(struct audit_trail *t, const struct audit_event *e);
/*
 * All that was added before is committed when this returns 0; at once without a store. Waits for
 * the carrier, and for other processes as long as the store's options say, at least 5 seconds
 * (-EBUSY), or up to 5 seconds for a thread that has begun to write an event (-ETIMEDOUT).
 * -EOVERFLOW: it is, but for events that were lost since the last time; the log says how many.
 */
int audit_trail_flush(struct audit_trail *t, struct error *e);
/*
 * The same for who has a loop: waits as audit_trail_add() does, and not at all if the log could not
 * be written a moment ago. Events that were lost are no error.
 */
int audit_trail_try_flush(struct audit_trail *t, struct error *e);
/* Carries over, commits and signs what is due, unless another thread is at it; and how long until
 * there is something, -1: nothing. Neither waits for the carrier. */
int audit_trail_tick(struct audit_trail *t, struct error *e);
int audit_trail_wait_ms(struct audit_trail *t);
/*
 * Returns the number in the ring up to which events are committed, or were lost (audit_trail_lost).
 * *ret_log is a number of the log: records of all later events have higher ones.
 */
uint64_t audit_trail_committed(struct audit_trail *t, uint64_t *ret_log);
/* How many were lost on the way to the store, and the last error of a commit (0: none since). */
uint64_t audit_trail_lost(struct audit_trail *t);
int audit_trail_failure(struct audit_trail *t);

/* What events get that do not say it themselves; never NULL. */
const char *audit_trail_session(const struct audit_trail *t);
const char *audit_trail_sandbox(const struct audit_trail *t);
/* For readers (ring.h). */
struct audit_ring *audit_trail_ring(struct audit_trail *t);
