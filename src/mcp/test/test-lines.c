/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "mcp/lines.h"

enum { LONGEST = 4 };

/* Pieces as they are read, and what comes of them: lines, "!" for one that is too long. */
static const struct {
	const char *pieces[8];
	const char *lines;
} rows[] = {
	{ { "" }, "" },
	{ { "a" }, "" },
	{ { "a\n" }, "a|" },
	{ { "a", "b", "\n" }, "ab|" },
	{ { "a\nb\n\nc" }, "a|b||" },
	{ { "a\r\n" }, "a\r|" },
	{ { "1234\n" }, "1234|" },
	{ { "12345\n1\n" }, "!1|" },
	{ { "12345", "6789", "\n1\n" }, "!1|" },
	{ { "1234", "5\n", "6\n" }, "!6|" },
	{ { "12345", "6", "7" }, "!" },
	{ { "1\n12345", "\n", "2\n12345\n3\n" }, "1|!2|!3|" },
	{ { "12345\n12345\n" }, "!!" },
};

static void test_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_mcp_lines l = { .max = LONGEST };
		auto_buffer got = { 0 };

		for (const char *const *p = rows[i].pieces; *p; p++) {
			const char *line;
			enum mcp_line what;
			size_t len;

			mcp_lines_add(&l, *p, strlen(*p));
			while ((what = mcp_lines_next(&l, &line, &len)) != MCP_LINE_NONE) {
				if (what == MCP_LINE_LONG) {
					buffer_addc(&got, '!');
					continue;
				}
				buffer_add(&got, line, len);
				buffer_addc(&got, '|');
			}
			/* However long a line is, what is kept is not longer than the bound and
			 * a piece. */
			assert_true(l.held.len <= LONGEST + strlen(*p));
		}
		assert_string_equal(buffer_text(&got), rows[i].lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
