/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/frontmatter.h"
#include "codec/json.h"

/* meta is the frontmatter as JSON, or NULL for a text without. */
static const struct {
	const char *text;
	size_t len;
	const char *meta, *body;
} accepted[] = {
	{ TEXT(""), NULL, "" },
	{ TEXT("# Title\n"), NULL, "# Title\n" },
	{ TEXT("\xef\xbb\xbf# Title\n"), NULL, "# Title\n" },
	{ TEXT("\xef\xbb\xbf"), NULL, "" },
	{ TEXT("---\nname: x\n---\nbody\n"), "{\"name\":\"x\"}", "body\n" },
	{ TEXT("---\nname: x\n...\nbody"), "{\"name\":\"x\"}", "body" },
	{ TEXT("---\nname: x\n---"), "{\"name\":\"x\"}", "" },
	{ TEXT("---\nname: x\n---\n"), "{\"name\":\"x\"}", "" },
	{ TEXT("---\n---\nbody"), "null", "body" },
	{ TEXT("---\n\n# comment\n---\nbody"), "null", "body" },
	{ TEXT("---\r\nname: x\r\nl:\r\n- a\r\n---\r\nbody\r\n"), "{\"name\":\"x\",\"l\":[\"a\"]}",
		"body\r\n" },
	{ TEXT("\xef\xbb\xbf---\nname: x\n---\nbody"), "{\"name\":\"x\"}", "body" },
	{ TEXT("\xef\xbb\xbf---\r\nname: x\r\n---\r\nbody"), "{\"name\":\"x\"}", "body" },
	{ TEXT("--- \t\nname: x\n--- \r\nbody"), "{\"name\":\"x\"}", "body" },
	/* Only the first fence after the opening one closes. */
	{ TEXT("---\na: 1\n---\nb\n---\nc\n"), "{\"a\":1}", "b\n---\nc\n" },
	/* An indented line is no fence: here it is text. */
	{ TEXT("---\na: |\n ---\n ...\n---\nb"), "{\"a\":\"---\\n...\\n\"}", "b" },
	/* Not the very first line, or not just the dashes: Markdown. */
	{ TEXT("\n---\na: 1\n---\n"), NULL, "\n---\na: 1\n---\n" },
	{ TEXT(" ---\na: 1\n---\n"), NULL, " ---\na: 1\n---\n" },
	{ TEXT("----\na: 1\n---\n"), NULL, "----\na: 1\n---\n" },
	{ TEXT("--- a\n---\n"), NULL, "--- a\n---\n" },
	{ TEXT("...\na: 1\n---\n"), NULL, "...\na: 1\n---\n" },
	{ TEXT("--"), NULL, "--" },
	/* The body is not ours to judge. */
	{ TEXT("---\na: 1\n---\n\xff"), "{\"a\":1}", "\xff" },
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(accepted); i++) {
		auto_frontmatter f = { 0 };
		auto_buffer meta = { 0 };
		struct error e = { 0 };
		const char *text = accepted[i].text;

		if (frontmatter_read(&f, "s.md", text, accepted[i].len, &e) != 0)
			fail_msg("<%s>: %u: %s", text, e.line, e.text);
		json_print(&meta, f.meta.root, JSON_COMPACT);
		assert_int_equal(f.present, accepted[i].meta != NULL);
		assert_string_equal(
			buffer_text(&meta), accepted[i].meta ? accepted[i].meta : "null");
		assert_string_equal(text + f.body, accepted[i].body);
		assert_string_equal(f.meta.file, "s.md");
	}
}

static const struct refusal refused[] = {
	{ TEXT("---"), -EINVAL, 1, 1, "never closed", "put a line of \"---\"" },
	{ TEXT("---\n"), -EINVAL, 1, 1, "never closed", "put a line of \"---\"" },
	{ TEXT("---\nname: x\n"), -EINVAL, 1, 1, "never closed", "must not start with" },
	{ TEXT("---\nname: x\n ---\n---x\n"), -EINVAL, 1, 1, "never closed", "must not" },
	{ TEXT("---\nname: x\n---\0\n"), -EINVAL, 1, 1, "never closed", "must not" },
	{ TEXT("\xef\xbb\xbf---\r\nname: x\r\n"), -EINVAL, 1, 1, "never closed", "must not" },
	{ TEXT("---\na: 1\nb: @x\n---\n"), -EINVAL, 3, 4, "expected a key or a value", "quotes" },
	{ TEXT("---\r\na: 1\r\na: 2\r\n---\r\n"), -EINVAL, 3, 1,
		"duplicate key \"a\", which stands at line 2, column 1", NULL },
	{ TEXT("\xef\xbb\xbf---\na: [\n---\n"), -EINVAL, 3, 1, "expected a value", NULL },
	{ TEXT("---\na: \xff\n---\n"), -EINVAL, 2, 4, "not UTF-8", "only UTF-8" },
	{ TEXT("---\na: 1\n--- b\n---\n"), -EINVAL, 3, 1, "second document", "one document" },
	/* The mark belongs to the file. */
	{ TEXT("---\n\xef\xbb\xbfk: 1\n---\n"), -EINVAL, 2, 1, "U+FEFF", "\\ufeff" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		struct frontmatter f = { .present = true, .body = 7 };
		struct error e = { 0 };
		int r = frontmatter_read(&f, "s.md", refused[i].text, refused[i].len, &e);

		check_refusal(&refused[i], r, &e);
		assert_string_equal(e.file, "s.md");
		assert_null(f.meta.root);
		assert_false(f.present);
		assert_int_equal(f.body, 0);
	}
}

static void test_places(void **state)
{
	static const char text[] = "---\nname: x\nlist:\n  - a\n---\n";
	auto_frontmatter f = { 0 };
	const struct node *list;

	(void)state;
	assert_int_equal(frontmatter_read(&f, NULL, TEXT(text), NULL), 0);
	list = node_get(f.meta.root, "list");
	assert_true(list->key_line == 3 && list->key_column == 1);
	assert_true(list->first->line == 4 && list->first->column == 5);
}

static void test_nothing(void **state)
{
	auto_frontmatter f = { 0 };

	(void)state;
	assert_int_equal(frontmatter_read(&f, NULL, NULL, 0, NULL), 0);
	assert_false(f.present);
	assert_null(f.meta.file);
}

static void test_large_body(void **state)
{
	auto_frontmatter f = { 0 };
	auto_buffer text = { 0 };

	(void)state;
	buffer_adds(&text, "---\na: 1\n---\n");
	while (text.len <= NODE_INPUT_MAX)
		buffer_printf(&text, "%4096s\n", "");
	assert_int_equal(frontmatter_read(&f, NULL, text.data, text.len, NULL), 0);
	assert_int_equal(f.body, strlen("---\na: 1\n---\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_large_body),
	};

	return cmocka_run_group_tests_name("frontmatter", tests, NULL, NULL);
}
