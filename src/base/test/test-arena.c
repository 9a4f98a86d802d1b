/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "test/failing.h"

FAILING_MALLOC

static void test_alloc(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4096, 4097, 1 << 20, 3 };
	auto_arena a = { 0 };

	(void)state;
	for (size_t round = 0; round < 50; round++) {
		for (size_t i = 0; i < ROWS(sizes); i++) {
			unsigned char *p = arena_alloc(&a, sizes[i]);

			assert_non_null(p);
			assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
			for (size_t k = 0; k < sizes[i]; k++)
				assert_int_equal(p[k], 0);
			memset(p, 0xff, sizes[i]);
		}
	}
	assert_true(a.used >= 50 << 20);
	arena_deinit(&a);
	assert_int_equal(a.used, 0);
	assert_non_null(arena_alloc(&a, 1));
}

static void test_budget(void **state)
{
	auto_arena a;

	(void)state;
	arena_init(&a, 64);
	assert_non_null(arena_alloc(&a, 48));
	assert_null(arena_alloc(&a, 17));
	assert_non_null(arena_alloc(&a, 16));
	assert_null(arena_alloc(&a, 1));
	assert_non_null(arena_alloc(&a, 0));
	arena_deinit(&a);
	assert_int_equal(a.budget, 64);
	assert_null(arena_alloc(&a, 65));
	assert_non_null(arena_alloc(&a, 64));
}

/* Memory that was used before is zeroed when it is handed out, and not only the kernel's. */
static void test_zeroed(void **state)
{
	static const unsigned char zeros[900];

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		auto_arena a = { 0 };
		unsigned char *p = arena_alloc(&a, sizeof(zeros));

		assert_memory_equal(p, zeros, sizeof(zeros));
		memset(p, 0xff, sizeof(zeros));
		p = arena_calloc(&a, 3, 300);
		assert_memory_equal(p, zeros, sizeof(zeros));
		memset(p, 0xff, sizeof(zeros));
	}
}

static void test_overflow(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX / 4 + 1));
	assert_null(arena_calloc(&a, SIZE_MAX / 2, 3));
	assert_null(arena_strndup(&a, "", SIZE_MAX));
	assert_null(arena_grow(&a, NULL, 0, &(size_t){ 0 }, SIZE_MAX / 4));
	assert_int_equal(a.used, 0);
	failing_stays = true;
	failing_start(0);
	assert_null(arena_alloc(&a, 1));
	assert_null(arena_printf(&a, "x"));
	failing_stop();
}

static void test_strings(void **state)
{
	auto_arena a = { 0 };
	char *s;

	(void)state;
	assert_string_equal(arena_strdup(&a, "abc"), "abc");
	assert_string_equal(arena_strndup(&a, "abc", 2), "ab");
	assert_string_equal(arena_strndup(&a, NULL, 0), "");
	s = arena_strndup(&a, "a\0b", 3);
	assert_memory_equal(s, "a\0b", 4);
	assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
	assert_int_equal(strlen(arena_printf(&a, "%5000d", 1)), 5000);
}

static void test_push(void **state)
{
	auto_arena a = { .budget = 4096 };
	size_t n = 0, cap = 0;
	unsigned *items = NULL;
	int r;

	(void)state;
	do {
		r = ARENA_PUSH(&a, items, n, cap, (unsigned)n);
	} while (r == 0);
	assert_int_equal(r, -ENOMEM);
	assert_true(n >= 256);
	assert_int_equal(n, cap);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(items[i], i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_push),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
