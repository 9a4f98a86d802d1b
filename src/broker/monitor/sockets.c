/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.*: connections to granted hosts, for programs that have no network of their own. The
 * monitor speaks with no server: each socket is a corral-fetch in the fetcher's sandbox (broker/
 * fetch/socket.h), whose relay resolves the name and checks the address that is connected to.
 *
 * A socket belongs to the connection of the front's that opened it, and ends with it; no other
 * connection finds it by its number.
 *
 * What ends it:
 *
 *     socket.close, the end of its connection    what was written is sent, for LINGER_MS
 *     its life, the session's end                corral-fetch is killed
 *     the grant that it stands on is gone        corral-fetch is killed
 *     the server, or the relay                   reading says so, with the relay's words
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/monitor/fetcher.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/network.h"
#include "broker/monitor/socket.h"

enum {
	SOCKETS_MAX = 32,          /* of all callers: each is a process */
	SOCKETS_ANSWERED_HOSTS = 2 /* each has a sandbox of the fetcher's; others are left */
};

/* UINT64_MAX: of all. */
static uint32_t sockets_close_those(struct monitor *m, uint64_t connection)
{
	struct broker_socket *next;
	uint32_t n = 0;

	for (struct broker_socket *s = m->sockets; s; s = next) {
		next = s->next;
		if (s->connection != connection && connection != UINT64_MAX)
			continue;
		/* The call that opens it owns it. */
		s->is_gone = true;
		if (s->opening || s->is_leaving)
			continue;
		socket_close(s);
		n++;
	}
	return n;
}

void sockets_end_of(struct monitor *m, uint64_t connection)
{
	(void)sockets_close_those(m, connection);
}

void sockets_end_all(struct monitor *m)
{
	struct broker_socket *next;

	(void)sockets_close_those(m, UINT64_MAX);
	for (struct broker_socket *s = m->sockets; m->is_ending && s; s = next) {
		next = s->next;
		if (!s->opening)
			socket_free(s);
	}
}

/* Opening */

static void sockets_start(struct monitor_call *c)
{
	struct broker_socket *s = ((struct socket_wait *)c->state)->socket;
	const struct fetcher_socket o = { .origin = s->origin,
		.host = s->host,
		.port = s->port,
		.connect_ms = s->connect_ms,
		.life_ms = SOCKET_LIFE_MS };

	s->code = fetcher_connect(network_fetcher(c->monitor), &o, &s->process, &s->error);
}

static void sockets_started(struct monitor_call *c)
{
	struct broker_socket *s = ((struct socket_wait *)c->state)->socket;
	int r = s->code;

	if (r == 0)
		r = socket_begin(s);
	if (r == 0)
		return;
	socket_say(s, RPC_SERVICE, "corral-fetch could not be started: %s",
		s->error ? corral_error_message(s->error) : strerror(-r));
	socket_fail_opening(s);
}

/* "host:port", and both apart. NULL, or what is wrong. */
static const char *sockets_parse(const char *address, struct broker_socket *s)
{
	static const char wanted[] = "address: expected HOST:PORT, such as db.example.com:5432";
	const char *colon = strrchr(address, ':');
	char url[512];
	struct url u;
	struct error e;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
		strpbrk(address, "/?#@\\"))
		return wanted;
	(void)snprintf(url, sizeof(url), "http://%s/", address);
	if (url_parse(&u, url, strlen(url), &e) < 0 || hop_origin(url, s->origin) < 0)
		return wanted;
	if (u.is_address)
		(void)address_text(&u.address, s->host);
	else
		(void)snprintf(s->host, sizeof(s->host), "%s", u.host);
	s->port = u.port;
	return NULL;
}

static void sockets_reject(
	struct monitor_call *c, enum rpc_class class, const char *message, const char *hint)
{
	const struct rpc_refusal why = { .class = class, .message = message, .hint = hint };

	monitor_refuse(c, &why);
}

/* All callers have less than there may be, and no process more than it leaves for others. */
static bool sockets_have_room(const struct monitor_call *c)
{
	size_t all = 0, own = 0;

	for (const struct broker_socket *s = c->monitor->sockets; s; s = s->next) {
		all++;
		own += s->pid == c->call.pid;
	}
	return all < SOCKETS_MAX && own < SOCKETS_MAX - all;
}

