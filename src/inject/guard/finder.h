/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Texts in bytes, each character of them as it is or as an escape (escape.h), lines broken or not.
 *
 * By pairs of bytes (Wu and Manber): all texts are looked for by their first `window` bytes, the
 * length of the shortest. The last pair of a window says how far the window can move on, and mostly
 * that is nearly its whole length, whatever the number of texts. What has an escape or a break
 * within its first window is found from there: what stands before the first one is as it is, so the
 * two characters around say in which texts this may be, and where.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FINDER_GROUPS_MAX = 1024, FINDER_TEXT_LEAST = 2 };

/* Those who look for a text: one bit for each. */
struct finder_groups {
	uint64_t words[FINDER_GROUPS_MAX / 64];
};

struct finder_text {
	char *data; /* FINDER_TEXT_LEAST bytes or more */
	size_t len;
	size_t reach; /* what is longer, with its escapes and breaks, is not found */
	bool wraps;   /* lines may be broken within it */
	const struct finder_groups *groups;
	uint32_t next_of_pair; /* private */
};

struct finder_hit {
	size_t from, to;
};

struct finder_hits {
	struct finder_hit *items;
	size_t n, cap;
};

struct finder;

int finder_new(struct finder **ret);
void finder_free(struct finder *f); /* wipes its tables; texts are the caller's */
/* Forgets all texts, for finder_add() of each and then finder_prepare(). */
void finder_clear(struct finder *f);
/* The text must live as long as it is known here. -ENOMEM. */
int finder_add(struct finder *f, struct finder_text *t);
int finder_prepare(struct finder *f);
/* All that begin before `end`, of one group. -ENOMEM: and some may be missing. */
int finder_find(const struct finder *f, size_t group, const char *data, size_t len, size_t end,
	struct finder_hits *ret);
