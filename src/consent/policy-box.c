/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hazard pointers with a fixed number of slots. A reader takes a free slot, writes down which
 * policy it is going to use, and looks again whether that is still the current one; if not, it
 * tries again. A writer exchanges the pointer first and then waits until no slot holds the old one.
 * Both sides use sequentially consistent operations where the order "write slot, read pointer"
 * against "write pointer, read slots" matters: one of the two always sees the other.
 *
 * More readers at once than slots: the surplus ones spin until a slot is free, which takes as long
 * as one decision.
 */
#include "consent/policy-box.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 64 };

/* What is swapped: the policy and its number, as one object. */
struct edition {
	struct policy *policy;
	uint64_t generation;
};

/* One cache line each, so that readers do not disturb each other. */
struct slot {
	_Alignas(64) _Atomic(struct edition *) held;
	atomic_flag taken;
};

struct policy_box {
	_Alignas(64) _Atomic(struct edition *) current;
	/* Written by every reader: not on the line that all of them read. */
	_Alignas(64) atomic_uint hint;
	atomic_flag writing;
	struct slot slots[SLOTS];
};

struct policy_box *policy_box_new(struct policy *first)
{
	struct policy_box *box = aligned_alloc(64, sizeof(*box));
	struct edition *e = calloc(1, sizeof(*e));

	if (!box || !e) {
		free(box);
		free(e);
		return NULL;
	}
	*e = (struct edition){ .policy = first, .generation = 1 };
	atomic_init(&box->current, e);
	atomic_init(&box->hint, 0);
	atomic_flag_clear(&box->writing);
	for (size_t i = 0; i < SLOTS; i++) {
		atomic_init(&box->slots[i].held, NULL);
		atomic_flag_clear(&box->slots[i].taken);
	}
	return box;
}

static void edition_free(struct edition *e)
{
	policy_free(e->policy);
	free(e);
}

void policy_box_free(struct policy_box *box)
{
	if (!box)
		return;
	edition_free(atomic_load(&box->current));
	free(box);
}

static unsigned take_slot(struct policy_box *box)
{
	unsigned i = atomic_fetch_add_explicit(&box->hint, 1, memory_order_relaxed);

	for (unsigned tries = 1;; tries++, i++) {
		if (!atomic_flag_test_and_set_explicit(
			    &box->slots[i % SLOTS].taken, memory_order_acquire))
			return i % SLOTS;
		if (tries % SLOTS == 0)
			(void)sched_yield();
	}
}

void policy_box_pin(struct policy_box *box, struct policy_pin *pin)
{
	unsigned i = take_slot(box);
	struct edition *e = atomic_load(&box->current);

	for (;;) {
		struct edition *now;

		atomic_store(&box->slots[i].held, e);
		now = atomic_load(&box->current);
		if (now == e)
			break;
		e = now;
	}
	*pin = (struct policy_pin){ e->policy, e->generation, i };
}

void policy_box_unpin(struct policy_box *box, const struct policy_pin *pin)
{
	struct slot *s = &box->slots[pin->slot];

	atomic_store_explicit(&s->held, NULL, memory_order_release);
	atomic_flag_clear_explicit(&s->taken, memory_order_release);
}

static bool is_held(struct policy_box *box, const struct edition *e)
{
	for (size_t i = 0; i < SLOTS; i++) {
		if (atomic_load(&box->slots[i].held) == e)
			return true;
	}
	return false;
}

uint64_t policy_box_swap(struct policy_box *box, struct policy *next)
{
	struct edition *e = calloc(1, sizeof(*e)), *old;
	uint64_t generation;

	if (!e)
		return 0;
	while (atomic_flag_test_and_set_explicit(&box->writing, memory_order_acquire))
		(void)sched_yield();
	old = atomic_load(&box->current);
	generation = old->generation + 1;
	*e = (struct edition){ .policy = next, .generation = generation };
	atomic_store(&box->current, e);
	atomic_flag_clear_explicit(&box->writing, memory_order_release);
	while (is_held(box, old))
		(void)sched_yield();
	edition_free(old);
	return generation;
}
