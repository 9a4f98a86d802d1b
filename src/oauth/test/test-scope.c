/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "oauth/scope.h"

static void test_add(void **state)
{
	static const struct {
		const char *have, *more, *all;
	} rows[] = {
		{ "", NULL, "" },
		{ "", " ", "" },
		{ "a", NULL, "a" },
		{ "a", "b", "a b" },
		{ "a b", "b a", "a b" },
		{ "", " a  b a ", "a b" },
		{ "ab", "a", "ab a" },
		{ "mcp:basic", "mcp:write mcp:basic", "mcp:basic mcp:write" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		oauth_scope_add(&out, rows[i].have);
		oauth_scope_add(&out, rows[i].more);
		assert_string_equal(buffer_text(&out), rows[i].all);
	}
}

static void test_covers(void **state)
{
	(void)state;
	assert_true(oauth_scope_covers("a b", "b"));
	assert_true(oauth_scope_covers("a  b", " b a "));
	assert_true(oauth_scope_covers("", ""));
	assert_false(oauth_scope_covers("a b", "c"));
	assert_false(oauth_scope_covers("ab", "a"));
	assert_false(oauth_scope_covers("a", "ab"));
	assert_false(oauth_scope_covers("", "a"));
}

static void test_plain(void **state)
{
	static const char *const not_plain[] = { "", " ", "--help", "a\"b", "a'b", "$(a)", "`a`",
		"a;b", "a\nb", "a\\b", "\xc3\xa4" };
	char many[300];

	(void)state;
	assert_true(oauth_scope_is_plain("mcp:write https://x.example/auth/a.b-c"));
	for (size_t i = 0; i < ROWS(not_plain); i++)
		assert_false(oauth_scope_is_plain(not_plain[i]));
	memset(many, 'a', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	assert_false(oauth_scope_is_plain(many));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
