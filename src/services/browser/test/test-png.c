/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "services/browser/png.h"

#define HEAD "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"

static void test_sizes(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		int code;
		unsigned width, height;
	} rows[] = {
		{ HEAD "\0\0\5\0\0\0\2\xd0", 24, 0, 1280, 720 },
		{ HEAD "\0\0\5\0\0\0\2\xd0more", 28, 0, 1280, 720 },
		{ HEAD "\0\0\5\0\0\0\2\xd0", 23, -EINVAL, 0, 0 },
		{ HEAD "\0\0\0\0\0\0\2\xd0", 24, -EINVAL, 0, 0 },
		{ "\x89PNG\r\n\x1a\n\0\0\0\x0dJHDR\0\0\5\0\0\0\2\xd0", 24, -EINVAL, 0, 0 },
		{ "GIF89a", 6, -EINVAL, 0, 0 },
		{ "", 0, -EINVAL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		unsigned width = 0, height = 0;

		assert_int_equal(
			png_size(rows[i].data, rows[i].len, &width, &height), rows[i].code);
		assert_int_equal(width, rows[i].width);
		assert_int_equal(height, rows[i].height);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes) };

	return cmocka_run_group_tests_name("browser png", tests, NULL, NULL);
}
