/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/match/pattern.h"

static void test_canonical(void **state)
{
	static const struct {
		enum operation op;
		const char *text, *want;
	} rows[] = {
		{ OPERATION_FS_READ, "/a", "/a" },
		{ OPERATION_FS_READ, "//a//b/", "/a/b/**" },
		{ OPERATION_FS_READ, "/a/./b", "/a/b" },
		{ OPERATION_FS_WRITE, "~/x/", "$HOME/x/**" },
		{ OPERATION_FS_READ, "~", "$HOME" },
		{ OPERATION_FS_READ, "~/", "$HOME/**" },
		{ OPERATION_FS_READ, "~//", "$HOME/**" },
		{ OPERATION_FS_READ, "${TEMP}", "$TEMP" },
		{ OPERATION_FS_READ, "$WORK_DIR/**", "$WORK_DIR/**" },
		{ OPERATION_FS_READ, "**", "/**" },
		{ OPERATION_FS_READ, "**/x", "/**/x" },
		{ OPERATION_FS_READ, "/a***b", "/a*b" },
		{ OPERATION_FS_READ, "/[a]", "/a" },
		{ OPERATION_FS_READ, "/[ba]", "/[ab]" },
		{ OPERATION_FS_READ, "/\\a\\*", "/a\\*" },
		{ OPERATION_FS_READ, "/[!/]", "/?" },
		{ OPERATION_FS_READ, "/{a,b}//c", "/{a,b}//c" },
		{ OPERATION_FS_READ, "/", "/" },
		{ OPERATION_NET_CONNECT, "H.Com.:443", "h.com:443" },
		{ OPERATION_NET_CONNECT, "10.0.0.0/8", "10.0.0.0/8:*" },
		{ OPERATION_EXEC, " git   push  ", "git push:" },
		{ OPERATION_EXEC, "git push:*", "git push:*" },
		{ OPERATION_EXEC, "git:*", "git" },
		{ OPERATION_EXEC, "~/bin//x  y", "$HOME/bin/x y:" },
		{ OPERATION_EXEC, "*", "/**" },
		{ OPERATION_EXEC, "/opt/my\\ tool", "/opt/my\\ tool" },
		{ OPERATION_ENV, "A=b c", "A=b c" },
		{ OPERATION_SERVICE, "vault.read", "vault.read" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		const char *got = NULL, *again = NULL;
		struct error e = { 0 };
		int r = pattern_canonical(rows[i].op, rows[i].text, &a, &got, NULL, &e);

		if (r < 0 || strcmp(got, rows[i].want) != 0)
			fail_msg("<%s>: %d <%s>, want <%s> (%s)", rows[i].text, r, got ? got : "",
				rows[i].want, e.text);
		/* Canonical once, canonical for ever. */
		assert_int_equal(pattern_canonical(rows[i].op, got, &a, &again, NULL, NULL), 0);
		assert_string_equal(again, got);
		assert_int_equal(
			pattern_canonical(rows[i].op, rows[i].text, &a, NULL, NULL, NULL), 0);
	}
}

static void test_refused(void **state)
{
	static const struct {
		enum operation op;
		const char *text;
	} rows[] = {
		{ OPERATION_FS_READ, "" },
		{ OPERATION_FS_READ, "a" },
		{ OPERATION_FS_READ, "/a/../b" },
		{ OPERATION_FS_READ, "/[a" },
		{ OPERATION_FS_READ, "/a\\" },
		{ OPERATION_FS_WRITE, "$NOPE/x" },
		{ OPERATION_FS_READ, "/x/$HOME" },
		{ OPERATION_FS_READ, "$HOME/.." },
		{ OPERATION_NET_CONNECT, "" },
		{ OPERATION_NET_CONNECT, "h.com:x" },
		{ OPERATION_EXEC, "" },
		{ OPERATION_EXEC, "py*" },
		{ OPERATION_EXEC, "/[" },
		{ OPERATION_EXEC, "$NOPE/x" },
	};
	const struct location where = { "f", 3, 1 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		const char *got = NULL;
		struct error e = { 0 };

		if (pattern_canonical(rows[i].op, rows[i].text, &a, &got, &where, &e) != -EINVAL ||
			got || e.line != 3 || !e.text[0])
			fail_msg("<%s>: %s", rows[i].text, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
