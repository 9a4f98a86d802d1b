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

struct entrance {
	struct publish *all;
	struct publish_port port;
	struct watcher watchers[2];
};

struct publish {
	struct publish_options o; /* not its lists */
	struct visit *first;
	struct timer pause;
	size_t n;
	struct entrance entrances[];
};

/* Somebody from outside. */
struct visit {
	struct publish *all;
	struct visit *next, *previous;
	uint16_t port;
	int inner, outer;
	struct inner_call call;
	struct pump pump;
};

/* Records. */

static void publish_record(const struct visit *v, enum record_kind kind, const char *reason)
{
	char target[32];
	struct record r = { .kind = kind,
		.target = target,
		.name = "",
		.address = "",
		.port = v->port,
		.rule = "",
		.reason = reason,
		.remedy = "",
		.sent = v->pump.streams[PUMP_INNER].moved,
		.received = v->pump.streams[PUMP_OUTER].moved,
		.program = "" };

	(void)snprintf(target, sizeof(target), "listen:%u", v->port);
	recorder_add(v->all->o.recorder, &r);
}

/* Ends. */

static void end_visit(struct visit *v, bool orderly)
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

static void publish_turn_away(struct visit *v, const char *reason)
{
	publish_record(v, RECORD_FAILED, reason);
	end_visit(v, false);
}

static void publish_on_done(struct pump *p, int error)
{
	struct visit *v = container_of(p, struct visit, pump);

	publish_record(v, RECORD_CLOSED, "");
	end_visit(v, error == 0);
}

/* Connecting. */

static const char *publish_explain(int error)
{
	switch (error) {
	case -ECONNREFUSED:
		return "nothing listens on it";
	case -EBUSY:
		return "all ways into the sandbox are in use";
	case -ETIMEDOUT:
		return "the server inside did not answer in time";
	default:
		return strerror(-error);
	}
}

static void publish_on_called(struct inner_call *c, int fd)
{
	struct visit *v = container_of(c, struct visit, call);
	const int on = 1;
	int r;

	if (fd < 0) {
		publish_turn_away(v, publish_explain(fd));
		return;
	}
	v->inner = fd;
	(void)setsockopt(v->outer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	v->pump.done = publish_on_done;
	r = pump_start(&v->pump, v->all->o.room, v->inner, v->outer);
	if (r < 0)
		publish_turn_away(v, strerror(-r));
}

static void publish_take(struct entrance *e, int fd)
{
	struct publish *p = e->all;
	struct visit *v = calloc(1, sizeof(*v));

	if (!v) {
		pump_reset(fd);
		return;
	}
	*v = (struct visit){ .all = p,
		.next = p->first,
		.port = e->port.port,
		.inner = -1,
		.outer = fd,
		.call.done = publish_on_called };
	if (p->first)
		p->first->previous = v;
	p->first = v;
	inner_connect(p->o.inner, &v->call, INNER_EITHER, v->port);
}

/* Listening. */

static void publish_listen_for(struct publish *p, uint32_t events)
{
	for (size_t i = 0; i < p->n; i++)
		for (int k = 0; k < 2; k++)
			if (p->entrances[i].watchers[k].fd >= 0)
				(void)loop_change(p->o.loop, &p->entrances[i].watchers[k], events);
}

static void publish_on_pause_over(struct timer *t)
{
	publish_listen_for(container_of(t, struct publish, pause), EPOLLIN);
}

/* Without descriptors nobody can be taken, nor turned away: they wait in the kernel's queue. */
static void publish_pause_listening(struct publish *p)
{
	if (loop_start(p->o.loop, &p->pause, PAUSE_MS) == 0)
		publish_listen_for(p, 0);
}

static void on_listener(struct entrance *e, int listener)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			publish_take(e, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			return publish_pause_listening(e->all);
		else if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void publish_on_listener_4(struct watcher *w, uint32_t events)
{
	(void)events;
	on_listener(container_of(w, struct entrance, watchers[V4]), w->fd);
}

static void publish_on_listener_6(struct watcher *w, uint32_t events)
{
	(void)events;
	on_listener(container_of(w, struct entrance, watchers[V6]), w->fd);
}

static int open_listener(int family, uint16_t port)
{
	const int domain = family == V4 ? AF_INET : AF_INET6;
	auto_fd fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	union endpoint e;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (family == V6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &e.any, endpoint_loopback(&e, domain, port)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return fd_take(&fd);
}

static int explain_taken(int error, uint16_t port, struct error *e)
{
	(void)error_set(e, error, NULL, "port %u cannot be published on this machine: %s", port,
		error == -EADDRINUSE ? "another program listens on it" : strerror(-error));
	if (error == -EADDRINUSE)
		error_hint(e, "end that program, or let the one inside listen on another port");
	return error;
}

int publish_open(struct publish_port *ret, uint16_t port, struct error *e)
{
	auto_fd v4 = -1, v6 = -1;

	if (port == 0)
		return error_set(e, -EINVAL, NULL, "0 is not a port that can be published");
	v4 = open_listener(V4, port);
	if (v4 < 0)
		return explain_taken(v4, port, e);
	v6 = open_listener(V6, port);
	if (v6 < 0 && v6 != -EAFNOSUPPORT && v6 != -EADDRNOTAVAIL)
		return explain_taken(v6, port, e);
	*ret = (struct publish_port){ .port = port, .listeners = { fd_take(&v4), -1 } };
	if (v6 >= 0)
		ret->listeners[V6] = fd_take(&v6);
	return 0;
}

void publish_close(struct publish_port *p)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&p->listeners[i]);
		p->listeners[i] = -1;
	}
}

