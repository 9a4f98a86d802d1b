/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "codec/yaml.h"

/* What is read, and how it prints without spaces. */
static const struct {
	const char *text, *printed;
} accepted[] = {
	{ "null", "null" },
	{ " true ", "true" },
	{ "\r\n\tfalse\n", "false" },
	{ "0", "0" },
	{ "-0", "-0" },
	{ "1.50", "1.50" },
	{ "-12.5e+3", "-12.5e+3" },
	{ "1e308", "1e308" },
	{ "1.7976931348623157e308", "1.7976931348623157e308" },
	{ "0.1e309", "0.1e309" },
	{ "1e-999", "1e-999" },
	{ "0e999999999", "0e999999999" },
	{ "123456789012345678901234567890", "123456789012345678901234567890" },
	{ "\"\"", "\"\"" },
	{ "\"a b\"", "\"a b\"" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
	{ "\"\\u0041\\u00e9\\u20AC\"", "\"A\xc3\xa9\xe2\x82\xac\"" },
	{ "\"\\ud834\\uDD1E\"", "\"\xf0\x9d\x84\x9e\"" },
	{ "\"\\u0001\\u007f\"", "\"\\u0001\\u007f\"" },
	{ "\"\x7f\"", "\"\\u007f\"" },
	{ "\"\\u202e\xe2\x80\xa8\"", "\"\\u202e\\u2028\"" },
	{ "\"\xf3\xa0\x80\x81\"", "\"\\udb40\\udc01\"" },
	{ "[]", "[]" },
	{ "[ ]", "[]" },
	{ "[1,[2],{}]", "[1,[2],{}]" },
	{ "{}", "{}" },
	{ "{ }", "{}" },
	{ "{\"\":1, \"a\" :\n[true, null],\"A\":\"x\"}", "{\"\":1,\"a\":[true,null],\"A\":\"x\"}" },
	{ "{\"\\u0061\":1}", "{\"a\":1}" },
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(accepted); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };
		struct error e = { 0 };
		int r = json_read(&d, NULL, accepted[i].text, strlen(accepted[i].text), &e);

		if (r < 0)
			fail_msg("<%s>: %s", accepted[i].text, e.text);
		json_print(&out, d.root, JSON_COMPACT);
		assert_string_equal(buffer_text(&out), accepted[i].printed);
	}
}

#define NUMBER "expected a number, found "

