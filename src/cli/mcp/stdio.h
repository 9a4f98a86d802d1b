/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A client on standard input and output: its lines go to a connection (mcp/server.h), whose lines
 * go to it. Lines are read as fast as they are answered: while the client does not read, nothing is
 * read from it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "event/loop.h"
#include "mcp/lines.h"
#include "mcp/server.h"

struct mcp_stdio {
	struct mcp_server *server;
	struct loop *loop;
	const char *name; /* of the command, for messages */
	/* Before each wait: ms until it wants to be called again, -1: it does not, less: an error
	 * that ends all. NULL: none. */
	int (*turn)(void *context);
	void *context;
	/* Private. */
	struct mcp_lines lines;
	struct watcher in, signals;
	size_t at; /* so much of the output is written */
	bool is_over;
	int code;
};
#define MCP_STDIO_NONE ((struct mcp_stdio){ .signals.fd = -1, .in.fd = -1 })

/* Until the client is gone, or a signal came. It must not move meanwhile. */
int mcp_stdio_run(struct mcp_stdio *s, struct error *e);
/* Before its loop is freed. */
void mcp_stdio_deinit(struct mcp_stdio *s);
