/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/answer.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/client/connection.h"
#include "codec/json.h"

static bool answer_has_id(const struct node *root, const char *id)
{
	const struct node *n = node_get(root, "id");
	auto_buffer text = { 0 };

	if (!n)
		return false;
	json_print(&text, n, JSON_COMPACT);
	return !id || strcmp(buffer_text(&text), id) == 0;
}

static bool answer_is_error(const struct node *n)
{
	const struct node *code = node_get(n, "code"), *message = node_get(n, "message");
	int64_t number;

	return n && n->type == NODE_MAP && code && node_integer(code, &number) == 0 && message &&
	       message->type == NODE_STRING;
}

/* False: it is neither an answer nor a note. */
static bool answer_find_body(struct client_answer *a, const char *id)
{
	const struct node *root = a->doc.root, *version = node_get(root, "jsonrpc");
	const struct node *method = node_get(root, "method"), *error = node_get(root, "error");
	const struct node *params = node_get(root, "params");

	if (!version || version->type != NODE_STRING || strcmp(version->text, "2.0") != 0)
		return false;
	if (method) {
		a->kind = ANSWER_NOTE;
		a->note = method->text;
		a->body = params;
		return method->type == NODE_STRING && params && params->type == NODE_MAP &&
		       answer_has_id(params, id);
	}
	a->kind = error ? ANSWER_ERROR : ANSWER_RESULT;
	a->body = error ? error : node_get(root, "result");
	/* Who could not read the call knows no id. */
	if (!answer_has_id(root, id) && !(error && answer_has_id(root, "null")))
		return false;
	return error ? answer_is_error(error) && !node_get(root, "result")
		     : a->body && a->body->type == NODE_MAP;
}

int answer_read(
	struct client_answer *ret, const char *line, size_t len, const char *id, struct error *e)
{
	static const struct node_bounds bounds = { CONNECTION_LINE_MAX, CONNECTION_LINE_MAX };
	int r = json_read_within(&ret->doc, NULL, line, len, &bounds, e);

	if (r == -ENOMEM)
		return r;
	if (r == 0 && answer_find_body(ret, id))
		return 0;
	if (r == 0)
		document_deinit(&ret->doc);
	ret->doc = (struct document){ 0 };
	return error_set(e, -EPROTO, NULL, "the broker's answer is not one to this call");
}

int answer_make(struct client_answer *ret, const struct rpc_refusal *why, bool by_shield)
{
	auto_buffer line = { 0 };
	struct error e;

	rpc_print_refusal(&line, NULL, by_shield, why);
	return line.failed ? -ENOMEM : answer_read(ret, line.data, line.len, NULL, &e);
}

void answer_deinit(struct client_answer *a)
{
	document_deinit(&a->doc);
}

int answer_status(enum rpc_class class)
{
	static const int statuses[RPC_CLASS_COUNT] = {
		[RPC_INTERNAL] = 1,
		[RPC_PARSE] = 2,
		[RPC_REQUEST] = 2,
		[RPC_METHOD] = 2,
		[RPC_PARAMS] = 2,
		[RPC_PERMISSION] = 3,
		[RPC_CHANNEL] = 3,
		[RPC_SCOPE] = 4,
		[RPC_RATE] = 5,
		[RPC_TIMEOUT] = 6,
		[RPC_SERVICE] = 7,
		[RPC_NETWORK] = 8,
		[RPC_PATH] = 9,
	};

	return statuses[class];
}

enum rpc_class answer_class(const struct client_answer *a)
{
	const struct node *name = node_get(node_get(a->body, "data"), "class");
	int64_t code = 0;

	for (int i = 0; i < RPC_CLASS_COUNT && name && name->type == NODE_STRING; i++) {
		if (strcmp(name->text, rpc_class_name((enum rpc_class)i)) == 0)
			return (enum rpc_class)i;
	}
	(void)node_integer(node_get(a->body, "code"), &code);
	for (int i = 0; i < RPC_CLASS_COUNT; i++) {
		if (rpc_code((enum rpc_class)i, false) == code)
			return (enum rpc_class)i;
	}
	return RPC_INTERNAL;
}
