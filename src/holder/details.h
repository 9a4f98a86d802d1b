/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a sandbox may do, in words, for a daemon to show (wire/join.h). */
#include "base/arena.h"
#include "policy/permissions.h"
#include "policy/variable.h"
#include "wire/join.h"

/* Adds the lines of some permissions, as many as there is room for; the texts are in the arena. */
void holder_details_add(const struct permissions *p, const struct variables *variables,
	struct arena *a, const char *lines[JOIN_LINES_MAX], uint32_t *n);
