/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of one size, event n in slot n modulo their number: writers meet only at the counter that
 * gives out numbers, a reader knows from a number where to look and by subtraction what it lost,
 * and a stalled writer costs one slot, not the ring. (Records of varying size would hold more
 * events in the same memory, but a writer that was interrupted for a round could tear those of
 * others, and the next record after one that was given up could not be found.)
 *
 * A cell is claimed, filled and published by its tag, which is twice the number of the event it
 * holds, plus one while a writer is at it. The tag only grows. Claiming is a compare-and-swap from
 * an even tag, so a cell never has two writers; a writer that finds it claimed, or taken by a later
 * event, gives up. A reader copies the words and believes them if the tag was the wanted one before
 * and after. All words are atomic: stores release and loads acquire, so that whoever sees a word of
 * a later event also sees the tag that announced it (no fences, and nothing for a sanitizer to
 * complain about).
 *
 * An event that gave up leaves its number in `skipped`; otherwise a reader could not tell it from
 * one that is about to be written.
 *
 * Long events are in their slot with texts cut, and whole in as many cells of a second ring as it
 * takes.
 */
#include "audit/ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE = 64,
	CELL_BYTES = 512,
	CELL_WORDS = CELL_BYTES / 8 - 1,
	/* In front of the event in a slot: its lengths, and where it is whole. */
	SLOT_WORDS = CELL_WORDS - 3,
	SLOT_ROOM = SLOT_WORDS * 8,
	CELL_ROOM = CELL_WORDS * 8,
	EVENT_WORDS = AUDIT_EVENT_MAX / 8,
	LONG_CELLS_LEAST = 64,
};
_Static_assert(SLOT_ROOM >= (int)AUDIT_EVENT_LEAST, "a slot holds something of every text");
_Static_assert(LONG_CELLS_LEAST *CELL_ROOM >= (int)AUDIT_EVENT_MAX, "the largest event fits");

typedef _Atomic uint64_t word;

struct ring_cell {
	word tag;
	word words[CELL_WORDS];
};

struct ring_slot {
	word tag;
	word skipped; /* the latest number that was to be here and was given up */
	word lengths; /* of the event as it is here and, above, as it is whole; 0: it is here */
	word place;   /* of its first long cell, counted from the ring's beginning */
	word words[SLOT_WORDS];
};
_Static_assert(sizeof(struct ring_slot) == CELL_BYTES && sizeof(struct ring_cell) == CELL_BYTES,
	"no gaps");

struct audit_ring {
	_Alignas(LINE) word count;
	_Alignas(LINE) word long_count; /* cells given out */
	_Alignas(LINE) struct ring_slot *slots;
	struct ring_cell *cells;
	uint64_t n_slots, n_cells; /* powers of two */
};

static void *ring_zeroed(size_t bytes)
{
	void *p = aligned_alloc(LINE, bytes);

	if (p)
		memset(p, 0, bytes);
	return p;
}

static uint64_t ring_round_up(uint64_t n, uint64_t least)
{
	while (least < n)
		least *= 2;
	return least;
}

