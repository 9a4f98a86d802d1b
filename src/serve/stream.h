/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The latest events, as text/event-stream has them, for all clients. No client has a queue of its
 * own: each has a place in this ring, and one that is too slow finds that the ring has moved on,
 * gets one event `dropped` that says how many ids are missing, and goes on with the oldest that is
 * left. So a client that does not read costs nothing and holds up no other.
 *
 * Ids grow by one from event to event, also over a restart of the daemon (it begins with the time).
 * What was lost between corrald and here is seen by its ids, and said in the same way.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { STREAM_EVENTS_MAX = 1024, STREAM_BYTES_MAX = 2 << 20 };

struct stream_item {
	uint64_t id;
	char *text;
	size_t len;
};

struct stream {
	struct stream_item items[STREAM_EVENTS_MAX];
	uint64_t first,
		next; /* places: the oldest, and behind the newest; place % MAX is the item */
	size_t bytes;
	uint64_t last_id;
};

/* -ENOMEM: it is missing then, which those who listen will see. */
int stream_add(struct stream *s, uint64_t id, const char *type, const char *json);
/* The place behind the event with this id; 0: behind the newest. */
uint64_t stream_find(const struct stream *s, uint64_t id);
/*
 * Appends events from *place on, until out has `room` bytes or more, and moves it on. *last: the id
 * of the last event that was appended before, for a gap.
 */
void stream_copy(
	const struct stream *s, uint64_t *place, uint64_t *last, size_t room, struct buffer *out);
void stream_deinit(struct stream *s);
