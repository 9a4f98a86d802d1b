/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to a client: answers, errors, notifications; and the end of a call. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "mcp/input.h"
#include "mcp/internal.h"
#include "mcp/server.h"

#define META MCP_META

struct buffer *mcp_server_lines(struct mcp_server *s)
{
	return s->reply ? &s->reply->out : &s->out;
}

void mcp_server_turn_to(struct mcp_server *s, struct mcp_reply *reply)
{
	s->reply = reply;
}

static void server_open_answer(struct buffer *out, struct json_writer *w, const struct node *id)
{
	*w = (struct json_writer){ .out = out };
	json_open_map(w, NULL);
	json_put_text(w, "jsonrpc", "2.0");
	if (id)
		json_put_node(w, "id", id);
	else
		json_put_null(w, "id");
}

void mcp_server_open(struct mcp_server *s, struct json_writer *w, const struct node *id)
{
	if (s->reply)
		s->reply->is_over = true;
	server_open_answer(mcp_server_lines(s), w, id);
}

void mcp_server_print_error(struct buffer *out, const struct node *id, enum mcp_error_code code,
	const char *text, const char *data)
{
	struct json_writer w;

	server_open_answer(out, &w, id);
	json_open_map(&w, "error");
	json_put_number(&w, "code", code);
	json_put_text(&w, "message", text);
	if (data)
		json_put_raw(&w, "data", data);
	json_end_line(&w);
}

void mcp_server_fail_with(struct mcp_server *s, const struct node *id, enum mcp_error_code code,
	const char *text, const struct buffer *data)
{
	if (s->reply) {
		s->reply->is_over = true;
		s->reply->code = code;
	}
	mcp_server_print_error(
		mcp_server_lines(s), id, code, text, data && !data->failed ? data->data : NULL);
}

void mcp_server_fail(
	struct mcp_server *s, const struct node *id, enum mcp_error_code code, const char *text)
{
	mcp_server_fail_with(s, id, code, text, NULL);
}

void mcp_server_put_info(const struct mcp_server *s, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	json_put_text(w, "name", "corral");
	json_put_text(w, "title", "Corral");
	json_put_text(w, "version", s->version);
	json_close(w);
}

void mcp_server_open_result(
	struct mcp_server *s, struct json_writer *w, const struct node *id, const char *type)
{
	mcp_server_open(s, w, id);
	json_open_map(w, "result");
	if (s->era != MCP_ERA_MODERN)
		return;
	json_put_text(w, "resultType", type);
	json_open_map(w, "_meta");
	mcp_server_put_info(s, w, META "serverInfo");
	json_close(w);
}

/* How long it may be kept, and for whom: a policy is one user's. */
void mcp_server_put_cache(const struct mcp_server *s, struct json_writer *w, uint64_t ttl_ms)
{
	if (s->era != MCP_ERA_MODERN)
		return;
	json_put_count(w, "ttlMs", ttl_ms);
	json_put_text(w, "cacheScope", "private");
}

/* Calls */

/* What the client of this call can do. */
const struct node *mcp_server_declared(const struct mcp_call *c)
{
	if (c->server->era != MCP_ERA_MODERN)
		return c->server->declared;
	return node_get(node_get(c->message.params, "_meta"), META "clientCapabilities");
}

bool mcp_server_has(const struct mcp_call *c, const char *capability)
{
	const struct node *n = node_get(mcp_server_declared(c), capability);

	return n && n->type == NODE_MAP;
}

void mcp_server_drop_inputs(struct mcp_call *c)
{
	for (struct mcp_input *x = c->inputs, *next; x; x = next) {
		next = x->next;
		mcp_message_deinit(&x->answer);
		free(x->key);
		free(x);
	}
	c->inputs = NULL;
}

void mcp_server_drop(struct mcp_call *c)
{
	struct mcp_call **at = &c->server->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->server->n_calls--;
	/* Of one that was cancelled, too, nothing more comes. */
	if (c->reply)
		c->reply->is_over = true;
	mcp_server_drop_inputs(c);
	mcp_message_deinit(&c->message);
	free(c);
}

static void server_put_content(
	const struct mcp_call *c, struct json_writer *w, const struct mcp_result *r)
{
	static const struct {
		const char *key, *empty;
	} kinds[] = { [MCP_CALL_TOOL] = { "content", NULL },
		[MCP_CALL_PROMPT] = { "messages", "[]" },
		[MCP_CALL_READ] = { "contents", "[]" },
		[MCP_CALL_COMPLETE] = { "completion", "{\"values\":[]}" } };

	if (c->kind == MCP_CALL_PROMPT && r->text.len)
		json_put_text(w, "description", buffer_text(&r->text));
	if (r->content.len || c->kind != MCP_CALL_TOOL) {
		json_put_raw(w, kinds[c->kind].key,
			r->content.len ? r->content.data : kinds[c->kind].empty);
		return;
	}
	json_open_list(w, "content");
	json_open_map(w, NULL);
	json_put_text(w, "type", "text");
	json_put_bytes(w, "text", buffer_text(&r->text), r->text.len);
	json_close(w);
	json_close(w);
}