static const struct refusal refused[] = {
	{ TEXT(""), -EINVAL, 1, 1, "expected a value, found the end of the text", NULL },
	{ TEXT(" \n "), -EINVAL, 2, 2, "found the end of the text", NULL },
	{ TEXT("\xef\xbb\xbf{}"), -EINVAL, 1, 1, "byte order mark", "without one" },
	{ TEXT("\xff\xfe{\0}\0"), -EINVAL, 1, 1, "byte 0xff is not UTF-8", "UTF-16" },
	{ TEXT("\xfe\xff\0{\0}"), -EINVAL, 1, 1, "byte 0xfe is not UTF-8", "UTF-16" },
	{ TEXT("{\0}\0"), -EINVAL, 1, 2, "NUL byte", "UTF-16" },
	{ TEXT("[1,\n2\0]"), -EINVAL, 2, 2, "NUL byte", "only UTF-8" },
	{ TEXT("\"a\0b\""), -EINVAL, 1, 3, "NUL byte", "only UTF-8" },
	{ TEXT("[\"\n\xc3\""), -EINVAL, 2, 1, "byte 0xc3 is not UTF-8", "only UTF-8" },
	{ TEXT("[\"\xed\xa0\x80\"]"), -EINVAL, 1, 3, "byte 0xed is not UTF-8", "only UTF-8" },
	{ TEXT("tru"), -EINVAL, 1, 1, "expected a value, found 'tru'", NULL },
	{ TEXT("truely"), -EINVAL, 1, 1, "expected a value, found 'truely'", NULL },
	{ TEXT("[True]"), -EINVAL, 1, 2, "found 'True'", "small letters" },
	{ TEXT("NULL"), -EINVAL, 1, 1, "found 'NULL'", "small letters" },
	{ TEXT("NaN"), -EINVAL, 1, 1, "found 'NaN'", NULL },
	{ TEXT("+1"), -EINVAL, 1, 1, "expected a value, found '+1'", NULL },
	{ TEXT(".5"), -EINVAL, 1, 1, "expected a value, found '.5'", NULL },
	{ TEXT("-"), -EINVAL, 1, 1, NUMBER "'-'", "decimal" },
	{ TEXT("01"), -EINVAL, 1, 1, NUMBER "'01'", "leading 0" },
	{ TEXT("-01"), -EINVAL, 1, 1, NUMBER "'-01'", "leading 0" },
	{ TEXT("1."), -EINVAL, 1, 1, NUMBER "'1.'", "both sides" },
	{ TEXT("1.e1"), -EINVAL, 1, 1, NUMBER "'1.e1'", "both sides" },
	{ TEXT("1e"), -EINVAL, 1, 1, NUMBER "'1e'", "decimal" },
	{ TEXT("1e+"), -EINVAL, 1, 1, NUMBER "'1e+'", "decimal" },
	{ TEXT("1_000"), -EINVAL, 1, 1, NUMBER "'1_000'", "decimal" },
	{ TEXT("0x1F"), -EINVAL, 1, 1, NUMBER "'0x1F'", "decimal" },
	{ TEXT("-Infinity"), -EINVAL, 1, 1, NUMBER "'-Infinity'", "finite" },
	{ TEXT("1e999"), -EINVAL, 1, 1, NUMBER "'1e999'", "finite" },
	{ TEXT("1E400000000000000000000"), -EINVAL, 1, 1, NUMBER "'1E4", "finite" },
	{ TEXT("-1.8e308"), -EINVAL, 1, 1, NUMBER "'-1.8e308'", "finite" },
	{ TEXT("1\xe2\x82\xac"), -EINVAL, 1, 1, NUMBER "'1\xe2\x82\xac'", "decimal" },
	{ TEXT("[1 2]"), -EINVAL, 1, 4, "expected ',' or ']', found '2'", NULL },
	{ TEXT("[1,]"), -EINVAL, 1, 4, "expected a value, found ']'", "no comma" },
	{ TEXT("[1, \n\t]"), -EINVAL, 2, 2, "expected a value, found ']'", "no comma" },
	{ TEXT("[,1]"), -EINVAL, 1, 2, "expected a value, found ','", NULL },
	{ TEXT("]"), -EINVAL, 1, 1, "expected a value, found ']'", NULL },
	{ TEXT("  }"), -EINVAL, 1, 3, "expected a value, found '}'", NULL },
	{ TEXT("[1"), -EINVAL, 1, 3, "expected ',' or ']', found the end", NULL },
	{ TEXT("[1}"), -EINVAL, 1, 3, "expected ',' or ']', found '}'", NULL },
	{ TEXT("{\"a\":1"), -EINVAL, 1, 7, "expected ',' or '}', found the end", NULL },
	{ TEXT("{\"a\":1;}"), -EINVAL, 1, 7, "expected ',' or '}', found ';'", NULL },
	{ TEXT("{\"a\":1,}"), -EINVAL, 1, 8, "a key in double quotes, found '}'", "no comma" },
	{ TEXT("{a:1}"), -EINVAL, 1, 2, "a key in double quotes, found 'a'", NULL },
	{ TEXT("{'a':1}"), -EINVAL, 1, 2, "a key in double quotes, found \"'\"", "double quotes" },
	{ TEXT("{1:1}"), -EINVAL, 1, 2, "a key in double quotes, found '1'", NULL },
	{ TEXT("{\"a\" 1}"), -EINVAL, 1, 6, "expected ':' after the key, found '1'", NULL },
	{ TEXT("{\"a\":}"), -EINVAL, 1, 6, "expected a value, found '}'", NULL },
	{ TEXT("{\"a\":1} x"), -EINVAL, 1, 9, "expected the end of the text, found 'x'", NULL },
	{ TEXT("1\n\n  2"), -EINVAL, 3, 3, "expected the end of the text, found '2'", NULL },
	{ TEXT("1 // one"), -EINVAL, 1, 3, "found '/'", "no comments" },
	{ TEXT("[ # one"), -EINVAL, 1, 3, "found '#'", "no comments" },
	{ TEXT("[\f]"), -EINVAL, 1, 2, "expected a value, found '\\x0c'", NULL },
	{ TEXT("\xe2\x81\xa0[]"), -EINVAL, 1, 1, "found '\\xe2\\x81\\xa0'", NULL },
	{ TEXT("\n [\"abc"), -EINVAL, 2, 3, "expected '\"' at the end of this text", NULL },
	{ TEXT("\"abc\\"), -EINVAL, 1, 6, "after a backslash, found the end", NULL },
	{ TEXT("\"a\nb\""), -EINVAL, 1, 3, "control byte 0x0a", "\\u000a" },
	{ TEXT("\"a\tb\""), -EINVAL, 1, 3, "control byte 0x09", "\\t" },
	{ TEXT("{\"a\x1f\":1}"), -EINVAL, 1, 4, "control byte 0x1f", "\\u001f" },
	{ TEXT("\"\\x41\""), -EINVAL, 1, 3, "after a backslash, found 'x41'", NULL },
	{ TEXT("\"\\U0041\""), -EINVAL, 1, 3, "after a backslash, found 'U0041'", NULL },
	{ TEXT("\"\\u12"), -EINVAL, 1, 6, "four hexadecimal digits after \\u, found the", NULL },
	{ TEXT("\"\\u00g0\""), -EINVAL, 1, 6, "four hexadecimal digits after \\u, found 'g0'",
		NULL },
	{ TEXT("\"\\u0000\""), -EINVAL, 1, 1, "NUL character", NULL },
	{ TEXT("{\"k\\u0000\":1}"), -EINVAL, 1, 2, "NUL character", NULL },
	{ TEXT("\"x\\ud800\""), -EINVAL, 1, 3, "half a surrogate pair, '\\ud800'", NULL },
	{ TEXT("\"\\udc00\""), -EINVAL, 1, 2, "half a surrogate pair, '\\udc00'", NULL },
	{ TEXT("\"\\ud800\\n\""), -EINVAL, 1, 2, "half a surrogate pair", NULL },
	{ TEXT("\"\\ud800\\ud800\""), -EINVAL, 1, 2, "half a surrogate pair", NULL },
	{ TEXT("\"\\ud800\\u00zz\""), -EINVAL, 1, 12, "four hexadecimal digits", NULL },
	{ TEXT("{\"a\":1,\n \"b\":2, \"a\":3}"), -EINVAL, 2, 9,
		"duplicate key \"a\", which stands at line 1, column 2 already", NULL },
	/* Of several, the first that repeats one; and each is compared with its own first. */
	{ TEXT("{\"b\":1,\"a\":1,\"b\":2,\"a\":2,\"b\":3}"), -EINVAL, 1, 14,
		"duplicate key \"b\", which stands at line 1, column 2", NULL },
	{ TEXT("{\"b\":1,\"a\":1,\"a\":2,\"b\":2}"), -EINVAL, 1, 14,
		"duplicate key \"a\", which stands at line 1, column 8", NULL },
	{ TEXT("[{\"\\u0061\":1,\"a\":2}]"), -EINVAL, 1, 14, "duplicate key \"a\"", NULL },
	{ TEXT("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\xc3\xa9zz"), -EINVAL, 1, 1,
		"found 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'", NULL },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		struct document d = { .root = (struct node *)state };
		struct error e = { 0 };
		int r = json_read(&d, "f.json", refused[i].text, refused[i].len, &e);

		check_refusal(&refused[i], r, &e);
		assert_string_equal(e.file, "f.json");
		assert_null(d.root);
		assert_null(d.arena.chunks);
	}
}

