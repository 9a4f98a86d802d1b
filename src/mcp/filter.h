/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process between a client and its wrapped server, and what it says to the process that holds
 * the session: one SOCK_SEQPACKET, on which each side sends datagrams.
 *
 *     filter  READY            it is confined
 *             BEGINS call      a call of a tool goes to the server next
 *             DENIED call      what was denied since?   <-  the text, at most MCP_FILTER_TEXT_MAX
 *             NOTE which       a line was dropped
 *
 * The holder looks for BEGINS before it looks at what was denied, and answers DENIED after that, so
 * what the sandbox denied during a call is in its answer, whatever comes first by the clock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "mcp/wrap.h"

enum {
	MCP_FILTER_TEXT_MAX = 8 << 10,
	MCP_FILTER_ANSWER_MS = 5000, /* then an answer passes as it is */
};

enum mcp_filter_kind {
	MCP_FILTER_READY = 1,
	MCP_FILTER_BEGINS,
	MCP_FILTER_DENIED,
	MCP_FILTER_NOTE
};

struct mcp_filter_word {
	uint32_t kind, is_server;
	uint64_t value; /* a call, or an enum mcp_wrap_note */
};

struct mcp_filter {
	int client_in, client_out; /* what the client writes, and reads */
	int server_in, server_out; /* what the server reads, and writes */
	int control;
};

/*
 * In a process of its own: confines itself, and passes lines until the server's output has ended
 * and was written. Takes over the descriptors. Returns the status to exit with.
 */
int mcp_filter_run(const struct mcp_filter *f);

/*
 * The holder's side. 1: *ret is the next word of the filter; 0: there is none now; -EPIPE: it has
 * ended; -EPROTO: that was no word.
 */
int mcp_filter_hear(int control, struct mcp_filter_word *ret);
/* The answer to DENIED; a longer text is cut. */
void mcp_filter_answer(int control, const struct buffer *text);
