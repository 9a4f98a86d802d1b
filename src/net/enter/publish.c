/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     accept outside -> a socket of the pool, connected inside -> pumped -> given back
 *                \                  \
 *                 `------------------`-> reset, with a record
 */
#include "net/enter/publish.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/endpoint.h"

enum {
	ACCEPTS_MAX = 64, /* before others have their turn */
	BACKLOG = 1024,
	PAUSE_MS = 100, /* when there are no descriptors */
	V4 = 0,
	V6 = 1,
};

struct publish_listener {
	struct publish *all;
	struct listen_entry entry;
	struct watcher watcher;
	int fd; /* -1: none */
};

struct publish {
	struct publish_options o; /* not its lists */
	struct publish_visit *first;
	struct timer pause;
	size_t n;
	struct publish_listener listeners[]; /* two for each port */
};

/* A connection from outside. */
struct publish_visit {
	struct publish *all;
	struct publish_visit *next, *previous;
	struct listen_entry entry;
	int inner, outer;
	struct inner_call call;
	struct pump pump;
};

static void publish_record(const struct publish_visit *v, enum record_kind kind, const char *reason)
{
	char target[32];
	struct record r = { .kind = kind,
		.target = target,
		.port = v->entry.port,
		.reason = reason,
		.sent = v->pump.streams[PUMP_INNER].moved,
		.received = v->pump.streams[PUMP_OUTER].moved };

	(void)snprintf(target, sizeof(target), "listen:%u", v->entry.port);
	recorder_add(v->all->o.recorder, &r);
}

static void publish_end(struct publish_visit *v, bool orderly)
{
	struct publish *p = v->all;

	inner_cancel(&v->call);
	if (v->pump.room)
		pump_stop(&v->pump);
	if (v->inner >= 0)
		inner_release(p->o.inner, v->inner, orderly);
	if (v->outer >= 0 && orderly)
		fd_close(&v->outer);
	else if (v->outer >= 0)
		pump_reset(v->outer);
	if (v->next)
		v->next->previous = v->previous;
	*(v->previous ? &v->previous->next : &p->first) = v->next;
	free(v);
}

static void publish_on_done(struct pump *p, int error)
{
	struct publish_visit *v = container_of(p, struct publish_visit, pump);

	publish_record(v, RECORD_CLOSED, "");
	publish_end(v, error == 0);
}

/* Turned away, with a record. */
static void publish_fail(struct publish_visit *v, int error)
{
	publish_record(v, RECORD_FAILED,
		error == -ECONNREFUSED ? "no server listens on it"
		: error == -EBUSY      ? "too many connections into the sandbox are open"
		: error == -ETIMEDOUT  ? "the server in the sandbox did not answer in time"
				       : strerror(-error));
	publish_end(v, false);
}

static void publish_on_called(struct inner_call *c, int fd)
{
	struct publish_visit *v = container_of(c, struct publish_visit, call);
	const int on = 1;
	int r;

	if (fd < 0) {
		publish_fail(v, fd);
		return;
	}
	v->inner = fd;
	(void)setsockopt(v->outer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	v->pump.done = publish_on_done;
	r = pump_start(&v->pump, v->all->o.room, v->inner, v->outer);
	if (r < 0)
		publish_fail(v, r);
}

static void publish_take(struct publish *p, const struct listen_entry *entry, int fd)
{
	struct publish_visit *v = calloc(1, sizeof(*v));

	if (!v) {
		pump_reset(fd);
		return;
	}
	*v = (struct publish_visit){ .all = p,
		.next = p->first,
		.entry = *entry,
		.inner = -1,
		.outer = fd,
		.call.done = publish_on_called };
	if (p->first)
		p->first->previous = v;
	p->first = v;
	inner_connect(p->o.inner, &v->call, INNER_EITHER, v->entry.inner);
}

static void publish_listen_for(struct publish *p, uint32_t events)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->listeners[i].watcher.fd >= 0)
			(void)loop_change(p->o.loop, &p->listeners[i].watcher, events);
}

static void publish_on_pause_over(struct timer *t)
{
	publish_listen_for(container_of(t, struct publish, pause), EPOLLIN);
}

static void publish_on_listener(struct watcher *w, uint32_t events)
{
	struct publish_listener *l = container_of(w, struct publish_listener, watcher);
	struct publish *p = l->all;

	(void)events;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			publish_take(p, &l->entry, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			/* None can be accepted, nor refused: they wait in the queue. */
			if (loop_start(p->o.loop, &p->pause, PAUSE_MS) == 0)
				publish_listen_for(p, 0);
			return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return;
		}
	}
}

