/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Connections to servers inside the sandbox. The relay is outside and cannot make a socket inside,
 * so it is given some: a pool of TCP sockets made in the sandbox's network namespace. Each serves
 * one connection at a time and goes back into the pool after it, made new by connecting it to
 * AF_UNSPEC. Those of AF_INET reach 127.0.0.1, those of AF_INET6 reach ::1: one socket can't do
 * both, since Linux does not make a socket that was connected to a mapped address fit for ::1
 * again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"

struct inner_pool;

enum { INNER_POOL_MAX = 4096 };

/* The sockets become the pool's; on failure they stay the caller's. -EINVAL: one is not TCP. */
int inner_pool_new(struct inner_pool **ret, struct loop *l, const int *sockets, size_t n);
void inner_pool_free(struct inner_pool *p);
/* How many are free. */
size_t inner_pool_left(const struct inner_pool *p);

struct inner_call {
	/* fd: connected, to be given back by inner_release(); or -ECONNREFUSED: no server listens,
	 * -EBUSY: all sockets are in use, -ETIMEDOUT … */
	void (*done)(struct inner_call *c, int fd);

	/* private */
	struct inner_pool *pool;
	uint16_t port;
	int family, last;
	int fd;
	struct watcher watcher;
	struct timer timer;
};

enum inner_where { INNER_EITHER, INNER_4, INNER_6 };

/* To that port of 127.0.0.1, of ::1, or of the first where a server listens. May call done(). */
void inner_connect(
	struct inner_pool *p, struct inner_call *c, enum inner_where where, uint16_t port);
/* Nothing if it is over. */
void inner_cancel(struct inner_call *c);
/*
 * The connection is over. orderly: what was sent last is still delivered, for which it waits some
 * seconds at most; else the other side gets a reset.
 */
void inner_release(struct inner_pool *p, int fd, bool orderly);
