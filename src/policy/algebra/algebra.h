/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions as sets.
 *
 *   merge      what one of them grants, less what one of them denies: (A ∪ B) − (A.deny ∪ B.deny).
 * Limits: the wider. intersect  what both allow, exactly: allowed(A ∩ B, x) = allowed(A, x) and
 * allowed(B, x). Limits: the narrower.
 *
 * Both leave their arguments alone. Results are simplified: an entry that another one covers is
 * left out. Two layers become one where that can be said exactly in lists (plain grants and
 * denies); with rules, modes or guest paths, and where the lists are very long, the result keeps
 * both layers in `all_of`.
 */
#include "policy/permissions.h"

/* -ENOMEM; -E2BIG if the result would have too many layers; -EINVAL if one of them extends a
 * profile. The caller frees *ret. */
int algebra_merge(
	struct permissions **ret, const struct permissions *a, const struct permissions *b);
int algebra_intersect(
	struct permissions **ret, const struct permissions *a, const struct permissions *b);
