/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Heads of responses. Nothing of an answer is run, framed, loaded or kept by a page, unless the
 * server says so of one.
 *
 * A response has a length, or is a stream of events that ends with the connection. So a method that
 * may be answered by JSON or by events (MCP) chooses with `is_stream` before its first byte.
 */
#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct serve_answer {
	unsigned status;
	const char *type;      /* of the body; NULL: there is none */
	const char *csp;       /* NULL: nothing may be loaded */
	const char *cache;     /* NULL: no-store */
	const char *challenge; /* of 401: what to show; NULL: Bearer */
	const char *fields;    /* further ones, each with its CR LF; or NULL */
	size_t len;            /* of the body */
	bool is_stream;        /* there is no length */
	bool is_last;          /* the connection ends behind it */
};

void serve_answer_begin(struct buffer *out, const struct serve_answer *a);
/* An answer whose body is a JSON object with this text as its one member. */
void serve_answer_text(
	struct buffer *out, const struct serve_answer *a, const char *key, const char *text);
