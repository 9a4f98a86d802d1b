/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is reported of a folder after a command: files that other programs run later. The command
 * chooses how many there are, so it must not choose which are seen: what runs soonest comes first,
 * then what lies nearest to the top, and each rank has room of its own. What has no room is
 * counted.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cli/profile/look.h"

enum news_rank {
	NEWS_SOON,   /* as soon as the folder is entered, git is used, or a shell starts */
	NEWS_KEPT,   /* what a profile protects where it exists */
	NEWS_OTHERS, /* what work changes now and then */
	NEWS_RANKS
};
enum { NEWS_MAX = 2048 /* of a rank, in one folder */ };

/* One that was made or replaced meanwhile. */
struct runs_later_news {
	const char
		*path;   /* below the folder; may be of any bytes; the first: look_index finds it */
	const char *who; /* who runs it, and when */
	bool is_new;
	enum news_rank rank;
	size_t depth, order;
};

struct news {
	struct arena *arena; /* the caller's */
	struct runs_later_news *items;
	size_t n, cap;
	size_t of_rank[NEWS_RANKS];
	size_t left; /* those without room */
	struct look_index index;
};

enum news_rank news_rank(unsigned uses);
/* Adds it, once. -ENOMEM: it is counted as left. */
int news_add(struct news *n, const struct runs_later_news *item);
void news_sort(struct news *n);
/* The order in which they are read, for qsort(). */
int news_compare(const struct runs_later_news *a, const struct runs_later_news *b);