/* Making. */

static int check_ports(const struct publish_options *o)
{
	if (o->n_ports > PUBLISH_PORTS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < o->n_ports; i++) {
		if (o->ports[i].port == 0)
			return -EINVAL;
		for (size_t k = 0; k < i; k++)
			if (o->ports[k].port == o->ports[i].port)
				return -EINVAL;
	}
	return 0;
}

static int add_entrance(struct publish *p, const struct publish_port *port)
{
	struct entrance *e = &p->entrances[p->n++];
	int r = 0;

	e->all = p;
	e->port = *port;
	e->watchers[V4] = (struct watcher){ .ready = publish_on_listener_4, .fd = -1 };
	e->watchers[V6] = (struct watcher){ .ready = publish_on_listener_6, .fd = -1 };
	for (int i = 0; r == 0 && i < 2; i++)
		if (port->listeners[i] >= 0)
			r = loop_add(p->o.loop, &e->watchers[i], port->listeners[i], EPOLLIN);
	return r;
}

static void stop_listening(struct publish *p)
{
	loop_stop(p->o.loop, &p->pause);
	for (size_t i = 0; i < p->n; i++)
		for (int k = 0; k < 2; k++)
			loop_remove(p->o.loop, &p->entrances[i].watchers[k]);
}

int publish_new(struct publish **ret, const struct publish_options *o)
{
	struct publish *p;
	int r = check_ports(o);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p) + o->n_ports * sizeof(p->entrances[0]));
	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->pause.expired = publish_on_pause_over;
	for (size_t i = 0; r == 0 && i < o->n_ports; i++)
		r = add_entrance(p, &o->ports[i]);
	if (r < 0) {
		stop_listening(p);
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static bool publish_is_listed(uint16_t port, const uint16_t *ports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ports[i] == port)
			return true;
	return false;
}

void publish_review(struct publish *p, const uint16_t *ports, size_t n)
{
	struct visit *next;

	for (size_t i = 0; i < p->n; i++) {
		struct entrance *e = &p->entrances[i];

		if (publish_is_listed(e->port.port, ports, n))
			continue;
		for (int k = 0; k < 2; k++)
			loop_remove(p->o.loop, &e->watchers[k]);
		publish_close(&e->port);
	}
	for (struct visit *v = p->first; v; v = next) {
		next = v->next;
		if (publish_is_listed(v->port, ports, n))
			continue;
		if (v->pump.room)
			publish_record(v, RECORD_CLOSED, "");
		end_visit(v, false);
	}
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	stop_listening(p);
	for (struct visit *v = p->first, *next; v; v = next) {
		next = v->next;
		end_visit(v, false);
	}
	for (size_t i = 0; i < p->n; i++)
		publish_close(&p->entrances[i].port);
	free(p);
}
