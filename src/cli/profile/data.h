/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The built-in profiles as tables, made from data/profiles by tools/gen-profiles.py. */
#include <stddef.h>

#include "policy/permissions.h"

struct profile_row {
	size_t list; /* offset of the list in struct permissions */
	const char *pattern;
};

struct profile_data {
	const char *name;
	const struct profile_row *rows;
	size_t n;
};

extern const struct profile_data profile_data[];
extern const size_t profile_data_count;
