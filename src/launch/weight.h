/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which events go first when not all can be kept: a command that may read a file can cause as many
 * events as it likes, and these must not displace a denial. Counts of what was dropped are by
 * weight, too.
 */
#include <stdint.h>

#include "audit/event.h"
#include "base/buffer.h"

/* From the first to be dropped to the last. */
enum launch_weight {
	LAUNCH_WEIGHT_READ,  /* files and names that were read, the ends of connections */
	LAUNCH_WEIGHT_CALL,  /* other calls that were allowed: writes, connections, programs */
	LAUNCH_WEIGHT_HEAVY, /* denials, questions, changes, beginnings and ends */
	LAUNCH_WEIGHT_COUNT,
};

enum launch_weight launch_weight_of(const struct audit_event *e);

/* Numbers of events. */
struct launch_weights {
	uint64_t n[LAUNCH_WEIGHT_COUNT];
};

uint64_t launch_weights_sum(const struct launch_weights *w);
/* Moves all of `from` to `to`. */
void launch_weights_move(struct launch_weights *to, struct launch_weights *from);
/* "3 denials and changes, 40 reads" */
void launch_weights_print(const struct launch_weights *w, struct buffer *out);