/* Of other hosts that the policy itself does not have. */
static size_t sockets_answered_hosts(const struct monitor *m, const char *origin)
{
	size_t n = 0;

	for (const struct broker_socket *s = m->sockets; s; s = s->next) {
		const struct broker_socket *first = m->sockets;

		while (first != s && !(first->is_answered && strcmp(first->origin, s->origin) == 0))
			first = first->next;
		n += s->is_answered && first == s && strcmp(s->origin, origin) != 0;
	}
	return n;
}

static bool sockets_allows(const struct policy *p, const struct broker_socket *s)
{
	const struct request connect = { .op = OPERATION_NET_CONNECT, .target = s->origin };

	return policy_allows(p, &connect);
}

void sockets_review(struct monitor *m, const struct policy *p)
{
	struct broker_socket *next;

	for (struct broker_socket *s = m->sockets; s; s = next) {
		next = s->next;
		if (!s->is_answered || s->is_once || s->is_leaving || sockets_allows(p, s))
			continue;
		s->is_gone = true;
		if (s->opening)
			continue;
		(void)corral_process_kill(s->process);
		socket_close(s);
	}
}

/* The policy's word, and its rate. False: the call is over, or waits for an answer. */
static bool sockets_is_granted(struct monitor_call *c, struct broker_socket *s)
{
	struct fetcher *f = network_fetcher(c->monitor);
	struct corral_error *e = NULL;
	char reason[256];
	int r;

	s->is_answered = !fetcher_has(f, s->origin);
	if (s->is_answered &&
		sockets_answered_hosts(c->monitor, s->origin) >= SOCKETS_ANSWERED_HOSTS) {
		sockets_reject(c, RPC_RATE,
			"too many sockets to hosts that the policy itself does not have are open",
			"close one first");
		return false;
	}
	r = corral_enclave_check(
		monitor_enclave(c->monitor), &c->by, CORRAL_NET_CONNECT, s->origin, &e);
	if (r < 0) {
		monitor_fail(c, RPC_NETWORK, r, e);
		return false;
	}
	if (s->is_answered && fetcher_is_narrow(f)) {
		sockets_reject(c, RPC_PERMISSION,
			"the policy has rules about methods or paths, which cannot be checked in a "
			"socket to a host that was agreed to",
			"use network.http, or name the host in network.allow of the policy");
		return false;
	}
	s->is_once = s->is_answered && !sockets_allows(c->monitor->policy, s);
	r = fetcher_admit(network_fetcher(c->monitor), s->origin, 0,
		loop_now(monitor_loop(c->monitor)), reason);
	if (r < 0)
		sockets_reject(c, r == -EDQUOT ? RPC_RATE : RPC_INTERNAL,
			r == -EDQUOT ? reason : strerror(-r), NULL);
	return r == 0;
}

static struct broker_socket *sockets_make(struct monitor_call *c)
{
	struct broker_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->monitor = c->monitor;
	s->connection = c->call.connection;
	s->pid = c->call.pid;
	s->in = s->out = s->input.fd = s->output.fd = s->process_end.fd = -1;
	s->connect_ms = method_timeout_ms(c->call.method, &c->call.params);
	return s;
}

void sockets_open(struct monitor_call *c)
{
	struct broker_socket *s;
	const char *fault;
	int r;

	if (!(monitor_setup(c->monitor)->flags & BROKER_SOCKETS)) {
		sockets_reject(c, RPC_PERMISSION, "the capability network_socket is not granted",
			"add to `capabilities:` of the manifest: network_socket: {enabled: true, "
			"allowed_hosts: [HOST]}");
		return;
	}
	if (!sockets_have_room(c)) {
		sockets_reject(c, RPC_RATE, "too many sockets are open", "close one first");
		return;
	}
	if (!network_is_ready(c))
		return;
	s = sockets_make(c);
	if (!s) {
		sockets_reject(c, RPC_INTERNAL, "out of memory", NULL);
		return;
	}
	fault = sockets_parse(c->call.params.v[0].text, s);
	if (fault) {
		free(s);
		sockets_reject(c, RPC_PARAMS, fault, NULL);
		return;
	}
	if (!sockets_is_granted(c, s)) {
		free(s);
		return;
	}
	s->next = c->monitor->sockets;
	c->monitor->sockets = s;
	s->opening = c;
	r = socket_await(c, s);
	if (r == 0) {
		loop_stop(monitor_loop(c->monitor), &((struct socket_wait *)c->state)->timer);
		r = monitor_work(c, sockets_start, sockets_started);
	}
	if (r == 0)
		return;
	s->opening = NULL;
	c->cancel = NULL;
	c->state = NULL;
	socket_free(s);
	sockets_reject(c, RPC_INTERNAL, strerror(-r), NULL);
}

