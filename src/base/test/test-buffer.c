/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "test/failing.h"

FAILING_REALLOC

static void test_add(void **state)
{
	auto_buffer b = { 0 };
	char expected[2001] = "";

	(void)state;
	assert_string_equal(buffer_text(&b), "");
	buffer_clear(&b);
	for (size_t i = 0; i < 1000; i++) {
		buffer_addc(&b, 'x');
		buffer_adds(&b, "y");
		memcpy(expected + 2 * i, "xy", 3);
		assert_string_equal(buffer_text(&b), expected);
	}
	assert_int_equal(b.len, 2000);
	buffer_add(&b, NULL, 0);
	assert_int_equal(b.len, 2000);
	buffer_clear(&b);
	assert_int_equal(b.len, 0);
	assert_string_equal(buffer_text(&b), "");
}

static void test_printf(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	buffer_printf(&b, "%s", "");
	assert_string_equal(buffer_text(&b), "");
	for (int i = 0; i < 200; i++)
		buffer_printf(&b, "%d,", i % 10);
	assert_int_equal(b.len, 400);
	assert_memory_equal(b.data, "0,1,2,3,", 8);
	assert_int_equal(b.data[400], 0);
	buffer_printf(&b, "%9999d", 1);
	assert_int_equal(b.len, 10399);
}

static const struct {
	const char *text;
	size_t len;
	const char *visible;
} visible[] = {
	{ "plain text", 10, "plain text" },
	{ "a\nb\tc\x1b[0m\x7f", 10, "a\\x0ab\\x09c\\x1b[0m\\x7f" },
	{ "a\0b", 3, "a\\x00b" },
	{ "é€😀", 9, "é€😀" },
	{ "\xff\xc3", 2, "\\xff\\xc3" },
	{ "a\xe2\x82", 3, "a\\xe2\\x82" },
	{ "\xe2\x80\xae.exe", 7, "\\xe2\\x80\\xae.exe" }, /* U+202E */
	{ "\xc2\x9b", 2, "\\xc2\\x9b" },                  /* C1 */
	{ "back\\slash", 10, "back\\slash" },
};

static void test_visible(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(visible); i++) {
		auto_buffer b = { 0 };

		buffer_add_visible(&b, visible[i].text, visible[i].len);
		assert_string_equal(buffer_text(&b), visible[i].visible);
	}
}

static void test_name(void **state)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
#include "base/test/shown-names.inc"
		{ "a\xc2\xa0 b", "a\\xc2\\xa0 b" },
		{ "a\xe2\xa0\x80", "a\\xe2\\xa0\\x80" },     /* U+2800 */
		{ "a\xef\xb8\x8f.b", "a\\xef\\xb8\\x8f.b" }, /* U+FE0F */
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer b = { 0 };

		buffer_add_name(&b, rows[i].name, strlen(rows[i].name));
		assert_string_equal(buffer_text(&b), rows[i].shown);
	}
}

static void test_take(void **state)
{
	auto_buffer b = { 0 };
	char *s = buffer_take(&b);

	(void)state;
	assert_string_equal(s, "");
	free(s);
	buffer_adds(&b, "abc");
	s = buffer_take(&b);
	assert_string_equal(s, "abc");
	free(s);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
}

/* A failure is remembered: what comes later adds nothing, and the end says so. */
static void test_failure(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	buffer_adds(&b, "abc");
	buffer_add(&b, "x", SIZE_MAX);
	assert_true(b.failed);
	buffer_adds(&b, "def");
	buffer_printf(&b, "%d", 1);
	assert_string_equal(buffer_text(&b), "abc");
	assert_null(buffer_take(&b));
	assert_null(b.data);

	buffer_add(&b, "x", SIZE_MAX / 4 + 1);
	assert_true(b.failed);
	buffer_deinit(&b);
	failing_stays = true;
	failing_start(0);
	buffer_addc(&b, 'x');
	failing_stop();
	assert_true(b.failed);
	assert_null(buffer_take(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
