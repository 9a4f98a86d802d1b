/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/encoding.h"

static void test_decode(void **state)
{
	static const struct {
		enum encoding encoding;
		const char *text, *bytes;
		size_t len;
		int code;
	} cases[] = {
		{ ENCODING_UTF_8, "a\xc3\xa9", "a\xc3\xa9", 3, 0 },
		{ ENCODING_UTF8, "", "", 0, 0 },
		{ ENCODING_BASE64, "", "", 0, 0 },
		{ ENCODING_BASE64, "AAEC/w==", "\0\1\2\377", 4, 0 },
		{ ENCODING_BASE64, "AAEC\r\n/w==", "\0\1\2\377", 4, 0 },
		{ ENCODING_BASE64, "AAEC/w", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AAEC/w==x", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AAEC_w==", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "!", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AAEC/x==", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AAF=", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AA=E", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AAEC=", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "A===", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "====", NULL, 0, -EINVAL },
		{ ENCODING_BASE64, "AA =", NULL, 0, -EINVAL },
		{ ENCODING_BASE64URL, "AAEC_w", "\0\1\2\377", 4, 0 },
		{ ENCODING_BASE64URL, "AAEC_w==", NULL, 0, -EINVAL },
		{ ENCODING_BASE64URL, "AAEC/w", NULL, 0, -EINVAL },
		{ ENCODING_BASE64URL, "A", NULL, 0, -EINVAL },
		{ ENCODING_HEX, "00fFA0", "\0\377\240", 3, 0 },
		{ ENCODING_HEX, "0", NULL, 0, -EINVAL },
		{ ENCODING_HEX, "0g", NULL, 0, -EINVAL },
		{ ENCODING_HEX, "00 11", NULL, 0, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_arena a = { 0 };
		const char *bytes = NULL;
		size_t len = 99;

		assert_int_equal(encoding_decode(cases[i].encoding, cases[i].text,
					 strlen(cases[i].text), &a, &bytes, &len),
			cases[i].code);
		if (cases[i].code < 0)
			continue;
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(bytes, cases[i].bytes, len);
		assert_int_equal(bytes[len], '\0');
	}
}

/* RFC 4648, section 10; and all letters of both alphabets. */
static void test_vectors(void **state)
{
	static const struct {
		enum encoding encoding;
		const char *bytes, *text;
	} cases[] = {
		{ ENCODING_BASE64, "", "" },
		{ ENCODING_BASE64, "f", "Zg==" },
		{ ENCODING_BASE64, "fo", "Zm8=" },
		{ ENCODING_BASE64, "foo", "Zm9v" },
		{ ENCODING_BASE64, "foob", "Zm9vYg==" },
		{ ENCODING_BASE64, "fooba", "Zm9vYmE=" },
		{ ENCODING_BASE64, "foobar", "Zm9vYmFy" },
		{ ENCODING_BASE64URL, "f", "Zg" },
		{ ENCODING_BASE64URL, "fo", "Zm8" },
		{ ENCODING_BASE64URL, "foobar", "Zm9vYmFy" },
		{ ENCODING_HEX, "foobar", "666f6f626172" },
		{ ENCODING_UTF8, "foobar", "foobar" },
	};
	static const char *const alphabets[] = {
		[ENCODING_BASE64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789+/",
		[ENCODING_BASE64URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789-_",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_buffer out = { 0 };

		encoding_print(cases[i].encoding, cases[i].bytes, strlen(cases[i].bytes), &out);
		assert_string_equal(buffer_text(&out), cases[i].text);
	}
	for (size_t i = 0; i < ROWS(alphabets); i++) {
		auto_buffer out = { 0 };
		auto_arena a = { 0 };
		const char *bytes;
		size_t n;

		if (!alphabets[i])
			continue;
		assert_int_equal(
			encoding_decode((enum encoding)i, alphabets[i], 64, &a, &bytes, &n), 0);
		assert_int_equal(n, 48);
		encoding_print((enum encoding)i, bytes, n, &out);
		assert_string_equal(buffer_text(&out), alphabets[i]);
	}
}

/* Every byte, and every length modulo three. */
static void test_what_is_printed_decodes_to_the_same(void **state)
{
	static char data[10000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31 + i / 251);
	for (size_t len = 9210; len < 9222; len++) {
		for (enum encoding e = ENCODING_BASE64; e <= ENCODING_BASE64URL; e++) {
			auto_buffer out = { 0 };
			auto_arena a = { 0 };
			const char *bytes;
			size_t n;

			encoding_print(e, data, len, &out);
			assert_int_equal(encoding_decode(e, out.data, out.len, &a, &bytes, &n), 0);
			assert_int_equal(n, len);
			assert_memory_equal(bytes, data, len);
		}
	}
}

static void test_hex(void **state)
{
	char digits[9];

	(void)state;
	encoding_hex("\x00\x9a\xff\x10", 4, digits);
	assert_string_equal(digits, "009aff10");
	encoding_hex("", 0, digits);
	assert_string_equal(digits, "");
}

static void test_percent(void **state)
{
	auto_buffer out = { 0 };

	(void)state;
	encoding_percent("a/b c%\0\xc3", 8, "/", &out);
	assert_string_equal(buffer_text(&out), "a/b%20c%25%00%C3");
	assert_int_equal(encoding_percent_byte("%2Fx", 4), '/');
	assert_int_equal(encoding_percent_byte("%ff", 3), 0xff);
	assert_int_equal(encoding_percent_byte("%00", 3), 0);
	assert_int_equal(encoding_percent_byte("%2", 2), -1);
	assert_int_equal(encoding_percent_byte("%2F", 2), -1);
	assert_int_equal(encoding_percent_byte("%2g", 3), -1);
	assert_int_equal(encoding_percent_byte("%%2", 3), -1);
	assert_int_equal(encoding_percent_byte("2F0", 3), -1);
}

static void test_fits(void **state)
{
	(void)state;
	assert_true(encoding_fits(ENCODING_UTF_8, "text", 4));
	assert_false(encoding_fits(ENCODING_UTF_8, "te\0t", 4));
	assert_false(encoding_fits(ENCODING_UTF8, "\xff", 1));
	assert_true(encoding_fits(ENCODING_BASE64, "\xff\0", 2));
	assert_true(encoding_fits(ENCODING_HEX, "\xff\0", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_what_is_printed_decodes_to_the_same),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
