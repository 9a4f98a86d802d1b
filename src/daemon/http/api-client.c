/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: one request after the other, each answered before the next is read. Who is refused
 * is answered and closed. One that asks for events gets nothing else from then on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/json-writer.h"
#include "daemon/http/internal.h"
#include "serve/request.h"

enum {
	CLIENT_READ = 16 << 10,
	CLIENT_STREAM_ROOM = 32 << 10, /* events are copied until so much waits to be written */
	CLIENT_KEEP = 64 << 10,
};

static void api_client_work(struct api_client *c);

/* What it holds has changed. */
static void api_client_charge(struct api_client *c)
{
	const size_t now = c->in.cap + c->out.cap;

	c->server->bytes += now - c->charged;
	c->charged = now;
}

void api_client_free(struct api_client *c)
{
	struct server *s = c->server;
	const int fd = c->watcher.fd;

	if (c->call)
		server_leave(s, c->call);
	loop_remove(s->loop, &c->watcher);
	loop_stop(s->loop, &c->timer);
	link_remove(&c->link);
	s->n_clients--;
	s->n_streams -= c->is_streaming;
	buffer_deinit(&c->in);
	buffer_deinit(&c->out);
	api_client_charge(c);
	if (fd >= 0)
		(void)close(fd);
	free(c);
}

/* Answers */

/* Nothing of an answer is run, framed or loaded by a page; but what the page itself needs, and
 * that only from here. There is no inline script, no inline style and no markup from a text. */
static const char client_csp_none[] = "default-src 'none'; frame-ancestors 'none'";
static const char client_csp_page[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	"require-trusted-types-for 'script'; trusted-types 'none'";

static void api_client_common(struct api_client *c, unsigned status, const char *csp)
{
	buffer_printf(&c->out,
		"HTTP/1.1 %u %s\r\nContent-Security-Policy: %s\r\n"
		"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
		"Cross-Origin-Opener-Policy: same-origin\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\n",
		status, serve_request_words(status), csp);
}

/* What tells the page that the daemon answers, and not what took its port. */
static void api_client_prove(struct api_client *c, unsigned status, const void *body, size_t len)
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
	buffer_printf(&c->out, "Corral-Proof: %s\r\n", mac);
}

/* body: NULL where a stream follows. */
static void api_client_head(
	struct api_client *c, unsigned status, const char *type, const void *body, size_t len)
{
	struct buffer *out = &c->out;

	api_client_common(c, status, client_csp_none);
	buffer_printf(out, "Content-Type: %s\r\nCache-Control: no-store\r\n", type);
	if (status == 401 && c->by_unix)
		buffer_adds(out, "WWW-Authenticate: Bearer\r\n");
	else if (status == 401)
		buffer_printf(out, "WWW-Authenticate: Corral\r\nCorral-Start: %s\r\n",
			c->server->setup.start);
	api_client_prove(c, status, body, len);
	if (status == 429)
		buffer_adds(out, "Retry-After: 1\r\n");
	if (!c->is_streaming)
		buffer_printf(out, "Content-Length: %zu\r\n", len);
	if (c->is_last)
		buffer_adds(out, "Connection: close\r\n");
}

static void api_client_send(struct api_client *c, unsigned status, const char *json, size_t len)
{
	api_client_head(c, status, "application/json", json, len);
	buffer_adds(&c->out, "\r\n");
	buffer_add(&c->out, json, len);
}

static void api_client_refuse(struct api_client *c, const struct api_request *q)
{
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };

	server_note(c->server, q, c->by_unix);
	json_open_map(&w, NULL);
	json_put_text(&w, "error", q->reason);
	json_end_line(&w);
	c->is_last = true;
	api_client_head(c, q->status, "application/json", buffer_text(&text), text.len);
	if (q->allow[0])
		buffer_printf(&c->out, "Allow: %s\r\n", q->allow);
	buffer_adds(&c->out, "\r\n");
	buffer_add(&c->out, text.data, text.len);
}

