/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "base/array.h"
#include "broker/client/opener.h"

#define BACK "https://a.example/code?x"
#define WRITTEN "https%3A%2F%2Fa.example%2Fcode%3Fx"

static void test_back(void **state)
{
	static const struct {
		const char *address, *back, *want; /* NULL: as it was */
	} rows[] = {
		{ "https://b.example/?redirect_uri=http%3A%2F%2Flocalhost%3A3%2Fc&s=1", BACK,
			"https://b.example/?redirect_uri=" WRITTEN "&s=1" },
		{ "https://b.example/?s=1&redirect_uri=http://127.0.0.1:3/c", BACK,
			"https://b.example/?s=1&redirect_uri=" WRITTEN },
		{ "https://b.example/?redirect_uri=http%3A%2F%2Flocalhost%3A3%2Fc", NULL, NULL },
		{ "https://b.example/?redirect_uri=https%3A%2F%2Fc.example%2F", BACK, NULL },
		{ "https://b.example/?redirect_uri=http%3A%2F%2Flocalhost.c.example%3A3", BACK,
			NULL },
		{ "https://b.example/?my_redirect_uri=http%3A%2F%2Flocalhost%3A3", BACK, NULL },
		{ "https://b.example/?", BACK, NULL },
		{ "", BACK, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		opener_put(rows[i].address, rows[i].back, &out);
		assert_string_equal(
			buffer_text(&out), rows[i].want ? rows[i].want : rows[i].address);
	}
}

static void test_name(void **state)
{
	(void)state;
	assert_true(opener_is_name("xdg-open"));
	assert_true(opener_is_name("/dev/corral/xdg-open"));
	assert_false(opener_is_name("sandbox-call"));
	assert_false(opener_is_name("/xdg-open/sandbox-call"));
	assert_false(opener_is_name(""));
	assert_false(opener_is_name(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