static void test_no_error_wanted(void **state)
{
	struct document d;

	(void)state;
	assert_int_equal(json_read(&d, NULL, "[1,]", 4, NULL), -EINVAL);
	assert_int_equal(json_read(&d, NULL, "[True]", 6, NULL), -EINVAL);
	assert_int_equal(json_read(&d, NULL, NULL, 0, NULL), -EINVAL);
}

static void test_places(void **state)
{
	static const char text[] = "{\n  \"k\": [1,\r\n   \"\xc3\xa9\", null],\n\t\"m\" : {}}";
	auto_document d = { 0 };
	const struct node *list, *map;
	struct location at;

	(void)state;
	assert_int_equal(json_read(&d, "dir/f.json", TEXT(text), NULL), 0);
	assert_string_equal(d.file, "dir/f.json");
	list = node_get(d.root, "k");
	map = node_get(d.root, "m");
	at = node_location(&d, d.root);
	assert_true(at.line == 1 && at.column == 1);
	assert_string_equal(at.file, "dir/f.json");
	assert_true(list->line == 2 && list->column == 8);
	assert_true(list->first->line == 2 && list->first->column == 9);
	assert_true(list->first->next->line == 3 && list->first->next->column == 4);
	assert_true(list->last->line == 3 && list->last->column == 10);
	at = node_key_location(&d, list);
	assert_true(at.line == 2 && at.column == 3);
	assert_true(map->key_line == 4 && map->key_column == 2);
	assert_true(map->line == 4 && map->column == 8);
	assert_null(list->first->key);
	assert_int_equal(list->first->key_line, 0);
}

