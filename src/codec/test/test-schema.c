/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json-writer.h"
#include "codec/json.h"
#include "codec/schema.h"

static const char *const ways[] = { "tls", "starttls", "plain", NULL };

enum {
	TEXT,
	SHORT,
	PATH,
	LINE,
	NUMBER,
	PORT,
	FLAG,
	WAY,
	LIST,
	PAIRS,
	MAPS,
	MAP,
	SIZE,
	TIME,
	RATE,
	SECRET
};

static const struct schema_field rows[] = {
	[TEXT] = { "text", SCHEMA_TEXT, false, .help = "any text" },
	[SHORT] = { "short", SCHEMA_TEXT, true, 4, .help = "one to four bytes", .min = 1 },
	[PATH] = { "path", SCHEMA_PATH, false, 8, .help = "a path" },
	[LINE] = { "line", SCHEMA_LINE, false, .help = "a line" },
	[NUMBER] = { "number", SCHEMA_NUMBER, false, .help = "any number" },
	[PORT] = { "port", SCHEMA_NUMBER, false, 65535, .help = "a port", .min = 1 },
	[FLAG] = { "flag", SCHEMA_FLAG, false, .help = "yes or no" },
	[WAY] = { "way", SCHEMA_CHOICE, false, .words = ways, .help = "a way", .also = "how" },
	[LIST] = { "list", SCHEMA_WORDS, false, 16, .help = "texts" },
	[PAIRS] = { "pairs", SCHEMA_PAIRS, false, .help = "texts by name" },
	[MAPS] = { "maps", SCHEMA_JSON, false, .help = "maps" },
	[MAP] = { "map", SCHEMA_MAP, false, 16, .help = "a map" },
	[SIZE] = { "size", SCHEMA_SIZE, false, 1 << 20, .help = "bytes", .min = 1024 },
	[TIME] = { "time", SCHEMA_DURATION, false, .help = "how long" },
	[RATE] = { "rate", SCHEMA_RATE, false, .help = "how often" },
	[SECRET] = { "secret", SCHEMA_LINE, false, .help = "a password", .is_secret = true },
	{ 0 },
};

static void test_rows(void **state)
{
	(void)state;
	assert_int_equal(schema_count(rows), SECRET + 1);
	assert_ptr_equal(schema_find(rows, "port"), &rows[PORT]);
	assert_null(schema_find(rows, "prot"));
	assert_null(schema_find(rows, ""));
	assert_int_equal(schema_max(&rows[TEXT]), SCHEMA_TEXT_MAX);
	assert_int_equal(schema_max(&rows[NUMBER]), UINT64_MAX);
	for (int type = 0; type < SCHEMA_TYPE_COUNT; type++)
		assert_non_null(schema_type_name((enum schema_type)type));
}

