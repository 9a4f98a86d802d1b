/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/message.h"

#include <string.h>

#include "codec/json.h"

static bool mcp_message_is_id(const struct node *n)
{
	int64_t number;

	return n && (n->type == NODE_STRING ||
			    (n->type == NODE_NUMBER && node_integer(n, &number) == 0));
}

static void mcp_message_sort(struct mcp_message *m)
{
	const struct node *root = m->document.root, *version = node_get(root, "jsonrpc");
	const struct node *method = node_get(root, "method"), *params = node_get(root, "params");
	const struct node *id = node_get(root, "id");
	struct node *result = node_get(root, "result"), *error = node_get(root, "error");
	const bool has_id = mcp_message_is_id(id);

	m->id = has_id ? id : NULL;
	if (!version || version->type != NODE_STRING || strcmp(version->text, "2.0") != 0 ||
		(id && !has_id && !(error && id->type == NODE_NULL)) ||
		(params && params->type != NODE_MAP))
		return;
	if (method && method->type == NODE_STRING && !result && !error) {
		m->kind = has_id ? MCP_REQUEST : MCP_NOTIFICATION;
		m->method = method->text;
		m->params = params;
	} else if (!method && has_id && result && !error && result->type == NODE_MAP) {
		m->kind = MCP_RESULT;
		m->body = result;
	} else if (!method && error && !result && error->type == NODE_MAP) {
		m->kind = MCP_ERROR;
		m->body = error;
	}
}

int mcp_message_read(struct mcp_message *m, const char *text, size_t len, struct error *e)
{
	static const struct node_bounds bounds = { MCP_LINE_MAX, MCP_LINE_MAX };
	int r;

	*m = (struct mcp_message){ 0 };
	r = json_read_within(&m->document, NULL, text, len, &bounds, e);
	if (r == 0)
		mcp_message_sort(m);
	return r;
}

void mcp_message_print_id(const struct node *id, struct buffer *out)
{
	if (id)
		json_print(out, id, JSON_COMPACT);
	else
		buffer_adds(out, "null");
}

void mcp_message_deinit(struct mcp_message *m)
{
	document_deinit(&m->document);
}
