/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* `corral` itself answers, in a process of its own; what it reads is not read here. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "daemon/route.h"

enum {
	TOOLS_CALLS_MAX = 8, /* that answer calls at once */
	TOOLS_MAX = 10,      /* with those of the daemon itself */
	TOOL_MS = 30 * 1000,
	TOOL_OUTPUT_MAX = 3 << 20,
};

struct tool;
struct supervisor;

/* What one of the daemon itself printed; status: its exit status, or -EIO if it did not end well.
 */
typedef void tool_taker(struct supervisor *s, int status, struct buffer *text);
/* What one answered a call with: for the log. status: HTTP's. subject: the request's. */
typedef void tool_teller(
	struct supervisor *s, unsigned status, const char *subject, const struct buffer *text);
/* Replaces the text. */
typedef void tool_shaper(struct supervisor *s, const char *subject, struct buffer *text);
struct tool_request {
	const char *const *argv; /* behind "corral"; ends with NULL */
	const char *input;       /* for its standard input; NULL: none */
	bool is_lines;           /* its output is JSON Lines: {"records": […]} is made of it */
	bool is_cut;             /* and lines that do not fit are left out */
	bool refuses;            /* its statuses 1, 4 and 5 are refusals: 422, 409, 404 */
	const char *record;      /* what is done then, for the log; NULL: nothing is */
	uint64_t id;             /* of the call */
	tool_taker *take;        /* gets the output, and there is no call; NULL: the call does */
	tool_teller *tell;       /* is called with the answer, too; or NULL */
	tool_shaper *shape;  /* makes the answer of what a tool printed that succeeded; or NULL */
	const char *subject; /* what the call is about, for `tell` and `shape`; or NULL */
	uint64_t ms;         /* how long it may take; 0: TOOL_MS */
};
/* For a call. It runs at once, or waits for its turn, or is refused; what it points to is copied.
 */
void tool_start(struct supervisor *s, const struct route_call *c, const struct tool_request *r);
/* Answers a call that it cannot be started. -EBUSY: because too many wait. */
void tool_refuse(struct supervisor *s, uint64_t id, int error);
/* Of the daemon itself. -EBUSY: too many run. */
int tool_start_own(struct supervisor *s, const struct tool_request *r);
/* A word "--option=value" for a tool: a value may begin with "-". */
const char *tool_option(struct arena *a, const char *option, const char *value);
void tool_end_all(struct supervisor *s);