/* Reading and writing */

/* NULL: the call was refused. */
static struct broker_socket *sockets_find(struct monitor_call *c)
{
	for (struct broker_socket *s = c->monitor->sockets; s; s = s->next) {
		if (s->number == c->call.params.v[0].number && s->number > 0 &&
			s->connection == c->call.connection && !s->is_leaving && !s->opening)
			return s;
	}
	sockets_reject(c, RPC_PARAMS,
		"socket: this connection has none of this number, or it was closed",
		"a socket can be used by the connection that opened it");
	return NULL;
}

static void sockets_refuse_second(struct monitor_call *c)
{
	sockets_reject(c, RPC_RATE, "another call does the same with this socket",
		"wait for its answer first");
}

void sockets_read(struct monitor_call *c)
{
	struct broker_socket *s = sockets_find(c);
	int r;

	if (!s)
		return;
	if (s->reading) {
		sockets_refuse_second(c);
		return;
	}
	if (c->call.params.v[1].type != SCHEMA_NONE && c->call.params.v[1].number == 0) {
		sockets_reject(c, RPC_PARAMS, "max: must be at least 1", NULL);
		return;
	}
	if (socket_give(c, s))
		return;
	r = socket_await(c, s);
	if (r == 0)
		s->reading = c;
	if (r == 0 && !s->is_broken)
		r = loop_add(monitor_loop(c->monitor), &s->output, s->out, EPOLLIN);
	if (r == 0)
		return;
	socket_wake(c);
	sockets_reject(c, RPC_INTERNAL, strerror(-r), NULL);
}

/* NULL: these bytes may be sent. */
static const char *sockets_excess(struct monitor_call *c, const struct broker_socket *s)
{
	const size_t len = c->call.params.v[1].len;
	const uint64_t max = fetcher_max_request(network_fetcher(c->monitor));

	if (len > max)
		return arena_printf(&c->arena,
			"data has %zu bytes, and the policy's network.max_request_size is %llu",
			len, (unsigned long long)max);
	if (len > SOCKET_BYTES_MAX - s->n_sent)
		return arena_printf(
			&c->arena, "a socket sends at most %d MiB", SOCKET_BYTES_MAX >> 20);
	return NULL;
}

void sockets_write(struct monitor_call *c)
{
	struct broker_socket *s = sockets_find(c);
	const char *excess;
	int r;

	if (!s)
		return;
	if (s->writing) {
		sockets_refuse_second(c);
		return;
	}
	excess = sockets_excess(c, s);
	if (excess) {
		sockets_reject(c, RPC_SCOPE, excess, NULL);
		return;
	}
	if (s->is_explained) {
		monitor_refuse(c, &s->why);
		return;
	}
	r = socket_await(c, s);
	if (r == 0)
		s->writing = c;
	s->input.ready = socket_on_input;
	if (r == 0 && !s->is_broken)
		r = loop_add(monitor_loop(c->monitor), &s->input, s->in, EPOLLOUT);
	if (r == 0) {
		socket_go_on_writing(s);
		return;
	}
	socket_wake(c);
	sockets_reject(c, RPC_INTERNAL, strerror(-r), NULL);
}

void sockets_close(struct monitor_call *c)
{
	struct values v = { 0 };
	struct broker_socket *s = NULL;
	uint32_t n = 1;

	if (c->call.params.v[0].type != SCHEMA_NONE) {
		s = sockets_find(c);
		if (!s)
			return;
		socket_close(s);
	} else {
		n = sockets_close_those(c->monitor, c->call.connection);
	}
	v.v[0] = value_number(SCHEMA_NUMBER, n);
	monitor_answer(c, &v);
}
