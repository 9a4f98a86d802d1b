/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

static void test_print(void **state)
{
	static const struct {
		struct location loc;
		const char *hint, *printed;
	} cases[] = {
		{ { NULL, 0, 0 }, NULL, "bad x" },
		{ { NULL, 3, 7 }, "try y", "bad x\n  try y" },
		{ { "a.yaml", 0, 0 }, NULL, "a.yaml: bad x" },
		{ { "a.yaml", 3, 0 }, NULL, "a.yaml:3: bad x" },
		{ { "a.yaml", 3, 7 }, "try y", "a.yaml:3:7: bad x\n  try y" },
		{ { "a.yaml", 0, 7 }, NULL, "a.yaml: bad x" },
		{ { "a\n.yaml", 1, 0 }, NULL, "a\\x0a.yaml:1: bad x" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct error e;
		auto_buffer out = { 0 };

		assert_int_equal(error_set(&e, -EINVAL, &cases[i].loc, "bad %s", "x"), -EINVAL);
		assert_int_equal(e.line, cases[i].loc.line);
		assert_int_equal(e.column, cases[i].loc.column);
		if (cases[i].hint)
			error_hint(&e, "%s", cases[i].hint);
		error_print(&e, &out);
		assert_string_equal(buffer_text(&out), cases[i].printed);
	}
}

/* What a foreign text says reaches a terminal as harmless characters. */
static void test_foreign(void **state)
{
	struct error e;

	(void)state;
	assert_int_equal(error_set(&e, -EPERM, NULL, "no '%s'", "\x1b[2J\xe2\x80\xae"), -EPERM);
	assert_string_equal(e.text, "no '\\x1b[2J\\xe2\\x80\\xae'");
	error_hint(&e, "%s", "\r");
	assert_string_equal(e.hint, "\\x0d");
}

/* Longer than it holds: cut, never overrun. A second error replaces the first, hint and all. */
static void test_long(void **state)
{
	const struct location loc = { "f", 1, 1 };
	char text[2000], file[400];
	struct error e;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(file, 'f', sizeof(file) - 1);
	file[sizeof(file) - 1] = '\0';
	error_set(&e, -1, &(struct location){ .file = file }, "%s", text);
	error_hint(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
	assert_int_equal(strlen(e.file), sizeof(e.file) - 1);
	error_set(&e, -1, &loc, "short");
	assert_string_equal(e.text, "short");
	assert_string_equal(e.hint, "");
	assert_string_equal(e.file, "f");
}

static void test_cut(void **state)
{
	char text[600];
	struct error e;

	(void)state;
	for (size_t start = 0; start < 2; start++) {
		memset(text, 'x', sizeof(text));
		for (size_t i = start; i + 2 < sizeof(text); i += 2)
			memcpy(text + i, "\xc3\xa9", 2);
		text[sizeof(text) - 1] = '\0';
		error_set(&e, -1, NULL, "%s", text);
		assert_true(utf8_valid(e.text, strlen(e.text), NULL));
		assert_true(strlen(e.text) >= sizeof(e.text) - 2);
	}
}

static void test_null(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, -EIO, NULL, "x"), -EIO);
	error_hint(NULL, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
