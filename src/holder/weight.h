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
enum holder_weight {
	HOLDER_WEIGHT_READ,  /* files and names that were read, the ends of connections */
	HOLDER_WEIGHT_CALL,  /* other calls that were allowed: writes, connections, programs */
	HOLDER_WEIGHT_HEAVY, /* denials, questions, changes, beginnings and ends */
	HOLDER_WEIGHT_COUNT,
};

enum holder_weight holder_weight_of(const struct audit_event *e);

/* Numbers of events. */
struct holder_weights {
	uint64_t n[HOLDER_WEIGHT_COUNT];
};

uint64_t holder_weights_sum(const struct holder_weights *w);
/* Moves all of `from` to `to`. */
void holder_weights_move(struct holder_weights *to, struct holder_weights *from);
/* "3 denials and changes, 40 reads" */
void holder_weights_print(const struct holder_weights *w, struct buffer *out);
