/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side: its lines become exchanges. */
#include "mcp/remote/remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"
#include "mcp/error-code.h"
#include "mcp/remote/internal.h"

/* Exchanges */

struct remote_exchange *remote_add(
	struct remote *b, enum remote_kind kind, const char *body, size_t len)
{
	struct remote_exchange *x =
		b->n_exchanges < REMOTE_EXCHANGES_MAX ? calloc(1, sizeof(*x)) : NULL;

	if (!x)
		return NULL;
	x->kind = kind;
	buffer_add(&x->body, body, len);
	if (x->body.failed) {
		free(x);
		return NULL;
	}
	x->next = b->exchanges;
	b->exchanges = x;
	b->n_exchanges++;
	return x;
}

static size_t remote_held(const struct remote_exchange *x)
{
	return x->answer.len + sse_held(&x->sse);
}

static void remote_free(struct remote *b, struct remote_exchange *x)
{
	b->held -= remote_held(x);
	b->n_exchanges--;
	buffer_deinit(&x->body);
	buffer_deinit(&x->id);
	buffer_deinit(&x->mirrored);
	buffer_deinit(&x->answer);
	sse_deinit(&x->sse);
	free(x);
}

void remote_forget(struct remote *b, struct remote_exchange *x)
{
	for (struct remote_exchange **at = &b->exchanges; *at; at = &(*at)->next) {
		if (*at != x)
			continue;
		*at = x->next;
		remote_free(b, x);
		return;
	}
}

void remote_drop(struct remote *b, struct remote_exchange *x)
{
	if (x->kind == REMOTE_LISTEN && x->state != REMOTE_GONE)
		b->has_listener = false;
	if (x->kind == REMOTE_GOODBYE)
		b->is_over = true;
	x->is_answered = true;
	x->state = REMOTE_GONE;
	remote_open_gate(b, x);
}

struct remote_exchange *remote_find(const struct remote *b, const struct node *id)
{
	auto_buffer text = { 0 };

	if (id)
		mcp_message_print_id(id, &text);
	for (struct remote_exchange *x = b->exchanges; id && !text.failed && x; x = x->next)
		if (!x->is_answered && x->id.len > 0 && x->id.len == text.len &&
			memcmp(x->id.data, text.data, text.len) == 0)
			return x;
	return NULL;
}

/* Errors for the client */

void remote_put_error(struct remote *b, const struct buffer *id, int code, const char *text)
{
	struct json_writer w = { .out = &b->out };

	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_raw(&w, "id", id->len > 0 ? id->data : NULL);
	json_open_map(&w, "error");
	json_put_number(&w, "code", code);
	json_put_text(&w, "message", text);
	json_end_line(&w);
}

void remote_refuse(struct remote *b, struct remote_exchange *x, const char *format, ...)
{
	auto_buffer text = { 0 };
	va_list args;

	va_start(args, format);
	buffer_vprintf(&text, format, args);
	va_end(args);
	if (x->id.len > 0 && !x->is_answered)
		remote_put_error(b, &x->id, MCP_INTERNAL_ERROR, buffer_text(&text));
	else if (x->kind != REMOTE_GOODBYE)
		remote_say(b, "%s", buffer_text(&text));
	remote_drop(b, x);
}

void remote_say(struct remote *b, const char *format, ...)
{
	auto_buffer text = { 0 };
	va_list args;

	if (b->n_said == REMOTE_NOTES_MAX)
		return;
	va_start(args, format);
	buffer_vprintf(&text, format, args);
	va_end(args);
	buffer_add_visible(&b->said, buffer_text(&text), text.len);
	buffer_addc(&b->said, '\n');
	if (++b->n_said == REMOTE_NOTES_MAX)
		buffer_adds(&b->said, "further notes are left out\n");
}

/* The handshake, and what waits for it */

void remote_listen(struct remote *b)
{
	struct remote_exchange *x;

	if (b->has_listener || b->may_not_listen || b->is_closing || !b->version[0])
		return;
	x = remote_add(b, REMOTE_LISTEN, "", 0);
	b->has_listener = x != NULL;
}

