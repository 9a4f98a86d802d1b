/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decisions over time, of a log of any length, in a fixed number of steps and one reading: a step
 * is a second at first. When what comes does not fit any more, two steps become one.
 */
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"

enum { AUDIT_TIMELINE_STEPS = 240 };

/* Zeroed: empty. */
struct audit_timeline {
	uint64_t start_s; /* a multiple of the step */
	unsigned doubled; /* how often: a step is 1 << doubled seconds */
	size_t n;         /* steps up to the last that has something; 0: empty */
	uint64_t counts[AUDIT_TIMELINE_STEPS][AUDIT_DECISION_COUNT];
};

/* `count` more at this time; earlier ones may come later. */
void audit_timeline_add(
	struct audit_timeline *t, uint64_t time_ns, enum audit_decision decision, uint64_t count);
