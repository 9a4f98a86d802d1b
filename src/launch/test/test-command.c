/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "launch/command.h"

static struct policy *compile(struct permissions *p)
{
	const struct permissions *layers[] = { p };
	struct policy *policy = NULL;

	assert_int_equal(policy_new(&policy, layers, 1, NULL, NULL), 0);
	return policy;
}

static void test_limits(void **state)
{
	auto_permissions *p = permissions_new();
	auto_policy *policy = NULL;
	struct limits more, all;
	struct start s = { 0 };
	struct error e = { 0 };

	(void)state;
	p->limits.values[LIMIT_TIMEOUT_MS] = 1000;
	p->limits.values[LIMIT_OUTPUT] = 0;
	policy = compile(p);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		more.values[i] = LIMIT_NONE;
	more.values[LIMIT_TIMEOUT_MS] = 2000;
	more.values[LIMIT_PIDS] = 7;
	launch_limits(policy, &more, &all);
	assert_int_equal(all.values[LIMIT_TIMEOUT_MS], 1000);
	assert_int_equal(all.values[LIMIT_PIDS], 7);
	/* To print nothing is fine. */
	assert_int_equal(launch_limits_check(&all, &e), 0);
	launch_limits_start(&all, &s);
	assert_int_equal(s.timeout_ms, 1000);
	assert_int_equal(s.pids, 7);
	assert_int_equal(s.memory, START_NONE);
	all.values[LIMIT_MEMORY] = 0;
	assert_int_equal(launch_limits_check(&all, &e), -EPERM);
	assert_non_null(strstr(e.text, "memory"));
}

/* The host's folder for temporary files counts where it may be written. */
static void test_temp(void **state)
{
	static const struct {
		const char *grant, *wanted;
	} cases[] = {
		{ "/srv/tmp/**", "TMPDIR=/srv/tmp" },
		{ "/srv/other/**", "TMPDIR=/tmp" },
	};
	const struct variables v = {
		.values = { [VARIABLE_TEMP] = "/srv/tmp", [VARIABLE_HOME] = "/home/me" }
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_arena a = { 0 };
		auto_permissions *p = permissions_new();
		auto_policy *policy = NULL;
		const char *const *env;
		bool temp = false, home = false;
		size_t n;

		assert_int_equal(permissions_add(p, &p->fs_write, cases[i].grant, NULL), 0);
		policy = compile(p);
		assert_int_equal(
			launch_environment((struct environment_options){ .policy = policy }, &v, &a,
				&env, &n, NULL),
			0);
		for (size_t k = 0; k < n; k++) {
			temp = temp || strcmp(env[k], cases[i].wanted) == 0;
			home = home || strcmp(env[k], "HOME=/home/me") == 0;
		}
		assert_true(temp && home);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_temp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
