/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* {a,b} in a pattern, replaced by the patterns it stands for. */
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

struct glob_texts {
	const char **items;
	size_t n, cap;
};

/* Length of the [...] that starts at s, brackets included; 0 if it is never closed. */
size_t glob_bracket_length(const char *s);

/* All the texts that `text` stands for, in order; at least one. -E2BIG past GLOB_ALTERNATIVES_MAX.
 */
int glob_expand(struct glob_texts *ret, struct arena *a, const char *text,
	const struct location *where, struct error *e);
