/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a sandbox went, or wanted to go, by target. What a command can make up has a bound: past
 * DESTINATIONS_MAX no new one is kept apart. None is ever dropped, so that their texts live as long
 * as the sandbox does.
 */
#include <stddef.h>
#include <stdint.h>

#include "corral/sandbox.h"
#include "wire/record.h"

enum { DESTINATIONS_MAX = 4096, DESTINATIONS_SLOTS = 2 * DESTINATIONS_MAX };

/* Zeroed: empty. */
struct destinations {
	struct corral_destination
		*items; /* in the order in which they came; owned, as their texts */
	size_t n, cap;
	uint16_t *slots; /* by the target's hash: the item's place, from 1; 0: free */
};

/* Without memory it is not kept. */
void destinations_add(struct destinations *d, const struct record *r);
void destinations_deinit(struct destinations *d);
