/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How often a service may be called. Each rate of the policy has a window of its own, since of 5/s
 * and 10/h neither is the stricter one, and calls that only one of them is about must not empty the
 * other's. Windows slide, in steps of 1/64 of their length: there is no span as long as a window
 * with more calls in it, wherever it begins; in exchange a call may be refused for one step longer
 * than needed. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/permissions.h"

enum { SERVICE_RATES_MAX = 8, SERVICE_RATE_STEPS = 64 };

struct service_rates {
	struct service_rate_window {
		struct rate rate;
		uint64_t step; /* the last one that was counted in */
		/* By step; the oldest one counts too, as only a part of it is outside. */
		uint64_t counts[SERVICE_RATE_STEPS + 1];
	} windows[SERVICE_RATES_MAX];
	size_t n;
};

/* Adds a rate to a list of SERVICE_RATES_MAX, once. False: it has no room. */
bool service_rate_add(struct rate *list, size_t *n, const struct rate *rate);
/*
 * One more call, at that time (of a clock that does not go back), under all of these rates. It is
 * counted in the window of each; or in none, and false: it is one too many, or there are too many
 * rates.
 */
bool service_rates_admit(
	struct service_rates *r, const struct rate *rates, size_t n, uint64_t now_ms);
