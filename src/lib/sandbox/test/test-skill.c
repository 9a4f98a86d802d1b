/* SPDX-License-Identifier: Apache-2.0 */
/* Skills by the library's door; `corral run --skill` has the same answers (tests/e2e). */
#include <errno.h>
#include <fcntl.h>
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
	auto_launch_skill s = LAUNCH_SKILL_NONE;

	assert_int_equal(launch_skill_open(&s, folder, LAUNCH_SKILL_RUN, &a, NULL), 0);
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
	test_says(e, "is outside of the skill's folder");
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, "skill.yaml", NULL, NULL, NULL, &e),
		-ENOEXEC);
	test_says(e, "not executable");
	/* The manifest's own by its name, and by a runtime; one that is not granted is refused. */
	assert_int_equal(corral_sandbox_run_skill_entry(
				 s, folder, "run.sh", (const char *[]){ "me", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "hello me\nname: greeter\n");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_run_skill_entry_by(s, folder, "run.sh", "bash",
				 (const char *[]){ "you", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "hello you\nname: greeter\n");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_run_skill_entry_by(
				 s, folder, "../../../../etc/passwd", "cat", NULL, NULL, NULL, &e),
		-EACCES);
	test_says(e, "is outside of the skill's folder");
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

/* What must stay as it was approved can't be granted for writing. */
static void test_own_folder(void **state)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	(void)state;
	write_skill("runtime: bash\n", "{fs: {write: [$SKILL_DIR/**]}}");
	assert_int_equal(corral_builder_from_manifest(&b, folder, &e), -EINVAL);
	test_says(e, "the grant to write $SKILL_DIR/** includes its manifest (skill.yaml)");
	write_skill("runtime: bash\n", "{fs: {write: [$SKILL_DIR/run.sh]}}");
	assert_int_equal(corral_builder_from_manifest(&b, folder, &e), -EINVAL);
	test_says(e, "includes its entry `run.sh` (line 2)");
	assert_null(b);
}

static struct corral_sandbox *build_approved(void)
{
	approve();
	return test_build(builder());
}

static void reads(struct corral_sandbox *s, const char *name, const char *text)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cat %s/%s", folder, name);
	test_prints(s, line, text, 0);
}

static void note_session(void *context, const struct corral_event *event)
{
	char *text = context;

	if (event->kind == CORRAL_EVENT_SESSION)
		(void)snprintf(text, 128, "%s", event->message);
}

static void test_event(void **state)
{
	struct corral_builder *b;
	char text[128] = "";

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	approve();
	b = builder();
	assert_int_equal(corral_builder_with_audit(b, note_session, text), 0);
	corral_sandbox_free(test_build(b));
	assert_memory_equal(text, "a skill with the content ", 25);
	assert_int_equal(strspn(text + 25, "0123456789abcdef"), 64);
}

/* Whatever happens to the folder: a sandbox has the skill that it was built for. */
static void test_copy(void **state)
{
	struct corral_sandbox *s, *other;
	struct corral_builder *b;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	char line[512];

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	(void)test_file("skill/run.sh", ". $(dirname $0)/helper\n", 0644);
	(void)test_file("skill/helper", "echo first\n", 0644);
	approve();
	/* What the builder has read is what is built. */
	b = builder();
	other = test_build(builder());
	s = test_build(b);
	(void)test_file("skill/helper", "echo evil\n", 0644);
	reads(s, "helper", "echo first\n");
	reads(other, "helper", "echo first\n");
	corral_sandbox_free(other);
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, NULL, &e), -EACCES);
	test_says(e, "its files have changed since it was approved");
	approve();
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, NULL, &e), -ESTALE);
	test_says(e, "was changed after the sandbox was built");
	(void)test_file("skill/helper", "echo first\n", 0644);
	approve();
	assert_int_equal(corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, &r, &e), 0);
	assert_string_equal(corral_result_stdout(r, NULL), "first\n");
	corral_result_free(r);
	(void)snprintf(
		line, sizeof(line), "! echo x >>%s/helper; ! echo x >%s/new", folder, folder);
	test_prints(s, line, "", 0);
	corral_sandbox_free(s);
}

