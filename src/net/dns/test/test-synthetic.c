/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "net/dns/synthetic.h"
#include "test/failing.h"

/* 198.18.0.1 to 198.19.254.254. */
enum { ALL = 130814 };

static struct synthetic *make(uint32_t max)
{
	struct synthetic *s = NULL;

	assert_int_equal(synthetic_new(&s, max), 0);
	return s;
}

static struct address address(const char *text)
{
	struct address a;

	assert_int_equal(address_parse(text, strlen(text), &a), 0);
	return a;
}

static uint32_t take(struct synthetic *s, const char *name)
{
	uint32_t number = 0;

	assert_int_equal(synthetic_take(s, name, &number), 0);
	return number;
}

static const char *name_of(const struct synthetic *s, const char *text)
{
	struct address a = address(text);

	return synthetic_name(s, &a);
}

static void test_numbers_names_as_they_come(void **state)
{
	struct synthetic *s = make(0);

	(void)state;
	assert_int_equal(take(s, "a.example.com"), 1);
	assert_int_equal(take(s, "b.example.com"), 2);
	assert_int_equal(take(s, "a.example.com"), 1);
	assert_int_equal(take(s, "example.com"), 3);
	assert_string_equal(name_of(s, "198.18.0.1"), "a.example.com");
	assert_string_equal(name_of(s, "198.18.0.2"), "b.example.com");
	assert_string_equal(name_of(s, "fd53:0:0:1::3"), "example.com");
	assert_string_equal(name_of(s, "::ffff:198.18.0.3"), "example.com");
	synthetic_free(s);
}

static void test_addresses_of_numbers(void **state)
{
	static const struct {
		uint32_t number;
		const char *v4, *v6;
	} rows[] = {
		{ 1, "198.18.0.1", "fd53:0:0:1::1" },
		{ 255, "198.18.0.255", "fd53:0:0:1::ff" },
		{ 256, "198.18.1.0", "fd53:0:0:1::100" },
		{ 65535, "198.18.255.255", "fd53:0:0:1::ffff" },
		{ 65536, "198.19.0.0", "fd53:0:0:1::1:0" },
		{ ALL, "198.19.254.254", "fd53:0:0:1::1:fefe" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct address v4 = synthetic_v4(rows[i].number), v6 = synthetic_v6(rows[i].number);
		struct address want4 = address(rows[i].v4), want6 = address(rows[i].v6);

		assert_true(address_equal(&v4, &want4));
		assert_true(address_equal(&v6, &want6));
		assert_true(synthetic_covers(&v4) && synthetic_covers(&v6));
	}
}

static void test_covers_its_ranges_only(void **state)
{
	static const struct {
		const char *address;
		int want;
	} rows[] = {
		{ "198.17.255.255", 0 },
		{ "198.18.0.0", 1 },
		{ "198.19.255.255", 1 },
		{ "198.20.0.0", 0 },
		{ "fd53:0:0:1::", 1 },
		{ "fd53:0:0:1:0:0:ffff:ffff", 1 },
		{ "fd53:0:0:1:0:1::", 0 },
		{ "fd53::1", 0 },
		{ "fd53:0:0:2::1", 0 },
		{ "::ffff:198.18.0.1", 1 },
		{ "c612:1::", 0 },
		{ "1.2.3.4", 0 },
	};
	struct synthetic *s = make(0);

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct address a = address(rows[i].address);

		assert_int_equal(synthetic_covers(&a), rows[i].want);
		assert_null(synthetic_name(s, &a));
	}
	synthetic_free(s);
}

static void test_a_bound_holds(void **state)
{
	struct synthetic *s = make(2);
	uint32_t number = 77;

	(void)state;
	assert_int_equal(take(s, "a"), 1);
	assert_int_equal(take(s, "b"), 2);
	assert_int_equal(synthetic_take(s, "c", &number), -ENOSPC);
	assert_int_equal(number, 77);
	assert_int_equal(take(s, "b"), 2);
	assert_null(name_of(s, "198.18.0.3"));
	synthetic_free(s);
}

/* Every address is given once, none of them the sandbox's own, and all are found again. */
static void test_gives_all(void **state)
{
	struct synthetic *s = make(0);
	const struct prefix own = { address("198.19.255.0"), 24 };
	char name[32];
	uint32_t number;

	(void)state;
	for (uint32_t i = 1; i <= ALL; i++) {
		struct address a;

		(void)snprintf(name, sizeof(name), "n%u.example.com", i);
		assert_int_equal(take(s, name), i);
		a = synthetic_v4(i);
		assert_false(prefix_has(&own, &a));
	}
	assert_int_equal(synthetic_take(s, "more.example.com", &number), -ENOSPC);
	for (uint32_t i = 1; i <= ALL; i++) {
		struct address v4 = synthetic_v4(i), v6 = synthetic_v6(i);

		(void)snprintf(name, sizeof(name), "n%u.example.com", i);
		assert_int_equal(take(s, name), i);
		assert_string_equal(synthetic_name(s, &v4), name);
		assert_string_equal(synthetic_name(s, &v6), name);
	}
	assert_null(name_of(s, SYNTHETIC_SELF_4));
	assert_null(name_of(s, SYNTHETIC_SERVER_4));
	assert_null(name_of(s, SYNTHETIC_SELF_6));
	assert_null(name_of(s, SYNTHETIC_SERVER_6));
	synthetic_free(s);
}

FAILING_CALLOC
FAILING_MALLOC
FAILING_REALLOCARRAY

/* Wherever memory runs out, what was given stays, and it goes on once there is some again. */
static void test_out_of_memory(void **state)
{
	int failed = 0;

	(void)state;
	failing_stays = true;
	for (int budget = 1; budget < 40; budget++) {
		struct synthetic *s = make(0);
		char name[32];
		uint32_t number, given = 0;

		failing_start(budget - 1);
		for (uint32_t i = 0; i < 2000; i++) {
			int r;

			(void)snprintf(name, sizeof(name), "n%u", given + 1);
			r = synthetic_take(s, name, &number);
			assert_true(r == -ENOMEM || (r == 0 && number == given + 1));
			given += r == 0;
			failed += r < 0;
			if (given > 0)
				assert_int_equal(take(s, "n1"), 1);
			if (r < 0)
				failing_stop();
		}
		failing_stop();
		synthetic_free(s);
	}
	assert_true(failed > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_names_as_they_come),
		cmocka_unit_test(test_addresses_of_numbers),
		cmocka_unit_test(test_covers_its_ranges_only),
		cmocka_unit_test(test_a_bound_holds),
		cmocka_unit_test(test_gives_all),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
