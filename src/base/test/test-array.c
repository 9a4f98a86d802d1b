/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/words.h"
#include "test/failing.h"

FAILING_REALLOCARRAY

static void test_push(void **state)
{
	size_t n = 0, cap = 0;
	int *items = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ARRAY_PUSH(items, n, cap, i), 0);
	assert_int_equal(n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

/* What was there stays there. */
static void test_no_memory(void **state)
{
	size_t n = 0, cap = 0, huge = SIZE_MAX / 2 + 1;
	int *items = NULL;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(ARRAY_PUSH(items, n, cap, i), 0);
	failing_start(0);
	assert_int_equal(ARRAY_PUSH(items, n, cap, 8), -ENOMEM);
	failing_stop();
	assert_int_equal(n, 8);
	assert_int_equal(items[7], 7);
	assert_null(array_grow(items, huge, &huge, 1));
	free(items);
}

static void test_words(void **state)
{
	static const char *const words[] = { "git", "gi", "", NULL };

	(void)state;
	assert_int_equal(words_find(words, "git", 3), 0);
	assert_int_equal(words_find(words, "git", 2), 1);
	assert_int_equal(words_find(words, "x", 0), 2);
	assert_int_equal(words_find(words, "gitx", 4), -1);
	assert_true(words_has(words, "gi"));
	assert_false(words_has(words, "g"));
}

/* The test vectors of the authors of FNV. */
static void test_hash(void **state)
{
	(void)state;
	assert_true(hash_bytes(HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void test_fd(void **state)
{
	int fd = dup(0), taken;

	(void)state;
	assert_true(fd >= 0);
	taken = fd_take(&fd);
	assert_int_equal(fd, -1);
	fd_close(&fd);
	assert_int_equal(dup2(taken, taken), taken);
	fd_close(&taken);
	assert_int_equal(taken, -1);
	fd_close(&taken);
}

static void test_order(void **state)
{
	uint32_t items[] = { 7, 0, UINT32_MAX, 3, 7 };
	static const uint32_t sorted[] = { 0, 3, 7, 7, UINT32_MAX };

	(void)state;
	qsort(items, ROWS(items), sizeof(items[0]), array_compare_u32);
	assert_memory_equal(items, sorted, sizeof(items));
}

/* Whatever stands in order at the start. */
static void test_sort_pointers(void **state)
{
	static const char *const rows[][8] = {
		{ NULL },
		{ "a", NULL },
		{ "a", "b", "b", "c", NULL },
		{ "b", "a", NULL },
		{ "b", "d", "f", "e", "a", "c", "b", NULL },
		{ "e", "d", "c", "b", "a", NULL },
		{ "a", "b", "c", "a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const void *items[8], *room[8];
		const char *plain[8] = { NULL };
		size_t n = 0;

		for (; rows[i][n]; n++)
			items[n] = plain[n] = rows[i][n];
		array_sort_pointers(items, n, room, array_compare_text);
		qsort(plain, n, sizeof(const char *), array_compare_text);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(items[k], plain[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_sort_pointers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_fd),
	};

	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
