/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the generated tree against the plain meaning of the data: each entry, as a glob in
 * every home folder it stands for, one after the other, and the first that matches. The paths are
 * made from the entries themselves: their own bytes, what lies above, below and beside them, and
 * small changes of each, inside and outside all kinds of homes.
 */
#include "policy/network/test/test-host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/path.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"

/* The plain meaning */

enum { HOMES = 4 };
static const char *const common_homes[] = { "/root", "/home/*", "/Users/*" };

static struct arena arena;
static struct glob *globs;   /* HOMES of each entry; an entry that is absolute has one */
static const char **fixed;   /* what every match of an entry holds: all before its wildcards */
static uint64_t (*pairs)[4]; /* the pairs of bytes in fixed, by hash: a path without them is none */
static struct baseline_home own;

static struct glob parse(const char *home, const char *rest)
{
	struct glob g;

	check_code(rest,
		glob_parse(&g, &arena, arena_printf(&arena, "%s%s", home, rest), NULL, NULL), 0);
	return g;
}

static void add_pairs(uint64_t set[4], const char *text)
{
	for (; text[0] && text[1]; text++) {
		const unsigned char hash =
			(unsigned char)((unsigned char)text[0] * 31 + (unsigned char)text[1]);

		set[hash / 64] |= (uint64_t)1 << hash % 64;
	}
}

static const char *fixed_part(const char *pattern)
{
	size_t n = strcspn(pattern, "*?[");

	/* The folder itself matches too. */
	if (strcmp(pattern + n, "**") == 0)
		n--;
	return arena_strndup(&arena, pattern, n);
}

static void parse_entries(const char *home)
{
	own = baseline_paths_home(home);
	globs = arena_calloc(&arena, baseline_n_paths, HOMES * sizeof(*globs));
	fixed = arena_calloc(&arena, baseline_n_paths, sizeof(*fixed));
	pairs = arena_calloc(&arena, baseline_n_paths, sizeof(*pairs));
	assert_true(globs && fixed && pairs);
	for (size_t i = 0; i < baseline_n_paths; i++) {
		const char *pattern = baseline_path_pattern(&baseline_paths[i]);
		struct glob *g = &globs[i * HOMES];

		fixed[i] = fixed_part(pattern + (pattern[0] == '~'));
		add_pairs(pairs[i], fixed[i]);
		if (pattern[0] == '/') {
			g[0] = parse("", pattern);
			continue;
		}
		for (size_t h = 0; h < ROWS(common_homes); h++)
			g[h] = parse(common_homes[h], pattern + 1);
		/* Escaped: a home's name is bytes. */
		if (own.len) {
			auto_buffer text = { 0 };

			glob_print_literal(own.path, own.len, &text);
			g[HOMES - 1] = parse(buffer_text(&text), pattern + 1);
		}
	}
}

static bool may_hold(const uint64_t set[4], const uint64_t part[4])
{
	return !((part[0] & ~set[0]) | (part[1] & ~set[1]) | (part[2] & ~set[2]) |
		 (part[3] & ~set[3]));
}

static bool matches(size_t i, const char *path, size_t len, const uint64_t set[4])
{
	if (!may_hold(set, pairs[i]) || !strstr(path, fixed[i]))
		return false;
	for (size_t h = 0; h < HOMES; h++) {
		if (glob_match(&globs[i * HOMES + h], path, len))
			return true;
	}
	return false;
}

/* The first entry that forbids to read, and to write. */
static void naive(const char *path, size_t len, const struct baseline_path *ret[2])
{
	uint64_t set[4] = { 0 };

	add_pairs(set, path);
	ret[0] = ret[1] = NULL;
	for (size_t i = 0; i < baseline_n_paths && !ret[0]; i++) {
		if ((ret[1] && !baseline_paths[i].secret) || !matches(i, path, len, set))
			continue;
		if (!ret[1])
			ret[1] = &baseline_paths[i];
		if (baseline_paths[i].secret)
			ret[0] = &baseline_paths[i];
	}
}

static size_t n_asked, n_found, n_spared;

static void ask(const char *text)
{
	const struct baseline_path *want[2];
	char path[PATH_BYTES];
	size_t len;

	if (path_normalize(text, strlen(text), path, &len) < 0)
		return;
	naive(path, len, want);
	for (int write = 0; write < 2; write++) {
		const struct baseline_path *got = baseline_paths_match(&own, write, path, len);

		if (got != want[write])
			fail_msg("%s %s, home %s: got %s, want %s", write ? "write" : "read", path,
				own.len ? own.path : "none",
				got ? baseline_path_pattern(got) : "nothing",
				want[write] ? baseline_path_pattern(want[write]) : "nothing");
		n_asked++;
		n_found += got != NULL;
	}
	/* In a folder that is spared, as is all around it, nothing is forbidden. */
	for (size_t i = 1; i < len && (want[0] || want[1]); i++) {
		if (path[i] == '/' && baseline_paths_spare(&own, path, i))
			fail_msg("%s is forbidden, and %.*s is spared, home %s", path, (int)i, path,
				own.len ? own.path : "none");
	}
	n_spared += len > 1 && baseline_paths_spare(&own, path, len);
}

/* Paths */

/* A path that the pattern matches, or nearly so: wildcards become `fill`, a set its first byte. */
static void fill(char *out, size_t size, const char *pattern, const char *with)
{
	size_t n = 0;

	for (; *pattern && n + strlen(with) + 1 < size; pattern++) {
		if (strcmp(pattern, "**") == 0)
			break;
		if (*pattern == '*' || *pattern == '?') {
			memcpy(out + n, with, strlen(with));
			n += strlen(with);
		} else if (*pattern == '[') {
			out[n++] = pattern[1];
			pattern = strchr(pattern, ']');
		} else {
			out[n++] = *pattern;
		}
	}
	out[n] = '\0';
}