static int publish_listen(const struct address *host, uint16_t port)
{
	const int domain = host->bits == 32 ? AF_INET : AF_INET6;
	auto_fd fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	union endpoint e;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		(domain == AF_INET6 &&
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
		bind(fd, &e.any, endpoint_fill(&e, host, port)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return fd_take(&fd);
}

static int publish_explain_taken(int error, const struct listen_entry *l, struct error *e)
{
	const char *why = error == -EADDRINUSE      ? "another program listens on it"
			  : error == -EADDRNOTAVAIL ? "it has no such address"
						    : strerror(-error);
	char host[ADDRESS_TEXT_BYTES + 4] = "";

	if (l->host.bits) {
		memcpy(host, " of ", 4);
		(void)address_text(&l->host, host + 4);
	}
	(void)error_set(
		e, error, NULL, "cannot publish port %u%s on this machine: %s", l->port, host, why);
	if (error == -EADDRINUSE)
		error_hint(
			e, "stop that program, or publish it on another port: PORT:%u", l->inner);
	return error;
}

int publish_open(struct publish_port *ret, const struct listen_entry *l, struct error *e)
{
	static const struct address loopbacks[] = { { .bits = 32, .bytes = { 127, 0, 0, 1 } },
		{ .bits = 128, .bytes = { [15] = 1 } } };
	auto_fd v4 = -1, v6 = -1;

	if (l->port == 0)
		return error_set(e, -EINVAL, NULL, "port 0 cannot be published");
	if (l->host.bits != 128)
		v4 = publish_listen(l->host.bits ? &l->host : &loopbacks[V4], l->port);
	if (l->host.bits != 128 && v4 < 0)
		return publish_explain_taken(v4, l, e);
	if (l->host.bits != 32)
		v6 = publish_listen(l->host.bits ? &l->host : &loopbacks[V6], l->port);
	if (l->host.bits != 32 && v6 < 0 &&
		(l->host.bits || (v6 != -EAFNOSUPPORT && v6 != -EADDRNOTAVAIL)))
		return publish_explain_taken(v6, l, e);
	*ret = (struct publish_port){ .entry = *l, .listeners = { -1, -1 } };
	if (v4 >= 0)
		ret->listeners[V4] = fd_take(&v4);
	if (v6 >= 0)
		ret->listeners[V6] = fd_take(&v6);
	return 0;
}

void publish_close(struct publish_port *p)
{
	fd_close(&p->listeners[V4]);
	fd_close(&p->listeners[V6]);
}

int publish_new(struct publish **ret, const struct publish_options *o)
{
	struct publish *p;
	int r = 0;

	if (o->n_ports > PUBLISH_PORTS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < o->n_ports; i++) {
		if (!listen_is_valid(&o->ports[i].entry))
			return -EINVAL;
		for (size_t k = 0; k < i; k++)
			if (listen_compare(&o->ports[k].entry, &o->ports[i].entry) == 0)
				return -EINVAL;
	}
	p = calloc(1, sizeof(*p) + 2 * o->n_ports * sizeof(p->listeners[0]));
	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->pause.expired = publish_on_pause_over;
	for (; r == 0 && p->n < 2 * o->n_ports; p->n++) {
		const struct publish_port *port = &o->ports[p->n / 2];
		struct publish_listener *l = &p->listeners[p->n];

		*l = (struct publish_listener){ .all = p,
			.entry = port->entry,
			.watcher = { publish_on_listener, -1, 0 },
			.fd = port->listeners[p->n % 2] };
		if (l->fd >= 0)
			r = loop_add(o->loop, &l->watcher, l->fd, EPOLLIN);
	}
	if (r < 0) {
		/* They are the caller's still. */
		for (size_t i = 0; i < p->n; i++)
			p->listeners[i].fd = -1;
		publish_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void publish_end_listener(struct publish_listener *l)
{
	loop_remove(l->all->o.loop, &l->watcher);
	fd_close(&l->fd);
}

static bool publish_is_listed(
	const struct listen_entry *entry, const struct listen_entry *ports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (listen_compare(&ports[i], entry) == 0)
			return true;
	return false;
}

void publish_review(struct publish *p, const struct listen_entry *ports, size_t n)
{
	struct publish_visit *next;

	for (size_t i = 0; i < p->n; i++)
		if (!publish_is_listed(&p->listeners[i].entry, ports, n))
			publish_end_listener(&p->listeners[i]);
	for (struct publish_visit *v = p->first; v; v = next) {
		next = v->next;
		if (publish_is_listed(&v->entry, ports, n))
			continue;
		if (v->pump.room)
			publish_record(v, RECORD_CLOSED, "");
		publish_end(v, false);
	}
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	loop_stop(p->o.loop, &p->pause);
	for (struct publish_visit *v = p->first, *next; v; v = next) {
		next = v->next;
		publish_end(v, false);
	}
	for (size_t i = 0; i < p->n; i++)
		publish_end_listener(&p->listeners[i]);
	free(p);
}
