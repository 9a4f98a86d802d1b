/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "cli/audit/timeline.h"

static const uint64_t second = 1000000000;

/* Numbers without an order, the same each time. */
static uint64_t next(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint64_t sum(const struct audit_timeline *t, enum audit_decision d)
{
	uint64_t all = 0;

	for (size_t i = 0; i < t->n; i++)
		all += t->counts[i][d];
	return all;
}

static void test_seconds(void **state)
{
	static struct audit_timeline t;

	(void)state;
	audit_timeline_add(&t, 100 * second, AUDIT_DENIED, 1);
	audit_timeline_add(&t, 100 * second + 999999999, AUDIT_DENIED, 2);
	audit_timeline_add(&t, 102 * second, AUDIT_ALLOWED, 5);
	/* A clock that was set back. */
	audit_timeline_add(&t, 98 * second, AUDIT_ASKED, 7);
	assert_int_equal(t.start_s, 98);
	assert_int_equal(t.doubled, 0);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.counts[0][AUDIT_ASKED], 7);
	assert_int_equal(t.counts[2][AUDIT_DENIED], 3);
	assert_int_equal(t.counts[4][AUDIT_ALLOWED], 5);
}

static void test_fills(void **state)
{
	static struct audit_timeline t;

	(void)state;
	for (uint64_t i = 0; i < AUDIT_TIMELINE_STEPS; i++)
		audit_timeline_add(&t, (1001 + i) * second, AUDIT_DENIED, 1);
	assert_int_equal(t.doubled, 0);
	assert_int_equal(t.n, AUDIT_TIMELINE_STEPS);
	/* One more: two steps become one, each a multiple. */
	audit_timeline_add(&t, (1001 + AUDIT_TIMELINE_STEPS) * second, AUDIT_DENIED, 1);
	assert_int_equal(t.doubled, 1);
	assert_int_equal(t.start_s, 1000);
	assert_int_equal(t.counts[0][AUDIT_DENIED], 1);
	assert_int_equal(t.counts[1][AUDIT_DENIED], 2);
	assert_int_equal(sum(&t, AUDIT_DENIED), AUDIT_TIMELINE_STEPS + 1);
}

/* Whatever comes, in whatever order: nothing is lost, and it is where it belongs. */
static void test_any(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 50; turn++) {
		static struct audit_timeline t;
		const uint64_t width = UINT64_C(1) << (next() % 34);
		uint64_t least = UINT64_MAX, most = 0;

		t = (struct audit_timeline){ 0 };
		for (unsigned i = 0; i < 1000; i++) {
			const uint64_t time = 1700000000 + next() % width;

			least = time < least ? time : least;
			most = time > most ? time : most;
			audit_timeline_add(&t, time * second, AUDIT_ALLOWED, 1);
			assert_true(t.n <= AUDIT_TIMELINE_STEPS &&
				    t.start_s >> t.doubled << t.doubled == t.start_s);
		}
		assert_int_equal(sum(&t, AUDIT_ALLOWED), 1000);
		assert_true(t.start_s <= least && most < t.start_s + ((uint64_t)t.n << t.doubled));
		assert_true(t.doubled == 0 ||
			    (most - least) >> t.doubled >= AUDIT_TIMELINE_STEPS / 2 - 2);
	}
}

static void test_extremes(void **state)
{
	static struct audit_timeline t;

	(void)state;
	audit_timeline_add(&t, 0, AUDIT_DENIED, UINT64_MAX);
	audit_timeline_add(&t, UINT64_MAX, AUDIT_DENIED, 1);
	audit_timeline_add(&t, 0, AUDIT_DENIED, 1);
	assert_int_equal(t.counts[0][AUDIT_DENIED], UINT64_MAX);
	assert_int_equal(t.counts[t.n - 1][AUDIT_DENIED], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
