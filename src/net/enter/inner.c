/* SPDX-License-Identifier: Apache-2.0 */
#include "net/enter/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/endpoint.h"

enum {
	CONNECT_MS = 10000,
	DRAIN_MS = 20,     /* between two looks */
	DRAIN_TIMES = 500, /* ten seconds */
};

enum { V4, V6, FAMILIES };

/* A socket of the pool. */
struct inner_socket {
	struct inner_pool *pool;
	int fd; /* -1: it could not be made new, and was closed */
	int family;
	bool used;
	struct timer timer; /* while its last bytes are on their way */
	unsigned looks;
	struct inner_socket *next; /* of the free ones of its family */
};

struct inner_pool {
	struct loop *loop;
	struct inner_socket *free[FAMILIES];
	size_t n_free;
	size_t n;
	struct inner_socket slots[];
};

static int inner_take_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}

static int inner_family_of(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
		return -errno;
	if (type != SOCK_STREAM || (domain != AF_INET && domain != AF_INET6))
		return -EINVAL;
	return domain == AF_INET ? V4 : V6;
}

/* The pool. */

static void inner_put(struct inner_socket *s)
{
	struct inner_pool *p = s->pool;

	s->used = false;
	s->next = p->free[s->family];
	p->free[s->family] = s;
	p->n_free++;
}

static struct inner_socket *inner_take(struct inner_pool *p, int family)
{
	struct inner_socket *s = p->free[family];

	if (!s)
		return NULL;
	p->free[family] = s->next;
	p->n_free--;
	s->used = true;
	return s;
}

/* A TCP socket that is connected to AF_UNSPEC is as new. One that cannot be made new is of no use,
 * and the pool is smaller. */
static void inner_renew(struct inner_socket *s)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	int r = connect(s->fd, &nowhere, sizeof(nowhere));

	/* What was wrong with the last connection is no matter of the next. */
	(void)inner_take_error(s->fd);
	if (r == 0)
		inner_put(s);
	else
		fd_close(&s->fd);
}

/* Disconnecting throws away what was not sent yet. */
static void inner_drain(struct inner_socket *s)
{
	int left = 0;

	if (ioctl(s->fd, SIOCOUTQ, &left) < 0 || left == 0 || s->looks++ >= DRAIN_TIMES ||
		loop_start(s->pool->loop, &s->timer, DRAIN_MS) < 0)
		inner_renew(s);
}

static void inner_on_drain(struct timer *t)
{
	inner_drain(container_of(t, struct inner_socket, timer));
}

int inner_pool_new(struct inner_pool **ret, struct loop *l, const int *sockets, size_t n)
{
	struct inner_pool *p;
	int r = 0;

	if (n > INNER_POOL_MAX)
		return -E2BIG;
	p = calloc(1, sizeof(*p) + n * sizeof(p->slots[0]));
	if (!p)
		return -ENOMEM;
	p->loop = l;
	for (; r >= 0 && p->n < n; p->n++) {
		struct inner_socket *s = &p->slots[p->n];

		r = inner_family_of(sockets[p->n]);
		if (r >= 0 && fcntl(sockets[p->n], F_SETFL, O_NONBLOCK) < 0)
			r = -errno;
		*s = (struct inner_socket){ .pool = p, .fd = sockets[p->n], .family = r };
		s->timer.expired = inner_on_drain;
		if (r >= 0)
			inner_put(s);
	}
	if (r < 0)
		free(p);
	else
		*ret = p;
	return r < 0 ? r : 0;
}

void inner_pool_free(struct inner_pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		loop_stop(p->loop, &p->slots[i].timer);
		fd_close(&p->slots[i].fd);
	}
	free(p);
}

size_t inner_pool_left(const struct inner_pool *p)
{
	return p->n_free;
}

void inner_release(struct inner_pool *p, int fd, bool orderly)
{
	struct inner_socket *s = p->slots;

	while (s < p->slots + p->n && s->fd != fd)
		s++;
	if (s == p->slots + p->n || !s->used)
		return;
	s->looks = 0;
	if (orderly)
		inner_drain(s);
	else
		inner_renew(s);
}

/* Calls. */

static void inner_stop(struct inner_call *c)
{
	loop_remove(c->pool->loop, &c->watcher);
	loop_stop(c->pool->loop, &c->timer);
}

static void inner_finish(struct inner_call *c, int fd)
{
	if (fd < 0)
		inner_cancel(c);
	else
		inner_stop(c);
	c->fd = -1;
	c->done(c, fd);
}

static void inner_try_next(struct inner_call *c, int error);

static void inner_on_outcome(struct inner_call *c, int error)
{
	if (error == -ECONNREFUSED && c->family < c->last) {
		inner_cancel(c);
		c->family++;
		inner_try_next(c, error);
	} else {
		inner_finish(c, error < 0 ? error : c->fd);
	}
}

static void inner_on_connected(struct watcher *w, uint32_t events)
{
	(void)events;
	inner_on_outcome(container_of(w, struct inner_call, watcher), inner_take_error(w->fd));
}

static void inner_on_timeout(struct timer *t)
{
	inner_finish(container_of(t, struct inner_call, timer), -ETIMEDOUT);
}

/* error: what to say if there is no socket any more. */
static void inner_try_next(struct inner_call *c, int error)
{
	struct inner_socket *s = inner_take(c->pool, c->family);
	const int on = 1;
	union endpoint e;
	int r;

	while (!s && c->family < c->last)
		s = inner_take(c->pool, ++c->family);
	if (!s) {
		inner_finish(c, error);
		return;
	}
	c->fd = s->fd;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	r = connect(c->fd, &e.any,
		endpoint_loopback(&e, c->family == V4 ? AF_INET : AF_INET6, c->port));
	if (r == 0 || errno != EINPROGRESS) {
		inner_on_outcome(c, r < 0 ? -errno : 0);
		return;
	}
	r = loop_add(c->pool->loop, &c->watcher, c->fd, EPOLLOUT);
	if (r == 0)
		r = loop_start(c->pool->loop, &c->timer, CONNECT_MS);
	if (r < 0)
		inner_finish(c, r);
}

void inner_connect(
	struct inner_pool *p, struct inner_call *c, enum inner_where where, uint16_t port)
{
	c->pool = p;
	c->port = port;
	c->family = where == INNER_6 ? V6 : V4;
	c->last = where == INNER_4 ? V4 : V6;
	c->fd = -1;
	c->watcher = (struct watcher){ .ready = inner_on_connected, .fd = -1 };
	c->timer = (struct timer){ .expired = inner_on_timeout };
	inner_try_next(c, -EBUSY);
}

void inner_cancel(struct inner_call *c)
{
	if (!c->pool || c->fd < 0)
		return;
	inner_stop(c);
	inner_release(c->pool, c->fd, false);
	c->fd = -1;
}
