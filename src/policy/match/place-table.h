/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The hash table behind pathset.h. A place is a fixed folder ("/srv/app"), or a component's name
 * anywhere below a fixed folder ("node_modules" below "/srv"). In front of the table stands a
 * filter of bits that stays in the nearest cache and rules out nearly every part of a path that is
 * no place.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define PLACE_NONE UINT32_MAX
#define PLACE_NO_GROUP ((UINT32_C(1) << 30) - 1)

struct place_key {
	const char *folder; /* "" is the root */
	size_t folder_len;
	const char *name; /* NULL: the folder itself */
	size_t name_len;
};

/* Kept small: what a decision costs with many patterns is how many cache lines it touches. */
struct place {
	const char *key; /* the folder, and the name behind it */
	uint16_t folder_len, name_len;
	uint32_t exact, subtree;    /* ranks */
	uint32_t group : 30;        /* of automata that go on from here, or PLACE_NO_GROUP */
	bool named : 1, floats : 1; /* floats: there are names below this folder */
};

struct place_bucket {
	uint32_t tag;   /* of the hash, so that few places are looked at in vain */
	uint32_t index; /* PLACE_NONE: free */
};

struct place_table {
	struct arena *arena;
	uint64_t seed;
	struct place root; /* the folder "" */
	struct place *places;
	size_t n, cap;
	struct place_bucket *buckets;
	size_t n_buckets;
	uint64_t *filter;
	size_t filter_mask;
};

void place_table_init(struct place_table *t, struct arena *arena);
/* Makes room for n places, so that they are not moved again and again. */
int place_table_reserve(struct place_table *t, size_t n);
/*
 * The place of a key, made if there is none; NULL when out of memory or if the key is longer than
 * any path. Moves the others. The folder's bytes are not copied unless a name is put behind them.
 */
struct place *place_table_put(struct place_table *t, const struct place_key *key);
/* The same for a path whose hash is known, by a walk to its end. */
struct place *place_table_put_path(
	struct place_table *t, const char *path, size_t len, uint64_t hash);
/* The same for the path of something in a folder whose hash is known. */
struct place *place_table_put_path_in(struct place_table *t, const char *path, size_t len,
	size_t folder_len, uint64_t folder_hash);
/* How many folders above (not counting this one) have names below them. */
size_t place_table_bases(const struct place_table *t, const char *folder, size_t len);
/* After the last put, before the first find. */
int place_table_finish(struct place_table *t);

int place_key_compare(const struct place_key *a, const struct place_key *b);

/* A walk over the parts of a path, "/a", "/a/b", …: the hash of each, and of its last component
 * alone. */
struct place_walk {
	const char *path;
	size_t len, at; /* at: end of the current part */
	uint64_t seed, hash, component;
};

void place_walk_start(
	struct place_walk *w, const struct place_table *t, const char *path, size_t len);
bool place_walk_next(struct place_walk *w); /* false at the end */

/* The folder that the walk has come to, or NULL. */
const struct place *place_table_find(const struct place_table *t, const struct place_walk *w);
/* The current component (it starts after `before`) as a name below `base`, whose hash is given. */
const struct place *place_table_find_name(const struct place_table *t, const struct place *base,
	uint64_t base_hash, const struct place_walk *w, size_t before);
