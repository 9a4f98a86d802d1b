/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: one request after the other, each answered before the next is read. Who is refused
 * is answered and closed. One that asks for events gets nothing else from then on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"
#include "daemon/http/internal.h"
#include "serve/answer.h"
#include "serve/peer.h"

/* Events are copied until so many bytes wait to be written. */
enum { CLIENT_STREAM_ROOM = 32 << 10 };

static void api_client_work(struct api_client *c);

static void api_client_free(struct api_client *c)
{
	struct server *s = c->server;

	if (c->call)
		server_leave(s, c->call);
	s->n_streams -= c->is_streaming;
	serve_client_close(&c->base);
	free(c);
}

/* Answers */

/* What the page itself needs may be loaded, and that only from here. There is no inline script, no
 * inline style and no markup from a text. */
static const char client_csp_page[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	"require-trusted-types-for 'script'; trusted-types 'none'";

/* What tells the page that the daemon answers, and not what took its port. */
static void api_client_prove(
	struct api_client *c, unsigned status, const void *body, size_t len, struct buffer *fields)
{
	const struct proof_answer a = { .start = c->server->setup.start,
		.count = c->count,
		.status = status,
		.body = c->is_streaming ? NULL : body,
		.len = len };
	char mac[PROOF_MAC + 1];

	if (!c->tab.id[0])
		return;
	proof_of_answer(&c->tab, &a, mac);
	buffer_printf(fields, "Corral-Proof: %s\r\n", mac);
}

/* body: NULL where a stream follows; allow: methods, or "". */
static void api_client_respond(
	struct api_client *c, struct serve_answer *a, const char *body, const char *allow)
{
	auto_buffer fields = { 0 };

	if (a->status == 401 && !c->by_unix) {
		a->challenge = "Corral";
		buffer_printf(&fields, "Corral-Start: %s\r\n", c->server->setup.start);
	}
	api_client_prove(c, a->status, body, a->len, &fields);
	if (allow[0])
		buffer_printf(&fields, "Allow: %s\r\n", allow);
	a->fields = buffer_text(&fields);
	a->is_last = c->base.is_last;
	serve_answer_begin(&c->base.out, a);
	buffer_add(&c->base.out, body, a->len);
	c->base.out.failed = c->base.out.failed || fields.failed;
}

static void api_client_send(struct api_client *c, unsigned status, const char *json, size_t len)
{
	api_client_respond(c,
		&(struct serve_answer){ .status = status, .type = "application/json", .len = len },
		json, "");
}

static void api_client_refuse(struct api_client *c, const struct api_request *q)
{
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };

	server_note(c->server, q, c->by_unix);
	json_open_map(&w, NULL);
	json_put_text(&w, "error", q->reason);
	json_end_line(&w);
	serve_client_finish(&c->base);
	api_client_respond(c,
		&(struct serve_answer){
			.status = q->status, .type = "application/json", .len = text.len },
		buffer_text(&text), q->allow);
}

/* A file of the page: asked for each time, sent only if it is another one. */
static void api_client_send_asset(struct api_client *c, const struct api_request *q)
{
	const struct asset *a = q->asset;
	char fields[128];

	(void)snprintf(fields, sizeof(fields), "ETag: %s\r\n%s", a->etag,
		q->is_known ? "" : "Content-Encoding: gzip\r\n");
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = q->is_known ? 304 : 200,
						 .type = q->is_known ? NULL : a->type,
						 .csp = client_csp_page,
						 .cache = "no-cache",
						 .fields = fields,
						 .len = a->len,
						 .is_last = c->base.is_last });
	if (!q->is_known)
		buffer_add(&c->base.out, a->data, a->len);
}

/* It was a request; but there is no room for it. */
static void api_client_refuse_later(struct api_client *c, struct api_request *q, const char *reason)
{
	(void)snprintf(q->reason, sizeof(q->reason), "%s", reason);
	api_client_refuse(c, q);
}

void api_client_answer(struct api_client *c, const struct message_answer *a)
{
	const bool is_text = c->is_text && a->status == 200;

	c->call = 0;
	api_client_respond(c,
		&(struct serve_answer){ .status = a->status,
			.type = is_text ? "text/plain; version=0.0.4" : "application/json",
			.len = a->len },
		a->json, "");
	api_client_work(c);
}

/* It is in the log as calls are. */
static void api_client_note_local(struct api_client *c, struct api_request *q)
{
	q->status = 200;
	server_note(c->server, q, c->by_unix);
}

/* Events */

static void api_client_listen(struct api_client *c, struct api_request *q)
{
	struct json_writer w = { .out = &c->base.out };
	struct server *s = c->server;

	if (s->n_streams >= SERVER_STREAMS_MAX) {
		q->status = 503;
		api_client_refuse_later(c, q, "too many clients listen for events");
		return;
	}
	c->is_streaming = c->base.is_deaf = true;
	c->base.is_last = false; /* events have no end */
	s->n_streams++;
	api_client_note_local(c, q);
	c->place = stream_find(&s->stream, q->after);
	c->last_id = q->after ? q->after : s->stream.last_id;
	api_client_respond(c,
		&(struct serve_answer){
			.status = 200, .type = "text/event-stream", .is_stream = true },
		NULL, "");
	buffer_adds(&c->base.out, "retry: 2000\n\nevent: connected\ndata: ");
	json_open_map(&w, NULL);
	json_put_text(&w, "version", s->version);
	json_put_count(&w, "last", s->stream.last_id);
	json_close(&w);
	buffer_adds(&c->base.out, "\n\n");
}

