/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of struct audit_top, against exact counts of the same names. */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/figures.h"

static void add(struct audit_top *t, unsigned kind, const char *text, uint64_t n)
{
	assert_int_equal(audit_top_add(t, kind, text, n), 0);
}

static void test_exact(void **state)
{
	struct audit_top *t = audit_top_new();

	(void)state;
	assert_non_null(t);
	add(t, 0, "b", 2);
	add(t, 0, "a", 1);
	add(t, 1, "a", 5);
	add(t, 0, "a", 1);
	add(t, 0, "", 1);
	audit_top_sort(t);
	assert_int_equal(t->n, 4);
	assert_false(t->is_approximate);
	assert_string_equal(t->entries[0].text, "a");
	assert_int_equal(t->entries[0].kind, 1);
	assert_int_equal(audit_top_surely(&t->entries[0]), 5);
	/* Two with the same count: by name. */
	assert_string_equal(t->entries[1].text, "a");
	assert_int_equal(t->entries[1].count, 2);
	assert_string_equal(t->entries[2].text, "b");
	assert_string_equal(t->entries[3].text, "");
	audit_top_free(t);
	audit_top_free(NULL);
}

static void test_overflow(void **state)
{
	struct audit_top *t = audit_top_new();

	(void)state;
	assert_non_null(t);
	add(t, 0, "x", UINT64_MAX);
	add(t, 0, "x", UINT64_MAX);
	assert_int_equal(t->entries[0].count, UINT64_MAX);
	audit_top_free(t);
}

enum { NAMES = 5000, EVENTS = 200000 };

/* The more often, the lower its number is: a few frequent ones, and a long tail. */
static unsigned draw(uint32_t *seed)
{
	uint32_t a, b;

	*seed = *seed * 1664525 + 1013904223;
	a = (*seed >> 8) % NAMES;
	*seed = *seed * 1664525 + 1013904223;
	b = (*seed >> 8) % NAMES;
	return (uint32_t)((uint64_t)a * b / NAMES) % (1 + a / 2);
}

static void check_entries(const struct audit_top *t, const uint64_t *exact, bool *there)
{
	uint64_t before = UINT64_MAX;

	for (size_t i = 0; i < t->n; i++) {
		const struct audit_top_entry *e = &t->entries[i];
		const unsigned name = (unsigned)strtoul(e->text, NULL, 10);

		assert_in_range(name, 0, NAMES - 1);
		assert_false(there[name]);
		there[name] = true;
		assert_true(audit_top_surely(e) <= exact[name] && exact[name] <= e->count);
		assert_true(audit_top_surely(e) <= before);
		before = audit_top_surely(e);
	}
}

static void test_bounds(void **state)
{
	static uint64_t exact[NAMES];
	static bool there[NAMES];
	struct audit_top *t = audit_top_new();
	uint32_t seed = 7;

	(void)state;
	assert_non_null(t);
	for (int i = 0; i < EVENTS; i++) {
		const unsigned name = draw(&seed);
		char text[16];

		(void)snprintf(text, sizeof(text), "%u", name);
		add(t, 0, text, 1);
		exact[name]++;
	}
	audit_top_sort(t);
	assert_true(t->is_approximate);
	assert_int_equal(t->n, AUDIT_TOP_SIZE);
	check_entries(t, exact, there);
	for (unsigned name = 0; name < NAMES; name++)
		assert_true(there[name] || exact[name] <= EVENTS / AUDIT_TOP_SIZE);
	audit_top_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
