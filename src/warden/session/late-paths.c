/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order is that of bytes, with the slash before all others: a path is followed by what is below
 * it, and by nothing else until that ends.
 */
#include "warden/session/late-paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The root has no name: all paths begin with its text, as with that of any folder. */
static size_t late_paths_len(const char *path)
{
	return path[1] ? strlen(path) : 0;
}

static int late_paths_rank(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : 2 + (unsigned char)c;
}

/* Of a path and the first len bytes of another. */
static int late_paths_compare(const char *path, const char *other, size_t len)
{
	const size_t own = late_paths_len(path);

	for (size_t i = 0;; i++) {
		const int a = late_paths_rank(i < own ? path[i] : '\0');
		const int b = late_paths_rank(i < len ? other[i] : '\0');

		if (a != b || a == 0)
			return a - b;
	}
}

static int late_paths_order(const void *a, const void *b)
{
	const char *one = *(const char *const *)a, *other = *(const char *const *)b;

	return late_paths_compare(one, other, late_paths_len(other));
}

int late_paths_new(struct late_paths *ret, const char *const *items, size_t n)
{
	const char **sorted = reallocarray(NULL, n ? n : 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = items[i];
	qsort(sorted, n, sizeof(*sorted), late_paths_order);
	*ret = (struct late_paths){ sorted, n };
	return 0;
}

void late_paths_deinit(struct late_paths *p)
{
	free(p->items);
	*p = (struct late_paths){ 0 };
}

/* The first that does not come before it. */
static size_t late_paths_find(const struct late_paths *p, const char *path, size_t len)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (late_paths_compare(p->items[middle], path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool late_paths_is(const struct late_paths *p, size_t at, const char *path, size_t len)
{
	return at < p->n && late_paths_compare(p->items[at], path, len) == 0;
}

bool late_paths_have(const struct late_paths *p, const char *path)
{
	const size_t len = late_paths_len(path);

	/* The root, each folder on the way, and itself. */
	for (size_t i = 0; i <= len; i++)
		if ((i == len || path[i] == '/') &&
			late_paths_is(p, late_paths_find(p, path, i), path, i))
			return true;
	return false;
}

/* The first that is below it; one that is it comes before. */
static size_t late_paths_below(const struct late_paths *p, const char *path, size_t len)
{
	size_t at = late_paths_find(p, path, len);

	while (late_paths_is(p, at, path, len))
		at++;
	return at;
}

static bool late_paths_is_in(const struct late_paths *p, size_t at, const char *folder, size_t len)
{
	return at < p->n && late_paths_len(p->items[at]) > len &&
	       memcmp(p->items[at], folder, len) == 0 && p->items[at][len] == '/';
}

bool late_paths_reach(const struct late_paths *p, const char *path)
{
	const size_t len = late_paths_len(path);

	return late_paths_is_in(p, late_paths_below(p, path, len), path, len);
}

int late_paths_children(
	const struct late_paths *p, const char *folder, late_paths_child *one, void *data)
{
	const size_t len = late_paths_len(folder);
	const char *last = "";
	size_t last_len = 0;
	int r = 0;

	for (size_t i = late_paths_below(p, folder, len);
		r >= 0 && late_paths_is_in(p, i, folder, len); i++) {
		const char *name = p->items[i] + len + 1;
		const size_t name_len = strcspn(name, "/");

		if (name_len == last_len && memcmp(name, last, name_len) == 0)
			continue;
		last = name;
		last_len = name_len;
		r = one(data, name, name_len);
	}
	return r < 0 ? r : 0;
}
