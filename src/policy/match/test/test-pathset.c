/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "policy/match/pathset.h"

static uint32_t seed = 12345;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % n;
}

/* Patterns and paths over few letters, so that they meet. */
static void random_pattern(struct buffer *out)
{
	static const char *const parts[] = { "a", "b", "*", "?", "[ab]", "[!a]", "a*", "*b", "**",
		"**", "{a,b}", "ab", "a*b*", "{a,*b}c", "??*" };
	unsigned n = 1 + pick(5);

	for (unsigned i = 0; i < n; i++)
		buffer_printf(out, "/%s", parts[pick(ROWS(parts))]);
}

static void random_path(struct buffer *out)
{
	static const char *const parts[] = { "a", "b", "c", "ab", "aab", "ba", "abc", "bbc" };
	unsigned n = pick(6);

	for (unsigned i = 0; i < n; i++)
		buffer_printf(out, "/%s", parts[pick(ROWS(parts))]);
	if (n == 0)
		buffer_addc(out, '/');
}

enum { ENTRIES = 24, PARTS = 3 };

struct entry {
	struct glob globs[PARTS];
	size_t n;
	uint32_t rank;
};

static bool entry_matches(const struct entry *e, const char *path, size_t len)
{
	for (size_t i = 0; i < e->n; i++) {
		if (!glob_match(&e->globs[i], path, len))
			return false;
	}
	return true;
}

static void check_set(struct entry *entries, size_t n, struct pathset *s)
{
	for (unsigned i = 0; i < 60; i++) {
		auto_buffer path = { 0 };
		uint32_t want = RANK_NONE;

		random_path(&path);
		for (size_t k = 0; k < n; k++) {
			if (entry_matches(&entries[k], buffer_text(&path), path.len))
				want = rank_best(want, entries[k].rank);
		}
		assert_int_equal(pathset_match(s, buffer_text(&path), path.len), want);
	}
}

/* The set answers as its entries do one by one. */
static void test_random(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 1500; round++) {
		auto_arena a = { 0 };
		struct entry entries[ENTRIES] = { 0 };
		struct pathset *s = pathset_new();
		size_t n = pick(ENTRIES + 1);

		for (size_t i = 0; i < n; i++) {
			entries[i].n = pick(4) ? 1 : 1 + pick(PARTS);
			entries[i].rank = pick(1000);
			for (size_t k = 0; k < entries[i].n; k++) {
				auto_buffer text = { 0 };

				random_pattern(&text);
				assert_int_equal(glob_parse(&entries[i].globs[k], &a,
							 buffer_text(&text), NULL, NULL),
					0);
			}
			assert_int_equal(
				pathset_add(s, entries[i].globs, entries[i].n, entries[i].rank), 0);
		}
		assert_int_equal(pathset_build(s, NULL), 0);
		check_set(entries, n, s);
		pathset_free(s);
	}
}

/* Patterns that would need 2^20 states each; alone they are matched one by one. */
static void test_explosion(void **state)
{
	auto_arena a = { 0 };
	struct pathset *s = pathset_new();
	struct glob globs[40];
	const char *path = "/d/xxxa12345678901234567890";

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "/d/*%c????????????????????", 'a' + i % 26);
		assert_int_equal(glob_parse(&globs[i], &a, text, NULL, NULL), 0);
		assert_int_equal(pathset_add(s, &globs[i], 1, i), 0);
	}
	assert_int_equal(pathset_build(s, NULL), 0);
	assert_int_equal(pathset_match(s, path, strlen(path)), 0);
	assert_int_equal(pathset_match(s, "/d/xa", 5), RANK_NONE);
	pathset_free(s);
}

static void test_too_complex(void **state)
{
	auto_arena a = { 0 };
	struct pathset *s = pathset_new();
	struct glob *globs = arena_calloc(&a, 600, sizeof(*globs));
	struct error e = { 0 };

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "/d%u/*a????????????????????", i);
		text[strlen(text) - i % 7] = '\0';
		(void)snprintf(text + strlen(text), 8, "%u", i);
		assert_int_equal(glob_parse(&globs[i], &a, text, NULL, NULL), 0);
		assert_int_equal(pathset_add(s, &globs[i], 1, i), 0);
	}
	assert_int_equal(pathset_build(s, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too complex"));
	pathset_free(s);
}

/* Ten thousand folders, files and globs: each finds its own. */
static void test_many(void **state)
{
	auto_arena a = { 0 };
	struct pathset *s = pathset_new();

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		static const char *const shapes[] = { "**", "file", "*.log" };
		struct glob *g = arena_alloc(&a, sizeof(*g));
		char text[64];

		(void)snprintf(text, sizeof(text), "/srv/d%u/%s", i, shapes[i % 3]);
		assert_int_equal(glob_parse(g, &a, text, NULL, NULL), 0);
		assert_int_equal(pathset_add(s, g, 1, i), 0);
	}
	assert_int_equal(pathset_build(s, NULL), 0);
	for (unsigned i = 0; i < 10000; i++) {
		static const char *const names[] = { "x/y", "file", "x.log" };
		char path[64];

		(void)snprintf(path, sizeof(path), "/srv/d%u/%s", i, names[i % 3]);
		assert_int_equal(pathset_match(s, path, strlen(path)), i);
		(void)snprintf(path, sizeof(path), "/srv/e%u/x", i);
		assert_int_equal(pathset_match(s, path, strlen(path)), RANK_NONE);
	}
	pathset_free(s);
}

