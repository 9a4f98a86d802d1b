/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Events in memory: append-only, of a size that the host sets, without locks for those who write,
 * from any number of threads. The oldest are written over. A reader has a place of its own; if it
 * falls behind, it gets the number of those that it lost, and never sees half an event.
 *
 * What is read is what was written, with one exception: an event that does not fit a slot (512
 * bytes, all texts together some 400) lies in a smaller ring for long ones as well; when that was
 * written over before the slot was, its texts are cut to what the slot has.
 */
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"

struct audit_ring;

enum { AUDIT_RING_LEAST = 64 << 10, AUDIT_RING_MOST = 1 << 30 };

/* bytes: of the slots, rounded up to a power of two, at least AUDIT_RING_LEAST; an eighth is added
 * for long events. -E2BIG, -ENOMEM. */
int audit_ring_new(struct audit_ring **ret, size_t bytes);
void audit_ring_free(struct audit_ring *r);
/*
 * Returns the number that the event has among all of this ring, from 1; 0: there is no such action
 * or decision, and nothing was added. Never waits: where it would have to, because another writer
 * was interrupted a whole round of the ring ago and is not yet done, the event is lost and readers
 * are reported.
 */
uint64_t audit_ring_add(struct audit_ring *r, const struct audit_event *e);
/* How many numbers were given. */
uint64_t audit_ring_count(const struct audit_ring *r);

/* How far writing has come, and how much of the ring (or of the one for long events, whichever is
 * more) was written since, in per cent: for who must carry events away before they are written
 * over. */
struct audit_ring_mark {
	uint64_t events, cells;
};
struct audit_ring_mark audit_ring_mark(const struct audit_ring *r);
unsigned audit_ring_filled(const struct audit_ring *r, const struct audit_ring_mark *since);

/* Where a reader is. {0}: at the oldest that is there; what was written over before counts as lost.
 * {.next = count + 1}: only what comes from now on. */
struct audit_reader {
	uint64_t next; /* the number of the event that it reads next */
	uint64_t lost; /* how many were not there any more when it came, in all */
};

/*
 * 1: *ret is filled, its texts live in buffer (AUDIT_EVENT_MAX bytes), its number is next - 1.
 * 0: there is none now. A reader belongs to one thread; there may be any number of them.
 */
int audit_ring_read(
	struct audit_ring *r, struct audit_reader *reader, struct audit_event *ret, void *buffer);
