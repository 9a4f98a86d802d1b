/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How tools/gen-baseline.py lays out the baseline, for baseline.c alone.
 *
 * Networks: each group is a stretch of baseline_nets with names and a stretch with prefixes, both
 * without overlaps, the prefixes in the order of prefix_compare().
 *
 * Files: a tree of folders. The children of a node are one stretch: first those with a plain name,
 * by length and then by bytes, then those whose name has wildcards. Everything is a number, so the
 * tables need no relocation and stay shared between processes.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/baseline.h"

struct baseline_group {
	size_t first_name, n_names;
	size_t first_prefix, n_prefixes;
};

extern const struct baseline_group baseline_never_group, baseline_guard_group;

#define BASELINE_NONE UINT16_MAX

struct baseline_node {
	uint16_t name;       /* where it starts in baseline_names */
	uint16_t first;      /* child */
	uint16_t n_plain;    /* children with a plain name */
	uint8_t n_wild;      /* children after those */
	uint8_t len;         /* of the name */
	uint16_t exact[2];   /* first entry that is this very path: [0] reading, [1] writing */
	uint16_t subtree[2]; /* first entry that is this folder with all below it */
	uint8_t is_free;     /* [system] entries around it do not mean this folder */
	uint8_t is_public;   /* [secret] entries around it do not keep this file from being read */
};

extern const char baseline_names[];
/* [0] is the root, [1] any home folder. */
extern const struct baseline_node baseline_nodes[];
