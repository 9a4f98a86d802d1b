/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions by TCP, each with its length in front, as many as the asker likes. There is a bounded
 * number of connections; while all are taken, further ones wait in the listener's queue. One on
 * which no whole query came for a while, or whose answers nobody takes, is closed, so waiting comes
 * to an end. While an answer is not yet sent, nothing more is read: who does not read is not
 * served.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/internal.h"

enum { IDLE_MS = 10000, RESUME_MS = 100 };

/* Listening */

static void dns_server_tcp_listen_for(struct dns_server *s, uint32_t events)
{
	for (size_t i = 0; i < 2; i++)
		if (s->tcp[i].watcher.fd >= 0)
			(void)loop_change(s->options.loop, &s->tcp[i].watcher, events);
}

static void dns_server_tcp_resume(struct timer *t)
{
	dns_server_tcp_listen_for(container_of(t, struct dns_server, resume), EPOLLIN);
}

/* Connections */

static void dns_server_tcp_close_connection(struct dns_server_connection *c)
{
	struct dns_server *s = c->server;
	int fd = c->watcher.fd;

	loop_stop(s->options.loop, &c->idle);
	loop_remove(s->options.loop, &c->watcher);
	(void)close(fd);
	s->n_connections--;
	dns_server_tcp_listen_for(s, EPOLLIN);
}

static void idle_expired(struct timer *t)
{
	dns_server_tcp_close_connection(container_of(t, struct dns_server_connection, idle));
}

/* All of the answer. 0: it waits for the socket. Negative: the connection is over. */
static int dns_server_tcp_send_answer(struct dns_server_connection *c)
{
	while (c->sent < c->n_out) {
		ssize_t n = send(c->watcher.fd, c->out + c->sent, c->n_out - c->sent,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -errno;
		c->sent += (size_t)n;
	}
	c->n_out = c->sent = 0;
	return 1;
}

/* The length that stands in front, of which both bytes are there. */
static size_t query_length(const struct dns_server_connection *c)
{
	return (size_t)c->in[0] << 8 | c->in[1];
}

/* Takes one whole query, if there is one: 1, or 0. */
static int take_query(struct dns_server_connection *c)
{
	size_t len, n;

	if (c->n_in < 2)
		return 0;
	len = query_length(c);
	if (len > DNS_SERVER_QUERY_MAX)
		return -EMSGSIZE;
	if (c->n_in - 2 < len)
		return 0;
	n = dns_server_answer(c->server, c->in + 2, len, c->out + 2, sizeof(c->out) - 2);
	if (n == 0)
		return -EPROTO;
	c->out[0] = (uint8_t)(n >> 8);
	c->out[1] = (uint8_t)n;
	c->n_out = n + 2;
	c->n_in -= len + 2;
	memmove(c->in, c->in + 2 + len, c->n_in);
	return loop_start(c->server->options.loop, &c->idle, IDLE_MS) < 0 ? -ENOMEM : 1;
}

/* 0: nothing more for now. */
static int dns_server_tcp_receive(struct dns_server_connection *c)
{
	ssize_t n = recv(c->watcher.fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return -EPIPE;
	c->n_in += (size_t)n;
	return 1;
}

/*
 * Sends, answers and reads, in this order. There is always room to read: a buffer without a whole
 * query in it is not full.
 */
static int dns_server_tcp_serve(struct dns_server_connection *c)
{
	int r = 1;

	for (int i = 0; r > 0 && i < DNS_SERVER_BATCH; i++) {
		r = dns_server_tcp_send_answer(c);
		if (r > 0)
			r = take_query(c);
		if (r == 0 && c->n_out == 0)
			r = dns_server_tcp_receive(c);
	}
	return r;
}

static void connection_ready(struct watcher *w, uint32_t events)
{
	struct dns_server_connection *c = container_of(w, struct dns_server_connection, watcher);
	int r = dns_server_tcp_serve(c);

	(void)events;
	/* An answer that waits, or a turn that ended before the work did: by the socket's room. */
	if (r >= 0)
		r = loop_change(
			c->server->options.loop, w, r > 0 || c->n_out > 0 ? EPOLLOUT : EPOLLIN);
	if (r < 0)
		dns_server_tcp_close_connection(c);
}

static struct dns_server_connection *free_connection(struct dns_server *s)
{
	for (size_t i = 0; i < DNS_SERVER_CONNECTIONS; i++)
		if (s->connections[i].watcher.fd < 0)
			return &s->connections[i];
	return NULL;
}

static void add_connection(struct dns_server *s, int fd)
{
	struct dns_server_connection *c = free_connection(s);

	c->n_in = c->n_out = c->sent = 0;
	if (loop_add(s->options.loop, &c->watcher, fd, EPOLLIN) < 0) {
		(void)close(fd);
		return;
	}
	s->n_connections++;
	if (loop_start(s->options.loop, &c->idle, IDLE_MS) < 0)
		dns_server_tcp_close_connection(c);
}

/* True: there may be more. */
static bool accept_one(struct dns_server *s, int listener)
{
	int fd;

	if (s->n_connections == DNS_SERVER_CONNECTIONS) {
		dns_server_tcp_listen_for(s, 0);
		return false;
	}
	fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		add_connection(s, fd);
		return true;
	}
	/* Out of descriptors, say: it would be ready again at once. */
	if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
		dns_server_tcp_listen_for(s, 0);
		(void)loop_start(s->options.loop, &s->resume, RESUME_MS);
	}
	return errno == ECONNABORTED;
}

static void listener_ready(struct watcher *w, uint32_t events)
{
	struct dns_server_socket *l = container_of(w, struct dns_server_socket, watcher);

	(void)events;
	for (int i = 0; i < DNS_SERVER_BATCH && accept_one(l->server, w->fd); i++)
		;
}

int dns_server_tcp_start(struct dns_server *s)
{
	s->resume.expired = dns_server_tcp_resume;
	for (size_t i = 0; i < DNS_SERVER_CONNECTIONS; i++) {
		s->connections[i].server = s;
		s->connections[i].watcher = (struct watcher){ connection_ready, -1, 0 };
		s->connections[i].idle.expired = idle_expired;
	}
	for (size_t i = 0; i < 2; i++)
		s->tcp[i] = (struct dns_server_socket){ s, { .ready = listener_ready, .fd = -1 } };
	for (size_t i = 0; i < 2; i++) {
		int fd = s->options.tcp[i];
		int r = fd < 0 ? 0 : loop_add(s->options.loop, &s->tcp[i].watcher, fd, EPOLLIN);

		if (r < 0)
			return r;
	}
	return 0;
}

void dns_server_tcp_stop(struct dns_server *s)
{
	loop_stop(s->options.loop, &s->resume);
	for (size_t i = 0; i < DNS_SERVER_CONNECTIONS; i++)
		if (s->connections[i].watcher.fd >= 0)
			dns_server_tcp_close_connection(&s->connections[i]);
	for (size_t i = 0; i < 2; i++)
		loop_remove(s->options.loop, &s->tcp[i].watcher);
}
