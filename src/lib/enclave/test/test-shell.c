/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of an enclave, in a real sandbox. What must fail inside is shown to work outside first.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-common.h"
#include "lib/sandbox/test/test-common.h"
#include "test/fds.h"

#define ECHO "/usr/bin/echo"

/* A run: its code, and what it printed. */
struct ran {
	int code, status;
	uint64_t question;
	bool denied;
	char out[256], message[512];
};

static struct ran run_with(
	struct corral_enclave *enclave, const char *const *argv, const struct corral_call *call)
{
	const struct corral_by by = { .size = sizeof(by), .actor = "agent" };
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	struct ran ran = { .status = -1 };

	ran.code = corral_enclave_shell_exec(enclave, &by, argv, call, &result, &e);
	if (ran.code == 0) {
		ran.status = corral_result_exit_code(result);
		(void)snprintf(ran.out, sizeof(ran.out), "%s", corral_result_stdout(result, NULL));
		(void)snprintf(
			ran.message, sizeof(ran.message), "%s", corral_result_stderr(result, NULL));
	} else {
		ran.question = corral_error_question(e);
		ran.denied = corral_error_denial(e) != NULL;
		(void)snprintf(ran.message, sizeof(ran.message), "%s", corral_error_message(e));
	}
	corral_result_free(result);
	corral_error_free(e);
	return ran;
}

#define RUN(enclave, ...) run_with(enclave, (const char *const[]){ __VA_ARGS__, NULL }, NULL)

static void prints(struct ran ran, const char *out)
{
	if (ran.code < 0 || ran.status != 0)
		fail_msg("%d, status %d: %s", ran.code, ran.status, ran.message);
	assert_string_equal(ran.out, out);
}

static void is_denied(struct ran ran)
{
	if (ran.code != -EACCES)
		fail_msg("%d, status %d: %s", ran.code, ran.status, ran.message);
}

/* It ran, and came to nothing. */
static void fails(struct ran ran)
{
	if (ran.code < 0 || ran.status == 0)
		fail_msg("%d, status %d: %s", ran.code, ran.status, ran.message);
}

/* The file's path in the test's folder, which lives as long as the next. */
static const char *path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", test_folder, name);
	return path;
}

static void grant_all_of(struct corral_enclave *enclave, enum corral_operation op, const char *name)
{
	char pattern[300];

	(void)snprintf(pattern, sizeof(pattern), "%s/**", path_of(name));
	test_enclave_grant(enclave, op, pattern);
}

static void revoke_all_of(
	struct corral_enclave *enclave, enum corral_operation op, const char *name)
{
	char pattern[300];

	(void)snprintf(pattern, sizeof(pattern), "%s/**", path_of(name));
	test_enclave_revoke(enclave, op, pattern);
}

static int make_files(void **state)
{
	if (test_make_folder(state) < 0)
		return -1;
	assert_int_equal(mkdir(path_of("in"), 0755), 0);
	assert_int_equal(mkdir(path_of("out"), 0755), 0);
	assert_int_equal(symlink("../out", path_of("in/way-out")), 0);
	(void)test_file("in/file", "inside\n", 0644);
	(void)test_file("out/file", "outside\n", 0644);
	(void)test_file("in/script", "#!/bin/sh\necho ran\n", 0755);
	return 0;
}

/* Programs */

static void test_no_program_is_granted(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);

	(void)state;
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	test_enclave_grant(enclave, CORRAL_FS_READ, "/usr/**");
	is_denied(RUN(enclave, "echo", "x"));
	is_denied(RUN(enclave, "/bin/sh", "-c", "true"));
	is_denied(RUN(enclave, "no-such-program"));
	/* A folder that may be read is none whose files may run. */
	is_denied(RUN(enclave, path_of("in/script")));
	assert_int_equal(test_enclave_told(enclave, "exec", "denied", NULL, NULL), 4);
	assert_int_equal(test_enclave_told(enclave, "command.start", NULL, NULL, NULL), 0);
	assert_int_equal(test_count_children("corral-warden", NULL), 0);
	corral_enclave_free(enclave);
}

static void test_runs_what_is_granted(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct ran ran;

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	prints(RUN(enclave, "echo", "a  b", "$HOME", "`id`"), "a  b $HOME `id`\n");
	prints(RUN(enclave, ECHO, "x"), "x\n");
	is_denied(RUN(enclave, "cat", "/etc/passwd"));
	is_denied(RUN(enclave, "sh", "-c", "echo x"));
	assert_int_equal(test_count_children("corral-warden", NULL), 1);
	test_enclave_revoke(enclave, CORRAL_EXEC, "echo");
	is_denied(RUN(enclave, "echo", "x"));
	test_enclave_grant(enclave, CORRAL_EXEC, "*");
	ran = RUN(enclave, "no-such-program");
	assert_int_equal(ran.code, -ENOENT);
	assert_int_equal(test_enclave_told(enclave, "command.start", "allowed", "echo x", NULL), 1);
	assert_int_equal(test_enclave_told(enclave, "command.end", NULL, "echo x", NULL), 1);
	corral_enclave_free(enclave);
	assert_int_equal(test_count_children("corral-warden", NULL), 0);
}

