/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that a front which was taken over could send: none of them gets past the rows. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/value.h"
#include "test/failing-arena.h"

static const char *const colours[] = { "red", "green", NULL };

static const struct schema_field fields[] = {
	{ "path", SCHEMA_PATH, true, 16, .help = "" },
	{ "text", SCHEMA_TEXT, false, 8, .help = "" },
	{ "data", SCHEMA_DATA, false, 8, .help = "" },
	{ "number", SCHEMA_NUMBER, false, 511, .help = "" },
	{ "flag", SCHEMA_FLAG, false, .help = "" },
	{ "colour", SCHEMA_CHOICE, false, .words = colours, .help = "" },
	{ "words", SCHEMA_WORDS, false, 32, .help = "" },
	{ "pairs", SCHEMA_PAIRS, false, 32, .help = "" },
	{ 0 },
};
enum { AT_PATH, AT_TEXT, AT_DATA, AT_NUMBER, AT_FLAG, AT_COLOUR, AT_WORDS, AT_PAIRS };

static const struct value_item words[] = { { NULL, "one" }, { NULL, "" } };
static const struct value_item pairs[] = { { "Accept", "*/*" } };

static struct values full(void)
{
	struct values v = { 0 };

	v.v[AT_PATH] = (struct value){ .type = SCHEMA_PATH, .text = "/tmp/x", .len = 6 };
	v.v[AT_TEXT] = value_text("t\xc3\xa9xt", 5);
	v.v[AT_DATA] = (struct value){ .type = SCHEMA_DATA, .text = "\0\xff", .len = 2 };
	v.v[AT_NUMBER] = value_number(SCHEMA_NUMBER, 511);
	v.v[AT_FLAG] = value_number(SCHEMA_FLAG, 1);
	v.v[AT_COLOUR] = value_number(SCHEMA_CHOICE, 1);
	v.v[AT_WORDS] = (struct value){ .type = SCHEMA_WORDS, .items = words, .n = 2 };
	v.v[AT_PAIRS] = (struct value){ .type = SCHEMA_PAIRS, .items = pairs, .n = 1 };
	return v;
}

static void test_values_arrive_as_they_were_sent(void **state)
{
	const struct values sent = full();
	auto_buffer body = { 0 }, again = { 0 };
	auto_arena a = { 0 };
	struct values got;

	(void)state;
	assert_int_equal(values_encode(fields, &sent, &body), 0);
	assert_int_equal(values_decode(fields, body.data, body.len, &a, &got), 0);
	assert_string_equal(got.v[AT_PATH].text, "/tmp/x");
	assert_int_equal(got.v[AT_DATA].len, 2);
	assert_memory_equal(got.v[AT_DATA].text, "\0\xff", 2);
	assert_int_equal(got.v[AT_NUMBER].number, 511);
	assert_int_equal(got.v[AT_WORDS].n, 2);
	assert_string_equal(got.v[AT_WORDS].items[0].text, "one");
	assert_string_equal(got.v[AT_PAIRS].items[0].key, "Accept");
	assert_int_equal(values_encode(fields, &got, &again), 0);
	assert_int_equal(again.len, body.len);
	assert_memory_equal(again.data, body.data, body.len);
}

/* A frame cut anywhere, or with something behind its end, is no frame. */
static void test_a_body_has_one_length(void **state)
{
	const struct values sent = full();
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct values got;

	(void)state;
	assert_int_equal(values_encode(fields, &sent, &body), 0);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(values_decode(fields, body.data, len, &a, &got), -EPROTO);
	buffer_addc(&body, '\0');
	assert_int_equal(values_decode(fields, body.data, body.len, &a, &got), -EPROTO);
}

