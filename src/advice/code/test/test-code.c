/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "advice/code/code.h"
#include "base/array.h"
#include "base/buffer.h"

/* Names as they are, strings in quotes, comments behind '#', numbers and marks, '|' for an end. */
static void read_into(struct buffer *b, enum code_language language, const char *text)
{
	static const char before[] = { ' ', '"', '#', ' ', ' ', '|' };
	auto_arena a = { 0 };
	struct code_tokens t = { 0 };

	assert_int_equal(code_read(&t, &a, language, text, strlen(text)), 0);
	for (size_t i = 0; i < t.n; i++) {
		buffer_addc(b, before[t.items[i].kind]);
		if (t.items[i].kind != CODE_END)
			buffer_add(b, text + t.items[i].start, t.items[i].len);
	}
}

static void test_tokens(void **state)
{
	static const struct {
		enum code_language language;
		const char *text, *tokens;
	} rows[] = {
		{ CODE_PYTHON, "a = 1\nb", " a = 1| b|" },
		{ CODE_PYTHON, "f(a,\n  b)\n", " f ( a , b )|" },
		{ CODE_PYTHON, "x = 'a\\'b' # c\n", " x =\"a\\'b# c|" },
		{ CODE_PYTHON, "'''a\n\"b''' + \"\"\"c\"\"\"", "\"a\n\"b +\"c|" },
		{ CODE_PYTHON, "r'\\' 'x", "\"\\'  x|" },
		{ CODE_PYTHON, "f\"a{k}b{{n}}\"", "\"a{k}b{{n}} k|" },
		{ CODE_PYTHON, "a \\\n b", " a b|" },
		{ CODE_PYTHON, "a; b", " a| b|" },
		{ CODE_PYTHON, "'open", "\"open|" },
		{ CODE_PYTHON, "\n\n\n", "" },
		{ CODE_JAVASCRIPT, "a(() => { b; c })", " a ( ( ) = >| b| c| )|" },
		{ CODE_JAVASCRIPT, "x = { a: 1,\n b }", " x = { a : 1 , b }|" },
		{ CODE_JAVASCRIPT, "`a${k.v}`", "\"a${k.v} k . v|" },
		{ CODE_JAVASCRIPT, "a / b / c // d\n", " a / b / c# d|" },
		{ CODE_JAVASCRIPT, "x = /a\\/[/]b/g", " x =\"a\\/[/]b g|" },
		{ CODE_JAVASCRIPT, "/* a\nb */ c", "# a\nb  c|" },
		{ CODE_JAVASCRIPT, "if (a) { b }", " if ( a )| b|" },
		{ CODE_JAVASCRIPT, ")]}", " ) ] }|" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer b = { 0 };

		read_into(&b, rows[i].language, rows[i].text);
		assert_string_equal(buffer_text(&b), rows[i].tokens);
	}
}

static void test_bounds(void **state)
{
	static char text[3 * CODE_TOKENS_MAX];
	auto_arena a = { 0 };
	struct code_tokens t = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "+("[i % 2];
	assert_int_equal(code_read(&t, &a, CODE_JAVASCRIPT, text, sizeof(text)), 0);
	assert_true(t.cut);
	assert_int_equal(t.n, CODE_TOKENS_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