static void test_what_a_call_may_say(void **state)
{
	static const struct {
		unsigned flags;
		const char *cwd;
		const char *env;
	} bad[] = {
		{ CORRAL_CALL_INPUT, NULL, NULL },
		{ CORRAL_CALL_RAW, NULL, NULL },
		{ 1U << 30, NULL, NULL },
		{ 0, "relative", NULL },
		{ 0, "/usr/../etc", NULL },
		{ 0, NULL, "NOVALUE" },
	};
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	const char *const argv[] = { "echo", "x", NULL };

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	for (size_t i = 0; i < ROWS(bad); i++) {
		const char *const env[] = { bad[i].env, NULL };
		struct corral_call call = CORRAL_CALL;

		call.flags = bad[i].flags;
		call.cwd = bad[i].cwd;
		call.env = env;
		assert_int_equal(run_with(enclave, argv, &call).code, -EINVAL);
	}
	assert_int_equal(run_with(enclave, NULL, NULL).code, -EINVAL);
	assert_int_equal(run_with(enclave, (const char *const[]){ NULL }, NULL).code, -EINVAL);
	assert_int_equal(run_with(enclave, (const char *const[]){ "", NULL }, NULL).code, -EINVAL);
	corral_enclave_free(enclave);
}

static int count_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	size_t *n = context;

	(void)data;
	assert_int_equal(stream, CORRAL_STDOUT);
	*n += len;
	return 0;
}

static void test_streams_and_limits(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_call call = CORRAL_CALL;
	size_t n = 0;
	struct ran ran;

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	test_enclave_grant(enclave, CORRAL_EXEC, "sleep");
	call.input = "from stdin";
	call.input_len = 10;
	prints(run_with(enclave, (const char *const[]){ "cat", NULL }, &call), "from stdin");
	call.output_limit = 4;
	prints(run_with(enclave, (const char *const[]){ "cat", NULL }, &call), "from");
	call.output_limit = 0;
	call.output = count_output;
	call.context = &n;
	prints(run_with(enclave, (const char *const[]){ "cat", NULL }, &call), "");
	assert_int_equal(n, 10);
	call = (struct corral_call)CORRAL_CALL;
	call.timeout_ms = 50;
	ran = run_with(enclave, (const char *const[]){ "sleep", "600", NULL }, &call);
	assert_int_equal(ran.code, 0);
	assert_int_equal(ran.status, 124);
	assert_int_equal(test_enclave_told(enclave, "limit", "denied", "timeout", NULL), 1);
	corral_enclave_free(enclave);
}

/* Files */

