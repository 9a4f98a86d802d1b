/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * --audit FILE: what a run did and what it was kept from, as events in a durable log
 * (audit/trail.h); and for the daemon, which has a log of its own (holder/join.h). Without
 * either, everything here does nothing.
 *
 *     run_audit_find()   which file; out of the command's reach, or nothing runs
 *     run_audit_begin()  the sandbox stands: opens the log; what is about to start is committed
 *     run_audit_…()      while it runs
 *     run_audit_end()    signs; tells a person if the record is not complete
 */
#include <stdbool.h>
#include <stdint.h>

#include "audit/trail.h"
#include "base/buffer.h"
#include "holder/join.h"
#include "policy/permissions.h"
#include "wire/record.h"
#include "wire/report.h"

struct run;

enum { RUN_AUDIT_SESSION = 17 };
/* How many connections there are is the command's choice; more records of them are not kept, of
 * each kind by itself: denied, failed, closed, names. */
enum { RUN_AUDIT_NETWORK_MAX = 100000, RUN_AUDIT_NETWORK_KINDS = RECORD_CLOSED + 2 };

struct run_audit {
	const char *path;                          /* of the log, free of links; NULL: none */
	struct audit_trail *trail;                 /* NULL: not open */
	char session[RUN_AUDIT_SESSION];           /* its id; "" where there is no log */
	uint64_t network[RUN_AUDIT_NETWORK_KINDS]; /* records of the network so far */
	bool is_denied; /* the policy refused the program, and these are its words */
	const char *rule, *reason;
	struct holder_join join; /* the daemon, if there is one: it hears what the log does */
};

/* The file of --audit, or else of CORRAL_AUDIT. The policy is compiled, or there is none (rwx). */
int run_audit_find(struct run *r);
/* And that the tree which is to be made does not show it. */
int run_audit_check(struct run *r);
/*
 * Opens the log and commits the beginning: session, confinement, variables, the command. Negative:
 * nothing may run. No process may be cloned from this one afterwards that goes on without exec:
 * SQLite would be in it.
 */
int run_audit_begin(struct run *r);

/* What the log calls the sandbox: for people who look for all runs of the same kind. */
const char *run_audit_sandbox(const struct run *r);

/* One event; who and when is filled in, and the program if there is none. */
void run_audit_add(struct run *r, const struct audit_event *e);
/* The same of Corral itself, exact. */
void run_audit_own(struct run *r, struct audit_event e);

void run_audit_started(struct run *r);
void run_audit_refused(struct run *r, int status, const char *why);
/* The sandbox ended before its command did. */
void run_audit_lost(struct run *r, const char *why);
void run_audit_network(struct run *r, const struct record *record);
/* What the broker did (holder/record.h). */
void run_audit_call(struct run *r, const void *event, size_t len, uint64_t missing);
/* dropped: bytes of output beyond the limit. */
void run_audit_exited(struct run *r, const struct report *report, uint64_t dropped);

/* For the loop: what to poll for reading, -1: nothing; true: the daemon asks to end the command. */
int run_audit_fd(const struct run *r);
/* Says who we are to a daemon, while the sandbox is built. */
void run_audit_connect(struct run *r);
bool run_audit_dispatch(struct run *r, bool is_readable);
/* For the loop: how long poll() may wait if it would wait so long otherwise (-1: for ever). */
int run_audit_wait_ms(const struct run *r, int otherwise);
void run_audit_tick(struct run *r);

/* status: that the run ends with, or negative. */
void run_audit_end(struct run *r, int status);
