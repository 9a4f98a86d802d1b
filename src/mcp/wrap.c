/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "codec/json-writer.h"
#include "mcp/error-code.h"
#include "mcp/message.h"

static void mcp_wrap_pass(const char *line, size_t len, struct buffer *out)
{
	buffer_add(out, line, len);
	buffer_addc(out, '\n');
}

/* A map, or a list of them (a batch, as of 2025-03-26). */
static bool mcp_wrap_is_json(const char *line, size_t len)
{
	size_t at = 0;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at < len && (line[at] == '{' || line[at] == '[') && utf8_valid(line, len, NULL);
}

/* What passes, if anything does; false: it is not looked at. */
static bool mcp_wrap_read(struct mcp_wrap *w, struct mcp_message *m, const char *line, size_t len,
	bool is_server, struct buffer *out)
{
	struct error e = { 0 };

	*m = (struct mcp_message){ 0 };
	/* Both SDKs of the protocol end some lines with a carriage return; an empty one says
	 * nothing. */
	if (len == 0 || (len == 1 && line[0] == '\r'))
		return false;
	if (!mcp_wrap_is_json(line, len)) {
		w->host.note(w->host.context, MCP_WRAP_NO_JSON, is_server);
		return false;
	}
	if (mcp_message_read(m, line, len, &e) == 0)
		return true;
	mcp_wrap_pass(line, len, out);
	return false;
}

/* Calls */

static void mcp_wrap_remember(struct mcp_wrap *w, const struct mcp_message *m)
{
	const bool is_call = strcmp(m->method, "tools/call") == 0;
	struct mcp_wrap_pending *p = &w->pending[w->n_pending];
	auto_buffer id = { 0 };

	if (w->n_pending == MCP_WRAP_PENDING_MAX) {
		w->is_beyond = true;
		return;
	}
	mcp_message_print_id(m->id, &id);
	*p = (struct mcp_wrap_pending){ .id = buffer_take(&id) };
	if (!p->id)
		return;
	w->n_pending++;
	if (!is_call)
		return;
	p->call = ++w->calls;
	w->host.begins(w->host.context, p->call);
}

/* The number of the call that has this id, and 0 if there is none; it waits no longer. */
static uint64_t mcp_wrap_forget(struct mcp_wrap *w, const struct node *id)
{
	auto_buffer text = { 0 };

	mcp_message_print_id(id, &text);
	for (size_t i = 0; i < w->n_pending; i++) {
		struct mcp_wrap_pending *p = &w->pending[i];
		const uint64_t call = p->call;

		if (strcmp(p->id, buffer_text(&text)) != 0)
			continue;
		free(p->id);
		memmove(p, p + 1, (--w->n_pending - i) * sizeof(*p));
		return call;
	}
	return 0;
}

/* It is not answered, by the protocol. */
static void mcp_wrap_cancel(struct mcp_wrap *w, const struct mcp_message *m)
{
	const struct node *id = node_get(m->params, "requestId");

	if (id && strcmp(m->method, "notifications/cancelled") == 0)
		(void)mcp_wrap_forget(w, id);
}

void mcp_wrap_from_client(struct mcp_wrap *w, const char *line, size_t len, struct buffer *out)
{
	auto_mcp_message m = { 0 };

	if (!mcp_wrap_read(w, &m, line, len, false, out))
		return;
	if (m.kind == MCP_REQUEST)
		mcp_wrap_remember(w, &m);
	else if (m.kind == MCP_NOTIFICATION)
		mcp_wrap_cancel(w, &m);
	mcp_wrap_pass(line, len, out);
}

/* Answers */

static bool mcp_wrap_has_failed(const struct mcp_message *m)
{
	bool is_error = false;

	if (m->kind == MCP_ERROR)
		return true;
	return node_boolean(node_get(m->body, "isError"), &is_error) == 0 && is_error;
}

/* To the text of the error, or as one more text of the result. false: there is no place for it. */
static bool mcp_wrap_add(struct mcp_message *m, const char *text)
{
	struct arena *a = &m->document.arena;
	struct node *content = node_get(m->body, "content"), *message, *item;
	auto_buffer both = { 0 };

	if (m->kind == MCP_ERROR) {
		message = node_get(m->body, "message");
		if (!message || message->type != NODE_STRING)
			return false;
		buffer_printf(&both, "%s\n%s", message->text, text);
		message->text = both.failed ? NULL : arena_strdup(a, buffer_text(&both));
		return message->text;
	}
	if (!content || content->type != NODE_LIST)
		return false;
	item = node_new(a, NODE_MAP);
	return item && node_put(a, item, "type", node_new_text(a, "text")) &&
	       node_put(a, item, "text", node_new_text(a, text)) && node_append(content, item);
}

static void mcp_wrap_answer(struct mcp_wrap *w, struct mcp_message *m, uint64_t call,
	const char *line, size_t len, struct buffer *out)
{
	auto_buffer text = { 0 }, changed = { 0 };

	w->host.denied(w->host.context, call, &text);
	if (text.len && !text.failed && utf8_valid(text.data, text.len, NULL) &&
		mcp_wrap_add(m, text.data))
		json_print(&changed, m->document.root, JSON_COMPACT);
	if (changed.len && !changed.failed)
		mcp_wrap_pass(changed.data, changed.len, out);
	else
		mcp_wrap_pass(line, len, out);
}

void mcp_wrap_from_server(struct mcp_wrap *w, const char *line, size_t len, struct buffer *out)
{
	auto_mcp_message m = { 0 };
	uint64_t call = 0;

	if (!mcp_wrap_read(w, &m, line, len, true, out))
		return;
	if (m.kind == MCP_RESULT || m.kind == MCP_ERROR)
		call = mcp_wrap_forget(w, m.id);
	if (call && mcp_wrap_has_failed(&m))
		mcp_wrap_answer(w, &m, call, line, len, out);
	else
		mcp_wrap_pass(line, len, out);
}

void mcp_wrap_long(struct mcp_wrap *w, bool is_server, struct buffer *out)
{
	struct json_writer j = { .out = out };

	if (!is_server || w->n_pending != 1 || w->is_beyond) {
		w->host.note(w->host.context, MCP_WRAP_LONG, is_server);
		return;
	}
	w->host.note(w->host.context, MCP_WRAP_ANSWERED, is_server);
	json_open_map(&j, NULL);
	json_put_text(&j, "jsonrpc", "2.0");
	json_put_raw(&j, "id", w->pending[0].id);
	json_open_map(&j, "error");
	json_put_number(&j, "code", MCP_INTERNAL_ERROR);
	json_put_format(&j, "message",
		"corral: the server's answer was longer than %d MiB, and was dropped",
		MCP_LINE_MAX >> 20);
	json_end_line(&j);
	free(w->pending[0].id);
	w->n_pending = 0;
}

void mcp_wrap_deinit(struct mcp_wrap *w)
{
	for (size_t i = 0; i < w->n_pending; i++)
		free(w->pending[i].id);
	w->n_pending = 0;
}
