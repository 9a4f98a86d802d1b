/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/diff.h"
#include "cli/output.h"

static void test_print(void **state)
{
	static const struct {
		const char *old, *new, *shown;
	} rows[] = {
		{ "", "", "" },
		{ "a\n", "a\n", "" },
		{ "", "a\n", "  @@ new line 1 @@\n  + a\n" },
		{ "a\n", "", "  @@ line 1 @@\n  - a\n" },
		{ "a\nb\nc\n", "a\nx\nc\n", "  @@ line 1 @@\n    a\n  - b\n  + x\n    c\n" },
		{ "a\nb\n1\nc\n", "a\nb\n2\nb\n1\nd\n",
			"  @@ line 1 @@\n    a\n    b\n  + 2\n  + b\n    1\n  - c\n  + d\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
			"  @@ line 6 @@\n    6\n    7\n    8\n  - 9\n  + x\n" },
		{ "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n",
			"  @@ line 1 @@\n  - x\n    1\n    2\n    3\n"
			"  @@ line 6 @@\n    5\n    6\n    7\n  - y\n" },
		{ "a\n", "\x1b[2J\n", "  @@ line 1 @@\n  - a\n  + \\x1b[2J\n" },
		{ "a\n", "b\tc\r\n", "  @@ line 1 @@\n  - a\n  + b\\x09c\\x0d\n" },
		{ "a\n", "a", "  @@ line 1 @@\n  - a\n  + a\n  \\ no newline at the end\n" },
		{ "a\nb", "c\nb", "  @@ line 1 @@\n  - a\n  + c\n    b\n" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_output o = { 0 };

		diff_print(&o, "  ", rows[i].old, strlen(rows[i].old), rows[i].new,
			strlen(rows[i].new));
		assert_string_equal(buffer_text(&o.text), rows[i].shown);
	}
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void make_lines(struct buffer *out, const char *word, int n)
{
	for (int i = 0; i < n; i++)
		buffer_printf(out, "%s%d\n", word, i);
}

/* What a person approves by has every line that differs, however many and however long they are. */
static void test_all_is_shown(void **state)
{
	auto_buffer old = { 0 }, new = { 0 };
	auto_output o = { 0 };

	(void)state;
	make_lines(&old, "old ", 3000);
	make_lines(&new, "new ", 3000);
	for (int i = 0; i < 100000; i++)
		buffer_addc(&new, ' ');
	buffer_adds(&new, "the end of a long line\n");
	diff_print(&o, "", old.data, old.len, new.data, new.len);
	assert_false(o.text.failed);
	assert_int_equal(count(o.text.data, "- old "), 3000);
	assert_int_equal(count(o.text.data, "+ new "), 3000);
	assert_int_equal(count(o.text.data, "the end of a long line"), 1);
	assert_int_equal(count(o.text.data, "…"), 0);
}

static void test_short_is_bounded(void **state)
{
	auto_buffer old = { 0 }, new = { 0 };
	auto_output o = { 0 };
	size_t lines = 10;

	(void)state;
	make_lines(&old, "old ", 2000);
	make_lines(&new, "new ", 2000);
	assert_int_equal(
		diff_print_short(&o, old.data, old.len, new.data, new.len, &lines), -E2BIG);
	assert_int_equal(o.text.len, 0);
	assert_int_equal(lines, 10);
	buffer_clear(&new);
	buffer_add(&new, old.data, old.len);
	make_lines(&new, "new ", 200);
	assert_int_equal(diff_print_short(&o, old.data, old.len, new.data, new.len, &lines), 0);
	assert_int_equal(lines, 0);
	assert_int_equal(count(o.text.data, "\n+ new "), 7);
	assert_non_null(strstr(o.text.data, "…"));
}

/* A line is cut between two characters; tabs stay. */
static void test_short_cuts_lines(void **state)
{
	auto_buffer new = { 0 };
	auto_output o = { 0 };
	size_t lines = 10;

	(void)state;
	buffer_adds(&new, "\t");
	for (int i = 0; i < DIFF_COLUMNS - 2; i++)
		buffer_addc(&new, 'a');
	buffer_adds(&new, "ä\n");
	assert_int_equal(diff_print_short(&o, "", 0, new.data, new.len, &lines), 0);
	assert_int_equal(lines, 9);
	assert_non_null(strstr(o.text.data, "+ \ta"));
	assert_non_null(strstr(o.text.data, "a…\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_all_is_shown),
		cmocka_unit_test(test_short_is_bounded),
		cmocka_unit_test(test_short_cuts_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
