/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The sandboxes that joined. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/link.h"
#include "daemon/peers/acks.h"
#include "daemon/peers/origin.h"
#include "event/loop.h"
#include "wire/join.h"

enum {
	SANDBOXES_MAX = 4096,
	SANDBOX_HELLO_MS = 5 * 1000, /* for one that connected to say who it is */
	SANDBOX_NAMES = 32,
};

struct supervisor;
struct questions;

/* Whoever holds its session is at the other end. */
struct sandbox {
	struct link link;
	struct supervisor *s;
	struct watcher watcher;
	struct timer timer;
	struct origin_peer peer;
	struct arena arena;      /* of the texts below */
	struct join who;         /* .id is NULL before it said so */
	uint64_t events, denied; /* as the dashboard counts: a look-up is one */
	struct sandbox_name {
		uint64_t hash, time_ns;
	} names[SANDBOX_NAMES]; /* that were denied last, in a ring */
	size_t n_names;
	bool is_watched; /* files and programs that are denied are recorded, too */
	struct acks acks;
	bool is_stopping;
	struct questions *questions; /* and its grants; NULL: none yet */
	struct {
		struct buffer permissions, ceiling, limits;
	} details; /* what it may do, each as JSON; empty: it was not said yet */
};

/* The one at hand may be freed meanwhile. */
#define sandboxes_for_each(b, s)                                                                \
	for (struct sandbox *b = container_of((s)->peers.sandboxes.next, struct sandbox, link), \
			    *next_ = container_of(b->link.next, struct sandbox, link);          \
		&b->link != &(s)->peers.sandboxes;                                              \
		b = next_, next_ = container_of(b->link.next, struct sandbox, link))

int sandboxes_open(struct supervisor *s, int listener);
void sandboxes_close(struct supervisor *s);
/* Each appends one JSON value. */
void sandboxes_print(const struct supervisor *s, struct buffer *out);
/* Closes its connection; its holder comes again, and sends what was not acknowledged. */
void sandboxes_drop(struct sandbox *b);
/* Asks its holder to end the command. */
int sandboxes_stop(struct sandbox *b);

/* One JSON value of its details: kind, what it may do, its grants. */
void sandboxes_print_details(const struct sandbox *b, struct buffer *out);
