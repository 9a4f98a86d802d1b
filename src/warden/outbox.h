/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Frames on their way to the host. A host that does not read for a while must not hold up the
 * warden, which has deadlines to keep: what the socket does not take is kept, up to a bound.
 */
#include <stdbool.h>
#include <stddef.h>

#include "wire/frame.h"

enum {
	OUTBOX_MAX = 65536,    /* frames */
	OUTBOX_CROWDED = 1024, /* with so many waiting, those that may be dropped are */
};

struct outbox_item;

struct outbox {
	int socket; /* non-blocking */
	struct outbox_item *first, *last;
	size_t n;
	bool broken; /* the other side is gone, or reads nothing at all */
};

/* Sends, or keeps. fd may be -1; it stays the caller's. */
void outbox_add(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len, int fd);
/*
 * The same for a frame that may be dropped: there is no bound on how many of them a command can
 * cause, and they must not take the room of others.
 */
void outbox_offer(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len);
/* Sends what the socket takes now. */
void outbox_flush(struct outbox *o);
/* Drops what waits. The socket stays. */
void outbox_deinit(struct outbox *o);
static inline bool outbox_is_empty(const struct outbox *o)
{
	return !o->first;
}
