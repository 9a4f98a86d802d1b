/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "daemon/login.h"

static const uint8_t bytes[LOGIN_CODE / 2] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
static const char code[] = "0123456789abcdef0000000000000000";
static const char wrong[] = "0123456789abcdef0000000000000001";

static void test_once(void **state)
{
	struct login l = { 0 };

	(void)state;
	login_begin(&l, bytes, 1000);
	assert_string_equal(l.code, code);
	assert_true(login_take(&l, code, 1001));
	assert_false(login_take(&l, code, 1001));
	/* Nothing of it is left. */
	for (size_t i = 0; i < sizeof(l.code); i++)
		assert_int_equal(l.code[i], 0);
}

static void test_a_minute(void **state)
{
	struct login l = { 0 };

	(void)state;
	login_begin(&l, bytes, 1000);
	assert_false(login_take(&l, code, 1000 + LOGIN_MS));
	/* And not when the clock goes back. */
	assert_false(login_take(&l, code, 1001));
	login_begin(&l, bytes, 1000);
	assert_true(login_take(&l, code, 999 + LOGIN_MS));
}

static void test_tries(void **state)
{
	struct login l = { 0 };

	(void)state;
	login_begin(&l, bytes, 0);
	for (unsigned i = 0; i + 1 < LOGIN_TRIES; i++)
		assert_false(login_take(&l, wrong, 1));
	assert_true(login_take(&l, code, 1));
	login_begin(&l, bytes, 0);
	for (unsigned i = 0; i < LOGIN_TRIES; i++)
		assert_false(login_take(&l, wrong, 1));
	assert_false(login_take(&l, code, 1));
}

static void test_none(void **state)
{
	static const char *const rows[] = { "", "0", code, "00000000000000000000000000000000" };
	struct login l = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(login_take(&l, rows[i], 0));
	/* A part of a code is none, nor is one with more behind it. */
	login_begin(&l, bytes, 0);
	assert_false(login_take(&l, "0123456789abcdef", 1));
	assert_false(login_take(&l, "0123456789abcdef00000000000000000", 1));
	/* The last code counts. */
	login_begin(&l, (const uint8_t[LOGIN_CODE / 2]){ 1 }, 1);
	assert_false(login_take(&l, code, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_a_minute),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
