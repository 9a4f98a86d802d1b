/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whether an order of holder/live.h lies below its ceiling, and what a question could become. */
#include "holder/live.h"

/*
 * Makes the pattern canonical, in the arena, and compares it. -EINVAL: it is no pattern; -EPERM: it
 * is above the ceiling, and the sentence says what that is.
 */
int live_ceiling_check(const struct holder_live_ceiling *c, struct live_grant *g, struct arena *a,
	struct error *e);
/* The same for what is asked about, once. */
int live_ceiling_check_once(
	const struct holder_live_ceiling *c, const struct question *q, struct error *e);
/* Adds scopes to those of a question: what the rule asks about, and the folder, as far as the
 * ceiling has them. */
int live_ceiling_widen(const struct holder_live_ceiling *c, struct question *q, struct arena *a);
