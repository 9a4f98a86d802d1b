/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Answers by name, for a while. Bounded: the one that was not asked for the longest time goes
 * first. The hash has a secret, since who is inside may choose names under a wildcard.
 *
 * An answer is shared and never changed: who holds one has a reference.
 */
#include "net/dns/lookup.h"

enum { LOOKUP_CACHE_NAMES = 1024 };

struct lookup_answer {
	unsigned references;
	struct lookup_result result; /* its chain points into the names */
	char names[];
};

/* A copy of r with one reference. NULL: out of memory. */
struct lookup_answer *lookup_answer_new(const struct lookup_result *r);
struct lookup_answer *lookup_answer_ref(struct lookup_answer *a);
/* NULL is fine. */
void lookup_answer_unref(struct lookup_answer *a);

struct lookup_cache;

int lookup_cache_new(struct lookup_cache **ret);
void lookup_cache_free(struct lookup_cache *c);

/* Borrowed, until the cache is used again; NULL: not known (any more). */
struct lookup_answer *lookup_cache_get(struct lookup_cache *c, const char *name, uint64_t now_ms);
/* Replaces what was known. Takes a reference of its own; out of memory, it keeps nothing. */
void lookup_cache_put(
	struct lookup_cache *c, const char *name, struct lookup_answer *a, uint64_t until_ms);
