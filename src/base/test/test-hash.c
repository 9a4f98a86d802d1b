/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <ctype.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"

static const struct hash_key key = { { 1, 2 } };

/* Each of these is a different input: none may be taken for another. */
static void test_keyed(void **state)
{
	static const char text[] = "0123456789abcdef0";
	const struct hash_key others[] = { { { 1, 3 } }, { { 3, 2 } } };
	uint64_t seen[64];
	size_t n = 0;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		seen[n++] = hash_keyed(&key, 0, text, len);
	for (uint64_t word = 1; word < 20; word++)
		seen[n++] = hash_keyed(&key, word, text, 8);
	for (size_t i = 0; i < 2; i++)
		seen[n++] = hash_keyed(&others[i], 0, text, 8);
	seen[n++] = hash_keyed(&key, 0, "\0", 1);
	seen[n++] = hash_keyed(&key, 0, "a\0", 2);
	seen[n++] = hash_keyed(&key, 0, "a", 1);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
	}
	assert_int_equal(hash_keyed(&key, 0, text, 8), seen[8]);
}

/* A table is filled evenly: of 4096 names in 256 buckets none gets much more than 16. */
static void test_spread(void **state)
{
	unsigned buckets[256] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 4096; i++) {
		const uint64_t hash = hash_keyed(&key, 0, &i, sizeof(i));

		assert_true(++buckets[hash & 255] < 48);
	}
}

/* The same in one process, so that tables can be compared; not the bytes of the kernel. */
static void test_key(void **state)
{
	struct hash_key a = hash_key_make(), b = hash_key_make();

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_not_equal(a.words[0], a.words[1]);
	assert_int_not_equal(hash_mix(a.words[0], 1), hash_mix(a.words[0], 2));
}

static void test_ascii(void **state)
{
	(void)state;
	for (int i = -128; i < 256; i++) {
		const char c = (char)i;
		const unsigned char u = (unsigned char)c;

		assert_int_equal(ascii_is_digit(c), isdigit(u) != 0);
		assert_int_equal(ascii_is_control(c), iscntrl(u) != 0);
		assert_int_equal((unsigned char)ascii_lower(c), tolower(u));
		assert_int_equal(ascii_hex(c) >= 0, isxdigit(u) != 0);
	}
	assert_int_equal(ascii_hex('0'), 0);
	assert_int_equal(ascii_hex('a'), 10);
	assert_int_equal(ascii_hex('F'), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keyed),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
