/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every answer is complete: at most one address, so it fits into 512 bytes, and no resolver has a
 * reason to ask again. "No such name" is said by NXDOMAIN, since resolvers take REFUSED and
 * SERVFAIL for a broken server and try the next one. All memory is in one piece; none is made per
 * query.
 *
 * Some names are answered before the policy is asked: `localhost` is this machine (RFC 6761), and
 * no address has a name (in-addr.arpa, ip6.arpa): programs ask for these without being told to, so
 * that makes no record.
 */
#include "net/dns/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "net/dns/message.h"
#include "policy/explain.h"
#include "policy/network/host.h"

enum {
	CLASS_IN = 1,
	TTL = 60,
	IDLE_MS = 10000,
	RESUME_MS = 100,
	QUERY_MAX = 2048, /* a longer question is none that a resolver asks */
	REPLY_MAX = 512,
	CONNECTIONS = 64,
	BATCH = 64, /* datagrams, connections or queries before others have their turn */
};

/* A connection by TCP: what came of the next query, and what did not go out yet of an answer. */
struct dns_connection {
	struct dns_server *server;
	struct watcher watcher; /* fd -1: free */
	struct timer idle;      /* since the last whole query */
	size_t n_in, n_out, sent;
	uint8_t in[2 + QUERY_MAX], out[2 + REPLY_MAX];
};

struct dns_server_socket {
	struct dns_server *server;
	struct watcher watcher;
};

struct dns_server {
	struct dns_server_options options;
	struct buffer rule, reason, remedy; /* of a record that is being made */
	struct buffer made;                 /* the record of the question by UDP */
	bool by_udp;
	struct dns_server_socket sockets[4]; /* two for UDP, two for TCP */
	struct timer resume;                 /* accepting goes on */
	size_t n_connections;
	struct dns_connection connections[CONNECTIONS];
};

/* Records */

/* The reason and its like are in s by now, and are cleared for the next one. */
static void dns_server_record(
	struct dns_server *s, enum record_kind kind, const char *name, uint16_t port)
{
	struct record r = {
		.kind = kind,
		.dns = true,
		.target = name,
		.name = name,
		.port = port,
		.rule = buffer_text(&s->rule),
		.reason = buffer_text(&s->reason),
		.remedy = buffer_text(&s->remedy),
	};

	buffer_clear(&s->made);
	if (!s->by_udp || !s->options.owners || record_encode(&r, &s->made) < 0)
		recorder_add(s->options.recorder, &r);
	buffer_clear(&s->rule);
	buffer_clear(&s->reason);
	buffer_clear(&s->remedy);
}

static void dns_server_record_denied(
	struct dns_server *s, const char *name, uint16_t port, const struct decision *d)
{
	char target[HOST_NAME_BYTES + 16];
	struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

	(void)snprintf(target, sizeof(target), "%s:%u", name, port);
	explain_rule(d, &s->rule);
	explain_reason(&r, d, &s->reason);
	explain_remedy(&r, d, &s->remedy);
	dns_server_record(s, RECORD_DENIED, name, port);
}

static void dns_server_record_failed(struct dns_server *s, const char *name, int error)
{
	static const struct {
		int error;
		const char *text;
	} reasons[] = {
		{ -ENOSPC, "the session has no address left for another name" },
		{ -EMFILE, "the session has no listener left: this kernel lacks nf_tables, so "
			   "each name needs its own" },
		{ -E2BIG, "too many ports are granted for this name: this kernel lacks nf_tables" },
		{ -EADDRINUSE, "a server in the sandbox uses one of its granted ports on all "
			       "addresses: this kernel lacks nf_tables" },
	};
	const char *text = "out of memory";

	for (size_t i = 0; i < ROWS(reasons); i++)
		if (reasons[i].error == error)
			text = reasons[i].text;
	buffer_adds(&s->reason, text);
	dns_server_record(s, RECORD_FAILED, name, 0);
}

/* Answers */

