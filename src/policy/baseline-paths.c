/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries below "~/" hold in every home folder. Instead of a glob for each, a path inside a home is
 * asked twice: as it is, and with the home replaced by "/~". So nearly all entries are plain
 * folders in a hash table, and compiling a policy does not pay for automata.
 */
#include "policy/baseline-paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/pathset.h"

struct baseline_paths {
	struct arena arena;
	struct pathset *sets[2]; /* read, write */
	char *home;
	size_t home_len;
};

static int add(struct baseline_paths *b, size_t i, struct error *e)
{
	const struct baseline_path *entry = &baseline_paths[i];
	const char *slash = entry->pattern[0] == '~' ? "/" : "";
	const char *text = arena_printf(&b->arena, "%s%s", slash, entry->pattern);
	struct glob *g = arena_alloc(&b->arena, sizeof(*g));
	int r;

	if (!text || !g)
		return -ENOMEM;
	r = glob_parse(g, &b->arena, text, NULL, e);
	if (r == 0)
		r = pathset_add(b->sets[1], g, 1, (uint32_t)i);
	if (r == 0 && entry->secret)
		r = pathset_add(b->sets[0], g, 1, (uint32_t)i);
	return r;
}

static int build(struct baseline_paths *b, const char *home, struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		b->sets[i] = pathset_new();
		if (!b->sets[i])
			return -ENOMEM;
	}
	if (home && path_is_normal(home, strlen(home)) && home[1]) {
		b->home = arena_strdup(&b->arena, home);
		b->home_len = strlen(home);
		if (!b->home)
			return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++)
		r = add(b, i, e);
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = pathset_build(b->sets[i], e);
	return r;
}

int baseline_paths_new(struct baseline_paths **ret, const char *home, struct error *e)
{
	struct baseline_paths *b = calloc(1, sizeof(*b));
	int r = b ? build(b, home, e) : -ENOMEM;

	if (r < 0) {
		baseline_paths_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

void baseline_paths_free(struct baseline_paths *b)
{
	if (!b)
		return;
	pathset_free(b->sets[0]);
	pathset_free(b->sets[1]);
	arena_deinit(&b->arena);
	free(b);
}

/* Length of the home folder that path lies in: prefix, and one component more if `any`. 0: none. */
static size_t inside(const char *path, size_t len, const char *prefix, size_t n, bool any)
{
	const char *end;

	if (len <= n || memcmp(path, prefix, n) != 0 || path[n] != '/')
		return 0;
	if (!any)
		return n;
	end = memchr(path + n + 1, '/', len - n - 1);
	return end ? (size_t)(end - path) : 0;
}

static size_t home_length(const char *path, size_t len)
{
	size_t n = inside(path, len, "/home", 5, true);

	if (!n)
		n = inside(path, len, "/root", 5, false);
	if (!n)
		n = inside(path, len, "/Users", 6, true);
	return n;
}

/* The path with its first n bytes replaced by "/~". */
static uint32_t match_in_home(const struct pathset *set, const char *path, size_t len, size_t n)
{
	char text[PATH_BYTES + 2] = "/~";

	memcpy(text + 2, path + n, len - n);
	return pathset_match(set, text, len - n + 2);
}

const struct baseline_path *baseline_paths_match(
	const struct baseline_paths *b, bool write, const char *path, size_t len)
{
	const struct pathset *set = b->sets[write];
	uint32_t rank = pathset_match(set, path, len);
	size_t n = home_length(path, len);

	if (n)
		rank = rank_best(rank, match_in_home(set, path, len, n));
	if (b->home) {
		n = inside(path, len, b->home, b->home_len, false);
		if (n)
			rank = rank_best(rank, match_in_home(set, path, len, n));
	}
	return rank == RANK_NONE ? NULL : &baseline_paths[rank];
}
