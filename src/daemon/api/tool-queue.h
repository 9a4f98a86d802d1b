/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Calls that wait for a place of TOOLS_CALLS_MAX. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"

enum {
	TOOL_LINES = 2, /* of calls that wait: by TCP, by the Unix socket */
	TOOL_LINE_MAX = 128,
	TOOL_LINE_BYTES = 8 << 20,
	TOOL_WAIT_MS = 20 * 1000, /* in a line; TOOL_MS follow */
};

struct supervisor;
struct tool_request;

struct tool_line {
	struct link waiting;
	size_t n, bytes;
};

struct tool_queue {
	struct tool_line lines[TOOL_LINES];
	size_t turn; /* which line is served next, modulo TOOL_LINES */
};

void tool_queue_open(struct supervisor *s);
/* -EBUSY: the line is full. */
int tool_queue_add(struct supervisor *s, bool by_unix, const struct tool_request *r);
/* A place may have become free. The caller flushes corrald-http's outbox. */
void tool_queue_serve(struct supervisor *s);
/* The client of this call has gone. Nothing if it does not wait. */
void tool_queue_leave(struct supervisor *s, uint64_t id);
/* All clients have gone: none of the calls is carried out or answered, and the log says so. */
void tool_queue_clear(struct supervisor *s);
