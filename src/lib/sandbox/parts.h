/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions part by part (CORRAL_PART_…): what an update changes, and what of it can change where
 * commands run already. Two permissions with the same text for a part mean the same there; those
 * with another text may, too, and count as changed.
 */
#include "base/buffer.h"
#include "corral/sandbox.h"
#include "policy/permissions.h"

/* What p says about one part, and nothing else; the caller frees it. NULL when out of memory. */
struct permissions *sandbox_parts_take(const struct permissions *p, unsigned part);
/* The set of those that differ; -ENOMEM, -E2BIG. */
int sandbox_parts_compare(
	const struct permissions *a, const struct permissions *b, unsigned *ret_changed);