/* A file of the page: asked for each time, sent only if it is another one. */
static void api_client_send_asset(struct api_client *c, const struct api_request *q)
{
	const struct asset *a = q->asset;

	api_client_common(c, q->is_known ? 304 : 200, client_csp_page);
	buffer_printf(&c->out, "Cache-Control: no-cache\r\nETag: %s\r\n", a->etag);
	if (q->is_known) {
		buffer_adds(&c->out, "\r\n");
		return;
	}
	buffer_printf(&c->out,
		"Content-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		a->type, a->len);
	buffer_add(&c->out, a->data, a->len);
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
	api_client_head(c, a->status, is_text ? "text/plain; version=0.0.4" : "application/json",
		a->json, a->len);
	buffer_adds(&c->out, "\r\n");
	buffer_add(&c->out, a->json, a->len);
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
	struct json_writer w = { .out = &c->out };
	struct server *s = c->server;

	if (s->n_streams >= SERVER_STREAMS_MAX) {
		q->status = 503;
		api_client_refuse_later(c, q, "too many clients listen for events");
		return;
	}
	c->is_streaming = true;
	c->is_last = false; /* events have no end */
	s->n_streams++;
	api_client_note_local(c, q);
	c->place = stream_find(&s->stream, q->after);
	c->last_id = q->after ? q->after : s->stream.last_id;
	api_client_head(c, 200, "text/event-stream", NULL, 0);
	buffer_adds(&c->out, "\r\nretry: 2000\n\nevent: connected\ndata: ");
	json_open_map(&w, NULL);
	json_put_text(&w, "version", s->version);
	json_put_count(&w, "last", s->stream.last_id);
	json_close(&w);
	buffer_adds(&c->out, "\n\n");
}

void api_client_stream(struct api_client *c)
{
	if (c->sent == c->out.len)
		api_client_work(c);
}

void api_client_beat(struct api_client *c)
{
	/* Who has not read the last one is behind anyway. */
	if (c->sent < c->out.len)
		return;
	buffer_adds(&c->out, ":\n\n");
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
	auto_arena a = { 0 };

	if (c->in.len == 0 || c->call || c->is_last || c->is_streaming)
		return 0;
	/* Who may not ask is not even read. */
	if (c->refusal[0]) {
		q = (struct api_request){ .status = 403, .target = "?" };
		(void)snprintf(q.reason, sizeof(q.reason),
			"%s; only processes outside of sandboxes may ask", c->refusal);
	} else if (api_request_read(&guard, c->in.data, c->in.len, &c->scanned, &a, &q) == 0) {
		return 0;
	}
	loop_stop(c->server->loop, &c->timer);
	c->scanned = 0;
	if (!q.status) {
		c->in.len -= q.head + q.body;
		memmove(c->in.data, c->in.data + q.head + q.body, c->in.len);
	}
	c->is_last = q.is_last;
	api_client_take_count(c, &q);
	api_client_dispatch(c, &q);
	if (c->is_last || (c->in.len == 0 && c->in.cap > CLIENT_KEEP))
		buffer_deinit(&c->in);
	return 1;
}

/* Bytes */

static int api_client_write(struct api_client *c)
{
	for (;;) {
		ssize_t n;

		if (c->sent == c->out.len) {
			c->sent = 0;
			buffer_clear(&c->out);
			if (c->is_streaming)
				stream_copy(&c->server->stream, &c->place, &c->last_id,
					CLIENT_STREAM_ROOM, &c->out);
			if (c->out.len == 0)
				return 0;
		}
		n = send(c->watcher.fd, c->out.data + c->sent, c->out.len - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->sent += (size_t)n;
		loop_stop(c->server->loop, &c->timer);
	}
}

static int api_client_read(struct api_client *c)
{
	static char room[CLIENT_READ];
	ssize_t n = recv(c->watcher.fd, room, sizeof(room), MSG_DONTWAIT);

	c->has_ended |= n == 0;
	if (n <= 0)
		return n == 0 || errno == EAGAIN || errno == EINTR ? 0 : -errno;
	/* Behind a refusal, or a request for events, nothing is read. */
	if (!c->is_last && !c->is_streaming)
		buffer_add(&c->in, room, (size_t)n);
	link_remove(&c->link);
	link_append(&c->server->clients, &c->link);
	return c->in.failed ? -ENOMEM : 0;
}

/* What it waits for, and for how long at most: half a request and an answer that is not read are
 * waited for from their first byte on; each byte more does not prolong it. */
static int api_client_wait(struct api_client *c)
{
	const bool writes = c->sent < c->out.len;
	const bool is_part = c->in.len > 0 && !c->call;
	struct loop *l = c->server->loop;
	const uint64_t ms = c->is_shut          ? SERVER_CLOSE_MS
			    : is_part || writes ? SERVER_HEAD_MS
						: SERVER_IDLE_MS;

	if (c->timer.place && c->timer.due_ms > loop_now(l) + ms)
		loop_stop(l, &c->timer);
	if (c->call || (c->is_streaming && !writes))
		loop_stop(l, &c->timer);
	else if (c->timer.place == 0 && loop_start(l, &c->timer, ms) < 0)
		return -ENOMEM;
	/* Of one that waits nothing more is taken: a client that sends on is held by its socket. */
	return loop_change(l, &c->watcher,
		(c->has_ended     ? 0
			: c->call ? EPOLLRDHUP
				  : EPOLLIN) |
			(writes ? EPOLLOUT : 0));
}

static void api_client_work(struct api_client *c)
{
	int r = 0;

	while (r == 0 && api_client_take(c) == 1)
		r = c->out.failed ? -ENOMEM : 0;
	if (r == 0)
		r = api_client_write(c);
	if (c->out.len == 0 && c->out.cap > CLIENT_KEEP)
		buffer_deinit(&c->out);
	api_client_charge(c);
	if (r == 0 && (c->out.failed || c->in.failed))
		r = -ENOMEM;
	/* It sends nothing more, and has got all that it asked for. */
	if (r == 0 && c->has_ended && !c->call && c->sent == c->out.len)
		r = -EPIPE;
	/* To close it now would take the answer from a client that still sends: it is read, and
	 * thrown away, until that closes it or its time is over. */
	if (r == 0 && c->is_last && !c->call && c->sent == c->out.len && !c->is_shut) {
		c->is_shut = true;
		r = shutdown(c->watcher.fd, SHUT_WR) < 0 ? -errno : 0;
	}
	if (r == 0)
		r = api_client_wait(c);
	if (r < 0)
		api_client_free(c);
}

/*
 * It sends nothing more, while its call waits. By TCP that is all that is seen of a client that has
 * closed the connection, too: an interim answer, which says nothing, makes such a one's kernel
 * reset the connection, and the call is let go.
 */
static void api_client_end(struct api_client *c)
{
	c->has_ended = true;
	if (c->call && !c->by_unix)
		buffer_adds(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void api_client_on_ready(struct watcher *w, uint32_t events)
{
	struct api_client *c = container_of(w, struct api_client, watcher);
	int r = 0;

	if (events & (EPOLLHUP | EPOLLERR))
		r = -EPIPE;
	else if (events & EPOLLIN)
		r = api_client_read(c);
	else if (events & EPOLLRDHUP)
		api_client_end(c);
	if (r < 0)
		api_client_free(c);
	else
		api_client_work(c);
}

/* Half a request, an answer that is not read, or silence. */
static void api_client_on_timer(struct timer *t)
{
	api_client_free(container_of(t, struct api_client, timer));
}

int api_client_new(struct server *s, int fd, bool by_unix, const char *refusal)
{
	struct api_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->server = s;
	c->by_unix = by_unix;
	(void)snprintf(c->refusal, sizeof(c->refusal), "%s", refusal);
	c->watcher = (struct watcher){ .ready = api_client_on_ready, .fd = -1 };
	c->timer = (struct timer){ .expired = api_client_on_timer };
	r = loop_start(s->loop, &c->timer, SERVER_IDLE_MS);
	if (r == 0)
		r = loop_add(s->loop, &c->watcher, fd, EPOLLIN);
	if (r < 0) {
		loop_stop(s->loop, &c->timer);
		free(c);
		return r;
	}
	link_append(&s->clients, &c->link);
	s->n_clients++;
	return 0;
}