void mcp_server_fail_missing(struct mcp_server *s, const struct node *id, const char *uri)
{
	const bool is_modern = s->era == MCP_ERA_MODERN;
	auto_buffer data = { 0 };
	struct json_writer w = { .out = &data };

	json_open_map(&w, NULL);
	json_put_text(&w, "uri", uri);
	(void)json_end(&w);
	mcp_server_fail_with(s, id, is_modern ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND,
		"there is no such resource; resources/list has all", &data);
}

void mcp_server_answer(struct mcp_call *c, struct mcp_result *r)
{
	struct mcp_server *s = c->server;
	struct json_writer w;

	mcp_server_turn_to(s, c->reply);
	if (r->text.failed || r->structured.failed || r->content.failed) {
		mcp_server_fail(s, c->message.id, MCP_INTERNAL_ERROR, "out of memory");
	} else if (c->kind == MCP_CALL_READ && r->code == MCP_RESOURCE_NOT_FOUND) {
		mcp_server_fail_missing(s, c->message.id, c->name);
	} else if (c->kind != MCP_CALL_TOOL && r->is_error) {
		/* They have no way to say it otherwise. */
		mcp_server_fail(s, c->message.id,
			r->code ? (enum mcp_error_code)r->code : MCP_INVALID_PARAMS,
			buffer_text(&r->text));
	} else {
		mcp_server_open_result(s, &w, c->message.id, "complete");
		server_put_content(c, &w, r);
		if (r->structured.len)
			json_put_raw(&w, "structuredContent", r->structured.data);
		if (c->kind == MCP_CALL_TOOL)
			json_put_flag(&w, "isError", r->is_error);
		if (c->kind == MCP_CALL_READ)
			mcp_server_put_cache(s, &w, 0);
		json_end_line(&w);
	}
	buffer_deinit(&r->text);
	buffer_deinit(&r->content);
	buffer_deinit(&r->structured);
	mcp_server_drop(c);
	mcp_server_turn_to(s, NULL);
}

void mcp_server_lacks(struct mcp_call *c, const char *capability)
{
	struct mcp_server *s = c->server;
	auto_buffer data = { 0 };
	struct json_writer w = { .out = &data };

	mcp_server_turn_to(s, c->reply);
	json_open_map(&w, NULL);
	json_open_map(&w, "requiredCapabilities");
	json_open_map(&w, capability);
	(void)json_end(&w);
	mcp_server_fail_with(s, c->message.id,
		s->era == MCP_ERA_MODERN ? MCP_MISSING_CAPABILITY : MCP_INVALID_REQUEST,
		"the client lacks a capability that this needs", &data);
	mcp_server_drop(c);
	mcp_server_turn_to(s, NULL);
}

void mcp_server_open_notification(struct mcp_server *s, struct json_writer *w, const char *method)
{
	*w = (struct json_writer){ .out = mcp_server_lines(s) };
	json_open_map(w, NULL);
	json_put_text(w, "jsonrpc", "2.0");
	json_put_text(w, "method", method);
}

void mcp_server_pass_progress(struct mcp_call *c, const struct node *params)
{
	static const struct {
		const char *name;
		enum node_type type;
	} fields[] = { { "progress", NODE_NUMBER }, { "total", NODE_NUMBER },
		{ "message", NODE_STRING } };
	const struct node *progress = node_get(params, "progress");
	struct json_writer w;

	if (!c->token || !progress || progress->type != NODE_NUMBER)
		return;
	mcp_server_turn_to(c->server, c->reply);
	mcp_server_open_notification(c->server, &w, "notifications/progress");
	json_open_map(&w, "params");
	json_put_node(&w, "progressToken", c->token);
	for (size_t i = 0; i < ROWS(fields); i++) {
		const struct node *n = node_get(params, fields[i].name);

		if (n && n->type == fields[i].type)
			json_put_node(&w, fields[i].name, n);
	}
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
}

void mcp_server_progress(struct mcp_call *c, uint64_t progress, const char *message)
{
	struct json_writer w;

	if (!c->token)
		return;
	mcp_server_turn_to(c->server, c->reply);
	mcp_server_open_notification(c->server, &w, "notifications/progress");
	json_open_map(&w, "params");
	json_put_node(&w, "progressToken", c->token);
	json_put_count(&w, "progress", progress);
	json_put_text(&w, "message", message);
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
}
