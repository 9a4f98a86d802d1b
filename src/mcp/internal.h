/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* server.c for asking.c, input.c, features.c, listen.c: lines for the client. */
#include "codec/json-writer.h"
#include "mcp/server.h"

#define MCP_META "io.modelcontextprotocol/"

/* Where lines go, of what is under way; of a call; of none. */
struct buffer *mcp_server_lines(struct mcp_server *s);
void mcp_server_turn_to(struct mcp_server *s, struct mcp_reply *reply);
/* A message with this id, which is the answer to it; NULL: null. */
void mcp_server_open(struct mcp_server *s, struct json_writer *w, const struct node *id);
/* An answer, up to the map of its result. type: of 2026-07-28. */
void mcp_server_open_result(
	struct mcp_server *s, struct json_writer *w, const struct node *id, const char *type);
void mcp_server_fail(
	struct mcp_server *s, const struct node *id, enum mcp_error_code code, const char *text);
/* data: a JSON map, or NULL. */
void mcp_server_fail_with(struct mcp_server *s, const struct node *id, enum mcp_error_code code,
	const char *text, const struct buffer *data);
/* The answer to one that reads a resource which is not there. */
void mcp_server_fail_missing(struct mcp_server *s, const struct node *id, const char *uri);
/* How long it may be kept, and for whom, where the era says so. */
void mcp_server_put_cache(const struct mcp_server *s, struct json_writer *w, uint64_t ttl_ms);
/* A notification or request, up to its method. */
void mcp_server_open_notification(struct mcp_server *s, struct json_writer *w, const char *method);
void mcp_server_put_info(const struct mcp_server *s, struct json_writer *w, const char *key);
/* What the client of this call can do. */
const struct node *mcp_server_declared(const struct mcp_call *c);
/* What was asked for a call, and answered. */
void mcp_server_drop_inputs(struct mcp_call *c);
/* Its call is taken out of the list and freed. */
void mcp_server_drop(struct mcp_call *c);
