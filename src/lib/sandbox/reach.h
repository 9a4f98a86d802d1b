/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a session must have for the network of some permissions: a relay or not, and sockets that
 * can only be made when it is built. Known by a plan of that part alone, which costs little.
 */
#include <stdbool.h>

#include "base/error.h"
#include "jail/plan/plan.h"
#include "wire/change.h"

struct sandbox_reach;

/* Everything that is wrong with that part is told here, as it would be by a new session. */
int sandbox_reach_new(struct sandbox_reach **ret, const struct permissions *p,
	const struct variables *variables, struct error *e);
void sandbox_reach_free(struct sandbox_reach *r);
/* What a relay is to be told; points into r. */
void sandbox_reach_describe(const struct sandbox_reach *r, struct change *ret);
/* Commands without a network, or with the host's, are not to be reached by a relay. */
bool sandbox_reach_has_relay(const struct sandbox_reach *r);
/*
 * Whether a session that was built for `built`, and has been `now` since, can be made one for
 * `next` by its relay alone: it has a relay, and each socket that next needs.
 */
bool sandbox_reach_fits(const struct sandbox_reach *built, const struct sandbox_reach *now,
	const struct sandbox_reach *next);
