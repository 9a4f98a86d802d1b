/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whom connections, calls and bytes are charged to: the process that connected. It is known by what
 * the kernel says of it (SO_PEERCRED), and by the number of its pidfd where that is its own for
 * ever (pidfs, Linux 6.9), so that a process with a number that was used before is another one.
 *
 * A program may open many connections, and may fork: limits per process alone do not help. So no
 * peer takes more calls than are left for all others together (n that want all come to have a share
 * of 1/(n+1) each); and where there is no room, for a call, a connection or bytes, the peer that
 * has most loses one. A newcomer always finds a place.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/link.h"

struct serve_room;

struct peer {
	struct link link; /* of all */
	struct ucred cred;
	uint64_t number;    /* of its pidfd; 0: the kernel has none */
	size_t connections; /* with `calls` what keeps it */
	size_t calls;       /* that are under way, those of connections that are closed too */
	size_t bytes;       /* that its connections hold */
	uint64_t turn;      /* `work` is of that one */
	unsigned work;      /* that it may still do in it */
};

/* All that connect by TCP: the kernel says who is behind a Unix socket only. They share one
 * process's share. */
static inline bool peer_is_unknown(const struct peer *p)
{
	return p->cred.pid == 0;
}

/* The peer behind an accepted socket, with one connection more. */
int peer_get(struct serve_room *r, int fd, struct peer **ret);
/* A connection, or a call, is over. Frees the peer if it was the last of both. */
void peer_put_connection(struct peer *p);
void peer_put_call(struct peer *p);
/* What it may do in this turn, in calls. */
unsigned *peer_work(struct serve_room *r, struct peer *p);
