/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Many ranked path patterns, compiled: a match costs one pass over the path, whether there are ten
 * patterns or ten thousand. Matching neither allocates nor locks.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/match/glob.h"
#include "policy/rank.h"

struct pathset;

struct pathset *pathset_new(void);
void pathset_free(struct pathset *s);

/* Adds an entry that must match all n globs. The globs must live as long as the set. */
int pathset_add(struct pathset *s, const struct glob *globs, size_t n, uint32_t rank);
/* The folder path[0..len) that a path lies in; its hash is the same in all sets of a process. */
struct pathset_folder {
	size_t len;
	uint64_t hash;
};
/*
 * The same for one plain path, or a folder with all below it. The bytes must live as long, too.
 * *ret_folder (may be NULL): of the path.
 */
int pathset_add_path(struct pathset *s, const char *path, size_t len, bool subtree, uint32_t rank,
	struct pathset_folder *ret_folder);
/* The same where the folder is known, and is not the root. */
int pathset_add_path_in(struct pathset *s, const char *path, size_t len, bool subtree,
	uint32_t rank, const struct pathset_folder *folder);
/* Makes room for so many paths at once. */
int pathset_reserve(struct pathset *s, size_t n);
/*
 * After the last add, before the first match. -E2BIG with a sentence if the patterns are too
 * complex: more than a bounded number of them explode as automata.
 */
int pathset_build(struct pathset *s, struct error *e);
/* The strongest entry that matches a normal path (base/path.h), or RANK_NONE. */
uint32_t pathset_match(const struct pathset *s, const char *path, size_t len);
