/* SPDX-License-Identifier: Apache-2.0 */
/* A skill's folder in a plan: a copy of it, but for what is live. */
#include "jail/plan/test/test-plan.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/fd.h"
#include "test/scratch.h"
#include "skill/archive.h"
#include "skill/content.h"

static const struct {
	const char *layers[3];
	const char *expected;
} cases[] = {
	/* Read-only and one with what is around it: still another mount. */
	{ { "fs: {read: ['@/home/**']}" }, "bind @/home/p/s drxoc\n"
					   "bind @/home/p/s/data dr\n"
					   "bind @/home/p/s/state fr\n" },
	/* A grant from around it does not reach in, and the way there is pinned. */
	{ { "fs: {write: ['@/home/p/**']}" }, "bind @/home/p/s drxoc\n"
					      "bind @/home/p/s/data dw\n"
					      "bind @/home/p/s/state fw\n" },
	{ { "fs: {read: ['@/home/p/s/**'], write: ['@/home/p/s/data/**']}" },
		"bind @/home/p/s drxc\n"
		"bind @/home/p/s/data dw\n"
		"bind @/home/p/s/state fr\n" },
	/* Not even by name. */
	{ { "fs: {read: ['@/home/p/s/**'], write: ['@/home/p/s/lib/**', '@/home/p/s/run']}" },
		"bind @/home/p/s drxc\n"
		"bind @/home/p/s/data dr\n"
		"bind @/home/p/s/state fr\n"
		"note @/home/p/s/lib is part of the skill, and can't be written; its manifest can "
		"grant that, as $SKILL_DIR/FOLDER/**\n"
		"note @/home/p/s/run is part of the skill, and can't be written; its manifest can "
		"grant that, as $SKILL_DIR/FOLDER/**\n" },
	/* In part; and with a part that is denied. */
	{ { "fs: {read: ['@/home/p/s/lib/**', '@/home/p/s/run']}" }, "dir @/home/p/s\n"
								     "bind @/home/p/s/lib drxc\n"
								     "bind @/home/p/s/run frxc\n" },
	{ { "fs: {read: ['@/home/p/s/**'], deny: ['@/home/p/s/lib/**']}" },
		"bind @/home/p/s drxc\n"
		"bind @/home/p/s/data dr\n"
		"mask @/home/p/s/lib dr\n"
		"bind @/home/p/s/state fr\n" },
	/* With a list of programs those of the copy run, and nothing else there. */
	{ { "{fs: {read: ['@/home/p/s/**'], write: ['@/home/p/s/data/**']}, exec: "
	    "['@/home/p/s/run', '@/home/p/s/data/tool']}" },
		"bind @/home/p/s drc\n"
		"bind @/home/p/s/data dw\n"
		"bind @/home/p/s/data/tool fro\n"
		"bind @/home/p/s/run frxc\n"
		"bind @/home/p/s/state fr\n"
		"runs @/home/p/s/run\n" },
	{ { "fs: {read: ['@/data/**']}" }, "" },
};

static int set_up(void **state)
{
	static const char *const files[] = { "@/home/", "@/home/p/", "@/home/p/s/",
		"@/home/p/s/lib/", "@/home/p/s/lib/x", "@/home/p/s/data/", "@/home/p/s/data/tool!x",
		"@/home/p/s/state", "@/home/p/s/run!#!/bin/sh\n", "@/data/", "@/bin/",
		"@/bin/one!x", "@/bin/two!x", "@/home/p/s/by-one!#!@/bin/one\n",
		"@/home/p/s/link>by-one", "@/link>home/p/s/by-one" };

	if (test_plan_set_up(state) < 0)
		return -1;
	for (size_t i = 0; i < ROWS(files); i++)
		test_plan_make(files[i]);
	return 0;
}

static void copy(int *ret, struct skill_archive *a)
{
	static const struct skill_live items[] = { { "data", true }, { "state", false } };
	static const struct skill_lives lives = { items, ROWS(items) };
	char *path = test_plan_expand("@/home/p/s");
	struct skill_archive_writer w;
	struct skill_content c = { 0 };
	auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(skill_archive_begin(&w, path, NULL), 0);
	assert_int_equal(skill_content_read(&c, fd, &lives, &w, NULL), 0);
	assert_int_equal(skill_archive_finish(&w, ret, NULL), 0);
	assert_int_equal(skill_archive_open(a, *ret), 0);
	skill_content_deinit(&c);
	free(path);
}

/* Leaves the lines about the skill. */
static void filter(char *text)
{
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		size_t len = strcspn(line, "\n") + 1;
		const char *found = strstr(line, "@/home/p/s");

		next = line + len;
		if (!found || found >= next)
			continue;
		memmove(to, line, len);
		to += len;
	}
	*to = '\0';
}

static void test_plans(void **state)
{
	struct skill_archive a;
	auto_fd fd = -1;

	(void)state;
	copy(&fd, &a);
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct test_policy t;
		struct plan_options o;
		char *text;

		test_policy_init(&t, cases[i].layers);
		o = test_policy_options(&t);
		o.skill = &a;
		text = test_plan_text(&o);
		filter(text);
		assert_string_equal(text, cases[i].expected);
		free(text);
		test_policy_deinit(&t);
	}
	skill_archive_close(&a);
}

/*
 * Another folder takes the skill's place for the time that the plan looks at it: what runs a script
 * is what the copy says.
 */
static void test_swapped(void **state)
{
	static const struct {
		const char *layers[2];
	} rows[] = {
		{ { "{fs: {read: ['@/**']}, exec: ['@/home/p/s/by-one']}" } },
		{ { "{fs: {read: ['@/**']}, exec: ['@/home/p/s/link']}" } },
		{ { "{fs: {read: ['@/**']}, exec: ['@/link']}" } },
	};
	char *path = test_plan_expand("@/home/p/s"), *aside = test_plan_expand("@/home/aside");
	struct skill_archive a;
	auto_fd fd = -1;

	(void)state;
	copy(&fd, &a);
	assert_int_equal(rename(path, aside), 0);
	test_plan_make("@/home/p/s/");
	test_plan_make("@/home/p/s/by-one!#!@/bin/two\n");
	test_plan_make("@/home/p/s/link>by-one");
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct test_policy t;
		struct plan_options o;
		char *text;

		test_policy_init(&t, rows[i].layers);
		o = test_policy_options(&t);
		o.skill = &a;
		text = test_plan_text(&o);
		assert_non_null(strstr(text, "runs @/bin/one\n"));
		assert_null(strstr(text, "@/bin/two"));
		free(text);
		test_policy_deinit(&t);
	}
	skill_archive_close(&a);
	assert_int_equal(scratch_remove(path), 0);
	assert_int_equal(rename(aside, path), 0);
	free(path);
	free(aside);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_plans),
		cmocka_unit_test(test_swapped) };

	return cmocka_run_group_tests(tests, set_up, test_plan_tear_down);
}
