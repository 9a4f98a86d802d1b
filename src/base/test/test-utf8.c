/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

/* Every scalar value survives; nothing else can be encoded. */
static void test_round_trip(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x120000; c++) {
		const bool is_scalar = c < 0xd800 || (c > 0xdfff && c < 0x110000);
		char out[4];
		uint32_t back;
		size_t n = utf8_encode(c, out);

		if (!is_scalar) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
		assert_int_equal(utf8_decode(out, n, &back), n);
		assert_int_equal(back, c);
		/* One byte less is not enough. */
		assert_int_equal(utf8_decode(out, n - 1, &back), 0);
	}
}

static const struct {
	const char *text;
	size_t len, bad_at;
} bad[] = {
	{ "\x80", 1, 0 },
	{ "\xbf", 1, 0 },
	{ "ab\xff", 3, 2 },
	{ "\xc0\x80", 2, 0 },         /* overlong NUL */
	{ "\xc1\xbf", 2, 0 },         /* overlong 0x7f */
	{ "\xe0\x9f\xbf", 3, 0 },     /* overlong U+07FF */
	{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong U+FFFF */
	{ "\xed\xa0\x80", 3, 0 },     /* a surrogate */
	{ "\xed\xbf\xbf", 3, 0 },
	{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
	{ "\xf5\x80\x80\x80", 4, 0 },
	{ "\xf8\x88\x80\x80\x80", 5, 0 },
	{ "é\xc3", 3, 2 },
	{ "\xc3(", 2, 0 },
	{ "\xe2\x82(", 3, 0 },
	{ "\xe2(\xac", 3, 0 },
	{ "\xf0\x9f\x98(", 4, 0 },
};

static void test_bad(void **state)
{
	uint32_t c = 42;

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		size_t at = 99;

		assert_false(utf8_valid(bad[i].text, bad[i].len, &at));
		assert_int_equal(at, bad[i].bad_at);
		assert_false(utf8_valid(bad[i].text, bad[i].len, NULL));
		assert_int_equal(utf8_decode(bad[i].text + at, bad[i].len - at, &c), 0);
		assert_int_equal(c, 42);
	}
	assert_true(utf8_valid("", 0, NULL));
	assert_true(utf8_valid("a\0é€😀", 11, NULL));
	assert_int_equal(utf8_decode("a", 0, &c), 0);
}

static void test_deceptive(void **state)
{
	static const uint32_t yes[] = { 0x80, 0x9f, 0xad, 0x61c, 0x34f, 0x115f, 0x180e, 0x200b,
		0x200d, 0x200e, 0x2028, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x206a, 0x2800,
		0x3164, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xe007f, 0xe0100 };
	static const uint32_t no[] = { 'a', ' ', 0x7f, 0xa0, 0xe9, 0x4e2d, 0x200a, 0x2010, 0x2027,
		0x202f, 0x205f, 0x2070, 0xfe0f, 0xfffd, 0x1f600, 0xe01f0, 0x10ffff };

	(void)state;
	for (size_t i = 0; i < ROWS(yes); i++)
		assert_true(utf8_is_deceptive(yes[i]));
	for (size_t i = 0; i < ROWS(no); i++)
		assert_false(utf8_is_deceptive(no[i]));
}

static void test_unseen(void **state)
{
	static const uint32_t yes[] = { 0xa0, 0x1680, 0x2000, 0x200a, 0x202f, 0x205f, 0x3000,
		0xfe00, 0xfe0f, 0xfffc, 0x2800, 0x202e, 0xe01ef };
	static const uint32_t no[] = { 'a', ' ', 0xa1, 0xe9, 0x2010, 0x3001, 0xfe10, 0xfffd,
		0x1f600 };

	(void)state;
	for (size_t i = 0; i < ROWS(yes); i++)
		assert_true(utf8_is_unseen(yes[i]));
	for (size_t i = 0; i < ROWS(no); i++)
		assert_false(utf8_is_unseen(no[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_deceptive),
		cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