/* Its status without a sandbox. */
static int run_bare(const char *const *argv)
{
	int status = -1;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_confined(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_update u = { .size = sizeof(u) };
	char file[300], line[300], pattern[300];

	(void)state;
	(void)snprintf(file, sizeof(file), "%s", path_of("out/file"));
	/* Bare, it can be read. */
	assert_int_equal(run_bare((const char *const[]){ "grep", "-q", "outside", file, NULL }), 0);
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	(void)snprintf(pattern, sizeof(pattern), "%s", path_of("in"));
	test_enclave_grant(enclave, CORRAL_FS_READ, strcat(pattern, "/**"));
	prints(RUN(enclave, "cat", path_of("in/file")), "inside\n");
	fails(RUN(enclave, "cat", file));
	(void)snprintf(line, sizeof(line), "%s", path_of("in/../out/file"));
	fails(RUN(enclave, "cat", line));
	(void)snprintf(line, sizeof(line), "%s", path_of("in/way-out/file"));
	fails(RUN(enclave, "cat", line));
	fails(RUN(enclave, "cat", "/etc/shadow"));
	/* What is granted now is there for the next command. */
	(void)snprintf(pattern, sizeof(pattern), "%s/**", path_of("out"));
	assert_int_equal(corral_enclave_grant(
				 enclave, test_enclave_token, CORRAL_FS_READ, pattern, &u, NULL),
		0);
	assert_int_equal(u.changed, CORRAL_PART_FILES);
	prints(RUN(enclave, "cat", line), "outside\n");
	revoke_all_of(enclave, CORRAL_FS_READ, "out");
	fails(RUN(enclave, "cat", line));
	corral_enclave_free(enclave);
}

static void test_folder_of_a_command(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_call call = CORRAL_CALL;
	const char *const argv[] = { "cat", "file", NULL };
	const char *const script[] = { "./script", NULL };
	char folder[256];

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	call.cwd = folder;
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in"));
	prints(run_with(enclave, argv, &call), "inside\n");
	(void)snprintf(folder, sizeof(folder), "%s", path_of("out"));
	is_denied(run_with(enclave, argv, &call));
	/* A granted name that leads elsewhere. */
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in/way-out"));
	is_denied(run_with(enclave, argv, &call));
	/* The enclave said so, before there was a command. */
	assert_int_equal(
		test_enclave_told(enclave, "exec", "denied", "cat file", path_of("out")), 2);
	/* Links that lead nowhere, or that say ".." behind a name. */
	assert_int_equal(symlink("loop", path_of("in/loop")), 0);
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in/loop"));
	assert_int_equal(run_with(enclave, argv, &call).code, -ELOOP);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(symlink("way-out/../in", folder), 0);
	assert_int_equal(run_with(enclave, argv, &call).code, -ELOOP);
	assert_int_equal(unlink(folder), 0);
	/* A path from the folder is judged as where it leads. */
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in"));
	is_denied(run_with(enclave, script, &call));
	test_enclave_grant(enclave, CORRAL_EXEC, path_of("in/script"));
	prints(run_with(enclave, script, &call), "ran\n");
	corral_enclave_free(enclave);
}

/* Whoever may make links must not learn by them what there is elsewhere. */
static void test_a_folder_tells_nothing(void **state)
{
	static const char *const links[][2] = {
		{ "in/there", "../out" },
		{ "in/not-there", "../nothing" },
		{ "in/further", "../out/hidden" },
	};
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_call call = CORRAL_CALL;
	const char *const argv[] = { "echo", "x", NULL };
	char folder[256];

	(void)state;
	assert_int_equal(symlink("/canary/of/a/link", path_of("out/hidden")), 0);
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	call.cwd = folder;
	for (size_t i = 0; i < ROWS(links); i++) {
		struct ran ran;

		assert_int_equal(symlink(links[i][1], path_of(links[i][0])), 0);
		(void)snprintf(folder, sizeof(folder), "%s", path_of(links[i][0]));
		ran = run_with(enclave, argv, &call);
		is_denied(ran);
		assert_true(ran.denied);
		assert_null(strstr(ran.message, "canary"));
		assert_int_equal(unlink(folder), 0);
	}
	assert_int_equal(unlink(path_of("out/hidden")), 0);
	corral_enclave_free(enclave);
}

/* Variables */

static void test_variables(void **state)
{
	const char *const env[] = { "APP_TOKEN=canary-value-1", NULL };
	const char *const argv[] = { "printenv", "APP_TOKEN", NULL };
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_call call = CORRAL_CALL;

	(void)state;
	call.env = env;
	test_enclave_grant(enclave, CORRAL_EXEC, "printenv");
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	is_denied(run_with(enclave, argv, &call));
	test_enclave_grant(enclave, CORRAL_ENV, "APP_TOKEN=another");
	is_denied(run_with(enclave, argv, &call));
	test_enclave_grant(enclave, CORRAL_ENV, "APP_TOKEN=canary-value-1");
	prints(run_with(enclave, argv, &call), "canary-value-1\n");
	/* The value is nowhere in the log, not as an argument either. */
	prints(RUN(enclave, "echo", "canary-value-1"), "canary-value-1\n");
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, "canary-value-1", NULL), 0);
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, NULL, "canary-value-1"), 0);
	assert_int_equal(test_enclave_told(enclave, "exec", "denied", NULL, "APP_TOKEN"), 2);
	corral_enclave_free(enclave);
}

/* When there is no room for one more secret, a command that has one does not run. */
static void test_more_secrets_than_can_be_kept(void **state)
{
	enum { MANY = 2000 };
	struct corral_enclave *enclave = test_enclave("permissions: {env: [APP_TOKEN]}", NULL);
	struct corral_call call = CORRAL_CALL;
	char value[64];
	const char *const env[] = { value, NULL };
	/* It is not there, so that each call costs no more than a look. */
	const char *const argv[] = { "no-such-program", value + strlen("APP_TOKEN="), NULL };
	int code = -ENOENT, n = 0;

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "*");
	call.env = env;
	for (; n < MANY && code == -ENOENT; n++) {
		(void)snprintf(value, sizeof(value), "APP_TOKEN=canary-%05d", n);
		code = run_with(enclave, argv, &call).code;
	}
	assert_int_equal(code, -E2BIG);
	assert_true(n > 100);
	assert_int_equal(test_enclave_told(enclave, "exec", NULL, "canary", NULL), 0);
	corral_enclave_free(enclave);
}

/* Whoever may set PATH must not choose what a name means. */
static void test_path_chooses_nothing(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_call call = CORRAL_CALL;
	char value[300], pattern[300];
	const char *const env[] = { value, NULL };

	(void)state;
	(void)test_file("in/echo", "#!/bin/sh\n" ECHO " trapped\n", 0755);
	(void)snprintf(value, sizeof(value), "PATH=%s", path_of("in"));
	(void)snprintf(pattern, sizeof(pattern), "%s", value);
	call.env = env;
	test_enclave_grant(enclave, CORRAL_ENV, pattern);
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	test_enclave_grant(enclave, CORRAL_EXEC, path_of("in/echo"));
	prints(run_with(enclave, (const char *const[]){ "echo", "x", NULL }, &call), "x\n");
	corral_enclave_free(enclave);
}

/* Arguments */

