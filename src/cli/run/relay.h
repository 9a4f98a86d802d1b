/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bytes from one descriptor to another, or into memory, without ever waiting: poll() says when
 * there is something to do. What is on the other side of standard output belongs to others as well,
 * so nothing is made non-blocking: a write is as small as one that poll() has promised room for.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* How much may pass through one or several relays, and how much was dropped. */
struct relay_budget {
	uint64_t left, dropped;
};

struct relay {
	int from, to; /* owned if close_from, close_to; to is -1 with `kept` */
	bool close_from, close_to;
	struct buffer *kept;         /* gathers instead of writing */
	struct relay_budget *budget; /* NULL: no bound */
	bool is_keyboard;            /* from is a terminal that others may want to read, too */
	bool is_paused; /* nothing is to be taken from it now; whoever set it looks again */
	bool is_done;
	size_t at, len; /* what waits to be written */
	char bytes[1 << 16];
};

/* Fills one or none of p; returns whether it is to be polled. */
bool relay_poll(struct relay *r, struct pollfd *p);
/* After poll() has found something in p. */
void relay_run(struct relay *r, const struct pollfd *p);
/* Closes what it owns; it is done. */
void relay_close(struct relay *r);