/* n times `open`, then `middle`, then n times `close`. */
static void nest(
	struct buffer *out, size_t n, const char *open, const char *middle, const char *close)
{
	for (size_t i = 0; i < n; i++)
		buffer_adds(out, open);
	buffer_adds(out, middle);
	for (size_t i = 0; i < n; i++)
		buffer_adds(out, close);
}

static int read_buffer(const struct buffer *text, struct error *e)
{
	auto_document d = { 0 };

	return json_read(&d, NULL, text->data, text->len, e);
}

static void test_depth(void **state)
{
	struct error e;

	(void)state;
	for (size_t n = NODE_DEPTH_MAX - 1; n < NODE_DEPTH_MAX + 2; n++) {
		auto_buffer lists = { 0 }, maps = { 0 };
		int want = n <= NODE_DEPTH_MAX ? 0 : -E2BIG;

		nest(&lists, n, "[", "1", "]");
		nest(&maps, n, "{\"a\":", "1", "}");
		assert_int_equal(read_buffer(&maps, &e), want);
		assert_int_equal(read_buffer(&lists, &e), want);
	}
	assert_string_equal(e.text, "nested more than 64 levels deep");
	assert_int_equal(e.column, NODE_DEPTH_MAX + 1);
}

static void test_count(void **state)
{
	auto_buffer text = { 0 };
	struct error e;

	(void)state;
	buffer_addc(&text, '[');
	for (size_t i = 2; i < NODE_COUNT_MAX; i++)
		buffer_adds(&text, "1,");
	buffer_adds(&text, "1]");
	assert_int_equal(read_buffer(&text, &e), 0);
	text.data[text.len - 1] = ',';
	buffer_adds(&text, "[]]");
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_string_equal(e.text, "more than 200000 values in one document");
}

