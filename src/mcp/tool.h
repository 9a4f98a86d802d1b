/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tools of `corral mcp serve`, as one table: what clients get of them (tools/list), what
 * arguments they take, and the check of these follow from it. What they do is elsewhere
 * (mcp/backend.c).
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/schema.h"

enum mcp_tool_id {
	MCP_EXECUTE_COMMAND,
	MCP_READ_FILE,
	MCP_WRITE_FILE,
	MCP_EDIT_FILE,
	MCP_LIST_DIRECTORY,
	MCP_HTTP_REQUEST,
	MCP_CREATE_SANDBOX,
	MCP_END_SANDBOX,
	/* From here on: about permissions. */
	MCP_CHECK_PERMISSION,
	MCP_REQUEST_PERMISSION,
	MCP_EXPLAIN_DENIAL,
	MCP_TOOLS,
};

enum { MCP_TOOL_PARAMS = 6, MCP_CONTENT_MAX = 4 << 20, MCP_TIMEOUT_MAX_MS = 60 * 60 * 1000 };

struct mcp_tool {
	const char *name, *title, *help;
	/* Hints for clients: it changes nothing; it may destroy what is there; it reaches out. */
	bool reads_only, destroys, is_open;
	/* Only where a client has no connection of its own, which a sandbox could be of (HTTP,
	 * 2026-07-28): there sandboxes have handles (mcp/backend.h). */
	bool is_of_handles;
	struct schema_field params[MCP_TOOL_PARAMS + 1];
};

extern const struct mcp_tool mcp_tools[MCP_TOOLS];

/* The argument that is a handle. */
#define MCP_TOOL_SANDBOX "sandbox"

/* NULL: no tool has that name. handles: sandboxes have some. */
const struct mcp_tool *mcp_tool_find(const char *name, bool handles);
/* All of them, as tools/list has them: a list under that key. */
void mcp_tools_print(struct json_writer *w, const char *key, bool handles);
/* 0; -EINVAL with a sentence. arguments: a map, or NULL. */
int mcp_tool_check(
	const struct mcp_tool *t, const struct node *arguments, bool handles, struct error *e);
/* The value of an argument that was checked, or `otherwise`. */
uint64_t mcp_tool_number(const struct mcp_tool *t, const struct node *arguments, const char *name,
	uint64_t otherwise);