void api_client_stream(struct api_client *c)
{
	if (serve_client_is_written(&c->base))
		api_client_work(c);
}

void api_client_beat(struct api_client *c)
{
	/* Who has not read the last one is behind anyway. */
	if (!serve_client_is_written(&c->base))
		return;
	buffer_adds(&c->base.out, ":\n\n");
	api_client_work(c);
}

/* Requests */

static void api_client_local(struct api_client *c, struct api_request *q)
{
	const struct route *r = q->call.route;
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };

	if (r->is_stream) {
		api_client_listen(c, q);
		return;
	}
	if (r == &routes[ROUTE_OPENAPI]) {
		api_client_note_local(c, q);
		api_client_send(c, 200, c->server->openapi.data, c->server->openapi.len);
		return;
	}
	json_open_map(&w, NULL);
	json_put_text(&w, "status", "ok");
	json_put_text(&w, "version", c->server->version);
	json_end_line(&w);
	api_client_send(c, 200, text.data, text.len);
}

static void api_client_dispatch(struct api_client *c, struct api_request *q)
{
	int r;

	if (q->status) {
		api_client_refuse(c, q);
		return;
	}
	if (q->asset) {
		api_client_send_asset(c, q);
		return;
	}
	if (q->call.route->is_local) {
		api_client_local(c, q);
		return;
	}
	c->is_text = q->call.route->is_text;
	r = server_call(c->server, &q->call, &c->call);
	if (r == 0)
		return;
	q->status = r == -EBUSY ? 429 : 503;
	api_client_refuse_later(c, q, "too many requests are under way; try again");
}

/* A request that was proved is taken once. The answer is proved by the same key. */
static void api_client_take_count(struct api_client *c, struct api_request *q)
{
	struct proof_tab *tab = q->tab ? &c->server->tabs[q->tab - c->server->tabs] : NULL;

	c->tab.id[0] = '\0';
	if (!tab)
		return;
	if (proof_count(tab, q->claim.count)) {
		c->tab = *tab;
		c->count = q->claim.count;
		return;
	}
	q->status = 401;
	(void)snprintf(q->reason, sizeof(q->reason),
		"this request was made before, or came too late; it is taken once");
}

/* 1: one was taken. 0: there is none yet. */
static int api_client_take(struct api_client *c)
{
	const struct api_guard guard = { .token = c->server->setup.token,
		.port = c->by_unix ? 0 : c->server->setup.port,
		.start = c->server->setup.start,
		.label = c->server->setup.label,
		.tabs = c->server->tabs };
	static struct api_request q; /* it is big */
	size_t len;
	const char *data = serve_client_input(&c->base, &len);
	auto_arena a = { 0 };

	if (len == 0 || c->call || c->base.is_deaf)
		return 0;
	/* Who may not ask is not even read. */
	if (c->refusal[0]) {
		q = (struct api_request){ .status = 403, .target = "?" };
		(void)snprintf(q.reason, sizeof(q.reason),
			"%s; only processes outside of sandboxes may ask", c->refusal);
	} else if (api_request_read(&guard, data, len, &c->base.scanned, &a, &q) == 0) {
		return 0;
	}
	if (q.status || q.is_last)
		serve_client_finish(&c->base);
	else
		serve_client_take(&c->base, q.head + q.body);
	api_client_take_count(c, &q);
	api_client_dispatch(c, &q);
	return 1;
}

static void api_client_work(struct api_client *c)
{
	struct serve_client *base = &c->base;
	int r = 0;

	while (r == 0 && api_client_take(c) == 1)
		r = base->out.failed ? -ENOMEM : 0;
	if (r == 0)
		r = serve_client_write(base);
	/* Of one that waits nothing more is taken: a client that sends on is held by its socket. */
	if (r == 0)
		r = serve_client_wait(
			base, &(struct serve_wait){ .reads = !c->call,
				      .is_part = base->in.len > base->start && !c->call,
				      .is_busy = c->call ||
						 (c->is_streaming && serve_client_is_written(base)),
				      .is_unfinished = c->call,
				      .watches_end = c->call });
	if (r < 0)
		api_client_free(c);
}

/* As serve/ sees it */

static void api_client_on_work(struct serve_client *base)
{
	api_client_work(api_client_of(base));
}

static void api_client_on_free(struct serve_client *base)
{
	api_client_free(api_client_of(base));
}

static bool api_client_on_idle(const struct serve_client *base)
{
	const struct api_client *c = api_client_of(base);

	return !c->is_streaming && !c->call;
}

static void api_client_on_refill(struct serve_client *base)
{
	struct api_client *c = api_client_of(base);

	if (c->is_streaming)
		stream_copy(
			&c->server->stream, &c->place, &c->last_id, CLIENT_STREAM_ROOM, &base->out);
}

int api_client_new(struct server *s, int fd, bool by_unix, const char *refusal)
{
	static const struct serve_class class = { .work = api_client_on_work,
		.free = api_client_on_free,
		.is_idle = api_client_on_idle,
		.refill = api_client_on_refill };
	struct api_client *c;
	struct peer *peer;
	int r = serve_room_enter(&s->room, fd, &peer);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	r = c ? serve_client_open(&c->base, &s->room, peer, fd, &class) : -ENOMEM;
	if (r < 0) {
		peer_put_connection(peer);
		free(c);
		return r;
	}
	c->server = s;
	c->by_unix = by_unix;
	c->base.is_tcp = !by_unix;
	(void)snprintf(c->refusal, sizeof(c->refusal), "%s", refusal);
	return 0;
}