void remote_renew(struct remote *b)
{
	struct remote_exchange *x;

	b->session[0] = '\0';
	for (x = b->exchanges; x; x = x->next)
		if (x->kind == REMOTE_RENEWAL && x->state != REMOTE_GONE)
			return;
	if (b->is_closing || b->hello.len == 0)
		return;
	x = remote_add(b, REMOTE_RENEWAL, b->hello.data, b->hello.len);
	if (x)
		b->gate = x;
	b->is_lost = x == NULL;
	remote_say(b, x ? "the server has ended the session; a new one is made"
			: "too much is under way for a new session");
}

/* What was asked before the session had ended is asked again; without one it is refused. */
static void remote_release(struct remote *b)
{
	for (struct remote_exchange *x = b->exchanges; x; x = x->next) {
		if (x->state != REMOTE_HELD)
			continue;
		if (!b->is_lost)
			x->state = REMOTE_NEW;
		else
			remote_refuse(b, x,
				"the server %s has ended the session, and makes no new one",
				b->o.url);
	}
}

void remote_open_gate(struct remote *b, const struct remote_exchange *x)
{
	if (b->gate != x)
		return;
	b->gate = NULL;
	remote_release(b);
	remote_pass_queue(b);
}

/* Lines */

static void remote_cancelled(
	struct remote *b, const struct mcp_message *m, const char *line, size_t len)
{
	struct remote_exchange *x = remote_find(b, node_get(m->params, "requestId"));
	const bool is_modern = x && x->is_modern;

	/* It may have been answered meanwhile. */
	if (!x || x->kind != REMOTE_CALL)
		return;
	remote_drop(b, x);
	/* There, the end of its connection says it. */
	if (!is_modern)
		(void)remote_add(b, REMOTE_NOTICE, line, len);
}

static void remote_notified(
	struct remote *b, const struct mcp_message *m, const char *line, size_t len)
{
	const bool is_done = m->method && strcmp(m->method, "notifications/initialized") == 0;
	struct remote_exchange *x;

	if (m->method && strcmp(m->method, "notifications/cancelled") == 0) {
		remote_cancelled(b, m, line, len);
		return;
	}
	/* What 2026-07-28 has no answers for was not asked. */
	if (!m->method && !b->version[0])
		return;
	x = remote_add(b, is_done ? REMOTE_HELLO_DONE : REMOTE_NOTICE, line, len);
	if (!x) {
		remote_say(b, "too much is under way: a notification was dropped");
		return;
	}
	x->is_modern = mirror_version(m) != NULL;
	if (x->is_modern)
		mirror_print(&b->mirror, m, &x->mirrored);
	if (is_done)
		b->gate = x;
}

static void remote_begin(struct remote *b, struct remote_exchange *x, const char *line, size_t len)
{
	b->gate = x;
	b->session[0] = b->version[0] = '\0';
	b->may_not_listen = b->is_lost = false;
	buffer_clear(&b->hello);
	buffer_add(&b->hello, line, len);
	buffer_clear(&b->hello_id);
	buffer_add(&b->hello_id, x->id.data, x->id.len);
}

static void remote_requested(
	struct remote *b, const struct mcp_message *m, const char *line, size_t len)
{
	const bool is_hello = strcmp(m->method, "initialize") == 0;
	struct remote_exchange *x;
	auto_buffer id = { 0 };

	mcp_message_print_id(m->id, &id);
	if (remote_find(b, m->id)) {
		remote_put_error(
			b, &id, MCP_INVALID_REQUEST, "a request of this id has no answer yet");
		return;
	}
	x = remote_add(b, is_hello ? REMOTE_HELLO : REMOTE_CALL, line, len);
	if (!x) {
		remote_put_error(
			b, &id, MCP_INTERNAL_ERROR, "too many requests have no answer yet");
		return;
	}
	x->id = id;
	id = (struct buffer){ 0 };
	x->is_modern = mirror_version(m) != NULL;
	x->is_list = strcmp(m->method, "tools/list") == 0;
	x->is_first_page = x->is_list && !node_get(m->params, "cursor");
	if (x->is_modern)
		mirror_print(&b->mirror, m, &x->mirrored);
	if (is_hello) {
		remote_begin(b, x, line, len);
	} else if (b->is_lost && !x->is_modern) {
		x->state = REMOTE_HELD;
		x->was_renewed = true;
		remote_renew(b);
		if (!b->gate)
			remote_release(b);
	}
}

