/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One pattern against many paths of a walk. Nearly every name fails at the bytes that the last
 * component of the pattern starts or ends with, so these are compared first: three patterns cost a
 * few nanoseconds for each name, and not a match of each whole path.
 */
#include <stdbool.h>
#include <stddef.h>

#include "policy/match/glob.h"

struct glob_name {
	struct glob_alternative alt; /* without "/ **" at its end */
	size_t component;            /* the token at which its last component starts */
	size_t head, tail; /* how many tokens of that are bytes: at its start, at its end */
};

/* The alternative must outlive it. DIR/ ** stands for DIR: who finds that need not look into it. */
struct glob_name glob_name_of(const struct glob_alternative *alt);
/* Whether the pattern matches `path`, which ends with `name`. */
bool glob_name_match(const struct glob_name *g, const char *path, size_t len, const char *name);