/* More folders with floating patterns on one path than are looked up by name; the deepest come
 * first. */
static void test_nested_bases(void **state)
{
	auto_arena a = { 0 };
	struct pathset *s = pathset_new();

	(void)state;
	for (unsigned depth = 40; depth-- > 0;) {
		struct glob *g = arena_alloc(&a, sizeof(*g));
		auto_buffer text = { 0 };

		for (unsigned i = 0; i < depth; i++)
			buffer_adds(&text, "/a");
		buffer_printf(&text, "/**/x%u", depth);
		assert_int_equal(glob_parse(g, &a, buffer_text(&text), NULL, NULL), 0);
		assert_int_equal(pathset_add(s, g, 1, depth), 0);
	}
	assert_int_equal(pathset_build(s, NULL), 0);
	for (unsigned depth = 0; depth < 40; depth++) {
		auto_buffer path = { 0 };

		for (unsigned i = 0; i < 45; i++)
			buffer_adds(&path, "/a");
		buffer_printf(&path, "/x%u", depth);
		assert_int_equal(pathset_match(s, buffer_text(&path), path.len), depth);
	}
	pathset_free(s);
}

static void test_empty(void **state)
{
	struct pathset *s = pathset_new();

	(void)state;
	assert_int_equal(pathset_build(s, NULL), 0);
	assert_int_equal(pathset_match(s, "/", 1), RANK_NONE);
	assert_int_equal(pathset_match(s, "/a/b", 4), RANK_NONE);
	pathset_free(s);
	pathset_free(NULL);
}

/* "/", then n of the letter; of its own, so that a look before or behind it is seen. */
static char *component(size_t before, size_t n, char letter)
{
	char *text = malloc(before + 1 + n);

	assert_non_null(text);
	memset(text, 'f', before);
	text[0] = '/';
	text[before] = '/';
	memset(text + before + 1, letter, n);
	return text;
}

/*
 * Components are hashed by words, of which the last is read with what stands before it. Names of
 * all lengths are found in folders of all lengths, by their paths, by their folder, and below any.
 */
static void test_lengths(void **state)
{
	(void)state;
	for (size_t n = 0; n < 20 * 20; n++) {
		const size_t folder = 2 + n / 20, name = 1 + n % 20, len = folder + 1 + name;
		char *first = component(folder, name, 'a'), *second = component(folder, name, 'b');
		char *below = component(folder + 1 + name, 3, 'c'), *any = NULL;
		struct pathset *s = pathset_new();
		struct pathset_folder in;
		auto_arena a = { 0 };
		struct glob glob;

		assert_true(asprintf(&any, "/**/%.*s", (int)name, "dddddddddddddddddddd") > 0);
		assert_int_equal(glob_parse(&glob, &a, any, NULL, NULL), 0);
		assert_int_equal(pathset_add_path(s, first, len, false, 1, &in), 0);
		assert_int_equal(in.len, folder);
		assert_int_equal(pathset_add_path_in(s, second, len, true, 2, &in), 0);
		assert_int_equal(pathset_add(s, &glob, 1, 3), 0);
		assert_int_equal(pathset_build(s, NULL), 0);
		assert_int_equal(pathset_match(s, first, len), 1);
		assert_int_equal(pathset_match(s, second, len), 2);
		assert_int_equal(pathset_match(s, second, len - 1), RANK_NONE);
		memcpy(below, second, len);
		assert_int_equal(pathset_match(s, below, len + 4), 2);
		memset(below + folder + 1, 'd', name);
		assert_int_equal(pathset_match(s, below, len), 3);
		assert_int_equal(pathset_match(s, below, len + 4), RANK_NONE);
		pathset_free(s);
		free(first);
		free(second);
		free(below);
		free(any);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_explosion),
		cmocka_unit_test(test_too_complex),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_nested_bases),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests_name("pathset", tests, NULL, NULL);
}
