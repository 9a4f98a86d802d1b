/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How tools/gen-baseline.py lays out baseline_nets, for baseline.c alone: each group is a stretch
 * of names and a stretch of prefixes, both without overlaps, the prefixes in the order of
 * prefix_compare().
 */
#include <stddef.h>

struct baseline_group {
	size_t first_name, n_names;
	size_t first_prefix, n_prefixes;
};

extern const struct baseline_group baseline_never_group, baseline_guard_group;
