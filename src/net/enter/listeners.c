/* SPDX-License-Identifier: Apache-2.0 */
#include "net/enter/listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/enter/capture.h"

enum { V4, V6, NUMBERS_MAX = 1 << 17 };

struct listener {
	struct listeners *all;
	struct listener *next; /* of those that are free */
	struct watcher watcher;
	int fd, family;  /* V4, V6 */
	uint32_t number; /* of the name; 0: an address that the policy names, or free */
	uint16_t port;
};

struct listeners {
	struct listeners_options o; /* not its sockets */
	struct listener *free[2];
	size_t n_free[2];
	bool has[2];                   /* there were sockets of this family */
	uint8_t open[NUMBERS_MAX / 8]; /* numbers that are listened for on all their ports */
	size_t n;
	struct listener items[];
};

static void listeners_on_ready(struct watcher *w, uint32_t events)
{
	struct listener *l = container_of(w, struct listener, watcher);

	(void)events;
	connections_accept(l->all->o.connections, l->fd);
}

static int listeners_ask(int fd, int option, int *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, option, ret, &len) < 0 ? -errno : 0;
}

/* Watches it if it listens; else it is free. */
static int listeners_add(struct listeners *all, int fd)
{
	struct listener *l = &all->items[all->n];
	int domain = 0, listening = 0, type = 0;

	if (listeners_ask(fd, SO_DOMAIN, &domain) < 0 || listeners_ask(fd, SO_TYPE, &type) < 0 ||
		listeners_ask(fd, SO_ACCEPTCONN, &listening) < 0 || type != SOCK_STREAM ||
		(domain != AF_INET && domain != AF_INET6))
		return -EINVAL;
	*l = (struct listener){ .all = all,
		.watcher = { .ready = listeners_on_ready, .fd = -1 },
		.fd = fd,
		.family = domain == AF_INET ? V4 : V6 };
	all->n++;
	if (listening)
		return loop_add(all->o.loop, &l->watcher, fd, EPOLLIN);
	l->next = all->free[l->family];
	all->free[l->family] = l;
	all->n_free[l->family]++;
	all->has[l->family] = true;
	return 0;
}

int listeners_new(struct listeners **ret, const struct listeners_options *o)
{
	struct listeners *l;
	int r = 0;

	if (o->n > LISTENERS_MAX)
		return -E2BIG;
	l = calloc(1, sizeof(*l) + o->n * sizeof(l->items[0]));
	if (!l)
		return -ENOMEM;
	l->o = *o;
	l->o.sockets = NULL;
	/* From the end: those in front are taken first. */
	for (size_t i = o->n; r == 0 && i-- > 0;)
		r = o->sockets[i] < 0 ? 0 : listeners_add(l, o->sockets[i]);
	if (r < 0) {
		/* They are the caller's still. */
		for (size_t i = 0; i < l->n; i++)
			l->items[i].fd = -1;
		listeners_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void listeners_free(struct listeners *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		loop_remove(l->o.loop, &l->items[i].watcher);
		fd_close(&l->items[i].fd);
	}
	free(l);
}

void listeners_change(struct listeners *l, const struct dns_names *names)
{
	l->o.names = names;
}

static int listeners_listen_at(struct listeners *all, int family, uint32_t number, uint16_t port)
{
	const struct address a = family == V4 ? synthetic_v4(number) : synthetic_v6(number);
	struct listener *l = all->free[family];
	int r;

	if (!all->has[family])
		return 0;
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].number == number && all->items[i].port == port &&
			all->items[i].family == family)
			return 0;
	if (!l)
		return -EMFILE;
	r = capture_listen(l->fd, &a, port);
	/* It is as free as before. After any other failure its state is not known. */
	if (r == -EADDRINUSE)
		return r;
	all->free[family] = l->next;
	all->n_free[family]--;
	if (r == 0)
		r = loop_add(all->o.loop, &l->watcher, l->fd, EPOLLIN);
	if (r < 0) {
		fd_close(&l->fd);
		return r;
	}
	l->number = number;
	l->port = port;
	return 0;
}

int listeners_open(struct listeners *l, const char *name, uint32_t number)
{
	uint16_t ports[NAMES_PORTS_MAX];
	uint8_t bit = (uint8_t)(1U << number % 8);
	int n;

	if (number == 0 || number >= NUMBERS_MAX)
		return -EINVAL;
	if (l->open[number / 8] & bit)
		return 0;
	n = names_ports(l->o.names, name, ports);
	if (n < 0)
		return n;
	for (int i = 0; i < 2 * n; i++) {
		int r = listeners_listen_at(l, i % 2 ? V6 : V4, number, ports[i / 2]);

		if (r < 0)
			return r;
	}
	l->open[number / 8] |= bit;
	return 0;
}

size_t listeners_left(const struct listeners *l)
{
	return l->has[V6] && l->n_free[V6] < l->n_free[V4] ? l->n_free[V6] : l->n_free[V4];
}
