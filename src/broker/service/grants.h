/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the policy grants of one service, where the monitor alone cannot decide: only the back end
 * knows which list an item is in, or where a page leads. It is given the layers of the session,
 * reduced to that service, and asks the same engine.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "broker/value.h"
#include "policy/policy.h"

/*
 * Appends the part of a layer (JSON or an image, as in wire/broker.h) that speaks of the service:
 * its lists, rules about services, mode and fallback.
 */
int grants_reduce(const char *layer, const char *service, struct buffer *out, struct error *e);
/* Compiles such layers. None at all deny everything. */
int grants_compile(struct policy **ret, const struct value_item *layers, size_t n, struct error *e);
/* Compiles layers that were not reduced, with the session's variables (may be NULL). */
int grants_compile_whole(struct policy **ret, const char *const *layers, size_t n,
	const struct variables *variables, struct error *e);
/* "reminders.read:Work" is allowed; one that must be asked for is not. */
bool grants_allow(const struct policy *p, const char *request);
/*
 * The bounds (range, max_size, rate_limit) of a request that is allowed. In one layer the widest of
 * those entries that cover it; of all layers the narrowest. 0: there is no bound.
 */
void grants_bounds(const struct policy *p, const char *request, struct service_bounds *ret);