int audit_ring_new(struct audit_ring **ret, size_t bytes)
{
	struct audit_ring *r;

	if (bytes > AUDIT_RING_MOST)
		return -E2BIG;
	r = ring_zeroed(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->n_slots = ring_round_up(bytes, AUDIT_RING_LEAST) / CELL_BYTES;
	r->n_cells = ring_round_up(r->n_slots / 8, LONG_CELLS_LEAST);
	r->slots = ring_zeroed(r->n_slots * sizeof(*r->slots));
	r->cells = ring_zeroed(r->n_cells * sizeof(*r->cells));
	if (!r->slots || !r->cells) {
		audit_ring_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void audit_ring_free(struct audit_ring *r)
{
	if (!r)
		return;
	free(r->slots);
	free(r->cells);
	free(r);
}

/* Makes the cell one's own, until ring_publish(). */
static bool ring_claim(word *tag, uint64_t number)
{
	uint64_t seen = atomic_load_explicit(tag, memory_order_relaxed);

	if (seen & 1 || seen >= 2 * number)
		return false;
	return atomic_compare_exchange_strong_explicit(
		tag, &seen, 2 * number + 1, memory_order_acq_rel, memory_order_relaxed);
}

static void ring_publish(word *tag, uint64_t number)
{
	atomic_store_explicit(tag, 2 * number, memory_order_release);
}

static uint64_t ring_look(const word *tag)
{
	return atomic_load_explicit(tag, memory_order_acquire);
}

/* Whole words go into the ring: the last one is filled up with zeros. room is a multiple of 8. */
static size_t ring_pack(const struct audit_event *e, uint64_t *out, size_t room)
{
	size_t len = audit_event_pack(e, out, room);

	memset((char *)out + len, 0, (8 - len % 8) % 8);
	return len;
}

static void ring_store_words(word *to, const uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < (bytes + 7) / 8; i++)
		atomic_store_explicit(&to[i], from[i], memory_order_release);
}

static void ring_load_words(uint64_t *to, const word *from, size_t bytes)
{
	for (size_t i = 0; i < (bytes + 7) / 8; i++)
		to[i] = atomic_load_explicit(&from[i], memory_order_acquire);
}

static struct ring_slot *ring_slot_of(const struct audit_ring *r, uint64_t number)
{
	return &r->slots[number & (r->n_slots - 1)];
}

static struct ring_cell *ring_cell_at(const struct audit_ring *r, uint64_t place)
{
	return &r->cells[place & (r->n_cells - 1)];
}

static size_t ring_part(size_t len, size_t done)
{
	return len - done < CELL_ROOM ? len - done : CELL_ROOM;
}

/* Puts a whole event into cells; false if they could not be had, and what was done is of no use. */
static bool ring_put_long(struct audit_ring *r, uint64_t number, const uint64_t *event, size_t len,
	uint64_t *ret_place)
{
	uint64_t place = atomic_fetch_add_explicit(
		&r->long_count, (len + CELL_ROOM - 1) / CELL_ROOM, memory_order_release);

	*ret_place = place;
	for (size_t done = 0; done < len; done += CELL_ROOM) {
		struct ring_cell *c = ring_cell_at(r, place++);

		if (!ring_claim(&c->tag, number))
			return false;
		ring_store_words(c->words, event + done / 8, ring_part(len, done));
		ring_publish(&c->tag, number);
	}
	return true;
}

uint64_t audit_ring_add(struct audit_ring *r, const struct audit_event *e)
{
	uint64_t event[EVENT_WORDS], number, place = 0;
	size_t len = ring_pack(e, event, sizeof(event)), whole = 0;
	struct ring_slot *s;

	if (len == 0)
		return 0;
	number = atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed) + 1;
	s = ring_slot_of(r, number);
	if (!ring_claim(&s->tag, number)) {
		uint64_t seen = atomic_load_explicit(&s->skipped, memory_order_relaxed);

		/* Two that gave up the same slot in two rounds: the later one counts. */
		while (seen < number && !atomic_compare_exchange_weak_explicit(&s->skipped, &seen,
						number, memory_order_release, memory_order_relaxed))
			;
		return number;
	}
	/* The texts of one that is too long are cut, last of all. */
	if (len > SLOT_ROOM) {
		if (ring_put_long(r, number, event, len, &place))
			whole = len;
		len = ring_pack(e, event, SLOT_ROOM);
	}
	atomic_store_explicit(&s->lengths, (uint64_t)whole << 32 | len, memory_order_release);
	atomic_store_explicit(&s->place, place, memory_order_release);
	ring_store_words(s->words, event, len);
	ring_publish(&s->tag, number);
	return number;
}

uint64_t audit_ring_count(const struct audit_ring *r)
{
	return atomic_load_explicit(&r->count, memory_order_relaxed);
}

/* The cells first: whoever took them had its number before. */
struct audit_ring_mark audit_ring_mark(const struct audit_ring *r)
{
	const uint64_t cells = ring_look(&r->long_count);

	return (struct audit_ring_mark){ .events = audit_ring_count(r), .cells = cells };
}

static unsigned ring_percent(uint64_t n, uint64_t of)
{
	return n < of ? (unsigned)(n * 100 / of) : 100;
}

unsigned audit_ring_filled(const struct audit_ring *r, const struct audit_ring_mark *since)
{
	const struct audit_ring_mark now = audit_ring_mark(r);
	const unsigned events = ring_percent(now.events - since->events, r->n_slots);
	const unsigned cells = ring_percent(now.cells - since->cells, r->n_cells);

	return events > cells ? events : cells;
}

/* False: a part of it was written over. */
static bool ring_get_long(
	const struct audit_ring *r, uint64_t number, uint64_t place, uint64_t *out, size_t len)
{
	for (size_t done = 0; done < len; done += CELL_ROOM) {
		const struct ring_cell *c = ring_cell_at(r, place++);

		if (ring_look(&c->tag) != 2 * number)
			return false;
		ring_load_words(out + done / 8, c->words, ring_part(len, done));
		if (ring_look(&c->tag) != 2 * number)
			return false;
	}
	return true;
}

enum outcome { NOT_YET, LOST, READ };

/* Whatever the words say while they are written, no more than there is room for is read. */
static enum outcome ring_get(
	const struct audit_ring *r, uint64_t number, uint64_t *out, size_t *ret_len)
{
	const struct ring_slot *s = ring_slot_of(r, number);
	const uint64_t tag = ring_look(&s->tag);
	uint64_t lengths, place, cut[SLOT_WORDS];
	size_t len, whole;

	if (tag < 2 * number)
		return ring_look(&s->skipped) >= number ? LOST : NOT_YET;
	if (tag != 2 * number)
		return tag == 2 * number + 1 ? NOT_YET : LOST;
	lengths = atomic_load_explicit(&s->lengths, memory_order_acquire);
	place = atomic_load_explicit(&s->place, memory_order_acquire);
	len = (uint32_t)lengths;
	whole = lengths >> 32;
	if (len > SLOT_ROOM || whole > AUDIT_EVENT_MAX)
		return LOST;
	ring_load_words(cut, s->words, len);
	if (ring_look(&s->tag) != 2 * number)
		return LOST;
	if (whole > 0 && ring_get_long(r, number, place, out, whole)) {
		*ret_len = whole;
		return READ;
	}
	memcpy(out, cut, len);
	*ret_len = len;
	return READ;
}

int audit_ring_read(
	struct audit_ring *r, struct audit_reader *reader, struct audit_event *ret, void *buffer)
{
	uint64_t count = audit_ring_count(r), event[EVENT_WORDS];
	const uint64_t oldest = count > r->n_slots ? count - r->n_slots + 1 : 1;
	size_t len;

	if (reader->next == 0)
		reader->next = 1;
	/* Leaves after what cannot be there any more. */
	if (reader->next < oldest) {
		reader->lost += oldest - reader->next;
		reader->next = oldest;
	}
	while (reader->next <= count) {
		enum outcome outcome = ring_get(r, reader->next, event, &len);

		if (outcome == NOT_YET)
			return 0;
		reader->next++;
		if (outcome == READ) {
			memcpy(buffer, event, len);
			if (audit_event_decode(ret, buffer, len) == 0)
				return 1;
		}
		reader->lost++;
	}
	return 0;
}
