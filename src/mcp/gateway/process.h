/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process of a server: `corral mcp wrap OPTION... -- COMMAND...`, or `corral mcp remote
 * OPTION... URL...` of one over HTTP, in a session of its own, with
 * its input, output and error in pipes of ours. What it writes is read in pieces, one at a turn of
 * the loop, so that one that floods takes its turn as all others do; while it does not read, what
 * is for it waits.
 *
 * One that ends, does not begin in time or breaks the protocol is killed with all that it started,
 * and is started again later: a second, then twice as long each time, up to a minute.
 */
#include <sys/types.h>

#include "event/loop.h"
#include "mcp/gateway/config.h"
#include "mcp/gateway/upstream.h"
#include "mcp/lines.h"

enum { GATEWAY_PROCESS_WORDS = 384 };

enum { GATEWAY_HIDDEN_MAX = 2 };

struct gateway_process {
	const struct gateway_server *config;
	struct loop *loop;
	struct upstream upstream; /* its host is set by the owner */
	/* It is of no use until it is started again: its open calls end. why: a sentence's end. */
	void (*ended)(void *context, const char *why);
	/* A line of its standard error, without its newline. */
	void (*said)(void *context, const char *line, size_t len);
	void *context;
	bool is_once;              /* it is not started again */
	const char *const *hidden; /* files that it must not see; ends with NULL */
	/* Private. */
	pid_t pid;   /* 0: none runs */
	pid_t dying; /* it was told to end; 0: none */
	struct watcher in, out, err;
	struct mcp_lines lines, errors;
	struct timer start, again, list, killing;
	size_t at; /* so much of upstream.out is written */
	uint64_t pause_ms;
	char last[GATEWAY_PROCESS_WORDS]; /* of its standard error */
};

/* Starts it. What goes wrong is said by ended(), not before the loop turns. */
void gateway_process_start(struct gateway_process *p);
/* After something was added to upstream.out. */
void gateway_process_flush(struct gateway_process *p);
/* Has it end; answers that it did not give are lost. */
void gateway_process_stop(struct gateway_process *p);
/* After that: until it has ended, or was killed. Nothing of it is left. */
void gateway_process_wait(struct gateway_process *p, uint64_t until_ms);
