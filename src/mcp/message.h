/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One message of JSON-RPC 2.0, as MCP has it: a request, a notification, a result or an error.
 * Whatever is read is bounded by codec/node.h, with longer texts: contents of files are in it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "codec/node.h"
#include "mcp/lines.h"

enum mcp_kind {
	MCP_OTHER, /* JSON, and no such message: a list (a batch), a map of another form */
	MCP_REQUEST,
	MCP_NOTIFICATION,
	MCP_RESULT,
	MCP_ERROR,
};

struct mcp_message {
	struct document document;
	enum mcp_kind kind;
	const struct node *id;     /* text or a whole number; NULL: none, or null */
	const char *method;        /* of a request or notification */
	const struct node *params; /* a map; NULL: none */
	struct node *body;         /* what is under `result` or `error`: a map */
};

/*
 * -EINVAL: it is not JSON as codec/json.h reads it; -E2BIG: past a bound; -ENOMEM. *m need not be
 * initialised; on failure it is empty.
 */
int mcp_message_read(struct mcp_message *m, const char *text, size_t len, struct error *e);
/* The id as JSON, by which two are compared: 1 and "1" differ. */
void mcp_message_print_id(const struct node *id, struct buffer *out);
void mcp_message_deinit(struct mcp_message *m);
#define auto_mcp_message __attribute__((cleanup(mcp_message_deinit))) struct mcp_message
