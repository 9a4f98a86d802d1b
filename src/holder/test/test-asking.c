/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>

#include "holder/asking.h"

static const struct question reads = {
	.op = OPERATION_FS_READ, .rule = "a.yaml:1", .target = "/a"
};
static const struct question others = {
	.op = OPERATION_FS_READ, .rule = "a.yaml:2", .target = "/a"
};
static const struct question hosts = {
	.op = OPERATION_NET_CONNECT, .rule = "a.yaml:1", .target = "a:1"
};

/* One rate for all kinds. */
static void test_rate(void **state)
{
	struct holder_asking a = { 0 };

	(void)state;
	for (unsigned i = 0; i < HOLDER_ASKING_PER_MINUTE; i++)
		assert_int_equal(
			holder_asking_admit(&a, i % 2 ? &reads : &hosts, 1000), ANSWER_BY_USER);
	assert_int_equal(holder_asking_admit(&a, &reads, 1000), ANSWER_TOO_MANY);
	assert_int_equal(holder_asking_admit(&a, &others, 60999), ANSWER_TOO_MANY);
	assert_int_equal(holder_asking_admit(&a, &hosts, 61000), ANSWER_BY_USER);
}

/* Where all that is denied asks, the user is asked a few times. */
static void test_few(void **state)
{
	struct holder_asking a = { .is_few = true };

	(void)state;
	for (unsigned i = 0; i < HOLDER_ASKING_FEW; i++)
		assert_int_equal(
			holder_asking_admit(&a, i % 2 ? &reads : &hosts, 1000), ANSWER_BY_USER);
	assert_int_equal(holder_asking_admit(&a, &hosts, 60999), ANSWER_TOO_MANY);
	assert_int_equal(holder_asking_admit(&a, &reads, 61000), ANSWER_BY_USER);
}

/* By kind, whatever the target; a yes in between begins anew, and so does time. */
static void test_noes(void **state)
{
	struct holder_asking a = { 0 };
	struct question other = reads;

	(void)state;
	other.target = "/b";
	for (unsigned i = 1; i < HOLDER_ASKING_NOES; i++)
		holder_asking_answered(&a, i % 2 ? &reads : &other, ANSWER_DENY, 1000);
	assert_int_equal(holder_asking_admit(&a, &reads, 1000), ANSWER_BY_USER);
	holder_asking_answered(&a, &reads, ANSWER_ONCE, 1000);
	for (unsigned i = 0; i < HOLDER_ASKING_NOES; i++) {
		assert_int_equal(holder_asking_admit(&a, &other, 1000), ANSWER_BY_USER);
		holder_asking_answered(&a, &reads, ANSWER_DENY, 1000);
	}
	assert_int_equal(holder_asking_admit(&a, &other, 1000), ANSWER_NO_BEFORE);
	assert_int_equal(holder_asking_admit(&a, &others, 1000), ANSWER_BY_USER);
	assert_int_equal(holder_asking_admit(&a, &hosts, 1000), ANSWER_BY_USER);
	assert_int_equal(
		holder_asking_admit(&a, &other, 1000 + HOLDER_ASKING_NO_MS), ANSWER_BY_USER);
}

static struct question asking_of(unsigned kind)
{
	static char rule[16];
	struct question q = reads;

	(void)snprintf(rule, sizeof(rule), "r:%u", kind);
	q.rule = rule;
	return q;
}

/* More kinds than have a place of their own: the others share one memory of "no". */
static void test_many_kinds(void **state)
{
	struct holder_asking a = { 0 };
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct question q = asking_of(i);

		if (holder_asking_admit(&a, &q, i) != ANSWER_BY_USER)
			continue;
		holder_asking_answered(&a, &q, ANSWER_DENY, i);
		n++;
	}
	assert_int_equal(n, HOLDER_ASKING_KINDS + HOLDER_ASKING_NOES);
}

/* Kinds that take turns make none of them forgotten. */
static void test_kinds_in_turn(void **state)
{
	enum { KINDS = HOLDER_ASKING_KINDS + 1 };
	struct holder_asking a = { 0 };
	unsigned n[KINDS] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100 * KINDS; i++) {
		struct question q = asking_of(i % KINDS);

		a.n_minute = 0; /* The rate is not what holds them here. */
		if (holder_asking_admit(&a, &q, 1 + i) != ANSWER_BY_USER)
			continue;
		holder_asking_answered(&a, &q, ANSWER_DENY, 1 + i);
		n[i % KINDS]++;
	}
	for (unsigned i = 0; i < KINDS; i++)
		assert_int_equal(n[i], HOLDER_ASKING_NOES);
	for (unsigned i = 0; i < KINDS; i++) {
		struct question q = asking_of(i);

		a.n_minute = 0;
		assert_int_equal(
			holder_asking_admit(&a, &q, 5000 + HOLDER_ASKING_NO_MS), ANSWER_BY_USER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_noes),
		cmocka_unit_test(test_many_kinds),
		cmocka_unit_test(test_kinds_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
