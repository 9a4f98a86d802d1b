/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"

static const struct {
	const char *path, *normal; /* NULL: none */
} cases[] = {
	{ "/", "/" },
	{ "//", "/" },
	{ "/.", "/" },
	{ "/..", "/" },
	{ "/../..", "/" },
	{ "/a", "/a" },
	{ "/a/", "/a" },
	{ "//a//b//", "/a/b" },
	{ "/a/./b", "/a/b" },
	{ "/a/../b", "/b" },
	{ "/a/b/..", "/a" },
	{ "/a/b/../..", "/" },
	{ "/a/b/../../../c", "/c" },
	{ "/a/...", "/a/..." },
	{ "/.a/..b", "/.a/..b" },
	{ "/a b/\n", "/a b/\n" },
	{ "", NULL },
	{ "a", NULL },
	{ "./a", NULL },
	{ "../a", NULL },
};

static void test_normalize(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		const size_t len = strlen(cases[i].path);
		char out[PATH_BYTES];
		size_t n = 42;
		int r = path_normalize(cases[i].path, len, out, &n);

		if (!cases[i].normal) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(n, 42);
			assert_false(path_is_normal(cases[i].path, len));
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(out, cases[i].normal);
		assert_int_equal(n, strlen(out));
		assert_true(path_is_normal(out, n));
		assert_int_equal(path_is_normal(cases[i].path, len),
			strcmp(cases[i].path, cases[i].normal) == 0);
	}
}

static void test_plain(void **state)
{
	static const char *const bad[] = { "", "a", "/a/", "/a//b", "/a/.", "/a b", "/a\t", "/a,b",
		"/a*", "/?", "/[a]", "/{a}", "/a\\", "/$a", "/\"", "/'", "/`", "/\177" };

	(void)state;
	assert_true(path_is_plain("/usr/bin/gh", 11) && path_is_plain("/", 1) &&
		    path_is_plain("/g++-12/a_b@c~d:e=f#%+", 22) && path_is_plain("/\303\274", 3));
	for (size_t i = 0; i < ROWS(bad); i++)
		if (path_is_plain(bad[i], strlen(bad[i])))
			fail_msg("%s", bad[i]);
	assert_false(path_is_plain("/a\0b", 4));
	/* A part of a text. */
	assert_true(path_is_plain("/a,/b", 2));
}

static void test_nul(void **state)
{
	char out[PATH_BYTES];
	size_t n;

	(void)state;
	assert_int_equal(path_normalize("/a\0b", 4, out, &n), -EINVAL);
	assert_false(path_is_normal("/a\0b", 4));
	/* Only len bytes count. */
	assert_int_equal(path_normalize("/a/bcd", 4, out, &n), 0);
	assert_string_equal(out, "/a/b");
}

static void test_length(void **state)
{
	char path[2 * PATH_BYTES], out[PATH_BYTES];
	size_t n;

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	assert_int_equal(path_normalize(path, PATH_BYTES - 1, out, &n), 0);
	assert_int_equal(n, PATH_BYTES - 1);
	assert_int_equal(path_normalize(path, PATH_BYTES, out, &n), -ENAMETOOLONG);
	/* A long text whose normal form is short. */
	for (size_t i = 0; i + 3 <= sizeof(path); i += 3)
		memcpy(path + i, "/..", 3);
	assert_int_equal(path_normalize(path, sizeof(path) / 3 * 3, out, &n), 0);
	assert_string_equal(out, "/");
}

static const struct {
	const char *path, *dir;
	bool below;
} below[] = {
	{ "/a", "/", true },
	{ "/", "/", true },
	{ "/a", "/a", true },
	{ "/a/b", "/a", true },
	{ "/ab", "/a", false },
	{ "/a", "/a/b", false },
	{ "/", "/a", false },
	{ "/b/a", "/a", false },
};

static void test_below(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(below); i++)
		assert_int_equal(path_is_below(below[i].path, below[i].dir), below[i].below);
}

static void test_join(void **state)
{
	char out[PATH_BYTES], folder[PATH_BYTES] = "/";

	(void)state;
	assert_true(path_join(out, "/", "a"));
	assert_string_equal(out, "/a");
	assert_true(path_join(out, "/a/b", "c"));
	assert_string_equal(out, "/a/b/c");
	/* The longest that fits, and one byte more. */
	memset(folder + 1, 'x', PATH_BYTES - 4);
	assert_true(path_join(out, folder, "a"));
	assert_int_equal(strlen(out), PATH_BYTES - 1);
	assert_false(path_join(out, folder, "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normalize),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
