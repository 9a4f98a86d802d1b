/* SPDX-License-Identifier: Apache-2.0 */
/* Skills by the library's door; `corral run --skill` has the same answers (tests/e2e). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/skill.h"
#include "lib/sandbox/test/test-common.h"

#define PERMISSIONS "{fs: {read: [$SKILL_DIR/**, /usr/**]}, limits: {timeout: 20s}}"

static char folder[128];

static int set_up(void **state)
{
	if (test_make_folder(state) < 0)
		return -1;
	(void)snprintf(folder, sizeof(folder), "%s/state", test_folder);
	if (setenv("XDG_STATE_HOME", folder, 1) < 0)
		return -1;
	(void)snprintf(folder, sizeof(folder), "%s/skill", test_folder);
	return mkdir(folder, 0755);
}

static void write_skill(const char *more, const char *permissions)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "name: greeter\nentry: run.sh\n%spermissions: %s\n",
		more, permissions);
	(void)test_file("skill/skill.yaml", text, 0644);
	(void)test_file("skill/run.sh",
		"echo \"hello $1\"; cat \"$(dirname $0)/skill.yaml\" | head -1\n", 0644);
}

/* As `corral approve` does. */
static void approve(void)
{
	auto_arena a = { 0 };
	auto_launch_skill s = { .fd = -1 };

	assert_int_equal(launch_skill_open(&s, folder, &a, NULL), 0);
	assert_int_equal(approval_store(&s.approval, NULL), 0);
}

static struct corral_builder *builder(void)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_builder_from_manifest(&b, folder, &e), 0);
	assert_int_equal(corral_builder_work_dir(b, "/usr"), 0);
	return b;
}

static void refuses(struct corral_builder *b, const char *text)
{
	struct corral_sandbox *s = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_builder_build(b, &s, &e), -EACCES);
	test_says(e, text);
	corral_builder_free(b);
}

static void test_skill(void **state)
{
	struct corral_sandbox *s;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	approve();
	s = test_build(builder());
	assert_int_equal(corral_sandbox_run_skill_entry(
				 s, folder, NULL, (const char *[]){ "world", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "hello world\nname: greeter\n");
	corral_result_free(r);
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, "absent", NULL, NULL, NULL, &e), -ENOENT);
	test_says(e, "absent");
	assert_int_equal(corral_sandbox_run_skill_entry(
				 s, folder, "../../../../etc/passwd", NULL, NULL, NULL, &e),
		-EACCES);
	test_says(e, "leads out");
	assert_int_equal(corral_sandbox_run_skill_entry(s, folder, "run.sh", NULL, NULL, NULL, &e),
		-ENOEXEC);
	test_says(e, "not executable");
	assert_int_equal(corral_sandbox_run_skill_entry(
				 s, test_folder, "skill/run.sh", NULL, NULL, NULL, NULL),
		-EACCES);
	assert_int_equal(corral_sandbox_run_skill_entry(s, "/usr/bin", "env", NULL, NULL, NULL, &e),
		-EACCES);
	test_says(e, "not built for");
	corral_sandbox_free(s);
}

/* What nobody approved does not run, and neither does what was changed since. */
static void test_approval(void **state)
{
	struct corral_builder *b;
	struct corral_sandbox *s;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	(void)state;
	write_skill("runtime: bash\nversion: 2\n", PERMISSIONS);
	refuses(builder(), "its files have changed since it was approved");
	b = builder();
	assert_int_equal(corral_builder_allow_unapproved_skill(b), 0);
	s = test_build(b);
	assert_int_equal(corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, &r, &e), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
	approve();
	s = test_build(builder());
	assert_int_equal(corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, &r, &e), 0);
	corral_result_free(r);
	(void)test_file("skill/run.sh", "echo something else\n", 0644);
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, NULL, &e), -EACCES);
	test_says(e, "its files have changed since it was approved");
	corral_sandbox_free(s);
	/* The manifest by its own name is the same skill; one beside it is nobody's. */
	b = NULL;
	assert_int_equal(
		corral_builder_from_manifest(&b, test_file("skill/skill.yaml", "", 0644), &e) < 0,
		1);
	corral_error_free(e);
	e = NULL;
	assert_int_equal(
		corral_builder_from_manifest(&b,
			test_file("other.yaml", "name: x\nentry: run.sh\npermissions: {}\n", 0644),
			&e),
		0);
	refuses(b, "it was never approved");
}

/* Whatever its permissions say. */
static void test_own_folder(void **state)
{
	char line[512];
	struct corral_sandbox *s;

	(void)state;
	write_skill("runtime: bash\n",
		"{fs: {read: [/usr/**], write: [$SKILL_DIR/**]}, limits: {timeout: 20s}}");
	approve();
	s = test_build(builder());
	(void)snprintf(line, sizeof(line), "cat %s/run.sh >/dev/null && ! echo x >>%s/run.sh",
		folder, folder);
	test_prints(s, line, "", 0);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skill),
		cmocka_unit_test(test_approval),
		cmocka_unit_test(test_own_folder),
	};

	return cmocka_run_group_tests(tests, set_up, test_remove_folder);
}
