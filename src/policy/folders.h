/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The folders that the entries of a list lie in, noted while the list is compiled. Long lists have
 * many paths in few folders: who wants to know something of each entry, and can tell it by the
 * folder, asks once for each folder.
 *
 * Only what is a plain path or folder (glob_plain()) has a folder here, and only below the root.
 * Every other entry has FOLDERS_NONE, and must be looked at by itself.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/match/pathset.h"
#include "policy/permissions.h"

#define FOLDERS_NONE UINT32_MAX

/* A byte that no entry with a folder has: whoever makes names up can put it into them. */
enum { FOLDERS_FREE_BYTE = GLOB_FREE_BYTE };

struct path_folder {
	const char *path; /* of an entry: not ended */
	struct pathset_folder in;
	uint32_t next; /* of the same bucket */
};

struct folders {
	const struct grant_list *list;
	size_t n_entries; /* of the list */
	uint32_t *of;     /* by entry */
	struct path_folder *items;
	size_t n, cap;
	uint32_t *buckets; /* by hash of the bytes; each the first of its folders */
	size_t n_buckets;
	uint64_t seed;
};

/* All entries have none. */
int folders_init(struct folders *f, struct arena *a, const struct grant_list *list);
/* Entry i is the plain path text[0..len), and lies in that folder. */
int folders_put(struct folders *f, struct arena *a, size_t i, const char *text, size_t len,
	const struct pathset_folder *in);
/*
 * Entry i, if it lies in a folder that was put before: its place is noted, and what glob_plain()
 * says of it. NULL: nothing is known of it.
 */
const struct path_folder *folders_know(
	struct folders *f, size_t i, const char *text, size_t *ret_len, enum glob_kind *ret_kind);

/* Where f may be NULL: nothing is known. */
static inline uint32_t folders_of(const struct folders *f, size_t i)
{
	return f ? f->of[i] : FOLDERS_NONE;
}
