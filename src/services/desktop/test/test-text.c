/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "services/desktop/text.h"

static const struct {
	const char *name, *text, *want;
	size_t max, lines;
	bool with_markup;
} rows[] = {
	{ "plain", "milk & eggs", "milk & eggs", 99, 1, false },
	{ "cut", "abcdef", "abc…", 3, 1, false },
	{ "just fits", "abc", "abc", 3, 1, false },
	{ "characters, not bytes", "äöü", "äöü", 3, 1, false },
	{ "one line", "a\nb\tc\r\nd", "a b c  d", 99, 1, false },
	{ "line separators",
		"a\xe2\x80\xa8"
		"b\xe2\x80\xa9"
		"c",
		"a b c", 99, 1, false },
	{ "lines", "a\nb", "a\nb", 99, 5, false },
	{ "too many lines", "a\nb\nc\nd", "a\nb…", 99, 2, false },
	{ "control characters", "a\033[31mb\007\x7f", "a[31mb", 99, 1, false },
	{ "C1 controls",
		"a\xc2\x9b"
		"31mb",
		"a31mb", 99, 1, false },
	{ "right to left", "abc\xe2\x80\xaegpj.exe", "abcgpj.exe", 99, 1, false },
	{ "no width", "pay\xe2\x80\x8bpal", "paypal", 99, 1, false },
	{ "tags", "a\xf3\xa0\x81\xa1", "a", 99, 1, false },
	{ "markup", "<b>x</b> &amp; <a href=\"http://evil.example\">",
		"&lt;b&gt;x&lt;/b&gt; &amp;amp; &lt;a href=\"http://evil.example\"&gt;", 99, 5,
		true },
	{ "markup, not read", "<b>", "<b>", 99, 5, false },
	{ "no UTF-8", "a\xff\xfe\xc3", "a", 99, 1, false },
	{ "nothing", "", "", 99, 1, false },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		text_add_lines(&out, rows[i].text, strlen(rows[i].text), rows[i].max, rows[i].lines,
			rows[i].with_markup);
		if (strcmp(buffer_text(&out), rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].name, buffer_text(&out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
