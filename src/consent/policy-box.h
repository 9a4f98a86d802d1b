/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A policy that can be replaced while other threads decide. Readers pin the current one, ask it as
 * often as they like, and let go; up to 64 at once never wait, neither for a writer nor for each
 * other. A swap returns once no reader holds the old policy, and frees it.
 */
#include <stdint.h>

#include "policy/policy.h"

struct policy_box;

/* Takes over `first`. NULL when out of memory (then `first` is still the caller's). */
struct policy_box *policy_box_new(struct policy *first);
/* No thread may hold a pin. */
void policy_box_free(struct policy_box *box);

struct policy_pin {
	const struct policy *policy;
	uint64_t generation; /* 1 for the first policy, one more for each swap */
	unsigned slot;
};

/* Between these two the policy stays alive. Keep it short: a swap waits for it. */
void policy_box_pin(struct policy_box *box, struct policy_pin *pin);
void policy_box_unpin(struct policy_box *box, const struct policy_pin *pin);

/*
 * Replaces the policy by `next` (taken over) and returns its generation; 0 when out of memory, and
 * nothing has changed. Any number of threads may swap.
 */
uint64_t policy_box_swap(struct policy_box *box, struct policy *next);
