/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The answers of a host with secrets, over HTTP/1.1, as they pass to the client inside: values in
 * heads and bodies are overwritten (masking.h). Lengths do not change; a body in chunks gets chunks
 * of our own, so that a value that lies in two of them is found.
 *
 * A body in an encoding that cannot be searched, or a part of one, is refused, although it was not
 * asked for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "inject/masking.h"

struct inject_answers;

/* What becomes of an answer that begins. */
enum answers_hold {
	ANSWERS_PASS,
	ANSWERS_TRY,  /* it waits until it is complete; one that is too long passes */
	ANSWERS_HOLD, /* it waits; one that is too long is refused (-E2BIG) */
};

enum { ANSWERS_HELD_MAX = 1 << 20 };

struct inject_answers_options {
	const struct masking *masking;
	/*
	 * NULL: all answers pass. Says of one that has a body whether it waits; type: its
	 * Content-Type, no string. Negative: it is refused, and so is the connection.
	 */
	int (*hold)(void *context, unsigned status, const char *type, size_t type_len);
	/* One that waits is complete. 0: it passes as it is. 1: inject_answers_release() comes.
	 * Negative: refused. is_framed: its own bytes say where it ends. */
	int (*held)(void *context, const char *body, size_t len, bool is_framed);
	/* The server agreed to another protocol, or did not. */
	void (*upgraded)(void *context, bool accepted);
	void *context;
};

enum { INJECT_WAITING_MAX = 256 /* requests without an answer, on one connection */ };

int inject_answers_new(struct inject_answers **ret, const struct inject_answers_options *o);
void inject_answers_free(struct inject_answers *a);
/* A request was sent. -E2BIG: too many wait. */
int inject_answers_expect(struct inject_answers *a, const char *method, bool upgrades);
/*
 * Takes some of the server's bytes and adds what goes to the client. Returns how many it took; 0:
 * more are needed. last: the server has closed. -EINVAL: no answer of HTTP; -E2BIG; -EOPNOTSUPP: an
 * encoding that cannot be searched; -EPIPE: closed in the middle.
 */
ssize_t inject_answers_feed(
	struct inject_answers *a, const uint8_t *data, size_t len, bool last, struct buffer *out);
/* The last bytes of a body wait for what follows, and nothing says that it will: it is an event
 * stream, or the end of a chunk. */
bool inject_answers_waits(const struct inject_answers *a);
/* Nothing has followed for a while: they go. If they were the beginning of a value, its rest is
 * overwritten. */
int inject_answers_flush(struct inject_answers *a, struct buffer *out);
/* held() said 1: no byte of the answer has passed. */
bool inject_answers_is_held(const struct inject_answers *a);
/* It passes, with this body, whose values are overwritten, in place of its own. -ENOMEM. */
int inject_answers_release(
	struct inject_answers *a, const char *body, size_t len, struct buffer *out);
/* A byte of an answer may have passed whose end has not. */
bool inject_answers_have_begun(const struct inject_answers *a);
/* No request waits for its answer. */
bool inject_answers_are_complete(const struct inject_answers *a);
/* How many values were overwritten. */
size_t inject_answers_masked(const struct inject_answers *a);