static void test_scalar_length(void **state)
{
	auto_buffer text = { 0 }, digits = { 0 };
	struct error e;

	(void)state;
	nest(&text, NODE_SCALAR_MAX, "", "\"", "x");
	buffer_addc(&text, '"');
	assert_int_equal(read_buffer(&text, &e), 0);
	text.data[text.len - 1] = 'x';
	buffer_addc(&text, '"');
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_string_equal(e.text, "text of 65537 bytes, at most 65536 are read");
	/* 300 digits are finite, 400 are not, however plain they are. */
	nest(&digits, 300, "", "", "9");
	assert_int_equal(read_buffer(&digits, &e), 0);
	nest(&digits, 100, "", "", "9");
	assert_int_equal(read_buffer(&digits, &e), -EINVAL);
}

static void test_input_length(void **state)
{
	auto_buffer text = { 0 };
	struct error e;

	(void)state;
	nest(&text, NODE_INPUT_MAX - 1, "", "1", " ");
	assert_int_equal(read_buffer(&text, &e), 0);
	buffer_addc(&text, ' ');
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_string_equal(e.text, "too large: 4194305 bytes, at most 4194304 are read");
}

/* With a comparison of all pairs this would take minutes. */
static void test_many_keys(void **state)
{
	auto_buffer text = { 0 };
	struct error e;

	(void)state;
	buffer_addc(&text, '{');
	for (unsigned i = 0; i < 100000; i++)
		buffer_printf(&text, "\"common prefix %u\":0,\n", i * 7919 % 100000);
	text.data[text.len - 2] = '}';
	assert_int_equal(read_buffer(&text, &e), 0);
	text.data[text.len - 2] = ',';
	buffer_adds(&text, "\"common prefix 0\":0}");
	assert_int_equal(read_buffer(&text, &e), -EINVAL);
	assert_string_equal(e.text,
		"duplicate key \"common prefix 0\", which stands at line 1, column 2 already");
	assert_int_equal(e.line, 100001);
}

static void test_pretty(void **state)
{
	static const char text[] = "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":null}],\"e\":\"x\"}";
	auto_document d = { 0 };
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(json_read(&d, NULL, TEXT(text), NULL), 0);
	json_print(&out, d.root, JSON_PRETTY);
	assert_string_equal(buffer_text(&out), "{\n"
					       "  \"a\": [],\n"
					       "  \"b\": {},\n"
					       "  \"c\": [\n"
					       "    1,\n"
					       "    {\n"
					       "      \"d\": null\n"
					       "    }\n"
					       "  ],\n"
					       "  \"e\": \"x\"\n"
					       "}");
}

static void test_print_string(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *printed;
	} rows[] = {
		{ TEXT(""), "\"\"" },
		{ TEXT("a\0b"), "\"a\\u0000b\"" },
		{ TEXT("a\xff"), "\"a\xef\xbf\xbd\"" },
		{ TEXT("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ TEXT("</script>"), "\"</script>\"" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		json_print_string(&out, rows[i].text, rows[i].len);
		assert_string_equal(buffer_text(&out), rows[i].printed);
	}
}

/* Numbers that only YAML can write are no JSON numbers. */
static void test_print_foreign_numbers(void **state)
{
	static const char text[] =
		"[0x1F, .5, 1_000, .inf, -.INF, .nan, 0o7, +1, 007, 1., 1e999, 12, -0.5e-3]";
	auto_document d = { 0 }, again = { 0 };
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(yaml_read(&d, NULL, 1, TEXT(text), NULL), 0);
	json_print(&out, d.root, JSON_COMPACT);
	assert_string_equal(buffer_text(&out),
		"[\"0x1F\",\".5\",\"1_000\",\".inf\",\"-.INF\",\".nan\",\"0o7\",\"+1\",\"007\","
		"\"1.\",\"1e999\",12,-0.5e-3]");
	assert_int_equal(json_read(&again, NULL, out.data, out.len, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_error_wanted),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_scalar_length),
		cmocka_unit_test(test_input_length),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_print_string),
		cmocka_unit_test(test_print_foreign_numbers),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