static bool dns_server_wants_address(const struct dns_question *q)
{
	return q->type == DNS_A || q->type == DNS_AAAA;
}

static enum dns_code dns_server_ask_policy(
	struct dns_server *s, const struct dns_question *q, struct address *ret)
{
	struct decision d;
	uint32_t number;
	uint16_t port;
	int r;

	switch (names_ask(s->options.names, q->name, &d, &port)) {
	case NAMES_GRANTED:
		if (!dns_server_wants_address(q))
			return DNS_OK;
		r = synthetic_take(s->options.synthetic, q->name, &number);
		if (r == 0 && s->options.named)
			r = s->options.named(s->options.context, q->name, number);
		if (r < 0) {
			dns_server_record_failed(s, q->name, r);
			return DNS_SERVER_FAILURE;
		}
		*ret = q->type == DNS_A ? synthetic_v4(number) : synthetic_v6(number);
		return DNS_OK;
	case NAMES_ANCESTOR:
		/* It exists, but who wants its address wanted to go there: as with others. */
		if (dns_server_wants_address(q))
			dns_server_record_denied(s, q->name, port, &d);
		return DNS_OK;
	case NAMES_NONE:
		dns_server_record_denied(s, q->name, port, &d);
		break;
	}
	return DNS_NO_NAME;
}

/* *ret is filled if there is an address to tell. */
static enum dns_code dns_server_decide(struct dns_server *s, const struct dns_question *q,
	const uint8_t *query, struct address *ret)
{
	static const struct address v4 = { 32, { 127, 0, 0, 1 } }, v6 = { 128, { [15] = 1 } };
	auto_buffer name = { 0 };

	if (q->class != CLASS_IN)
		return DNS_REFUSED;
	if (q->odd) {
		/* The labels of its name as they came, made visible. */
		for (const uint8_t *label = query + q->start; *label; label += *label + 1) {
			if (name.len > 0)
				buffer_addc(&name, '.');
			buffer_add_visible(&name, (const char *)label + 1, *label);
		}
		buffer_adds(&s->reason, "a host name contains invalid characters");
		dns_server_record(s, RECORD_DENIED, buffer_text(&name), 0);
		return DNS_NO_NAME;
	}
	if (dns_name_is_within(q->name, "localhost")) {
		if (dns_server_wants_address(q))
			*ret = q->type == DNS_A ? v4 : v6;
		return DNS_OK;
	}
	if (dns_name_is_within(q->name, "in-addr.arpa") || dns_name_is_within(q->name, "ip6.arpa"))
		return DNS_NO_NAME;
	return *q->name ? dns_server_ask_policy(s, q, ret) : DNS_OK;
}

size_t dns_server_answer(
	struct dns_server *s, const uint8_t *query, size_t len, uint8_t *out, size_t size)
{
	struct address a = { 0 };
	const struct address *told = &a;
	struct dns_reply reply = { .ttl = TTL, .addresses = &told->bytes };
	struct dns_question q;
	int r = dns_question_parse(&q, query, len);

	if (r == -EBADMSG)
		return 0;
	if (r < 0)
		reply.code = r == -EOPNOTSUPP ? DNS_NOT_IMPLEMENTED : DNS_FORMAT_ERROR;
	else
		reply.code = dns_server_decide(s, &q, query, &a);
	reply.n_addresses = a.bits > 0;
	return dns_reply_write(&q, query, &reply, out, size);
}

/*
 * By UDP the answer goes back to the sender from the socket that it came by: the kernel turns it
 * into one of the server that was asked, as it turned the question (capture.h). An answer that
 * cannot be sent at once is lost, as datagrams may be; resolvers ask again.
 *
 * What is recorded is answered when the program that asked was looked for: it waits until then.
 */

struct dns_sent {
	int fd; /* the server's */
	struct sockaddr_storage to;
	socklen_t to_len;
	size_t len;
	uint8_t reply[REPLY_MAX];
};

static void dns_reply_send(const struct dns_sent *a)
{
	if (a->len > 0)
		(void)sendto(a->fd, a->reply, a->len, MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)&a->to, a->to_len);
}

