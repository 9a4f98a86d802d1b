/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How the sets of paths that two globs match lie to each other. */
#include "policy/glob.h"
#include "policy/product.h"

enum relation {
	RELATION_UNKNOWN, /* they overlap, or it would take too long to find out */
	RELATION_DISJOINT,
	RELATION_EQUAL,
	RELATION_INSIDE,  /* a lies within b */
	RELATION_OUTSIDE, /* b lies within a */
};

/* -ENOMEM, or one of the above. */
int relation_of_globs(const struct glob *a, const struct glob *b, enum product_domain domain);
