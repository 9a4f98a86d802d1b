/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/encoding.h"

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

/* Longer than a piece, and of every length modulo three. */
static void test_what_is_printed_decodes_to_the_same(void **state)
{
	static char data[10000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31 + i / 251);
	for (size_t len = 9210; len < 9222; len++) {
		for (enum encoding e = ENCODING_BASE64; e <= ENCODING_HEX; e++) {
			auto_buffer out = { 0 };
			auto_arena a = { 0 };
			const char *bytes;
			size_t n;

			encoding_print(e, data, len, &out);
			assert_int_equal(out.data[0], '"');
			assert_int_equal(out.data[out.len - 1], '"');
			assert_int_equal(
				encoding_decode(e, out.data + 1, out.len - 2, &a, &bytes, &n), 0);
			assert_int_equal(n, len);
			assert_memory_equal(bytes, data, len);
		}
	}
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
		cmocka_unit_test(test_what_is_printed_decodes_to_the_same),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
