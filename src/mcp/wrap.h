/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What stands between a client and a server of MCP that runs in a sandbox: lines pass both ways as
 * they are. Looked at are the client's calls of tools, and their answers: one that failed gets a
 * text about what the sandbox denied meanwhile. Nothing else is changed, added or held back.
 *
 * What is dropped, with a note: a line that is too long, is no UTF-8, or begins no JSON. The
 * official SDKs drop such lines, too. Where the answer to the only request was too long, its client
 * gets an error in its place. JSON that codec/json.h does not take (a NUL, half a surrogate pair, a
 * key twice, too deep) passes without being looked at: whether it is a message is the matter of
 * whom it is for, and nothing here depends on it.
 *
 * Invariant: what a server says decides about nothing but its own answers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Requests that wait for their answers; of more, the answers pass as they are. */
enum { MCP_WRAP_PENDING_MAX = 1024 };

enum mcp_wrap_note {
	MCP_WRAP_LONG,     /* a line was too long */
	MCP_WRAP_NO_JSON,  /* a line was none */
	MCP_WRAP_ANSWERED, /* an answer was too long, and its client got an error */
	MCP_WRAP_NOTES,
};

/* Where what was denied is known. */
struct mcp_wrap_host {
	/* A call of a tool begins; all of them have numbers that grow. */
	void (*begins)(void *context, uint64_t call);
	/* Appends what was denied since that call began; nothing if nothing was. */
	void (*denied)(void *context, uint64_t call, struct buffer *out);
	void (*note)(void *context, enum mcp_wrap_note note, bool is_server);
	void *context;
};

struct mcp_wrap_pending {
	char *id;      /* as JSON */
	uint64_t call; /* 0: no call of a tool */
};

struct mcp_wrap {
	struct mcp_wrap_host host;
	/* Private. */
	struct mcp_wrap_pending pending[MCP_WRAP_PENDING_MAX];
	size_t n_pending;
	bool is_beyond; /* there were more */
	uint64_t calls;
};

/* Appends to out what passes of a line, with its newline. */
void mcp_wrap_from_client(struct mcp_wrap *w, const char *line, size_t len, struct buffer *out);
void mcp_wrap_from_server(struct mcp_wrap *w, const char *line, size_t len, struct buffer *out);
/* A line was too long. out: towards the client. */
void mcp_wrap_long(struct mcp_wrap *w, bool is_server, struct buffer *out);
void mcp_wrap_deinit(struct mcp_wrap *w);
