/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory at every place: the linker leads each call of an allocating function to the wrapper
 * here (see meson.build); the first call fails, then the second, and so on until all succeed. Each
 * failure must come back as -ENOMEM, never as a plan with something left out.
 */
#include "base/array.h"
#include "jail/plan/test/test-plan.h"
#include "test/failing-arena.h"

FAILING_CALLOC
FAILING_MALLOC
FAILING_REALLOC

static const char *const files[] = { "@/home/", "@/home/.ssh/", "@/home/p/", "@/home/p/a/",
	"@/home/p/a/f", "@/home/p/a/g", "@/link>home/p", "@/tool!#!/bin/sh\n" };

/* Links, masks, pins, notes, the baseline; patterns; programs; hosts, ports, sockets. */
static const char *const policies[] = {
	"fs: {read: [@/home/**, @/link/**], write: [@/home/p/**, @/nope/**], deny: [@/home/p/a/f]}",
	"fs: {read: ['@/home/p/a/*', '@/h*/p/**']}",
	"exec: [@/tool, '@/too?']",
	"network: {allow: ['a.example:443', '10.1.2.3:80-90', '[::1]:5'], listen: [80, 81]}",
	("{fs: {read: [/etc/**]}, rules: [{id: a, action: allow, operations: [net.connect], "
	 "patterns: ['*:443', 'unix:@/door']}]}"),
	"network: {allow: ['10.1.2.3:80-90', '10.1.2.4:80', 'b.example:1-16']}",
};

static void sweep(const char *yaml)
{
	struct test_policy t;
	struct plan_options o;
	char *full, *now;
	int r = -ENOMEM;

	test_policy_init(&t, (const char *const[]){ yaml, NULL });
	o = test_policy_options(&t);
	full = test_plan_text(&o);
	for (long i = 0; r < 0; i++) {
		struct plan *plan = NULL;
		struct error e = { 0 };

		assert_true(i < 100000);
		failing_start(i);
		r = plan_new(&plan, &o, &e);
		if (failing_stop()) {
			assert_int_equal(r, -ENOMEM);
			assert_null(plan);
			assert_string_not_equal(e.text, "");
		}
		plan_free(plan);
	}
	assert_int_equal(r, 0);
	now = test_plan_text(&o);
	assert_string_equal(now, full);
	free(now);
	free(full);
	test_policy_deinit(&t);
}

static void test_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(policies); i++)
		sweep(policies[i]);
}

/* A socket that nobody listens on is one, too. */
static int make_door(void)
{
	char *path = test_plan_expand("@/door");
	int r = mknod(path, S_IFSOCK | 0600, 0);

	free(path);
	return r;
}

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r == 0 ? make_door() : r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("plan-memory", tests, set_up, test_plan_tear_down);
}
