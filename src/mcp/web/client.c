/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: one request after the other, each answered before the next is read. Who is refused
 * is answered and closed. One that is answered by events gets nothing else from then on, and the
 * connection ends with them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/web/internal.h"
#include "serve/answer.h"
#include "serve/guard.h"
#include "serve/peer.h"

#define CLIENT_PATH "/mcp"

/* More is not read from one that does not read. */
enum { CLIENT_OUT_MAX = 1 << 20 };

static bool client_is_clogged(const struct web_client *c)
{
	return c->base.out.len - c->base.sent > CLIENT_OUT_MAX;
}

void web_client_free(struct web_client *c)
{
	if (c->exchange)
		web_exchange_leave(c->exchange);
	if (c->session)
		c->session->listener = NULL;
	serve_client_close(&c->base);
	free(c);
}

/* Answers */

static void client_refuse(struct web_client *c, unsigned status, const char *reason)
{
	serve_client_finish(&c->base);
	serve_answer_text(&c->base.out,
		&(struct serve_answer){ .status = status,
			.fields = status == 405 ? "Allow: GET, POST, DELETE\r\n" : NULL,
			.is_last = true },
		"error", reason);
}

/* From here on events are the answer. */
static void client_stream(struct web_client *c)
{
	c->is_streaming = c->base.is_deaf = true;
	c->base.is_last = false;
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = 200,
						 .type = "text/event-stream",
						 .is_stream = true,
						 .is_last = true });
}

/* Each line is an event. */
static void client_put_events(struct web_client *c, struct buffer *lines)
{
	const char *at = buffer_text(lines), *end = at + lines->len;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		const size_t len = (size_t)((line_end ? line_end : end) - at);

		buffer_adds(&c->base.out, "event: message\ndata: ");
		buffer_add(&c->base.out, at, len);
		buffer_adds(&c->base.out, "\n\n");
		at += len + 1;
	}
	c->base.out.failed = c->base.out.failed || lines->failed;
	buffer_clear(lines);
}

static bool client_is_one_line(const struct buffer *lines)
{
	const char *end = memchr(buffer_text(lines), '\n', lines->len);

	return end && end == lines->data + lines->len - 1;
}

static void client_answer_json(struct web_client *c, struct web_exchange *x)
{
	char session[WEB_ID + 32] = "";

	if (x->session && x->session->server.is_initialized)
		(void)snprintf(session, sizeof(session), "Mcp-Session-Id: %s\r\n", x->session->id);
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = web_answer_status(x),
						 .type = "application/json",
						 .fields = session,
						 .len = x->reply.out.len,
						 .is_last = c->base.is_last });
	buffer_add(&c->base.out, x->reply.out.data, x->reply.out.len);
	web_exchange_free(x);
}

/* Sends what there is of its exchange. */
static void client_flush_exchange(struct web_client *c)
{
	struct web_exchange *x = c->exchange;

	if (x->reply.is_over && !c->is_streaming && client_is_one_line(&x->reply.out)) {
		client_answer_json(c, x);
		return;
	}
	if (!c->is_streaming && (x->reply.is_over || x->reply.out.len))
		client_stream(c);
	client_put_events(c, &x->reply.out);
	if (!x->reply.is_over)
		return;
	web_exchange_free(x);
	c->base.is_last = true;
}

bool web_client_has_news(const struct web_client *c)
{
	return (c->exchange && (c->exchange->reply.is_over || c->exchange->reply.out.len)) ||
	       (c->session && c->session->server.out.len) ||
	       (c->is_streaming && !c->exchange && !c->session && !c->base.is_shut);
}

static void client_flush(struct web_client *c)
{
	if (c->exchange)
		client_flush_exchange(c);
	if (c->session)
		client_put_events(c, &c->session->server.out);
	/* The session that it listened to has another listener. */
	if (c->is_streaming && !c->exchange && !c->session)
		c->base.is_last = true;
	if (c->is_streaming && c->base.has_ended && !c->is_probed) {
		c->is_probed = true;
		buffer_adds(&c->base.out, ":\n\n");
	}
}

void web_client_beat(struct web_client *c)
{
	if (!c->exchange && !c->session)
		return;
	/* Who has not read the last one is behind anyway. */
	if (!serve_client_is_written(&c->base))
		return;
	if (!c->is_streaming)
		client_stream(c);
	buffer_adds(&c->base.out, ":\n\n");
	web_client_work(c);
}

/* Requests */

/* A page of this very server, if there were one. */
static void client_own_origin(const struct serve_request *q, char *ret, size_t size)
{
	const struct http_request *r = &q->head.request;

	if (r->port)
		(void)snprintf(ret, size, "http://%s:%u", r->host, r->port);
	else
		(void)snprintf(ret, size, "http://%s", r->host);
}