static void dns_reply_after(void *context)
{
	dns_reply_send(context);
	free(context);
}

static uint16_t dns_reply_port(const struct dns_sent *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->to;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->to;

	return ntohs(a->to.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

/* The record is in s->made: it goes out with the program's name, and then the answer. */
static void dns_server_answer_recorded(struct dns_server *s, const struct dns_sent *a)
{
	struct dns_sent *kept = malloc(sizeof(*kept));
	struct record r;

	if (kept)
		*kept = *a;
	if (record_decode(&r, s->made.data, s->made.len) == 0 && kept) {
		owners_record(s->options.owners, s->options.recorder, true, dns_reply_port(a), &r,
			dns_reply_after, kept);
		return;
	}
	free(kept);
	dns_reply_send(a);
}

static void dns_server_datagram_ready(struct watcher *w, uint32_t events)
{
	struct dns_server *s = container_of(w, struct dns_server_socket, watcher)->server;
	uint8_t query[QUERY_MAX];

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		struct dns_sent a = { .fd = w->fd, .to_len = sizeof(a.to) };
		ssize_t n = recvfrom(w->fd, query, sizeof(query), MSG_DONTWAIT | MSG_TRUNC,
			(struct sockaddr *)&a.to, &a.to_len);

		/* Other errors are about what was sent before. */
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 || (size_t)n > sizeof(query))
			continue;
		buffer_clear(&s->made);
		s->by_udp = true;
		a.len = dns_server_answer(s, query, (size_t)n, a.reply, sizeof(a.reply));
		s->by_udp = false;
		if (s->made.len > 0)
			dns_server_answer_recorded(s, &a);
		else
			dns_reply_send(&a);
	}
}

/*
 * By TCP each question has its length in front, as many as the asker likes. There is a bounded
 * number of connections; while all are taken, further ones wait in the listener's queue. One on
 * which no whole query came for a while, or whose answers are not read, is closed, so waiting comes
 * to an end. While an answer is not yet sent, nothing more is read: who does not read is not
 * served.
 */

static void dns_server_listen_for(struct dns_server *s, uint32_t events)
{
	for (size_t i = 2; i < ROWS(s->sockets); i++)
		if (s->sockets[i].watcher.fd >= 0)
			(void)loop_change(s->options.loop, &s->sockets[i].watcher, events);
}

static void dns_server_resume(struct timer *t)
{
	dns_server_listen_for(container_of(t, struct dns_server, resume), EPOLLIN);
}

static void dns_connection_close(struct dns_connection *c)
{
	struct dns_server *s = c->server;
	auto_fd fd = c->watcher.fd;

	loop_stop(s->options.loop, &c->idle);
	loop_remove(s->options.loop, &c->watcher);
	s->n_connections--;
	dns_server_listen_for(s, EPOLLIN);
}

static void dns_connection_expired(struct timer *t)
{
	dns_connection_close(container_of(t, struct dns_connection, idle));
}

/* All of the answer. 0: it waits for the socket. Negative: the connection is over. */
static int dns_connection_send(struct dns_connection *c)
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