static void test_arguments_that_are_granted(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "echo hello:*");
	test_enclave_grant(enclave, CORRAL_EXEC, "sh");
	prints(RUN(enclave, "echo", "hello", "you"), "hello you\n");
	is_denied(RUN(enclave, "echo", "bye"));
	is_denied(RUN(enclave, "echo"));
	/* Another program cannot say it instead: inside, nobody could look at its arguments. */
	prints(RUN(enclave, "sh", "-c", "echo builtin"), "builtin\n");
	fails(RUN(enclave, "sh", "-c", ECHO " bye"));
	fails(RUN(enclave, "sh", "-c", ECHO " hello"));
	corral_enclave_free(enclave);
}

static void test_arguments_that_are_denied(void **state)
{
	struct corral_enclave *enclave = test_enclave(
		"permissions:\n"
		"  exec: [echo, sh]\n"
		"  rules:\n"
		"    - {id: no, action: deny, operations: [exec], patterns: [\"echo secret:*\"]}\n",
		NULL);

	(void)state;
	prints(RUN(enclave, "echo", "hello"), "hello\n");
	is_denied(RUN(enclave, "echo", "secret"));
	fails(RUN(enclave, "sh", "-c", ECHO " secret"));
	corral_enclave_free(enclave);
}

/* A rule of which nothing is left inside must not be in the way of others. */
static void test_arguments_that_a_rule_allows(void **state)
{
	struct corral_enclave *enclave = test_enclave(
		"permissions:\n"
		"  exec: [sh]\n"
		"  rules:\n"
		"    - {id: ok, action: allow, operations: [exec], patterns: [\"echo hello:*\"]}\n",
		NULL);

	(void)state;
	prints(RUN(enclave, "sh", "-c", "echo builtin"), "builtin\n");
	fails(RUN(enclave, "sh", "-c", ECHO " hello"));
	prints(RUN(enclave, "echo", "hello"), "hello\n");
	is_denied(RUN(enclave, "echo", "bye"));
	corral_enclave_free(enclave);
}

/* Rules of AgenShield's hold for calls, and what commands start is not held by them. */
static void test_arguments_in_shield_rules(void **state)
{
	struct corral_enclave *enclave =
		test_enclave("{\"version\": 1, \"rules\": ["
			     "{\"id\": \"no\", \"action\": \"deny\", \"operations\": [\"exec\"],"
			     " \"patterns\": [\"echo secret*\"], \"priority\": 2},"
			     "{\"id\": \"ok\", \"action\": \"allow\", \"operations\": [\"exec\"],"
			     " \"patterns\": [\"echo:*\", \"sh:*\", \"printf x\"]}]}",
			NULL);

	(void)state;
	prints(RUN(enclave, "echo", "hello"), "hello\n");
	is_denied(RUN(enclave, "echo", "secrets"));
	prints(RUN(enclave, "sh", "-c", ECHO " secret"), "secret\n");
	prints(RUN(enclave, "printf", "x"), "x");
	is_denied(RUN(enclave, "printf", "y"));
	fails(RUN(enclave, "sh", "-c", "/usr/bin/printf x"));
	assert_true(test_enclave_told(enclave, "session", "none",
			    "rules enforced for calls but not for child processes",
			    "no (test.yaml:1)") > 0);
	corral_enclave_free(enclave);
}

/* Questions */

static int keep_object(void *context, const struct corral_question *q)
{
	char *object = context;

	(void)snprintf(object, 512, "%s", q->scope.object);
	return 0;
}

static void agree(struct corral_enclave *enclave, uint64_t question)
{
	assert_int_equal(corral_enclave_answer(enclave, test_enclave_token, question, CORRAL_ALLOW,
				 NULL, NULL, NULL),
		0);
}

static void test_a_program_that_is_asked_about(void **state)
{
	struct corral_enclave *enclave =
		test_enclave("permissions:\n"
			     "  exec: [sh]\n"
			     "  rules:\n"
			     "    - {id: ask, action: ask, operations: [exec], patterns: [echo]}\n",
			NULL);
	char object[512] = "";
	struct ran ran;

	(void)state;
	ran = RUN(enclave, "echo", "it's", "");
	assert_int_equal(ran.code, -EINPROGRESS);
	assert_int_equal(corral_enclave_questions(enclave, keep_object, object), 1);
	assert_string_equal(object, ECHO " 'it'\\''s' ''");
	agree(enclave, ran.question);
	/* Nothing but this command line, and once. */
	assert_int_equal(RUN(enclave, "echo", "it's").code, -EINPROGRESS);
	fails(RUN(enclave, "sh", "-c", ECHO " it\\'s ''"));
	prints(RUN(enclave, "echo", "it's", ""), "it's \n");
	assert_int_equal(RUN(enclave, "echo", "it's", "").code, -EINPROGRESS);
	/* Its sandbox was its own. */
	fails(RUN(enclave, "sh", "-c", ECHO " x"));
	assert_int_equal(test_count_children("corral-warden", NULL), 1);
	corral_enclave_free(enclave);
}

