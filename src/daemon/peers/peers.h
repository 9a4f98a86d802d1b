/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The runs that joined, and those that ended while no daemon ran. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/orders.h"
#include "event/loop.h"

struct sandbox;
struct supervisor;

enum { PEERS_NOTIFIED_MAX = 4, PEERS_NOTIFIED_MS = 60 * 1000 };

struct peers {
	struct watcher join;   /* where they connect */
	struct link sandboxes; /* daemon/peers/sandboxes.h */
	size_t n_sandboxes;
	struct order *orders[ORDERS_MAX]; /* that a sandbox has not answered yet */
	uint64_t last_order;
	struct missed missed;
	uint64_t acknowledged, lost; /* up to this number in the trail's ring; as it said then */
	bool is_ack_due;             /* also if nothing was committed since */
	/* When questions were last shown on the desktop: a ring, of CLOCK_MONOTONIC. */
	uint64_t notified_ms[PEERS_NOTIFIED_MAX];
	size_t n_notified;
};

/* The one with this id; NULL: there is none. */
struct sandbox *peers_find(const struct supervisor *s, const char *id);
