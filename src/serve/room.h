/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * All clients of a server, and what they may take together: connections, bytes, time. Attacks, and
 * what holds against them:
 *
 *     many connections           bounded; for a new one the process that has most loses one: that
 *                                which was silent longest
 *     memory                     one budget for all; the process that holds most loses the
 *                                connection that holds most
 *     half a request, slowly     it must be complete `stall_ms` after its first byte
 *     a client that never reads  it is closed after `stall_ms`
 *     silence                    `idle_ms`, where connections are few
 *
 * One thread. Nothing blocks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"

struct loop;
struct peer;

struct serve_limits {
	size_t clients, bytes;      /* of all */
	uint64_t stall_ms, idle_ms; /* idle_ms 0: for ever */
	uint64_t close_ms;          /* for a client to close what was answered last */
	unsigned turn_work;         /* of one process in a turn, in calls; 0: it is not counted */
	bool keeps_busy;            /* who waits for an answer does not go for a new connection */
};

struct serve_room {
	struct loop *loop;
	struct serve_limits limits;
	struct link clients; /* who was silent longest is first */
	struct link peers;
	size_t n_clients, bytes;
	uint64_t turn; /* the server counts them, for turn_work */
};

void serve_room_init(struct serve_room *r, struct loop *l, const struct serve_limits *limits);
/* The process behind an accepted socket, with one connection more, and a place for it. -EBUSY:
 * there is none, and the socket is to be closed. */
int serve_room_enter(struct serve_room *r, int fd, struct peer **ret);
/* The same where no descriptor is left to accept one: true if one was closed. */
bool serve_room_make_place(struct serve_room *r);
/* Closes connections until the rest is within the budget. */
void serve_room_hold_budget(struct serve_room *r);
/* Closes all. */
void serve_room_clear(struct serve_room *r);