/* What decides about what a command does is part of what was agreed to. */
static void test_the_question_has_all_of_the_call(void **state)
{
	const char *const argv[] = { "cat", NULL };
	const char *const env[] = { "LC_ALL=C", NULL };
	struct corral_call call = CORRAL_CALL, other;
	struct corral_enclave *enclave =
		test_enclave("permissions:\n"
			     "  env: [\"LC_ALL=C\"]\n"
			     "  rules:\n"
			     "    - {id: ask, action: ask, operations: [exec], patterns: [cat]}\n",
			NULL);
	char object[512] = "", folder[256], expected[512];
	struct ran ran;

	(void)state;
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in"));
	call.cwd = folder;
	call.env = env;
	call.input = "hello";
	call.input_len = 5;
	ran = run_with(enclave, argv, &call);
	assert_int_equal(ran.code, -EINPROGRESS);
	assert_int_equal(corral_enclave_questions(enclave, keep_object, object), 1);
	(void)snprintf(
		expected, sizeof(expected), "cd %s && LC_ALL=C /usr/bin/cat < 5 bytes, ", folder);
	assert_int_equal(strncmp(object, expected, strlen(expected)), 0);
	agree(enclave, ran.question);
	other = call;
	other.input = "jello";
	assert_int_equal(run_with(enclave, argv, &other).code, -EINPROGRESS);
	other = call;
	other.env = NULL;
	assert_int_equal(run_with(enclave, argv, &other).code, -EINPROGRESS);
	other = call;
	other.cwd = NULL;
	assert_int_equal(run_with(enclave, argv, &other).code, -EINPROGRESS);
	prints(run_with(enclave, argv, &call), "hello");
	corral_enclave_free(enclave);
}

