/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Between a program that uses the library and the process that holds what it has joined for it
 * (holder/serve.h), which begins with FRAME_HOLD:
 *
 *     the program -- HOLD_DECLARE --> holder    what may be granted; all grants before are over
 *     the program -- HOLD_SESSION --> holder    a session that gets grants and answers
 *     the program -- HOLD_CONNECTION --> holder the connection to corrald, as a descriptor
 *     the program <-- JOINED, JOIN_ACK, JOIN_STOP -- holder   what corrald said
 *     the program <-- HOLD_NEWS -- holder       there is something to pull: once, until it is
 *     the program -- HOLD_PULL --> holder       EVENT, ANSWER, GRANTS, GONE, then HOLD_PULL again
 *
 * Decoding returns -EPROTO for what encoding would not have written; the text points into the body.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/permissions.h"
#include "policy/variable.h"
#include "wire/question.h"

enum {
	HOLD_ENFORCES = 1 << 0, /* commands are confined */
	HOLD_BROKER = 1 << 1,   /* sessions have one, which can be granted more than hosts */
	/* The program judges calls itself: it pulls all grants, and its sessions get hosts alone.
	 */
	HOLD_JUDGES = 1 << 2,
	/* The first layer is what is in force, and those behind it are what may be granted. */
	HOLD_CEILING = 1 << 3,
	HOLD_FLAGS = 15, /* raise FRAME_PROTOCOL with it: who does not know one refuses it */
	HOLD_TEXT_MAX = 4 << 20,
};

/* FRAME_HOLD_DECLARE. Answered by one with the same id, without a body, when no session has grants
 * of before. */
struct hold_declare {
	uint32_t flags;
	struct limits limits;       /* for corrald to show */
	struct variables variables; /* of what follows */
	const char *text; /* the permissions (policy/format/image.h); "": nothing is granted */
};
int hold_declare_encode(const struct hold_declare *d, struct buffer *out);
int hold_declare_decode(struct hold_declare *ret, const void *body, size_t len);

/* FRAME_HOLD_CONNECTION of the holder: it was lost. */
struct hold_lost {
	uint32_t protocol; /* of a corrald of another version; 0: of this one */
	uint32_t reserved;
	char build[32]; /* the name of its build, with a NUL; "": not known */
};
int hold_lost_decode(struct hold_lost *ret, const void *body, size_t len);

/* FRAME_QUESTION_OVER of the program: of all questions whose number has the bits of the frame's id,
 * and no others of the mask. */
struct hold_over {
	uint32_t how; /* enum question_end */
	uint32_t reserved;
	uint64_t mask;
};
int hold_over_decode(struct hold_over *ret, const void *body, size_t len);
