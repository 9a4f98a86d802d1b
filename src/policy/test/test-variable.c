/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/variable.h"

static void test_names(void **state)
{
	(void)state;
	for (int v = 0; v < VARIABLE_COUNT; v++) {
		const char *name = variable_name((enum variable)v);
		enum variable found;

		assert_int_equal(variable_parse(name, strlen(name), &found), 0);
		assert_int_equal(found, v);
		assert_int_equal(variable_parse(name, strlen(name) - 1, &found), -ENOENT);
	}
}

static void test_split(void **state)
{
	static const struct {
		const char *pattern;
		int code;
		enum variable variable;
		const char *rest, *text, *hint; /* of the error */
	} rows[] = {
		{ "/a", 0, 0, NULL, NULL, NULL },
		{ "", 0, 0, NULL, NULL, NULL },
		{ "/a\\$b", 0, 0, NULL, NULL, NULL },
		{ "~x", 0, 0, NULL, NULL, NULL },
		{ "/\\", 0, 0, NULL, NULL, NULL },
		{ "~", 1, VARIABLE_HOME, "", NULL, NULL },
		{ "~/x", 1, VARIABLE_HOME, "/x", NULL, NULL },
		{ "$HOME", 1, VARIABLE_HOME, "", NULL, NULL },
		{ "$HOME/**", 1, VARIABLE_HOME, "/**", NULL, NULL },
		{ "${WORK_DIR}/x", 1, VARIABLE_WORK_DIR, "/x", NULL, NULL },
		{ "${TEMP}", 1, VARIABLE_TEMP, "", NULL, NULL },
		{ "$SKILL_DIR/\\$x", 1, VARIABLE_SKILL_DIR, "/\\$x", NULL, NULL },
		{ "$HOM/x", -EINVAL, 0, NULL, "unknown variable $HOM", "did you mean $HOME" },
		{ "$XYZZY_FOO/x", -EINVAL, 0, NULL, "unknown variable $XYZZY_FOO",
			"valid variables" },
		{ "$", -EINVAL, 0, NULL, "unknown variable $", "valid variables" },
		{ "$/x", -EINVAL, 0, NULL, "unknown variable $", NULL },
		{ "${HOME/x", -EINVAL, 0, NULL, "unknown variable $", NULL },
		{ "${}/x", -EINVAL, 0, NULL, "unknown variable $", NULL },
		{ "$HOMEx", -EINVAL, 0, NULL, "unknown variable $HOMEx", "did you mean $HOME" },
		{ "${HOME}x", -EINVAL, 0, NULL, "expected a slash after $HOME", NULL },
		{ "$HOME.x", -EINVAL, 0, NULL, "expected a slash after $HOME", NULL },
		{ "/a/$HOME", -EINVAL, 0, NULL, "only stand at the start", "write \\$" },
		{ "$HOME/$TEMP", -EINVAL, 0, NULL, "only stand at the start", "write \\$" },
		{ "/a$", -EINVAL, 0, NULL, "only stand at the start", NULL },
		{ "$AVERYLONGNAMETHATHASMORETHANSIXTYFOURLETTERSINITANDGOESONANDONANDON/x", -EINVAL,
			0, NULL, "unknown variable $AVERYLONG", NULL },
	};
	const struct location where = { "f", 4, 2 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		enum variable v = VARIABLE_COUNT;
		const char *rest = NULL;
		struct error e = { 0 };
		int r = variable_split(rows[i].pattern, &v, &rest, &where, &e);

		if (r != rows[i].code ||
			(r == 1 && (v != rows[i].variable || strcmp(rest, rows[i].rest) != 0)) ||
			(r != 1 && (v != VARIABLE_COUNT || rest)) ||
			(r < 0 && (e.line != 4 || !strstr(e.text, rows[i].text))) ||
			(rows[i].hint && !strstr(e.hint, rows[i].hint)))
			fail_msg("<%s>: %d %s (%s)", rows[i].pattern, r, e.text, e.hint);
		assert_int_equal(variable_split(rows[i].pattern, &v, &rest, NULL, NULL), r);
	}
}

static void test_expand(void **state)
{
	static const struct {
		const char *value, *pattern, *want; /* NULL: an error */
		int code;
	} rows[] = {
		{ "/home/me", "~/x", "/home/me/x", 0 },
		{ "/home/me", "$HOME", "/home/me", 0 },
		{ "/home/me", "/x/*", "/x/*", 0 },
		/* A value is literal, whatever it holds. */
		{ "/a*[b]{c}?$d\\", "~/**", "/a\\*\\[b\\]\\{c\\}\\?\\$d\\\\/**", 0 },
		{ "/", "~/x", "/x", 0 },
		{ "/", "~", "/", 0 },
		{ "/", "~/**", "/**", 0 },
		{ NULL, "~/x", NULL, -ENOENT },
		{ "", "~/x", NULL, -EINVAL },
		{ "a", "~/x", NULL, -EINVAL },
		{ "/a/", "~/x", NULL, -EINVAL },
		{ "/a/../b", "~/x", NULL, -EINVAL },
		{ "/a", "$NOPE", NULL, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct variables vars = { .values = { [VARIABLE_HOME] = rows[i].value } };
		auto_arena a = { 0 };
		const char *text = NULL;
		struct error e = { 0 };
		int r = variable_expand(&vars, rows[i].pattern, &a, &text, NULL, &e);

		if (r != rows[i].code || (r == 0 && strcmp(text, rows[i].want) != 0) ||
			(r < 0 && !e.text[0]))
			fail_msg("<%s>: %d %s %s", rows[i].pattern, r, text ? text : "", e.text);
		if (r < 0)
			assert_null(text);
	}
	{
		auto_arena a = { 0 };
		const char *text = NULL;

		assert_int_equal(variable_expand(NULL, "~", &a, &text, NULL, NULL), -ENOENT);
		assert_int_equal(variable_expand(NULL, "/~", &a, &text, NULL, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_expand),
	};

	return cmocka_run_group_tests_name("variable", tests, NULL, NULL);
}
