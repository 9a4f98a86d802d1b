/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/news.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "threat/threat.h"

enum news_rank news_rank(unsigned uses)
{
	if (uses & THREAT_SOON)
		return NEWS_SOON;
	return uses & THREAT_PROTECT ? NEWS_KEPT : NEWS_OTHERS;
}

static size_t news_depth(const char *path)
{
	size_t n = 0;

	while ((path = strchr(path, '/'))) {
		path++;
		n++;
	}
	return n;
}

int news_add(struct news *n, const struct runs_later_news *item)
{
	struct runs_later_news news = *item;
	int r;

	if (look_index_find(&n->index, n->items, sizeof(news), news.path) >= 0)
		return 0;
	if (n->of_rank[news.rank] == NEWS_MAX) {
		n->left++;
		return 0;
	}
	news.depth = news_depth(news.path);
	news.order = n->n;
	news.path = arena_strdup(n->arena, news.path);
	r = news.path ? ARENA_PUSH(n->arena, n->items, n->n, n->cap, news) : -ENOMEM;
	if (r == 0)
		r = look_index_add(&n->index, n->arena, n->items, sizeof(news), n->n - 1);
	if (r < 0)
		n->left++;
	else
		n->of_rank[news.rank]++;
	return r;
}

int news_compare(const struct runs_later_news *a, const struct runs_later_news *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static int news_compare_items(const void *a, const void *b)
{
	return news_compare(a, b);
}

void news_sort(struct news *n)
{
	if (n->n)
		qsort(n->items, n->n, sizeof(n->items[0]), news_compare_items);
}
