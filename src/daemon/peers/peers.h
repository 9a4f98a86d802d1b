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

struct peers {
	struct watcher join;   /* where they connect */
	struct link sandboxes; /* daemon/peers/sandboxes.h */
	size_t n_sandboxes;
	struct order *orders[ORDERS_MAX]; /* that a sandbox has not answered yet */
	uint64_t last_order;
	struct missed missed;
	uint64_t acknowledged, lost; /* up to this number in the trail's ring; as it said then */
	bool is_ack_due;             /* also if nothing was committed since */
};

/* The one with this id; NULL: there is none. */
struct sandbox *peers_find(const struct supervisor *s, const char *id);
