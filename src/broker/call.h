/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of FRAME_CALL: who calls what, and the values of its parameters (broker/value.h). Both
 * sides of the broker are of one version and on one machine.
 */
#include <stddef.h>
#include <stdint.h>

#include "broker/value.h"

enum {
	CALL_BY_SHIELD = 1 << 0, /* by AgenShield's name of the method */
	CALL_BY_HTTP = 1 << 1,
	CALL_FLAGS = 3,
};

/* Notes of one call that its caller has not read yet: the front says by FRAME_CALL_NOTE (no body)
 * that one was taken. */
enum { CALL_NOTES_MAX = 8 };

struct broker_call {
	const struct method *method;
	uint32_t flags;
	uint32_t pid, uid; /* of the caller, as the kernel has them */
	/* Which of the front's connections it came by: what a call leaves open ends with that.
	 * FRAME_CALL_GONE has this number as its id, and no body. */
	uint64_t connection;
	struct values params;
};

/* What the values follow. */
struct call_head {
	uint32_t method, flags, pid, uid;
	uint64_t connection;
};

/* Appends it. -EINVAL: values that the method's row does not allow; -ENOMEM. */
int call_encode(const struct broker_call *c, struct buffer *out);
/*
 * Reads it back. Texts point into the body, lists are in the arena. -EPROTO: it breaks a rule; no
 * such method, one that is never done, or one that its channel does not have. -ENOMEM.
 */
int call_decode(struct broker_call *ret, const void *body, size_t len, struct arena *a);