/* Takes one whole query, if there is one: 1, or 0. */
static int dns_connection_take_query(struct dns_connection *c)
{
	size_t len, n;

	if (c->n_in < 2)
		return 0;
	len = (size_t)c->in[0] << 8 | c->in[1];
	if (len > QUERY_MAX)
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

/*
 * Sends, answers and reads, in this order. There is always room to read: a buffer without a whole
 * query in it is not full.
 */
static int dns_connection_serve(struct dns_connection *c)
{
	int r = 1;

	for (int i = 0; r > 0 && i < BATCH; i++) {
		r = dns_connection_send(c);
		if (r > 0)
			r = dns_connection_take_query(c);
		if (r == 0 && c->n_out == 0) {
			ssize_t n = recv(c->watcher.fd, c->in + c->n_in, sizeof(c->in) - c->n_in,
				MSG_DONTWAIT);

			if (n < 0 && errno == EAGAIN)
				return 0;
			if (n <= 0)
				return -EPIPE;
			c->n_in += (size_t)n;
			r = 1;
		}
	}
	return r;
}

static void dns_connection_ready(struct watcher *w, uint32_t events)
{
	struct dns_connection *c = container_of(w, struct dns_connection, watcher);
	int r = dns_connection_serve(c);

	(void)events;
	/* An answer that waits, or a turn that ended before the work did: by the socket's room. */
	if (r >= 0)
		r = loop_change(
			c->server->options.loop, w, r > 0 || c->n_out > 0 ? EPOLLOUT : EPOLLIN);
	if (r < 0)
		dns_connection_close(c);
}

static void dns_connection_add(struct dns_server *s, int fd)
{
	struct dns_connection *c = s->connections;

	while (c->watcher.fd >= 0)
		c++;
	c->n_in = c->n_out = c->sent = 0;
	if (loop_add(s->options.loop, &c->watcher, fd, EPOLLIN) < 0) {
		(void)close(fd);
		return;
	}
	s->n_connections++;
	if (loop_start(s->options.loop, &c->idle, IDLE_MS) < 0)
		dns_connection_close(c);
}

static void dns_server_listener_ready(struct watcher *w, uint32_t events)
{
	struct dns_server *s = container_of(w, struct dns_server_socket, watcher)->server;

	(void)events;
	for (int i = 0; i < BATCH && s->n_connections < CONNECTIONS; i++) {
		int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			dns_connection_add(s, fd);
		} else if (errno != ECONNABORTED) {
			/* Out of descriptors, say: it would be ready again at once. */
			if (errno != EAGAIN && errno != EINTR) {
				dns_server_listen_for(s, 0);
				(void)loop_start(s->options.loop, &s->resume, RESUME_MS);
			}
			return;
		}
	}
	if (s->n_connections == CONNECTIONS)
		dns_server_listen_for(s, 0);
}

int dns_server_new(struct dns_server **ret, const struct dns_server_options *o)
{
	struct dns_server *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->options = *o;
	s->resume.expired = dns_server_resume;
	for (size_t i = 0; i < CONNECTIONS; i++) {
		s->connections[i].server = s;
		s->connections[i].watcher = (struct watcher){ dns_connection_ready, -1, 0 };
		s->connections[i].idle.expired = dns_connection_expired;
	}
	for (size_t i = 0; i < ROWS(s->sockets); i++)
		s->sockets[i] = (struct dns_server_socket){ s,
			{ i < 2 ? dns_server_datagram_ready : dns_server_listener_ready, -1, 0 } };
	for (size_t i = 0; r == 0 && i < ROWS(s->sockets); i++) {
		int fd = i < 2 ? o->udp[i] : o->tcp[i - 2];

		if (fd >= 0)
			r = loop_add(o->loop, &s->sockets[i].watcher, fd, EPOLLIN);
	}
	if (r < 0) {
		/* The sockets are the caller's still. */
		s->options.udp[0] = s->options.udp[1] = -1;
		s->options.tcp[0] = s->options.tcp[1] = -1;
		dns_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void dns_server_change(struct dns_server *s, const struct dns_names *names)
{
	s->options.names = names;
}

void dns_server_free(struct dns_server *s)
{
	if (!s)
		return;
	loop_stop(s->options.loop, &s->resume);
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].watcher.fd >= 0)
			dns_connection_close(&s->connections[i]);
	for (size_t i = 0; i < ROWS(s->sockets); i++)
		loop_remove(s->options.loop, &s->sockets[i].watcher);
	for (size_t i = 0; i < 2; i++) {
		fd_close(&s->options.udp[i]);
		fd_close(&s->options.tcp[i]);
	}
	buffer_deinit(&s->made);
	buffer_deinit(&s->rule);
	buffer_deinit(&s->reason);
	buffer_deinit(&s->remedy);
	free(s);
}