/* A new session of the same sandbox has the same copy, or is not built. */
static void test_update(void **state)
{
	static const char wider[] = "fs: {read: [$SKILL_DIR/**, /usr/**, /etc/hostname]}";
	struct corral_permissions *p = NULL;
	struct corral_sandbox *s;
	struct corral_error *e = NULL;
	char line[512];

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	s = build_approved();
	assert_int_equal(corral_permissions_parse(&p, "test.yaml", wider, strlen(wider), NULL), 0);
	assert_int_equal(
		corral_sandbox_update(s, (const struct corral_permissions *const *)&p, 1, NULL, &e),
		0);
	(void)snprintf(line, sizeof(line), "head -1 %s/skill.yaml", folder);
	test_prints(s, line, "name: greeter\n", 0);
	corral_permissions_free(p);
	(void)test_file("skill/skill.yaml", "changed\n", 0644);
	test_prints(s, line, "name: greeter\n", 0);
	assert_int_equal(corral_sandbox_update(s, NULL, 0, NULL, &e), -ESTALE);
	test_says(e, "changed while it was being read");
	test_prints(s, line, "name: greeter\n", 0);
	corral_sandbox_free(s);
}

/* What the manifest grants for writing is the host's own, and nothing there runs. */
static void test_live(void **state)
{
	struct corral_sandbox *s;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	char line[1024];

	(void)state;
	write_skill("runtime: bash\n",
		"{fs: {read: [$SKILL_DIR/**, /usr/**], write: [$SKILL_DIR/data/**]}, limits: "
		"{timeout: 20s}}");
	assert_int_equal(mkdirat(AT_FDCWD, strcat(strcpy(line, folder), "/data"), 0755), 0);
	s = build_approved();
	(void)test_file("skill/data/host", "host\n", 0644);
	reads(s, "data/host", "host\n");
	(void)snprintf(line, sizeof(line),
		"cd %s && printf '#!/bin/sh\necho evil\n' >data/x && chmod +x data/x && data/x "
		"2>/dev/null || echo not run; ! mv data gone 2>/dev/null",
		folder);
	test_prints(s, line, "not run\n", 0);
	(void)snprintf(line, sizeof(line), "%s/data/x", folder);
	assert_int_equal(access(line, X_OK), 0);
	/* It is still what was approved. */
	assert_int_equal(corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, &r, &e), 0);
	corral_result_free(r);
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, "data/x", NULL, NULL, NULL, &e), -EACCES);
	test_says(e, "is in a folder that the skill may write (data), so it cannot be run");
	corral_sandbox_free(s);
}

/* A script of the skill by its #! line: the one of the copy, or none. */
static void test_script(void **state)
{
	struct corral_sandbox *s;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	char path[256];

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	(void)test_file("skill/tool", "#!/bin/sh\necho first\n", 0755);
	(void)snprintf(path, sizeof(path), "%s/tool", folder);
	s = build_approved();
	assert_int_equal(corral_sandbox_execute_script(s, path, NULL, NULL, NULL, &r, &e), 0);
	assert_string_equal(corral_result_stdout(r, NULL), "first\n");
	corral_result_free(r);
	(void)test_file("skill/tool", "#!/usr/bin/env -S cat\n", 0755);
	assert_int_equal(
		corral_sandbox_execute_script(s, path, NULL, NULL, NULL, NULL, &e), -ESTALE);
	test_says(e, "changed while it was being read");
	assert_int_equal(corral_sandbox_execute_script(s, path, "sh", NULL, NULL, &r, &e), 0);
	assert_string_equal(corral_result_stdout(r, NULL), "first\n");
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* A sandbox that only has the folder's name has no copy of it, and runs none of its entries. */
static void test_variable(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;
	struct corral_error *e = NULL;

	(void)state;
	write_skill("runtime: bash\n", PERMISSIONS);
	approve();
	assert_int_equal(corral_builder_variable(b, "SKILL_DIR", folder), 0);
	s = test_build(b);
	assert_int_equal(
		corral_sandbox_run_skill_entry(s, folder, NULL, NULL, NULL, NULL, &e), -EACCES);
	test_says(e, "was not built for the skill");
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skill),
		cmocka_unit_test(test_approval),
		cmocka_unit_test(test_own_folder),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_variable),
	};

	return cmocka_run_group_tests(tests, set_up, test_remove_folder);
}