/* One byte other, gone or more, at each place in turn. */
static void ask_changed(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 1; i < len; i++) {
		char text[PATH_BYTES];

		(void)snprintf(text, sizeof(text), "%.*s%s", (int)i, path, path + i + 1);
		ask(text);
		(void)snprintf(
			text, sizeof(text), "%.*s%c%s", (int)i, path, path[i] ^ 1, path + i + 1);
		ask(text);
		(void)snprintf(text, sizeof(text), "%.*s/%s", (int)i, path, path + i);
		ask(text);
		(void)snprintf(text, sizeof(text), "%.*sZ%s", (int)i, path, path + i);
		ask(text);
	}
}

static void ask_around(const char *path, bool changed)
{
	static const char *const ends[] = { "", "/", "/x", "/x/y/z", "x", "/.ssh/id", "-", "/mem",
		"/task/1/mem", "*", "/**" };
	char text[PATH_BYTES];

	for (size_t i = 0; i < ROWS(ends); i++) {
		(void)snprintf(text, sizeof(text), "%.2048s%s", path, ends[i]);
		ask(text);
	}
	(void)snprintf(text, sizeof(text), "%.2048s", path);
	for (char *slash = strrchr(text, '/'); slash; slash = strrchr(text, '/')) {
		*slash = '\0';
		ask(*text ? text : "/");
	}
	if (changed)
		ask_changed(path);
}

static const char *const prefixes[] = { "", "/root", "/home/a", "/home/a b", "/home/[x]",
	"/Users/a", "/home", "/Users", "/root/x", "/home/a/b", "/home/a/home/a", "/roo", "/homes/a",
	"/~", "/data/a b", "/etc", "/proc/1/root", "/root/home/a" };

static bool is_wild(const char *pattern)
{
	const char *wild = strpbrk(pattern, "*?[");

	return wild && strcmp(wild, "**") != 0;
}

static void ask_entry(const char *pattern, const char *prefix, bool changed)
{
	static const char *const fills[] = { "1", "", "1a", "_rsa_key", "self" };

	for (size_t f = 0; f < (is_wild(pattern) ? ROWS(fills) : 1); f++) {
		char rest[PATH_BYTES / 4], path[PATH_BYTES / 2];

		fill(rest, sizeof(rest), pattern + (*pattern == '~'), fills[f]);
		(void)snprintf(path, sizeof(path), "%.1000s%s", prefix, rest);
		ask_around(path, changed);
	}
}

/* thorough: more prefixes, and changes of each byte. */
static void ask_all(const char *home, bool thorough)
{
	arena_init(&arena, 0);
	parse_entries(home);
	for (size_t i = 0; i < baseline_n_paths; i++) {
		const char *pattern = baseline_path_pattern(&baseline_paths[i]);

		ask_entry(pattern, home ? home : "", thorough && *pattern == '~');
		for (size_t p = 0; p < (thorough ? ROWS(prefixes) : 2); p++)
			ask_entry(pattern, prefixes[p],
				thorough && (p > 0) == (*pattern == '~') && p < 2);
	}
	arena_deinit(&arena);
}

static void is_the_first_entry_that_matches(void **state)
{
	static const char *const homes[] = { NULL, "/", "/home/x", "/data/a b", "/h*[a]{b,c}",
		"/etc", "/root/x", "/home", "/~", "/a/../b" };

	(void)state;
	for (size_t i = 0; i < ROWS(homes); i++)
		ask_all(homes[i], i == 3);
	print_message("# %zu questions, %zu of them forbidden\n", n_asked, n_found);
	assert_true(n_found > n_asked / 20 && n_found < n_asked);
	assert_true(n_spared > n_asked / 20);
}

/* What is not a home is none: the answers are those without one. */
static void odd_homes_are_none(void **state)
{
	static const char *const odd[] = { NULL, "", "/", "//", "x", "/a/", "/a//b", "/a/./b",
		"/a/.." };

	(void)state;
	for (size_t i = 0; i < ROWS(odd); i++)
		assert_int_equal(baseline_paths_home(odd[i]).len, 0);
	assert_int_equal(baseline_paths_home("/a").len, 2);
}

static void spares_what_it_does_not_reach(void **state)
{
	static const struct {
		const char *folder;
		bool spared;
	} rows[] = {
		{ "/", false },
		{ "/srv", true },
		{ "/srv/x/y", true },
		{ "/home", false },
		{ "/home/a", false },
		{ "/home/a/src", true },
		{ "/home/a/.ssh", false },
		{ "/root", false },
		{ "/Users", false },
		{ "/data", false }, /* the user's home is in it */
		{ "/data/me", false },
		{ "/data/me/.ssh/x", false },
		{ "/data/me/src", true },
		{ "/etc", false },
		{ "/proc", false },
	};
	const struct baseline_home home = baseline_paths_home("/data/me");

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (baseline_paths_spare(&home, rows[i].folder, strlen(rows[i].folder)) !=
			rows[i].spared)
			fail_msg("%s", rows[i].folder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_first_entry_that_matches),
		cmocka_unit_test(odd_homes_are_none),
		cmocka_unit_test(spares_what_it_does_not_reach),
	};

	return cmocka_run_group_tests_name("baseline-paths", tests, NULL, NULL);
}
