/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/web/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "codec/schema.h"
#include "mcp/web/internal.h"

enum { WEB_ACCEPT_MAX = 32, WEB_BACKLOG = 128 };

static const struct serve_limits web_limits = { .clients = WEB_CLIENTS_MAX,
	.bytes = WEB_BYTES_MAX,
	.stall_ms = WEB_REQUEST_MS,
	.idle_ms = WEB_IDLE_MS,
	.close_ms = WEB_CLOSE_MS,
	.keeps_busy = true };

/* Where it listens */

/* The port behind the last colon, or all of it; *ret_host: what is before, with its length. */
static int web_read_address(const char *text, const char **ret_host, size_t *ret_len)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	char *end = NULL;
	unsigned long n;

	*ret_host = text;
	*ret_len = colon ? (size_t)(colon - text) : 0;
	if (strspn(port, "0123456789") != strlen(port) || !*port || strlen(port) > 5)
		return -EINVAL;
	n = strtoul(port, &end, 10);
	return n <= UINT16_MAX ? (int)n : -EINVAL;
}

static bool web_is_host(const char *host, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(host, name, len) == 0;
}

static int web_bind(bool is_v6, uint16_t port, int *ret)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	auto_fd fd =
		socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		    is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
		listen(fd, WEB_BACKLOG) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

static uint16_t web_port_of(int fd)
{
	/* The port of IPv4 is at the same place. */
	struct sockaddr_in6 a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return 0;
	return ntohs(a.sin6_port);
}

static void web_on_connection(struct watcher *l, uint32_t events)
{
	struct web *w = container_of(l, struct web, listener);

	(void)events;
	for (int i = 0; i < WEB_ACCEPT_MAX; i++) {
		auto_fd fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE) &&
			serve_room_make_place(&w->room))
			continue;
		if (fd < 0)
			return;
		if (web_client_new(w, fd) == 0)
			(void)fd_take(&fd);
	}
}

int web_listen(struct web *w, const char *address, struct error *e)
{
	const char *host;
	auto_fd fd = -1;
	size_t len;
	const int port = web_read_address(address, &host, &len);
	int r;

	if (port < 0)
		return error_set(e, -EINVAL, NULL,
			"invalid value for --http: `%s` (expected a port, 127.0.0.1:PORT or "
			"[::1]:PORT)",
			address);
	w->is_v6 = web_is_host(host, len, "[::1]");
	if (len > 0 && !w->is_v6 && !web_is_host(host, len, "127.0.0.1") &&
		!web_is_host(host, len, "localhost")) {
		(void)error_set(e, -EACCES, NULL,
			"--http listens on this machine alone, and not on `%.*s`: whoever reaches "
			"that address could use what this user may do",
			(int)len, host);
		error_hint(e, "use 127.0.0.1 or [::1]; let ssh -L, or a proxy with TLS and logins, "
			      "bring others there");
		return -EACCES;
	}
	r = web_bind(w->is_v6, (uint16_t)port, &fd);
	if (r < 0)
		return error_set(e, r, NULL, "cannot listen on %s, port %d: %s",
			w->is_v6 ? "::1" : "127.0.0.1", port, strerror(-r));
	w->port = web_port_of(fd);
	r = loop_add(w->loop, &w->listener, fd, EPOLLIN);
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	(void)fd_take(&fd);
	return 0;
}

void web_url(const struct web *w, struct buffer *out)
{
	buffer_printf(out, "http://%s:%u/mcp", w->is_v6 ? "[::1]" : "127.0.0.1", w->port);
}

/* Sessions */

/* Its answer will not come. One that has got events already sees their end. */
static void web_end_client(struct web_client *c)
{
	c->exchange = NULL;
	if (c->is_streaming) {
		web_client_free(c);
		return;
	}
	serve_client_finish(&c->base);
	web_answer_error(c, 404, NULL, MCP_SESSION_NOT_FOUND,
		"the session was ended while this was under way");
	web_client_work(c);
}

static void web_end_session(struct web_session *s)
{
	struct web *w = s->web;

	if (s->listener)
		web_client_free(s->listener);
	mcp_server_deinit(&s->server);
	for (struct link *l = w->exchanges.next, *next; l != &w->exchanges; l = next) {
		struct web_exchange *x = container_of(l, struct web_exchange, link);

		next = l->next;
		if (x->session != s)
			continue;
		if (x->client)
			web_end_client(x->client);
		x->client = NULL;
		web_exchange_free(x);
	}
	w->o.host->close(w->o.host->context, &s->server);
	link_remove(&s->link);
	sodium_memzero(s->id, sizeof(s->id));
	free(s);
}

