/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Frames on their way to the host. A host that does not read for a while must not hold up the
 * warden, which has deadlines to keep: what the socket does not take is kept, up to a bound.
 */
#include <stdbool.h>
#include <stddef.h>

#include "wire/frame.h"
#include "wire/record.h"

enum {
	OUTBOX_MAX = 65536,    /* frames */
	OUTBOX_CROWDED = 1024, /* with so many waiting, those that may be dropped are */
};

struct outbox_item;

/* Records that were dropped. */
struct outbox_dropped {
	uint64_t frames;
	uint64_t count, sent, received; /* what they had counted */
};

struct outbox {
	int socket; /* non-blocking */
	struct outbox_item *first, *last;
	size_t n;
	bool broken; /* the other side is gone, or reads nothing at all */
	struct outbox_dropped dropped[RECORD_CLOSED + 2]; /* by kind; the last: names */
};

/* Sends, or keeps. fd may be -1; it stays the caller's. */
void outbox_add(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len, int fd);
/*
 * The same for a frame that may be dropped (false): there is no bound on how many of them a command
 * can cause, and they must not take the room of others.
 */
bool outbox_offer(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len);
/*
 * The same for a record. What is dropped is counted, and reported as one record of its kind, with
 * the target "*", when there is room again.
 */
void outbox_offer_record(struct outbox *o, const struct record *r);
/* Reports what was dropped so far, whether there is room or not. */
void outbox_report_dropped(struct outbox *o);
/* Sends what the socket takes now. */
void outbox_flush(struct outbox *o);
/* Drops what waits. The socket stays. */
void outbox_deinit(struct outbox *o);
static inline bool outbox_is_empty(const struct outbox *o)
{
	return !o->first;
}