static void test_parse(void **state)
{
	static const struct {
		int row;
		const char *text;
		int code;
		uint64_t value;
	} cases[] = {
		{ TEXT, "", 0, 0 },
		{ TEXT, "a\nb", 0, 3 },
		{ TEXT, "\xff", -EINVAL, 0 },
		{ SHORT, "abcd", 0, 4 },
		{ SHORT, "abcde", -ERANGE, 0 },
		{ SHORT, "", -ERANGE, 0 },
		{ PATH, "", -EINVAL, 0 },
		{ PATH, "/a", 0, 2 },
		{ LINE, "a\nb", -EINVAL, 0 },
		{ LINE, "a\rb", -EINVAL, 0 },
		{ LINE, "", -EINVAL, 0 },
		{ NUMBER, "18446744073709551615", 0, UINT64_MAX },
		{ NUMBER, "18446744073709551616", -ERANGE, 0 },
		{ NUMBER, "", -EINVAL, 0 },
		{ NUMBER, "-1", -EINVAL, 0 },
		{ NUMBER, "+1", -EINVAL, 0 },
		{ NUMBER, " 1", -EINVAL, 0 },
		{ NUMBER, "1x", -EINVAL, 0 },
		{ PORT, "0", -ERANGE, 0 },
		{ PORT, "65535", 0, 65535 },
		{ PORT, "65536", -ERANGE, 0 },
		{ FLAG, "true", 0, 1 },
		{ FLAG, "false", 0, 0 },
		{ FLAG, "yes", -EINVAL, 0 },
		{ WAY, "plain", 0, 2 },
		{ WAY, "pla", -EINVAL, 0 },
		{ WAY, "", -EINVAL, 0 },
		{ LIST, "[\"a\",\"b\"]", 0, 9 },
		{ LIST, "[1]", -EINVAL, 0 },
		{ LIST, "{}", -EINVAL, 0 },
		{ LIST, "[\"aaaaaaaaaaaaaaa\"]", -ERANGE, 0 },
		{ PAIRS, "{\"a\":\"b\"}", 0, 9 },
		{ PAIRS, "{\"a\":1}", -EINVAL, 0 },
		{ MAPS, "[{}]", 0, 4 },
		{ MAPS, "[[]]", -EINVAL, 0 },
		{ MAP, "{}", 0, 2 },
		{ MAP, "{\"a\":[{},1]}", 0, 12 },
		{ MAP, "[]", -EINVAL, 0 },
		{ MAP, "{\"a\":1,\"a\":2}", -EINVAL, 0 },
		{ MAP, "{\"a\":\"12345678901\"}", -ERANGE, 0 },
		{ SIZE, "64K", 0, 64 << 10 },
		{ SIZE, "1", -ERANGE, 0 },
		{ SIZE, "2M", -ERANGE, 0 },
		{ SIZE, "lots", -EINVAL, 0 },
		{ TIME, "5m", 0, 300000 },
		{ RATE, "10/min", 0, 6 },
		{ RATE, "10", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		uint64_t value = 7777;
		int r = schema_parse(&rows[cases[i].row], cases[i].text, &value);

		if (r != cases[i].code)
			print_error("%s: `%s`\n", rows[cases[i].row].name, cases[i].text);
		assert_int_equal(r, cases[i].code);
		assert_int_equal(value, r < 0 ? 7777 : cases[i].value);
	}
}

static void test_parse_node(void **state)
{
	static const struct {
		int row;
		const char *json;
		int code;
	} cases[] = {
		{ TEXT, "\"a\"", 0 },
		{ TEXT, "1", -EINVAL },
		{ TEXT, "null", -EINVAL },
		{ PORT, "25", 0 },
		{ PORT, "\"25\"", -EINVAL },
		{ PORT, "0", -ERANGE },
		{ PORT, "-1", -EINVAL },
		{ PORT, "1.5", -EINVAL },
		{ FLAG, "true", 0 },
		{ FLAG, "\"true\"", -EINVAL },
		{ FLAG, "1", -EINVAL },
		{ WAY, "\"tls\"", 0 },
		{ WAY, "\"ssl\"", -EINVAL },
		{ WAY, "true", -EINVAL },
		{ LIST, "[\"a\"]", 0 },
		{ LIST, "[[]]", -EINVAL },
		{ LIST, "\"a\"", -EINVAL },
		{ PAIRS, "{\"a\":\"b\"}", 0 },
		{ PAIRS, "[\"a\"]", -EINVAL },
		{ SIZE, "\"64K\"", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_document d = { 0 };
		uint64_t value;

		assert_int_equal(
			json_read(&d, NULL, cases[i].json, strlen(cases[i].json), NULL), 0);
		assert_int_equal(
			schema_parse_node(&rows[cases[i].row], d.root, &value), cases[i].code);
	}
}

/* What a frame may carry is checked without its text form. */
static void test_allows(void **state)
{
	static const struct schema_field nothing;

	(void)state;
	assert_true(schema_allows_number(&rows[WAY], 2));
	assert_false(schema_allows_number(&rows[WAY], 3));
	assert_false(schema_allows_number(&rows[WAY], UINT64_MAX));
	assert_false(schema_allows_number(&rows[FLAG], 2));
	assert_false(schema_allows_number(&rows[TEXT], 0));
	assert_false(schema_allows_text(&rows[TEXT], "a\0b", 3));
	assert_false(schema_allows_text(&rows[NUMBER], "1", 1));
	assert_false(schema_allows_text(&nothing, "", 0));
	assert_false(schema_allows_number(&nothing, 0));
}

static void test_sentences(void **state)
{
	static const char many[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const struct {
		int row;
		const char *found, *text, *hint;
	} cases[] = {
		{ PORT, "0", "`x` must be a whole number from 1 to 65535, not `0`", "" },
		{ NUMBER, "a", "`x` must be a whole number, not `a`", "" },
		{ TEXT, NULL, "`x` must be text of at most 16384 bytes", "" },
		{ SHORT, many, "`x` must be text of 1 to 4 bytes, not 68 bytes", "" },
		{ WAY, "startls", "`x` must be one of tls, starttls, plain, not `startls`",
			"did you mean `starttls`?" },
		{ WAY, "zzzzzz", "`x` must be one of tls, starttls, plain, not `zzzzzz`", "" },
		{ FLAG, "yes", "`x` must be true or false, not `yes`", "" },
		{ SECRET, "hunter2\n", "`x` must be one line of text", "" },
		{ SIZE, "lots", "`x` must be a size such as 64K, 512M or 2G, not `lots`", "" },
	};
	struct error e;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		e = (struct error){ 0 };
		assert_int_equal(
			schema_refuse(&rows[cases[i].row], "`x`", cases[i].found, NULL, &e),
			-EINVAL);
		assert_string_equal(e.text, cases[i].text);
		assert_string_equal(e.hint, cases[i].hint);
	}
}

static void test_sentence_of_node(void **state)
{
	const struct location where = { "a.yaml", 3, 4 };
	struct error e = { 0 };
	auto_document d = { 0 };

	(void)state;
	assert_int_equal(json_read(&d, NULL, "{}", 2, NULL), 0);
	assert_int_equal(schema_refuse_node(&rows[FLAG], "`x`", d.root, &where, &e), -EINVAL);
	assert_string_equal(e.text, "`x` must be true or false, not a map");
	assert_int_equal(e.line, 3);
	d.root->type = NODE_STRING;
	d.root->text = "5";
	assert_int_equal(schema_refuse_node(&rows[PORT], "`x`", d.root, NULL, &e), -EINVAL);
	assert_string_equal(e.text, "`x` must be a whole number from 1 to 65535, not text");
	assert_int_equal(schema_refuse_node(&rows[PATH], "`x`", d.root, NULL, &e), -EINVAL);
	assert_string_equal(e.text, "`x` must be a path of at most 8 bytes, not `5`");
}

static void test_names(void **state)
{
	struct schema_names s = { .n = 0 };
	struct error e = { 0 };

	(void)state;
	for (size_t i = 0; rows[i].name; i++)
		schema_names_add(&s, rows[i].name);
	schema_names_hint(&s, "prot", "it has: ", &e);
	assert_string_equal(e.hint, "did you mean `port`?");
	schema_names_hint(&s, "quite else", "it has: ", &e);
	assert_memory_equal(e.hint, "it has: text, short", 19);
	for (size_t i = 0; i < 2 * SCHEMA_NAMES_MAX; i++)
		schema_names_add(&s, "x");
	assert_int_equal(s.n, SCHEMA_NAMES_MAX);
}

static void test_documents(void **state)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	(void)state;
	json_open_map(&w, NULL);
	schema_print_json(&rows[SHORT], &w, "short");
	schema_print_json(&rows[PORT], &w, "port");
	schema_print_json(&rows[WAY], &w, "way");
	schema_print_json(&rows[LIST], &w, "list");
	schema_print_json(&rows[FLAG], &w, "flag");
	assert_int_equal(json_end(&w), 0);
	assert_string_equal(buffer_text(&out),
		"{\"short\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4},"
		"\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535},"
		"\"way\":{\"type\":\"string\",\"enum\":[\"tls\",\"starttls\",\"plain\"]},"
		"\"list\":{\"type\":\"array\",\"maxItems\":1024,\"items\":{\"type\":\"string\"}},"
		"\"flag\":{\"type\":\"boolean\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_node),
		cmocka_unit_test(test_allows),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_sentence_of_node),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
