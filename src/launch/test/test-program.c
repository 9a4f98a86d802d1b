/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>

#include "base/array.h"
#include "launch/program.h"
#include "skill/test/test.h"

/* A folder with programs a/tool, b/tool, b/other (a link to a/tool), c/plain, c/script, c/broken.
 */
static struct folder *programs;
static char inside[256];

static int set_up(void **state)
{
	(void)state;
	programs = folder_new();
	for (const char *name = "abc"; *name; name++)
		assert_int_equal(mkdirat(programs->fd, (char[]){ *name, '\0' }, 0755), 0);
	folder_add_bytes(programs, "a/tool", "x", 1, 0755);
	folder_add_bytes(programs, "b/tool", "x", 1, 0755);
	assert_int_equal(symlinkat("../a/tool", programs->fd, "b/other"), 0);
	folder_add(programs, "c/plain", "x");
	folder_add_bytes(programs, "c/script", "#!/bin/sh -e\n", 13, 0755);
	folder_add_bytes(programs, "c/broken", "#!/no/such/sh\n", 14, 0755);
	(void)snprintf(inside, sizeof(inside), "PATH=:b:%s/a:%s/b:%s/c", programs->path,
		programs->path, programs->path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_free(programs);
	return 0;
}

/* The answer for a first word, if that pattern is all that may run. */
static enum launch_answer ask(const char *word, const char *granted, bool why, char *ret)
{
	const char *const argv[] = { word, NULL }, *const env[] = { inside, NULL };
	auto_permissions *permissions = permissions_new();
	auto_policy *policy = NULL;
	const struct permissions *layers[] = { permissions };
	struct launch_program p = { .argv = argv, .env = env, .cwd = programs->path };
	char pattern[256];
	enum launch_answer answer;

	(void)snprintf(pattern, sizeof(pattern), "%s%s", granted[0] == '/' ? "" : programs->path,
		granted[0] == '/' ? granted : "/");
	if (granted[0] != '/')
		(void)strncat(pattern, granted, sizeof(pattern) - strlen(pattern) - 1);
	permissions->exec_listed = true;
	assert_int_equal(permissions_add(permissions, &permissions->exec, pattern, NULL), 0);
	assert_int_equal(permissions_add(permissions, &permissions->fs_read, "/**", NULL), 0);
	assert_int_equal(policy_new(&policy, layers, 1, NULL, NULL), 0);
	p.policy = policy;
	answer = why ? launch_program_why(&p) : launch_program_find(&p);
	memcpy(ret, p.path, PATH_BYTES);
	return answer;
}

static void test_find(void **state)
{
	static const struct {
		const char *word, *granted;
		enum launch_answer answer;
		const char *path; /* in the folder */
	} cases[] = {
		{ "tool", "a/tool", LAUNCH_ALLOWED, "a/tool" },
		/* The first that may run, not the first that is there. */
		{ "tool", "b/tool", LAUNCH_ALLOWED, "b/tool" },
		{ "tool", "c/script", LAUNCH_FORBIDDEN, "a/tool" },
		{ "plain", "c/plain", LAUNCH_NOT_FOUND, NULL },
		{ "absent", "a/tool", LAUNCH_NOT_FOUND, NULL },
		{ "./a/tool", "a/tool", LAUNCH_ALLOWED, "a/tool" },
		{ "a/../b/tool", "a/tool", LAUNCH_FORBIDDEN, "b/tool" },
		/* By its name, and by what it is. */
		{ "other", "b/other", LAUNCH_FORBIDDEN, "b/other" },
		{ "b/other", "a/tool", LAUNCH_FORBIDDEN, "b/other" },
		{ "b/other", "**", LAUNCH_ALLOWED, "b/other" },
	};
	char path[PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		assert_int_equal(
			ask(cases[i].word, cases[i].granted, false, path), cases[i].answer);
		if (cases[i].path)
			assert_string_equal(path + strlen(programs->path) + 1, cases[i].path);
	}
}

static void test_why(void **state)
{
	static const struct {
		const char *word, *granted;
		enum launch_answer answer;
		const char *path;
	} cases[] = {
		{ "absent", "**", LAUNCH_NOT_FOUND, "absent" },
		{ "c/absent", "**", LAUNCH_NOT_FOUND, "c/absent" },
		{ "c/plain", "c/plain", LAUNCH_NOT_EXECUTABLE, "c/plain" },
		{ "c/plain", "a/tool", LAUNCH_FORBIDDEN, "c/plain" },
		{ "tool", "a/tool", LAUNCH_ALLOWED, "a/tool" },
		{ "script", "c/script", LAUNCH_FORBIDDEN, "/bin/sh" },
		{ "script", "/**", LAUNCH_ALLOWED, "/bin/sh" },
		{ "broken", "/**", LAUNCH_NOT_FOUND, "/no/such/sh" },
		/* What a command's PATH does not have, the system may. */
		{ "env", "a/tool", LAUNCH_FORBIDDEN, "/usr/bin/env" },
	};
	char path[PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		assert_int_equal(ask(cases[i].word, cases[i].granted, true, path), cases[i].answer);
		assert_string_equal(path + (strncmp(path, programs->path, strlen(programs->path))
							   ? 0
							   : strlen(programs->path) + 1),
			cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_why),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
