/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launch/compile-limits.h"

#define MIB (UINT64_C(1) << 20)

static int reset(void **state)
{
	(void)state;
	(void)unsetenv(COMPILE_LIMITS_TIME);
	(void)unsetenv(COMPILE_LIMITS_MEMORY);
	return 0;
}

static void test_grows_with_the_module(void **state)
{
	static const struct {
		uint64_t bytes, seconds, memory;
	} rows[] = {
		{ 0, 10, 256 * MIB },
		{ 1, 12, 288 * MIB },
		{ MIB, 12, 288 * MIB },
		{ MIB + 1, 14, 320 * MIB },
		{ 10 * MIB, 30, 576 * MIB },
		{ 24 * MIB, 58, 1024 * MIB },
		{ 25 * MIB, 60, 1024 * MIB },
		{ 64 * MIB, 60, 1024 * MIB },
		{ UINT64_MAX / 2, 60, 1024 * MIB },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct compile_limits l = { 0 };
		struct error e = { 0 };

		assert_int_equal(compile_limits_get(&l, rows[i].bytes, &e), 0);
		assert_true(l.seconds == rows[i].seconds);
		assert_true(l.memory == rows[i].memory);
		assert_true(l.wait_ms > l.seconds * 1000);
	}
}

static void test_the_environment_says_otherwise(void **state)
{
	static const struct {
		const char *time, *memory;
		int r;
		uint64_t seconds, bytes;
	} rows[] = {
		{ "5m", "4G", 0, 300, UINT64_C(4) << 30 },
		{ "1ms", "1M", 0, 1, MIB },
		{ "", "", 0, 12, 288 * MIB },
		{ "1s", NULL, 0, 1, 288 * MIB },
		{ "9999999d", NULL, 0, 86400, 288 * MIB },
		{ "0", NULL, -EINVAL, 0, 0 },
		{ "soon", NULL, -EINVAL, 0, 0 },
		{ "-1", NULL, -EINVAL, 0, 0 },
		{ NULL, "0", -EINVAL, 0, 0 },
		{ NULL, "much", -EINVAL, 0, 0 },
		{ NULL, "99999999999999999999G", -EINVAL, 0, 0 },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct compile_limits l = { 0 };
		struct error e = { 0 };

		(void)reset(state);
		if (rows[i].time)
			(void)setenv(COMPILE_LIMITS_TIME, rows[i].time, 1);
		if (rows[i].memory)
			(void)setenv(COMPILE_LIMITS_MEMORY, rows[i].memory, 1);
		assert_int_equal(compile_limits_get(&l, 100, &e), rows[i].r);
		assert_true(l.seconds == rows[i].seconds && l.memory == rows[i].bytes);
		assert_true(rows[i].r == 0 || strstr(e.text, "invalid value of CORRAL_WASM_"));
	}
}

static void test_sentences_say_how_to_raise(void **state)
{
	const struct compile_limits l = { .seconds = 12, .memory = 288 * MIB };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(compile_limits_time_is_up(&l, "a.wasm", &e), -EFBIG);
	assert_non_null(strstr(e.text, "compiling a.wasm needs more than 12 s"));
	assert_non_null(strstr(e.hint, COMPILE_LIMITS_TIME "=48s"));
	assert_int_equal(compile_limits_memory_is_up(&l, "a.wasm", &e), -EFBIG);
	assert_non_null(strstr(e.text, "compiling a.wasm needs more than 288M"));
	assert_non_null(strstr(e.hint, COMPILE_LIMITS_MEMORY "=1152M"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_grows_with_the_module, reset, reset),
		cmocka_unit_test_setup_teardown(test_the_environment_says_otherwise, reset, reset),
		cmocka_unit_test(test_sentences_say_how_to_raise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