/* Names of variables and odd bytes must not make another command of what a person reads. */
static void test_a_question_shows_what_it_is(void **state)
{
	static const struct {
		const char *env, *word, *object;
	} rows[] = {
		{ "APP_A=1", "x", "APP_A=1 " ECHO " x" },
		{ "APP_A=1 APP_B=2", "x", "APP_A='1 APP_B=2' " ECHO " x" },
		{ "APP_A && rm -rf ~ #=1", "x", "'APP_A && rm -rf ~ #'=1 " ECHO " x" },
		{ "APP_\n=1", "x", "$'APP_\\x0a'=1 " ECHO " x" },
		{ "APP_A=1", "a\r\033[2Kb", "APP_A=1 " ECHO " $'a\\x0d\\x1b[2Kb'" },
		{ "APP_A=1", "\n'\\x0a", "APP_A=1 " ECHO " $'\\x0a\\'\\\\x0a'" },
		/* Written from right to left. */
		{ "APP_A=1",
			"a\xe2\x80\xae"
			"b",
			"APP_A=1 " ECHO " $'a\\xe2\\x80\\xaeb'" },
		{ "APP_A=1", "\xc3\xa9", "APP_A=1 " ECHO " '\xc3\xa9'" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct corral_enclave *enclave = test_enclave(
			"permissions:\n"
			"  env: [\"APP_*\"]\n"
			"  rules:\n"
			"    - {id: ask, action: ask, operations: [exec], patterns: [echo]}\n",
			NULL);
		const char *const env[] = { rows[i].env, NULL };
		const char *const argv[] = { "echo", rows[i].word, NULL };
		struct corral_call call = CORRAL_CALL;
		char object[512] = "";

		call.env = env;
		assert_int_equal(run_with(enclave, argv, &call).code, -EINPROGRESS);
		assert_int_equal(corral_enclave_questions(enclave, keep_object, object), 1);
		assert_string_equal(object, rows[i].object);
		corral_enclave_free(enclave);
	}
}

/* The folder is a link, and after the answer it leads elsewhere. */
static void test_an_answer_is_about_the_folder_itself(void **state)
{
	const char *const argv[] = { "cat", "file", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_enclave *enclave =
		test_enclave("permissions:\n"
			     "  rules:\n"
			     "    - {id: ask, action: ask, operations: [exec], patterns: [cat]}\n",
			NULL);
	char folder[256];
	struct ran ran;

	(void)state;
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	grant_all_of(enclave, CORRAL_FS_READ, "out");
	assert_int_equal(symlink(".", path_of("in/here")), 0);
	(void)snprintf(folder, sizeof(folder), "%s", path_of("in/here"));
	call.cwd = folder;
	ran = run_with(enclave, argv, &call);
	assert_int_equal(ran.code, -EINPROGRESS);
	agree(enclave, ran.question);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(symlink("../out", folder), 0);
	assert_int_equal(run_with(enclave, argv, &call).code, -EINPROGRESS);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(symlink(".", folder), 0);
	prints(run_with(enclave, argv, &call), "inside\n");
	assert_int_equal(unlink(folder), 0);
	corral_enclave_free(enclave);
}

/* What somebody is asked about has the value, the log has not: it may be a secret soon. */
static void test_a_question_keeps_the_secret(void **state)
{
	const char *const env[] = { "APP_TOKEN=canary-value-2", NULL };
	const char *const argv[] = { "echo", "canary-value-2", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_enclave *enclave =
		test_enclave("permissions:\n"
			     "  env: [APP_TOKEN]\n"
			     "  rules:\n"
			     "    - {id: ask, action: ask, operations: [exec], patterns: [echo]}\n",
			NULL);
	struct ran ran;

	(void)state;
	call.env = env;
	ran = run_with(enclave, argv, &call);
	assert_int_equal(ran.code, -EINPROGRESS);
	agree(enclave, ran.question);
	prints(run_with(enclave, argv, &call), "canary-value-2\n");
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, "canary-value-2", NULL), 0);
	corral_enclave_free(enclave);
}

static void test_folders_and_variables_are_not_asked_about(void **state)
{
	const char *const argv[] = { "echo", "x", NULL };
	const char *const env[] = { "A=b", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_enclave *enclave = test_enclave(
		"permissions:\n"
		"  exec: [echo]\n"
		"  rules:\n"
		"    - {id: a, action: ask, operations: [env], patterns: [\"A=b\"]}\n"
		"    - {id: b, action: ask, operations: [fs.read], patterns: [/var/tmp/**]}\n",
		NULL);

	(void)state;
	prints(run_with(enclave, argv, &call), "x\n");
	call.env = env;
	is_denied(run_with(enclave, argv, &call));
	call.env = NULL;
	call.cwd = test_folder;
	is_denied(run_with(enclave, argv, &call));
	assert_int_equal(
		test_enclave_told(enclave, "exec", "denied", "echo x", "must be granted"), 2);
	corral_enclave_free(enclave);
}

/* Changes while a command runs */

struct running {
	struct corral_enclave *enclave;
	sem_t up, go;
	bool runs_on; /* if nobody else ends it */
	struct ran ran;
};

/* The command says that it runs, and ends when the test lets it. */
static int wait_for_test(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct running *r = context;

	(void)stream;
	(void)data;
	(void)len;
	(void)sem_post(&r->up);
	(void)sem_wait(&r->go);
	return !r->runs_on;
}

static void *run_until_told(void *data)
{
	struct running *r = data;
	struct corral_call call = CORRAL_CALL;

	call.output = wait_for_test;
	call.context = r;
	r->ran = run_with(
		r->enclave, (const char *const[]){ "sh", "-c", "echo up; sleep 600", NULL }, &call);
	return NULL;
}

static void start(struct running *r, pthread_t *thread)
{
	assert_int_equal(sem_init(&r->up, 0, 0), 0);
	assert_int_equal(sem_init(&r->go, 0, 0), 0);
	assert_int_equal(pthread_create(thread, NULL, run_until_told, r), 0);
	assert_int_equal(sem_wait(&r->up), 0);
}

static void test_what_a_change_says(void **state)
{
	struct running r = { .enclave =
				     test_enclave("permissions: {exec: [sh, sleep, cat]}", NULL) };
	struct corral_update u = { .size = sizeof(u) };
	char pattern[300];
	pthread_t thread;

	(void)state;
	start(&r, &thread);
	(void)snprintf(pattern, sizeof(pattern), "%s/**", path_of("in"));
	assert_int_equal(corral_enclave_grant(
				 r.enclave, test_enclave_token, CORRAL_FS_READ, pattern, &u, NULL),
		0);
	assert_int_equal(u.changed, CORRAL_PART_FILES);
	assert_int_equal(u.next, CORRAL_PART_FILES);
	assert_int_equal(u.at_once, 0);
	assert_int_equal(u.running, 1);
	/* The next command has it, while the first runs on as it was. */
	prints(RUN(r.enclave, "cat", path_of("in/file")), "inside\n");
	(void)sem_post(&r.go);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r.ran.code, 0);
	corral_enclave_free(r.enclave);
}

/* A change that cannot reach the sandbox ends it: nothing runs on under what was taken back. */
static void test_a_change_that_cannot_be_held(void **state)
{
	struct running r = { .enclave =
				     test_enclave("permissions: {exec: [sh, sleep, echo]}", NULL) };
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p;
	char yaml[512];
	pthread_t thread;
	struct ran ran;

	(void)state;
	r.runs_on = true;
	start(&r, &thread);
	/* A pattern that the enclave can judge, and no mount can hold. */
	(void)snprintf(yaml, sizeof(yaml),
		"permissions: {exec: [sh, sleep, echo], fs: {write: [%s/**], deny: "
		"[\"%s/**/*.key\"]}}",
		test_folder, test_folder);
	p = test_enclave_permissions(yaml);
	assert_int_equal(corral_enclave_set_policy(r.enclave, test_enclave_token, p, &u, NULL), 0);
	corral_permissions_free(p);
	assert_int_equal(u.changed, CORRAL_PART_FILES);
	assert_int_equal(u.at_once, CORRAL_PART_FILES);
	assert_int_equal(u.running, 0);
	(void)sem_post(&r.go);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(r.ran.code < 0 || r.ran.status != 0);
	assert_int_equal(test_enclave_told(r.enclave, "session", "failed", "ended", "killed"), 1);
	ran = RUN(r.enclave, "echo", "x");
	assert_true(ran.code < 0);
	/* And without it, there is a new one. */
	p = test_enclave_permissions("permissions: {exec: [echo]}");
	assert_int_equal(corral_enclave_set_policy(r.enclave, test_enclave_token, p, &u, NULL), 0);
	corral_permissions_free(p);
	prints(RUN(r.enclave, "echo", "x"), "x\n");
	corral_enclave_free(r.enclave);
}

/*
 * A command that began when it could write in "in" could make a link of "in/sub" at the moment in
 * which that is granted for reading. It is ended before.
 */
static void test_commands_from_before(void **state)
{
	struct running r = { .enclave =
				     test_enclave("permissions: {exec: [sh, sleep, cat]}", NULL) };
	struct corral_update u = { .size = sizeof(u) };
	char pattern[300];
	pthread_t thread;

	(void)state;
	r.runs_on = true;
	assert_int_equal(mkdir(path_of("in/sub"), 0755), 0);
	(void)test_file("in/sub/file", "below\n", 0644);
	grant_all_of(r.enclave, CORRAL_FS_WRITE, "in");
	start(&r, &thread);
	/* To take it back ends nobody: what began with it has it. */
	(void)snprintf(pattern, sizeof(pattern), "%s/**", path_of("in"));
	assert_int_equal(corral_enclave_revoke(
				 r.enclave, test_enclave_token, CORRAL_FS_WRITE, pattern, &u, NULL),
		0);
	assert_int_equal(u.running, 1);
	assert_int_equal(test_enclave_told(r.enclave, "session", "failed", "ended", NULL), 0);
	grant_all_of(r.enclave, CORRAL_FS_READ, "in/sub");
	assert_int_equal(
		test_enclave_told(r.enclave, "session", "failed", "ended", "1 commands"), 1);
	(void)sem_post(&r.go);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r.ran.code, -ECONNRESET);
	/* And a plain folder is one, also there. */
	prints(RUN(r.enclave, "cat", path_of("in/sub/file")), "below\n");
	/* Other changes end nobody. */
	test_enclave_grant(r.enclave, CORRAL_FS_READ, "/usr/share/doc/**");
	prints(RUN(r.enclave, "cat", path_of("in/sub/file")), "below\n");
	assert_int_equal(test_enclave_told(r.enclave, "session", "failed", "ended", NULL), 1);
	corral_enclave_free(r.enclave);
}

