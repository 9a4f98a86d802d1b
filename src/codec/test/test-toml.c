/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "codec/toml.h"

/* What is read, as JSON. toml-test's own cases are in `make acceptance`. */
static const struct {
	const char *text, *json;
} accepted[] = {
	{ "", "{}" },
	{ "\xef\xbb\xbf# a comment\r\n", "{}" },
	{ "a = 1", "{\"a\":1}" },
	{ "a = +1_000\nb = -0\nc = 0xff\nd = 0o17\ne = 0b101\n",
		"{\"a\":1000,\"b\":0,\"c\":255,\"d\":15,\"e\":5}" },
	{ "a = 1.50\nb = 1e3\nc = -1_0.2_5E-1_0\nd = inf\ne = -nan",
		"{\"a\":1.50,\"b\":1e3,\"c\":-10.25E-10,\"d\":\".inf\",\"e\":\".nan\"}" },
	{ "a = true\nb = false", "{\"a\":true,\"b\":false}" },
	{ "a = 2024-02-29\nb = 07:32:00.5\nc = 1979-05-27 07:32:00Z\nd = 1979-05-27T07:32:00+01:00",
		"{\"a\":\"2024-02-29\",\"b\":\"07:32:00.5\",\"c\":\"1979-05-27 07:32:00Z\","
		"\"d\":\"1979-05-27T07:32:00+01:00\"}" },
	{ "a = \"x\\t\\u00e9\\\"\"\nb = 'C:\\x'",
		"{\"a\":\"x\\t\xc3\xa9\\\"\",\"b\":\"C:\\\\x\"}" },
	{ "a = \"\"\"\nx \\\n   y\"\"\"\"\nb = '''\nit''s\n'''",
		"{\"a\":\"x y\\\"\",\"b\":\"it''s\\n\"}" },
	{ "a = [ 1, # one\n 2,\n ]\nb = [[], ['x']]", "{\"a\":[1,2],\"b\":[[],[\"x\"]]}" },
	{ "a = { b = 1, c.d = 'x' }", "{\"a\":{\"b\":1,\"c\":{\"d\":\"x\"}}}" },
	{ "a . b . \"c d\" = 1\na.e = 2", "{\"a\":{\"b\":{\"c d\":1},\"e\":2}}" },
	{ "[a]\nb = 1\n[c.d]\ne = 2\n[c]\nf = 3",
		"{\"a\":{\"b\":1},\"c\":{\"d\":{\"e\":2},\"f\":3}}" },
	{ "[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]\n", "{\"a\":[{\"b\":1,\"c\":{\"d\":2}},{}]}" },
	{ "[a]\nb.c = 1\n[a.b.d]\ne = 2", "{\"a\":{\"b\":{\"c\":1,\"d\":{\"e\":2}}}}" },
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(accepted); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };
		struct error e = { 0 };
		int r = toml_read(&d, NULL, accepted[i].text, strlen(accepted[i].text), &e);

		if (r < 0)
			fail_msg("<%s>: %u:%u: %s", accepted[i].text, e.line, e.column, e.text);
		json_print(&out, d.root, JSON_COMPACT);
		assert_string_equal(buffer_text(&out), accepted[i].json);
	}
}

static const struct refusal refused[] = {
	{ TEXT("a"), -EINVAL, 1, 2, "expected '=' after the key, found the end", NULL },
	{ TEXT("a = 1 b = 2"), -EINVAL, 1, 7, "expected the end of the line", NULL },
	{ TEXT("= 1"), -EINVAL, 1, 1, "expected a key", NULL },
	{ TEXT("a = 1\na = 2"), -EINVAL, 2, 1, "`a` is defined twice", NULL },
	{ TEXT("[a]\n[a]"), -EINVAL, 2, 2, "`a` is defined twice", NULL },
	{ TEXT("a.b = 1\n[a]"), -EINVAL, 2, 2, "`a` is defined twice", NULL },
	{ TEXT("a = {b = 1}\na.c = 2"), -EINVAL, 2, 1, "`a` is no table that can be extended",
		NULL },
	{ TEXT("a = {b.c = 1}\n[a.b]"), -EINVAL, 2, 2, "`a` is no table", NULL },
	{ TEXT("[a.b.c]\n[a]\nb.c.d = 1"), -EINVAL, 3, 1, "`b` is no table", NULL },
	{ TEXT("a = []\n[[a]]"), -EINVAL, 2, 3, "`a` is defined twice", NULL },
	{ TEXT("[[a]]\n[a]"), -EINVAL, 2, 2, "`a` is defined twice", NULL },
	{ TEXT("a = 01"), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("a = 1__0"), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("a = 9223372036854775808"), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("a = 2023-02-29"), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("a = yes"), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("a = \"x\n"), -EINVAL, 1, 7, "expected the quotes at the end", NULL },
	{ TEXT("a = \"\\u0000\""), -EINVAL, 1, 12, "expected a character", NULL },
	{ TEXT("a = \"\\x\""), -EINVAL, 1, 7, "after a backslash", NULL },
	{ TEXT("a = [1"), -EINVAL, 1, 7, "expected ',' or ']'", NULL },
	{ TEXT("a = {b = 1,}"), -EINVAL, 1, 12, "expected a key", NULL },
	{ TEXT("# \x01"), -EINVAL, 1, 3, "without control characters", NULL },
	{ TEXT("a = 1\0"), -EINVAL, 1, 6, "NUL", "only UTF-8" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		auto_document d = { 0 };
		struct error e = { 0 };
		int r = toml_read(&d, "t.toml", refused[i].text, refused[i].len, &e);

		check_refusal(&refused[i], r, &e);
		assert_null(d.root);
	}
}

/* n times a text, or as many keys where there is none; and what stands around it. */
static int read_repeated(const char *before, const char *text, size_t n, const char *after)
{
	auto_document d = { 0 };
	auto_buffer all = { 0 };
	struct error e = { 0 };

	buffer_adds(&all, before);
	for (size_t i = 0; i < n; i++) {
		if (text)
			buffer_adds(&all, text);
		else
			buffer_printf(&all, "a%zu = 1\n", i);
	}
	buffer_adds(&all, after);
	return toml_read(&d, NULL, buffer_text(&all), all.len, &e);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(read_repeated("a = ", "[", 60, ""), -EINVAL);
	assert_int_equal(read_repeated("a = ", "[", 100000, ""), -E2BIG);
	assert_int_equal(read_repeated("a = ", "{a=", 100000, ""), -E2BIG);
	assert_int_equal(read_repeated("a", ".a", 100, " = 1"), -E2BIG);
	assert_int_equal(read_repeated("[a", ".a", 100, "]"), -E2BIG);
	assert_int_equal(
		read_repeated("[a", ".a", 25, "]\nb = [[[[[[[[[[[[[1]]]]]]]]]]]]]"), -E2BIG);
	assert_int_equal(read_repeated("a = [", "1,", TOML_COUNT_MAX, "]"), -E2BIG);
	assert_int_equal(read_repeated("", NULL, 1000, ""), 0);
	assert_int_equal(read_repeated("a = \"", "x", NODE_SCALAR_MAX + 2, "\""), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
