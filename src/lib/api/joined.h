/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The daemon, seen from a sandbox or an enclave of the library (launch/join.h): it hears what
 * happens, redacted, and may end it. The library has no thread and no loop: what waits goes out,
 * and what the daemon says is heard, in the calls that the host makes, and while one of them waits
 * for a command. Any number of threads may use one.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "corral/audit.h"
#include "wire/join.h"

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
/* Connects, sends what waits, hears what there is. */
void joined_turn(struct joined *j);
/* The daemon ended it, for good. */
bool joined_is_stopped(struct joined *j);
/* To poll for reading; -1: none now. And for how long at most, as launch_join_wait_ms(). */
int joined_fd(struct joined *j);
int joined_wait_ms(struct joined *j, int otherwise);
