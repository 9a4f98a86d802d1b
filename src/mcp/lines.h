/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Messages of MCP over a pipe: each is one line. A line that is longer than the bound is skipped up
 * to its end, and reported once, so that what a peer makes us keep has a bound. What stands behind
 * the last newline is no message.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Pictures and files are in messages, as base64. */
enum { MCP_LINE_MAX = 16 << 20 };

struct mcp_lines {
	size_t max; /* bytes of a line, without its newline; 0: MCP_LINE_MAX */
	/* Private. */
	struct buffer held;
	size_t at;      /* what was handed out ends here */
	size_t scanned; /* there is no newline before it */
	bool is_skipping;
};

enum mcp_line {
	MCP_LINE_NONE, /* there is no whole line: add more */
	MCP_LINE_WHOLE,
	MCP_LINE_LONG, /* one was too long, and is skipped */
};

/* l->held.failed: out of memory. */
void mcp_lines_add(struct mcp_lines *l, const char *data, size_t len);
/* The next line, without its newline. It lives until the next call of mcp_lines_add(). */
enum mcp_line mcp_lines_next(struct mcp_lines *l, const char **ret, size_t *ret_len);
void mcp_lines_deinit(struct mcp_lines *l);
#define auto_mcp_lines __attribute__((cleanup(mcp_lines_deinit))) struct mcp_lines
