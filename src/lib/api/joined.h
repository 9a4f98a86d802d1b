/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The daemon, seen from a sandbox or an enclave of the library (holder/join.h): it hears what
 * happens, redacted, and may end it. The library has no thread and no loop: what waits goes out,
 * and what the daemon says is heard, in the calls that the host makes, and while one of them waits
 * for a command. Any number of threads may use one.
 *
 * What the daemon orders (holder/live.h) is noted in whichever thread hears it, and carried out by
 * one that can wait: it takes the change, puts it in force, and says what came of that.
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
/* Connects, sends what waits, hears what there is, ends what is over. True: there is something for
 * a thread that can wait (joined_next_change() …). */
bool joined_turn(struct joined *j);
/* The daemon ended it, for good. */
bool joined_is_stopped(struct joined *j);
/* To poll for reading; -1: none now. And for how long at most, as holder_join_wait_ms(). */
int joined_fd(struct joined *j);
int joined_wait_ms(struct joined *j, int otherwise);

/*
 * Grants and answers, for who can carry them out; before this, orders of the daemon are refused.
 * What is declared is the ceiling, and copied; the values of the variables must outlive it. Once
 * more: it is in force, and all grants are over. -ENOMEM, -E2BIG.
 */
struct joined_declared {
	const struct permissions *permissions; /* NULL: nothing is granted here, only answered */
	const struct variables *variables;
	const struct limits *limits; /* for the daemon to show; or NULL */
};
int joined_declare(struct joined *j, const struct joined_declared *d);

/* These are to be all grants, from now on, beside what a relay has (holder_live_network()). */
struct joined_change {
	struct live_grant *grants;
	size_t n;
	struct buffer network;
};
void joined_change_deinit(struct joined_change *c);
#define auto_joined_change __attribute__((cleanup(joined_change_deinit))) struct joined_change
/* One at a time: joined_settle() must follow, with 0 or a negative errno value and a sentence. */
bool joined_next_change(struct joined *j, struct joined_change *ret);
void joined_settle(struct joined *j, int code, const char *why);
/* Once: something that was granted cannot be taken back; what runs must end. */
bool joined_must_end(struct joined *j, struct error *ret_why);

/* A question by a number of the caller's. Negative: it is not asked. -EPERM: it has something in it
 * that must not be in a log. */
int joined_ask(struct joined *j, uint64_t asker, const struct question *q);
/* Those whose number has these bits, and no others of the mask, do not wait any more. */
void joined_questions_over(struct joined *j, uint64_t mask, uint64_t bits, enum question_end how);
/* The pattern of an answer is empty: what was granted is a change of its own. */
bool joined_next_answer(struct joined *j, uint64_t *ret_asker, struct answer *ret);
/* Without any lock: what was granted, answered and revoked, for the logs. */
void joined_tell_notes(struct joined *j);
