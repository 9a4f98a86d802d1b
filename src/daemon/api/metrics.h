/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What is counted for Prometheus, since the daemon started. */
#include <stdint.h>

#include "audit/event.h"
#include "base/buffer.h"

struct supervisor;

struct metrics {
	uint64_t joined, refused_peers;
	uint64_t decisions[AUDIT_DECISION_COUNT]; /* of events of sandboxes */
	uint64_t requests[6];                     /* by the first digit of their status */
};

void metrics_print(const struct supervisor *s, struct buffer *out);