/* Code of the host runs without a lock: it may change the policy of the command it hears. */
static int change_policy(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct corral_enclave *enclave = context;
	struct corral_permissions *p;
	char yaml[512];

	(void)stream;
	(void)data;
	(void)len;
	grant_all_of(enclave, CORRAL_FS_READ, "in");
	revoke_all_of(enclave, CORRAL_FS_READ, "in");
	/* This one ends the sandbox, and the command with it. */
	(void)snprintf(yaml, sizeof(yaml),
		"permissions: {fs: {write: [%s/**], deny: [\"%s/**/*.key\"]}}", test_folder,
		test_folder);
	p = test_enclave_permissions(yaml);
	assert_int_equal(corral_enclave_set_policy(enclave, test_enclave_token, p, NULL, NULL), 0);
	corral_permissions_free(p);
	return 0;
}

static void test_changes_from_a_callback(void **state)
{
	struct corral_enclave *enclave = test_enclave("permissions: {exec: [sh, sleep]}", NULL);
	struct corral_call call = CORRAL_CALL;
	struct ran ran;

	(void)state;
	call.output = change_policy;
	call.context = enclave;
	ran = run_with(
		enclave, (const char *const[]){ "sh", "-c", "echo up; sleep 600", NULL }, &call);
	assert_int_equal(ran.code, -ECONNRESET);
	is_denied(RUN(enclave, "sh", "-c", ":"));
	corral_enclave_free(enclave);
}

/* What it prints counts in *said. */
static struct corral_shell *start_shell(
	struct corral_enclave *enclave, const char *const *argv, size_t *said)
{
	char actor[] = "agent";
	const struct corral_by by = { .size = sizeof(by), .actor = actor };
	struct corral_call call = CORRAL_CALL;
	struct corral_error *e = NULL;
	struct corral_shell *s = NULL;

