/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Server-sent events, as the HTML standard reads them: lines in pieces as they come, events ended
 * by an empty line. What a server makes us keep has a bound: an event that is longer is skipped up
 * to its end, and reported once. An event that the stream ended in is none.
 *
 * Only events called `message`, or nothing, with data are reported. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	SSE_EVENT_MAX = 16 << 20, /* bytes of its data, and of one line of it */
	SSE_ID_MAX = 1024,        /* a longer id is none: it could not be sent back */
	SSE_RETRY_MAX_MS = 60 * 1000,
};

/* The data of an event; NULL: it was too long. Not 0: reading ends with it. */
typedef int sse_visit(void *context, const char *data, size_t len);

struct sse {
	size_t max;              /* SSE_EVENT_MAX if 0 */
	char id[SSE_ID_MAX + 1]; /* of the last whole event that had one; "": none */
	uint64_t retry_ms;       /* after which to connect again, if has_retry */
	bool has_retry;
	bool is_ahead; /* the id became another; whoever looks takes it back */
	/* Private. */
	struct buffer line, data;
	char next_id[SSE_ID_MAX + 1];
	bool is_begun, is_after_cr, has_data, is_other, is_long, skips_line;
};

/* -ENOMEM, or what the visitor returned; the rest of the piece is lost then. */
int sse_feed(struct sse *s, const char *data, size_t len, sse_visit *visit, void *context);
/* Before the stream goes on by another connection: its half event is forgotten, its id is not. */
void sse_restart(struct sse *s);
/* Bytes that are kept. */
size_t sse_held(const struct sse *s);
void sse_deinit(struct sse *s);