/* 1: refused, and *ret says why. */
static int client_judge(const struct web *w, const struct serve_request *q,
	const struct serve_header *head, size_t *ret_principal, struct serve_refusal *ret)
{
	char origin[HOST_TEXT_BYTES + 32];
	const struct serve_guard guard = { .port = w->port,
		.origin = origin,
		.other_host = "the Host header names another server: use 127.0.0.1, localhost or "
			      "[::1] with this port" };
	const char *method = q->head.request.method;
	const bool is_post = strcmp(method, "POST") == 0, is_get = strcmp(method, "GET") == 0;
	int principal;

	client_own_origin(q, origin, sizeof(origin));
	if (serve_guard_place(&guard, q, ret) != 0)
		return 1;
	if (strcmp(q->head.request.path, CLIENT_PATH) != 0) {
		*ret = (struct serve_refusal){ 404, "there is no such path; it is " CLIENT_PATH };
		return 1;
	}
	if (!is_post && !is_get && strcmp(method, "DELETE") != 0) {
		*ret = (struct serve_refusal){ 405, "this path has GET, POST and DELETE" };
		return 1;
	}
	principal = web_tokens_find(w->o.tokens, q);
	if (principal < 0)
		return serve_guard_token(NULL, q, ret);
	*ret_principal = (size_t)principal;
	if ((is_get || is_post) && !web_head_accepts(head, "text/event-stream")) {
		*ret = (struct serve_refusal){ 406, "Accept must have text/event-stream" };
		return 1;
	}
	if (is_post && !web_head_accepts(head, "application/json")) {
		*ret = (struct serve_refusal){ 406, "Accept must have application/json" };
		return 1;
	}
	return serve_guard_body(q, is_post ? MCP_LINE_MAX : 0, is_post, ret);
}

static void client_dispatch(
	struct web_client *c, const struct serve_request *q, size_t principal, const char *body)
{
	const char *method = q->head.request.method;

	if (strcmp(method, "POST") == 0)
		web_exchange_begin(c, principal, q->own, body, (size_t)q->head.length);
	else if (strcmp(method, "GET") == 0)
		web_exchange_listen(c, principal, q->own);
	else
		web_exchange_delete(c, principal, q->own);
}

/* 1: one was taken. 0: there is none yet. */
static int client_take(struct web_client *c)
{
	static struct serve_request q; /* it is big */
	struct serve_header head[WEB_FIELDS];
	struct serve_refusal why;
	size_t len, principal = 0;
	const char *data = serve_client_input(&c->base, &len);

	if (len == 0 || c->exchange || c->base.is_deaf || c->base.is_last || client_is_clogged(c))
		return 0;
	web_head_fields(head);
	q.own = head;
	q.n_own = WEB_FIELDS;
	if (serve_request_read(&q, data, len, &c->base.scanned) == 0)
		return 0;
	if (q.status) {
		client_refuse(c, q.status, q.reason);
		return 1;
	}
	if (client_judge(c->web, &q, head, &principal, &why) != 0) {
		client_refuse(c, why.status, why.reason);
		return 1;
	}
	if (len - q.bytes < q.head.length)
		return 0;
	/* Its bytes stay where they are until more are read. */
	if (q.head.closes)
		serve_client_finish(&c->base);
	else
		serve_client_take(&c->base, q.bytes + (size_t)q.head.length);
	client_dispatch(c, &q, principal, data + q.bytes);
	return 1;
}

void web_client_work(struct web_client *c)
{
	struct serve_client *base = &c->base;
	bool is_waiting, was_clogged;
	int r = 0;

	do {
		client_flush(c);
		r = base->out.failed ? -ENOMEM : 0;
	} while (r == 0 && client_take(c) == 1);
	is_waiting = c->exchange && !c->is_streaming;
	was_clogged = client_is_clogged(c);
	if (r == 0)
		r = serve_client_write(base);
	/* What was read before it was clogged is taken now. */
	if (r == 0 && was_clogged && !client_is_clogged(c)) {
		web_client_work(c);
		return;
	}
	if (r == 0)
		r = serve_client_wait(base,
			&(struct serve_wait){ .reads = !is_waiting && !client_is_clogged(c),
				.is_part = !c->is_streaming && !is_waiting &&
					   base->in.len > base->start,
				.is_busy = is_waiting || ((c->exchange || c->session) &&
								 serve_client_is_written(base)),
				.is_unfinished = c->exchange || c->session,
				.watches_end = is_waiting });
	if (r < 0)
		web_client_free(c);
}

/* As serve/ sees it */

static void client_on_work(struct serve_client *base)
{
	web_client_work(web_client_of(base));
}

static void client_on_free(struct serve_client *base)
{
	web_client_free(web_client_of(base));
}

static bool client_on_idle(const struct serve_client *base)
{
	const struct web_client *c = web_client_of(base);

	return !c->exchange && !c->session;
}

int web_client_new(struct web *w, int fd)
{
	static const struct serve_class class = {
		.work = client_on_work, .free = client_on_free, .is_idle = client_on_idle
	};
	struct web_client *c;
	struct peer *peer;
	int r = serve_room_enter(&w->room, fd, &peer);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	r = c ? serve_client_open(&c->base, &w->room, peer, fd, &class) : -ENOMEM;
	if (r < 0) {
		peer_put_connection(peer);
		free(c);
		return r;
	}
	c->web = w;
	c->base.is_tcp = true;
	return 0;
}
