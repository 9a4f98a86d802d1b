/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What telling of an event costs the one who tells it, with and without a log behind it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"

enum { AUDIT_TRAIL_VALUE = 48 };

/* What is told, and the i-th of n values that must be looked for. */
struct audit_trail_sample {
	struct audit_event (*event)(uint64_t i);
	void (*value)(unsigned i, char out[AUDIT_TRAIL_VALUE]);
	unsigned n_values;
};

/* Prints the figures; false: one of them missed its target. */
bool audit_trail_figures(const struct audit_trail_sample *sample, size_t rounds);
