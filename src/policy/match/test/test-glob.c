/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/glob-name.h"
#include "policy/match/glob.h"

static bool matches(const char *pattern, const char *path)
{
	auto_arena a = { 0 };
	struct glob g;

	assert_int_equal(glob_parse(&g, &a, pattern, NULL, NULL), 0);
	return glob_match(&g, path, strlen(path));
}

static void test_matching(void **state)
{
	static const struct {
		const char *pattern, *yes, *no; /* paths, separated by blanks */
	} rows[] = {
		{ "/a", "/a", "/ /a/b /A /ab" },
		{ "/", "/", "/a" },
		{ "/**", "/ /a /a/b/.c", "" },
		{ "**", "/ /a /a/b", "" },
		{ "/a/**", "/a /a/b /a/b/c /a/.b", "/ /ab /b/a" },
		{ "/a/", "/a /a/b", "/ab" },
		{ "/*", "/a /.a", "/ /a/b" },
		{ "/a/*", "/a/b /a/.b", "/a /a/b/c" },
		{ "/a/*/c", "/a/b/c /a/.b/c", "/a/c /a/b/b/c" },
		{ "/a*", "/a /ab /a.b", "/ /b /a/b" },
		{ "/*.c", "/x.c /.c", "/x.cc /x/y.c" },
		{ "/**/*.c", "/x.c /a/x.c /a/b/.c", "/x.h /a.c/x" },
		{ "**/x", "/x /a/x /a/b/x", "/ax /x/a" },
		{ "/a/**/b", "/a/b /a/x/b /a/x/y/b", "/ab /a/xb /a/b/c" },
		{ "/a/**/**/b", "/a/b /a/x/b", "/a/b/c" },
		{ "/a/**/b/**", "/a/b /a/x/b/c /a/b/c/d", "/a /a/x" },
		{ "/a**b", "/ab /axb", "/a/b /a/x/b" },
		{ "/a/**b", "/a/b /a/xb", "/a/x/b" },
		{ "/a?", "/ab /a.", "/a /a/ /abc" },
		{ "/[abc]", "/a /c", "/d /ab" },
		{ "/[!a-c]x", "/dx /.x", "/ax /x" },
		{ "/[^a-c]", "/d", "/a" },
		{ "/[]a]", "/] /a", "/b" },
		{ "/[a-]", "/a /-", "/b" },
		{ "/[[:digit:]x]", "/3 /x", "/a" },
		{ "/[\\]]", "/]", "/\\" },
		{ "/a[!/]b", "/axb", "/a/b" },
		{ "/{a,b}", "/a /b", "/{a,b} /c" },
		{ "/{a,b}{c,d}", "/ac /bd", "/ab" },
		{ "/{a,{b,c}d}/**", "/a /bd/x /cd", "/b /ad" },
		{ "/{a/b,c}/x", "/a/b/x /c/x", "/a/x" },
		{ "/x{,y}", "/x /xy", "/xx" },
		{ "/{a}", "/a", "/{a}" },
		{ "/{a,*}.c", "/a.c /zz.c", "/a.h" },
		{ "/\\{a,b\\}", "/{a,b}", "/a" },
		{ "/[{]a,b[}]", "/{a,b}", "/a" },
		{ "/{[,],b}", "/, /b", "/a" },
		{ "/\\*", "/*", "/a" },
		{ "/\\a", "/a", "/\\a" },
		{ "/\\\\", "/\\", "/a" },
		{ "//a//b/", "/a/b /a/b/c", "/a" },
		{ "/a/./b", "/a/b", "/a" },
		{ "/./", "/", "/a" },
		{ "/a/.", "/a /a/b", "/b" },
		{ "/..a", "/..a", "/a" },
		{ "/a..", "/a..", "/a" },
		{ "/...", "/...", "/a" },
		{ "/é*", "/é /éa", "/e" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (int want = 0; want < 2; want++) {
			char *list = strdup(want ? rows[i].yes : rows[i].no), *save = NULL;

			for (char *p = strtok_r(list, " ", &save); p;
				p = strtok_r(NULL, " ", &save)) {
				if (matches(rows[i].pattern, p) != want)
					fail_msg("%s on %s: expected %d", rows[i].pattern, p, want);
			}
			free(list);
		}
	}
}

/* As the pattern without "/ **" at its end, by whatever way. */
static void test_name(void **state)
{
	static const char *const patterns[] = { "**/.env", "**/*.key", "**/.env.*", "/a/*",
		"/*/x?y", "**/secret*/**", "/a/**/b", "**/[ab]c", "/**", "/a", "**/a*a" };
	static const char *const paths[] = { "/", "/a", "/.env", "/a/.env", "/a/b.env", "/a/.env.x",
		"/x.key", "/a/.key", "/a/b/c.keys", "/b/xzy", "/secrets", "/a/secret", "/a/b",
		"/a/x/b", "/b/ac", "/b/cc", "/aa", "/aba", "/a/secrets/b" };

	(void)state;
	for (size_t i = 0; i < ROWS(patterns) * ROWS(paths); i++) {
		const char *pattern = patterns[i / ROWS(paths)], *path = paths[i % ROWS(paths)];
		size_t len = strlen(pattern);
		auto_arena a = { 0 };
		struct glob_name name;
		struct glob whole, cut;

		assert_int_equal(glob_parse(&whole, &a, pattern, NULL, NULL), 0);
		name = glob_name_of(&whole.alternatives[0]);
		len -= len > 3 && strcmp(pattern + len - 3, "/**") == 0 ? 3 : 0;
		assert_int_equal(
			glob_parse(&cut, &a, arena_strndup(&a, pattern, len), NULL, NULL), 0);
		/* "/ **" alone is the root. */
		if (strcmp(pattern, "/**") != 0)
			assert_int_equal(
				glob_name_match(&name, path, strlen(path), strrchr(path, '/') + 1),
				glob_match(&cut, path, strlen(path)));
	}
}

/* What glob_plain() takes is what parsing finds; what it leaves, it leaves whatever it is. */
static void test_plain(void **state)
{
	static const struct {
		const char *text;
		bool plain;
	} rows[] = {
		{ "/", true },
		{ "/a", true },
		{ "/a/b.c/..d/e..", true },
		{ "/a/...", true },
		{ "/a b/\xc3\xa9~,:", true },
		{ "/**", true },
		{ "/a/**", true },
		{ "", false },
		{ "a", false },
		{ "~/a", false },
		{ "$HOME/a", false },
		{ "/a$b", false },
		{ "/a/", false },
		{ "//a", false },
		{ "/a//b", false },
		{ "/.", false },
		{ "/..", false },
		{ "/a/./b", false },
		{ "/a/../b", false },
		{ "/a/..", false },
		{ "/./**", false },
		{ "/a**", false },
		{ "/a/**/b", false },
		{ "/a/***", false },
		{ "/a/*", false },
		{ "/a?", false },
		{ "/[a]", false },
		{ "/a]", false },
		{ "/{a,b}", false },
		{ "/a}", false },
		{ "/a\\b", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		auto_buffer printed = { 0 };
		enum glob_kind kind = GLOB_TRUE;
		struct glob g;
		size_t n = 0;

		if (glob_plain(rows[i].text, &n, &kind) != rows[i].plain)
			fail_msg("%s: expected %d", rows[i].text, rows[i].plain);
		if (!rows[i].plain)
			continue;
		assert_int_equal(glob_parse(&g, &a, rows[i].text, NULL, NULL), 0);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.alternatives[0].kind, kind);
		assert_int_equal(g.alternatives[0].literal_len, n);
		glob_print(&g.alternatives[0], &printed);
		assert_string_equal(buffer_text(&printed), rows[i].text);
	}
}

/* One byte more than a pattern may have is no plain pattern either. */
static void test_plain_is_bounded(void **state)
{
	char text[GLOB_LENGTH_MAX + 8];
	enum glob_kind kind;
	size_t n;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[GLOB_LENGTH_MAX] = '\0';
	assert_true(glob_plain(text, &n, &kind));
	memcpy(text + GLOB_LENGTH_MAX - 3, "/**", 4);
	assert_true(glob_plain(text, &n, &kind));
	memcpy(text + GLOB_LENGTH_MAX - 3, "a/**", 5);
	assert_false(glob_plain(text, &n, &kind));
	memset(text + 1, 'a', GLOB_LENGTH_MAX);
	text[GLOB_LENGTH_MAX + 1] = '\0';
	assert_false(glob_plain(text, &n, &kind));
}

static void test_refusals(void **state)
{
	static const struct {
		const char *pattern, *word; /* the word stands in the message */
	} rows[] = {
		{ "", "slash" },
		{ "a", "slash" },
		{ "*", "slash" },
		{ "**a", "slash" },
		{ "./a", "slash" },
		{ "/a/..", ".." },
		{ "/../a", ".." },
		{ "/**/..", ".." },
		{ "/a/\\..", ".." },
		{ "/[", "never closed" },
		{ "/[a", "never closed" },
		{ "/[]", "never closed" },
		{ "/[!]", "never closed" },
		{ "/[/]", "nothing" },
		{ "/[z-a]", "nothing" },
		{ "/[[:foo:]]", "class" },
		{ "/[é]", "ASCII" },
		{ "/a\\", "backslash" },
		{ "/{a", "never closed" },
		{ "/{a,{b}", "never closed" },
		{ "/a}", "without a {" },
		{ "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than" },
		{ "/{a,..}/x", ".." },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct location where = { "p.yaml", 3, 7 };
		struct error e = { 0 };
		struct glob g;

		if (glob_parse(&g, &a, rows[i].pattern, &where, &e) >= 0)
			fail_msg("%s was taken", rows[i].pattern);
		if (!strstr(e.text, rows[i].word))
			fail_msg("%s: %s", rows[i].pattern, e.text);
		assert_int_equal(e.line, 3);
	}
	assert_true(glob_check("/a/*", NULL) == 0 && glob_check("a", NULL) < 0);
	assert_true(glob_match_text("/a/*", "/a/b") && !glob_match_text("a", "a"));
}

static void test_too_long(void **state)
{
	auto_arena a = { 0 };
	char *text = malloc(GLOB_LENGTH_MAX + 2);
	struct glob g;

	(void)state;
	memset(text, 'a', GLOB_LENGTH_MAX + 1);
	text[0] = '/';
	text[GLOB_LENGTH_MAX + 1] = '\0';
	assert_int_equal(glob_parse(&g, &a, text, NULL, NULL), -E2BIG);
	text[GLOB_LENGTH_MAX] = '\0';
	assert_int_equal(glob_parse(&g, &a, text, NULL, NULL), 0);
	assert_true(glob_match(&g, text, GLOB_LENGTH_MAX));
	free(text);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *pattern;
		enum glob_kind kind;
		const char *literal;
	} rows[] = {
		{ "/a/b", GLOB_LITERAL, "/a/b" },
		{ "/", GLOB_LITERAL, "/" },
		{ "/a/b/**", GLOB_SUBTREE, "/a/b" },
		{ "/**", GLOB_SUBTREE, "" },
		{ "/a/[b]", GLOB_LITERAL, "/a/b" },
		{ "/a/\\*/**", GLOB_SUBTREE, "/a/*" },
		{ "/a/*.c", GLOB_TRUE, "/a/" },
		{ "/a/**/c", GLOB_TRUE, "/a" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct glob g;

		assert_int_equal(glob_parse(&g, &a, rows[i].pattern, NULL, NULL), 0);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.alternatives[0].kind, rows[i].kind);
		assert_string_equal(g.alternatives[0].literal, rows[i].literal);
	}
}

