/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How the sets of paths that two globs match lie to each other. */
#include "policy/match/glob.h"
#include "policy/algebra/product.h"

enum relation {
	RELATION_UNKNOWN, /* they overlap, or it would take too long to find out */
	RELATION_DISJOINT,
	RELATION_EQUAL,
	RELATION_INSIDE,  /* a lies within b */
	RELATION_OUTSIDE, /* b lies within a */
};

/* -ENOMEM, or one of the above. */
int relation_of_globs(const struct glob *a, const struct glob *b, enum product_domain domain);
/*
 * The same for one pair of many: *effort, in steps, is what all searches together may still cost.
 * Once it is 0, whatever needs a search is unknown.
 */
int relation_within_effort(
	const struct glob *a, const struct glob *b, enum product_domain domain, size_t *effort);
/* Takes cost from what is left; effort may be NULL. */
void relation_spend(size_t *effort, size_t cost);