static void test_what_a_row_forbids_is_not_sent(void **state)
{
	static const struct value_item long_item[] = { { NULL,
		"123456789012345678901234567890123" } };
	static const struct {
		size_t at;
		struct value value;
	} cases[] = {
		{ AT_PATH, { 0 } },
		{ AT_PATH, { .type = SCHEMA_PATH, .text = "", .len = 0 } },
		{ AT_PATH, { .type = SCHEMA_PATH, .text = "/a\0b", .len = 4 } },
		{ AT_PATH, { .type = SCHEMA_PATH, .text = "/3456789012345678", .len = 17 } },
		{ AT_PATH, { .type = SCHEMA_TEXT, .text = "/a", .len = 2 } },
		{ AT_TEXT, { .type = SCHEMA_TEXT, .text = "\xff", .len = 1 } },
		{ AT_TEXT, { .type = SCHEMA_TEXT, .text = "123456789", .len = 9 } },
		{ AT_DATA, { .type = SCHEMA_DATA, .text = "123456789", .len = 9 } },
		{ AT_NUMBER, { .type = SCHEMA_NUMBER, .number = 512 } },
		{ AT_NUMBER, { .type = SCHEMA_FLAG, .number = 1 } },
		{ AT_FLAG, { .type = SCHEMA_FLAG, .number = 2 } },
		{ AT_COLOUR, { .type = SCHEMA_CHOICE, .number = 2 } },
		{ AT_WORDS, { .type = SCHEMA_WORDS, .items = long_item, .n = 1 } },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct values v = full();
		auto_buffer body = { 0 };

		v.v[cases[i].at] = cases[i].value;
		assert_int_equal(values_encode(fields, &v, &body), -EINVAL);
	}
}

/* The same, written by hand: the reader does not trust the writer. */
static void test_what_a_row_forbids_is_not_read(void **state)
{
	static const struct schema_field one[] = {
		{ "words", SCHEMA_WORDS, false, 32, .help = "" },
		{ 0 },
	};
	static const struct schema_field choice[] = {
		{ "colour", SCHEMA_CHOICE, true, .words = colours, .help = "" },
		{ 0 },
	};
	static const struct schema_field files[] = {
		{ "files", SCHEMA_FILES, true, .help = "" },
		{ 0 },
	};
	static const struct {
		const struct schema_field *fields;
		const char *body;
		size_t len;
	} cases[] = {
		{ one, "\x02", 1 },                       /* a path */
		{ one, "\xff", 1 },                       /* no type */
		{ one, "\x08\xff\xff\xff\xff", 5 },       /* too many words */
		{ one, "\x08\x01\0\0\0\x01\0\0\0a", 10 }, /* no NUL behind it */
		{ one,
			"\x08\x01\0\0\0\xff\xff\xff\xff"
			"a\0",
			11 },                                  /* longer than the rest */
		{ one, "\x08\x01\0\0\0\x03\0\0\0a\0b\0", 13 }, /* a NUL in it */
		{ one, "\x08\x01\0\0\0\x01\0\0\0\xff\0", 11 }, /* no UTF-8 */
		{ choice, "\0", 1 },                           /* required */
		{ choice, "\x06\x02\0\0\0\0\0\0\0", 9 },       /* the word behind the last */
		{ files,
			"\x0b\x01\0\0\0\x01\0\0\0a\0\x01\0\0\0b\0\x04\0\0\0\0\0\0\0"
			"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			41 }, /* no such kind */
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_arena a = { 0 };
		struct values got;

		if (values_decode(cases[i].fields, cases[i].body, cases[i].len, &a, &got) !=
			-EPROTO)
			fail_msg("case %zu is read", i);
	}
}

static void test_files(void **state)
{
	static const struct schema_field list[] = {
		{ "files", SCHEMA_FILES, true, .help = "" },
		{ 0 },
	};
	static const struct value_file sent[] = { { "a", "/d/a", VALUE_KIND_LINK, 7, -5 } };
	struct values v = { 0 }, got;
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	(void)state;
	v.v[0] = (struct value){ .type = SCHEMA_FILES, .files = sent, .n = 1 };
	assert_int_equal(values_encode(list, &v, &body), 0);
	assert_int_equal(values_decode(list, body.data, body.len, &a, &got), 0);
	assert_string_equal(got.v[0].files[0].path, "/d/a");
	assert_int_equal(got.v[0].files[0].kind, VALUE_KIND_LINK);
	assert_int_equal(got.v[0].files[0].size, 7);
	assert_int_equal(got.v[0].files[0].modified_ns, -5);
}

static void test_out_of_memory(void **state)
{
	const struct values sent = full();
	auto_buffer body = { 0 };
	struct values got;
	long n;

	(void)state;
	assert_int_equal(values_encode(fields, &sent, &body), 0);
	for (n = 0;; n++) {
		auto_arena a = { 0 };
		int r;

		failing_start(n);
		r = values_decode(fields, body.data, body.len, &a, &got);
		if (!failing_stop())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_arrive_as_they_were_sent),
		cmocka_unit_test(test_a_body_has_one_length),
		cmocka_unit_test(test_what_a_row_forbids_is_not_sent),
		cmocka_unit_test(test_what_a_row_forbids_is_not_read),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