static void test_printing(void **state)
{
	static const char *const rows[][2] = {
		{ "/a//b/./c", "/a/b/c" },
		{ "/a/", "/a/**" },
		{ "/a/**/", "/a/**" },
		{ "**", "/**" },
		{ "**/x", "/**/x" },
		{ "/a/***/b", "/a/**/b" },
		{ "/a/***b", "/a/*b" },
		{ "/?*/x", "/*/x" },
		{ "/a?*", "/a?*" },
		{ "/[a]", "/a" },
		{ "/[cba]", "/[a-c]" },
		{ "/[ab]", "/[ab]" },
		{ "/[^a]", "/[!a]" },
		{ "/[]-]", "/[\\-\\]]" },
		{ "/[!!]", "/[!\\!]" },
		{ "/[+-5]", "/[+-.0-5]" },
		{ "/x[!/]y", "/x?y" },
		{ "/x[!0-.]", "/x?" },
		{ "/\\$x", "/\\$x" },
		{ "/\\a", "/a" },
		{ "/a\\,b", "/a,b" },
		{ "/x\\{", "/x\\{" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		auto_buffer once = { 0 }, twice = { 0 };
		struct glob g;

		assert_int_equal(glob_parse(&g, &a, rows[i][0], NULL, NULL), 0);
		glob_print(&g.alternatives[0], &once);
		assert_string_equal(buffer_text(&once), rows[i][1]);
		assert_int_equal(glob_parse(&g, &a, buffer_text(&once), NULL, NULL), 0);
		glob_print(&g.alternatives[0], &twice);
		assert_string_equal(buffer_text(&twice), rows[i][1]);
	}
}

/* A pattern that makes backtracking matchers take years. */
static void test_linear(void **state)
{
	auto_buffer pattern = { 0 }, path = { 0 };
	clock_t start = clock();

	(void)state;
	buffer_addc(&pattern, '/');
	for (int i = 0; i < 60; i++)
		buffer_adds(&pattern, "a*");
	buffer_addc(&pattern, 'b');
	buffer_addc(&path, '/');
	for (int i = 0; i < 2000; i++)
		buffer_addc(&path, 'a');
	assert_false(matches(buffer_text(&pattern), buffer_text(&path)));
	/* Not a measurement: the alternative to "at once" is "never". */
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
}

/* Every allocation that can fail fails once; nothing is lost, nothing is touched. */
static void test_memory(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (size_t budget = 1; r == -ENOMEM; budget += 16) {
		auto_arena a = { 0 };
		struct glob g;

		arena_init(&a, budget);
		r = glob_parse(&g, &a, "/{a,b*[x-z]}/**", NULL, NULL);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_plain_is_bounded),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_printing),
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
