/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>

#include "launch/asking.h"

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
	struct launch_asking a = { 0 };

	(void)state;
	for (unsigned i = 0; i < LAUNCH_ASKING_PER_MINUTE; i++)
		assert_int_equal(
			launch_asking_admit(&a, i % 2 ? &reads : &hosts, 1000), ANSWER_BY_USER);
	assert_int_equal(launch_asking_admit(&a, &reads, 1000), ANSWER_TOO_MANY);
	assert_int_equal(launch_asking_admit(&a, &others, 60999), ANSWER_TOO_MANY);
	assert_int_equal(launch_asking_admit(&a, &hosts, 61000), ANSWER_BY_USER);
}

/* By kind, whatever the target; a yes in between begins anew, and so does time. */
static void test_noes(void **state)
{
	struct launch_asking a = { 0 };
	struct question other = reads;

	(void)state;
	other.target = "/b";
	for (unsigned i = 1; i < LAUNCH_ASKING_NOES; i++)
		launch_asking_answered(&a, i % 2 ? &reads : &other, ANSWER_DENY, 1000);
	assert_int_equal(launch_asking_admit(&a, &reads, 1000), ANSWER_BY_USER);
	launch_asking_answered(&a, &reads, ANSWER_ONCE, 1000);
	for (unsigned i = 0; i < LAUNCH_ASKING_NOES; i++) {
		assert_int_equal(launch_asking_admit(&a, &other, 1000), ANSWER_BY_USER);
		launch_asking_answered(&a, &reads, ANSWER_DENY, 1000);
	}
	assert_int_equal(launch_asking_admit(&a, &other, 1000), ANSWER_NO_BEFORE);
	assert_int_equal(launch_asking_admit(&a, &others, 1000), ANSWER_BY_USER);
	assert_int_equal(launch_asking_admit(&a, &hosts, 1000), ANSWER_BY_USER);
	assert_int_equal(
		launch_asking_admit(&a, &other, 1000 + LAUNCH_ASKING_NO_MS), ANSWER_BY_USER);
}

/* More kinds than are remembered: the rate holds all the same. */
static void test_many_kinds(void **state)
{
	struct launch_asking a = { 0 };
	char rule[16];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct question q = reads;

		(void)snprintf(rule, sizeof(rule), "r:%u", i);
		q.rule = rule;
		launch_asking_answered(&a, &q, ANSWER_DENY, i);
		n += launch_asking_admit(&a, &q, i) == ANSWER_BY_USER;
	}
	assert_int_equal(n, LAUNCH_ASKING_PER_MINUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_noes),
		cmocka_unit_test(test_many_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