	call.timeout_ms = 600000;
	call.output = said ? count_output : NULL;
	call.context = said;
	if (corral_enclave_shell_start(&s, enclave, &by, argv, &call, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	/* Nothing of the caller's is used any more. */
	memset(actor, 'x', sizeof(actor) - 1);
	return s;
}

/* Two at once, which end one after the other, seen by their descriptors. */
static void test_commands_that_are_not_waited_for(void **state)
{
	static const char *const read_it[] = { "/bin/sh", "-c", "read x; echo never", NULL };
	static const char *const wait_long[] = { "/bin/sh", "-c", "echo up; exec /bin/sleep 600",
		NULL };
	struct corral_enclave *enclave =
		test_enclave("exec: [/usr/bin/echo, /bin/sleep, /bin/sh]", NULL);
	struct corral_shell *quick =
		start_shell(enclave, (const char *const[]){ ECHO, "quick", NULL }, NULL);
	size_t said = 0;
	struct corral_shell *slow = start_shell(enclave, wait_long, &said);
	struct pollfd p = { .fd = corral_shell_fd(quick), .events = POLLIN };
	struct corral_result *result = NULL;
	struct corral_shell *none = NULL;

	(void)state;
	while (corral_shell_dispatch(quick) == 0)
		assert_int_equal(poll(&p, 1, 60000), 1);
	/* What is killed before it began has no result. */
	p.fd = corral_shell_fd(slow);
	while (said == 0) {
		assert_int_equal(corral_shell_dispatch(slow), 0);
		assert_true(said > 0 || poll(&p, 1, 60000) == 1);
	}
	assert_int_equal(corral_shell_wait(quick, 0, &result, NULL), 0);
	assert_string_equal(corral_result_stdout(result, NULL), "quick\n");
	corral_result_free(result);
	assert_int_equal(corral_shell_wait(slow, 0, NULL, NULL), -EAGAIN);
	assert_int_equal(test_enclave_told(enclave, "command.end", NULL, "quick", NULL), 1);
	assert_int_equal(test_enclave_told(enclave, "command.end", NULL, "sleep", NULL), 0);
	/* A second look at the end is not a second end. */
	assert_int_equal(corral_shell_wait(quick, -1, NULL, NULL), 0);
	assert_int_equal(test_enclave_told(enclave, "command.end", NULL, "quick", NULL), 1);
	assert_int_equal(corral_shell_kill(slow), 0);
	assert_int_equal(corral_shell_wait(slow, 60000, &result, NULL), 0);
	assert_int_equal(corral_result_signal(result), SIGKILL);
	corral_result_free(result);
	corral_shell_free(quick);
	corral_shell_free(slow);
	/* What is freed while it runs is killed, and that is in the log. */
	corral_shell_free(
		start_shell(enclave, (const char *const[]){ "/bin/sleep", "77", NULL }, NULL));
	assert_int_equal(test_enclave_told(enclave, "command.end", NULL, "77", "did not wait"), 1);
	/* It has an empty stdin, not the host's. */
	quick = start_shell(enclave, read_it, NULL);
	assert_int_equal(corral_shell_wait(quick, -1, &result, NULL), 0);
	assert_string_equal(corral_result_stdout(result, NULL), "never\n");
	corral_result_free(result);
	corral_shell_free(quick);
	corral_enclave_free(enclave);
	enclave = test_enclave("exec: [/usr/bin/true]", NULL);
	assert_int_equal(corral_enclave_shell_start(&none, enclave, NULL,
				 (const char *const[]){ ECHO, NULL }, NULL, NULL),
		-EACCES);
	assert_null(none);
	corral_shell_free(NULL);
	corral_enclave_free(enclave);
}

static void test_nothing_is_left(void **state)
{
	size_t fds = count_fds();

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct corral_enclave *enclave =
			test_enclave("permissions: {exec: [\"echo hello:*\", cat]}", NULL);

		prints(RUN(enclave, "echo", "hello"), "hello\n");
		grant_all_of(enclave, CORRAL_FS_READ, "in");
		prints(RUN(enclave, "cat", path_of("in/file")), "inside\n");
		prints(RUN(enclave, "echo", "hello"), "hello\n");
		corral_enclave_free(enclave);
	}
	assert_int_equal(count_fds(), fds);
	assert_int_equal(test_count_children(NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_program_is_granted),
		cmocka_unit_test(test_runs_what_is_granted),
		cmocka_unit_test(test_what_a_call_may_say),
		cmocka_unit_test(test_streams_and_limits),
		cmocka_unit_test(test_confined),
		cmocka_unit_test(test_folder_of_a_command),
		cmocka_unit_test(test_a_folder_tells_nothing),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_more_secrets_than_can_be_kept),
		cmocka_unit_test(test_path_chooses_nothing),
		cmocka_unit_test(test_arguments_that_are_granted),
		cmocka_unit_test(test_arguments_that_are_denied),
		cmocka_unit_test(test_arguments_that_a_rule_allows),
		cmocka_unit_test(test_arguments_in_shield_rules),
		cmocka_unit_test(test_a_program_that_is_asked_about),
		cmocka_unit_test(test_the_question_has_all_of_the_call),
		cmocka_unit_test(test_a_question_shows_what_it_is),
		cmocka_unit_test(test_an_answer_is_about_the_folder_itself),
		cmocka_unit_test(test_a_question_keeps_the_secret),
		cmocka_unit_test(test_folders_and_variables_are_not_asked_about),
		cmocka_unit_test(test_what_a_change_says),
		cmocka_unit_test(test_a_change_that_cannot_be_held),
		cmocka_unit_test(test_commands_from_before),
		cmocka_unit_test(test_changes_from_a_callback),
		cmocka_unit_test(test_commands_that_are_not_waited_for),
		cmocka_unit_test(test_nothing_is_left),
	};

	return cmocka_run_group_tests_name("enclave-shell", tests, make_files, test_remove_folder);
}