static void remote_take(struct remote *b, const char *line, size_t len)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };
	int r = mcp_message_read(&m, line, len, &e);

	if (r == 0 && m.kind == MCP_REQUEST) {
		remote_requested(b, &m, line, len);
	} else if (r == 0 && m.kind != MCP_OTHER) {
		remote_notified(b, &m, line, len);
	} else {
		const struct buffer none = { 0 };

		remote_put_error(b, &none, r < 0 ? MCP_PARSE_ERROR : MCP_INVALID_REQUEST,
			r < 0 ? e.text : "this is no message of MCP, or several in one line");
	}
}

void remote_line(struct remote *b, const char *line, size_t len)
{
	const struct buffer none = { 0 };

	if (line && len > 0 && line[len - 1] == '\r')
		len--;
	if (line && len == 0)
		return;
	if (!line) {
		remote_put_error(
			b, &none, MCP_INVALID_REQUEST, "a line of more than 16 MiB was dropped");
		return;
	}
	if (!b->gate) {
		remote_take(b, line, len);
		return;
	}
	if (b->n_queue == REMOTE_QUEUE_MAX || b->queue.len + len > 2 * (size_t)MCP_LINE_MAX) {
		remote_put_error(
			b, &none, MCP_INTERNAL_ERROR, "too many messages wait for the handshake");
		return;
	}
	buffer_add(&b->queue, line, len);
	buffer_addc(&b->queue, '\n');
	b->n_queue++;
}

void remote_pass_queue(struct remote *b)
{
	struct buffer lines = b->queue;
	size_t at = 0;

	if (b->n_queue == 0)
		return;
	b->queue = (struct buffer){ 0 };
	b->n_queue = 0;
	while (!lines.failed && at < lines.len) {
		const char *line = lines.data + at, *end = memchr(line, '\n', lines.len - at);
		const size_t len = end ? (size_t)(end - line) : lines.len - at;

		remote_line(b, line, len);
		at += len + 1;
	}
	buffer_deinit(&lines);
}

/* The end */

static bool remote_is_asked(const struct remote *b)
{
	for (const struct remote_exchange *x = b->exchanges; x; x = x->next)
		if ((x->id.len > 0 || x->kind == REMOTE_NOTICE) && !x->is_answered)
			return true;
	return false;
}

void remote_close(struct remote *b, bool at_once)
{
	struct remote_exchange *bye;

	b->is_closing = true;
	for (const struct remote_exchange *x = b->exchanges; x; x = x->next)
		if (x->kind == REMOTE_GOODBYE)
			return;
	if (b->is_over || (!at_once && (b->n_queue > 0 || b->gate || remote_is_asked(b))))
		return;
	b->gate = NULL;
	b->n_queue = 0;
	for (struct remote_exchange *x = b->exchanges; x; x = x->next)
		if (x->state != REMOTE_GONE)
			remote_drop(b, x);
	bye = b->session[0] ? remote_add(b, REMOTE_GOODBYE, "", 0) : NULL;
	b->is_over = !bye;
}

/* Requests */

int remote_print_headers(struct remote *b, struct remote_exchange *x, struct buffer *out)
{
	const bool is_post = x->body.len > 0 && !x->resumes;
	const bool is_hello = x->kind == REMOTE_HELLO || x->kind == REMOTE_RENEWAL;

	if (is_post)
		buffer_adds(out, "Content-Type: application/json\n"
				 "Accept: application/json, text/event-stream\n");
	else if (x->kind != REMOTE_GOODBYE)
		buffer_adds(out, "Accept: text/event-stream\n");
	buffer_add(out, buffer_text(&x->mirrored), x->mirrored.len);
	x->had_session = !x->is_modern && !is_hello && b->session[0];
	if (!x->is_modern && !is_hello) {
		if (b->session[0])
			buffer_printf(out, "Mcp-Session-Id: %s\n", b->session);
		if (b->version[0])
			buffer_printf(out, "MCP-Protocol-Version: %s\n", b->version);
	}
	if ((x->resumes || x->kind == REMOTE_LISTEN) && x->sse.id[0])
		buffer_printf(out, "Last-Event-ID: %s\n", x->sse.id);
	return out->failed ? -ENOMEM : 0;
}

void remote_deinit(struct remote *b)
{
	while (b->exchanges)
		remote_forget(b, b->exchanges);
	buffer_deinit(&b->out);
	buffer_deinit(&b->said);
	buffer_deinit(&b->hello);
	buffer_deinit(&b->hello_id);
	buffer_deinit(&b->queue);
	mirror_deinit(&b->mirror);
}
