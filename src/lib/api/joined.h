/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The daemon, seen from a sandbox or an enclave of the library (holder/join.h): it hears what
 * happens, redacted, and may end it. The library has no thread and no loop: what waits goes out in
 * the calls that the host makes, and while one of them waits for a command. Any number of threads
 * may use one.
 *
 * What the daemon orders is carried out by a process that has a loop, the holder (holder/serve.h),
 * whatever the host does meanwhile. The host connects, and hands the connection over; it tells the
 * holder of its sessions and of what may be granted, and pulls what concerns itself: before each
 * call that it judges by itself, all grants.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "corral/audit.h"
#include "policy/permissions.h"
#include "policy/variable.h"
#include "wire/join.h"
#include "wire/question.h"

struct audit_event;
struct joined;

struct joined_options {
	enum join_kind kind;
	const char *folder; /* where it starts; or NULL */
	const char *policy; /* where its permissions come from; or NULL */
	const char *warden; /* the program that becomes the holder */
	/* The host's own, which outlives it: what that keeps out of its log, the daemon does not
	 * hear either. Or NULL. */
	struct corral_audit *audit;
};

/*
 * Whether a daemon should be looked for now: true once a second at most. *looked_ms is when that
 * was; 0 at first.
 */
bool joined_is_due(_Atomic uint64_t *looked_ms);
/* NULL: there is no daemon (one access()), or no memory. Nothing is sent yet. */
struct joined *joined_new(const struct joined_options *o);
/* Says what is left. Accepts NULL. */
void joined_free(struct joined *j);

/* What a call is refused with then. */
#define JOINED_STOPPED "the user ended it by the daemon"

/* For corral_audit_sandbox() and lib_audit_learn(): what is added goes to the daemon. */
struct corral_audit *joined_audit(struct joined *j);
void joined_add(struct joined *j, const struct audit_event *e);
/* It hears nothing more: there are values that could not be kept out. */
void joined_mute(struct joined *j);
/* Connects, sends what waits, pulls what there is. True: there is something for a thread that can
 * wait (joined_next_change() …). */
bool joined_turn(struct joined *j);
/* The daemon ended it, for good. */
bool joined_is_stopped(struct joined *j);
/* To poll for reading; -1: none now. And for how long at most, as holder_join_wait_ms(). */
int joined_fd(struct joined *j);
int joined_wait_ms(struct joined *j, int otherwise);

/*
 * What may be granted; before this, orders of the daemon are refused. It is copied. Once more: all
 * grants are over, in all sessions, when this returns. So what is declared is taken back (without
 * permissions) before it is changed: then no order can come between. -ENOMEM …: nothing is granted.
 */
struct joined_declared {
	const struct permissions *permissions; /* NULL: nothing is granted here, only answered */
	const struct variables *variables;
	const struct limits *limits; /* for the daemon to show; or NULL */
	unsigned flags;              /* HOLD_… (wire/hold.h) */
};
int joined_declare(struct joined *j, const struct joined_declared *d);
/*
 * A session: the socket to its warden, which gets one to the holder. When this returns it has what
 * is granted. Returns its number, for questions; 0: it has no holder, and gets no grants.
 */
uint64_t joined_attach(struct joined *j, int warden);

/* With HOLD_JUDGES: these are all grants, from now on. */
struct joined_change {
	struct live_grant *grants;
	size_t n;
};
void joined_change_deinit(struct joined_change *c);
#define auto_joined_change __attribute__((cleanup(joined_change_deinit))) struct joined_change
/*
 * The caller lets one thread at a time do this. joined_turn() says that there is one, to all
 * threads, until joined_applied().
 */
bool joined_next_change(struct joined *j, struct joined_change *ret);
void joined_applied(struct joined *j);
/* Once: something that was granted cannot be taken back; what runs must end. */
bool joined_must_end(struct joined *j, struct error *ret_why);

/* A question by a number of the caller's: below 2^32, or with that of a session above it. Not 0: it
 * is not asked. Positive: why (enum answer_why); -EPERM: it has something in it that must not be in
 * a log. What a session asks is refused by the holder itself, and 0 here. */
int joined_ask(struct joined *j, uint64_t asker, const struct question *q);
/* Those whose number has these bits, and no others of the mask, do not wait any more. */
void joined_questions_over(struct joined *j, uint64_t mask, uint64_t bits, enum question_end how);
/* The pattern of an answer is empty: what was granted is a change of its own. */
bool joined_next_answer(struct joined *j, uint64_t *ret_asker, struct answer *ret);
/* Without any lock: what was granted, answered and revoked, for the logs. */
void joined_tell_notes(struct joined *j);