static void web_reap(struct web *w)
{
	const uint64_t now = loop_now(w->loop);
	const uint64_t idle = w->o.idle_ms ? w->o.idle_ms : WEB_SESSION_IDLE_MS;

	for (struct link *l = w->sessions.next, *next; l != &w->sessions; l = next) {
		struct web_session *s = container_of(l, struct web_session, link);

		next = l->next;
		if (!web_session_is_idle(s))
			web_session_touch(s);
		if (s->is_over || now - s->used_ms >= idle)
			web_end_session(s);
	}
}

/* Time */

static void web_on_beat(struct timer *t)
{
	struct web *w = container_of(t, struct web, beat);

	serve_client_for_each(base, &w->room)
	{
		web_client_beat(web_client_of(base));
	}
	/* Without memory streams are silent. */
	(void)loop_start(w->loop, t, WEB_BEAT_MS);
}

/* One whose lines wait to be sent; working on it may free it, and no other. */
static void web_send(struct web *w)
{
	serve_client_for_each(base, &w->room)
	{
		struct web_client *c = web_client_of(base);

		if (web_client_has_news(c))
			web_client_work(c);
	}
}

/* What is left of clients that have gone, or never listened. */
static void web_drop_unheard(struct web *w)
{
	for (struct link *l = w->exchanges.next, *next; l != &w->exchanges; l = next) {
		struct web_exchange *x = container_of(l, struct web_exchange, link);

		next = l->next;
		if (x->client)
			continue;
		buffer_clear(&x->reply.out);
		if (x->reply.is_over)
			web_exchange_free(x);
	}
	for (struct link *l = w->sessions.next; l != &w->sessions; l = l->next) {
		struct web_session *s = container_of(l, struct web_session, link);

		if (!s->listener)
			buffer_clear(&s->server.out);
	}
}

static void web_ask_turn(struct mcp_server *s, void *context)
{
	int *wait_ms = context;
	const int ms = mcp_asking_turn(s);

	if (ms >= 0 && (*wait_ms < 0 || ms < *wait_ms))
		*wait_ms = ms;
}

int web_turn(struct web *w)
{
	int wait_ms = -1;

	web_each(w, web_ask_turn, &wait_ms);
	web_send(w);
	web_drop_unheard(w);
	web_reap(w);
	serve_room_hold_budget(&w->room);
	return wait_ms;
}

void web_each(struct web *w, void (*f)(struct mcp_server *s, void *context), void *context)
{
	for (struct link *l = w->sessions.next; l != &w->sessions; l = l->next)
		f(&container_of(l, struct web_session, link)->server, context);
	for (struct link *l = w->exchanges.next; l != &w->exchanges; l = l->next) {
		struct web_exchange *x = container_of(l, struct web_exchange, link);

		if (!x->session)
			f(&x->server, context);
	}
}

int web_new(struct web **ret, const struct web_options *o)
{
	struct web *w = sodium_init() < 0 ? NULL : calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->loop = o->loop;
	w->o = *o;
	w->listener = (struct watcher){ .ready = web_on_connection, .fd = -1 };
	w->beat = (struct timer){ .expired = web_on_beat };
	link_init(&w->sessions);
	link_init(&w->exchanges);
	serve_room_init(&w->room, o->loop, &web_limits);
	r = loop_start(o->loop, &w->beat, WEB_BEAT_MS);
	if (r < 0)
		web_free(w);
	else
		*ret = w;
	return r;
}

void web_free(struct web *w)
{
	if (!w)
		return;
	serve_room_clear(&w->room);
	for (struct link *l = w->sessions.next, *next; l != &w->sessions; l = next) {
		next = l->next;
		web_end_session(container_of(l, struct web_session, link));
	}
	while (!link_is_alone(&w->exchanges))
		web_exchange_free(container_of(w->exchanges.next, struct web_exchange, link));
	loop_stop(w->loop, &w->beat);
	if (w->listener.fd >= 0) {
		const int fd = w->listener.fd;

		loop_remove(w->loop, &w->listener);
		(void)close(fd);
	}
	free(w);
}
