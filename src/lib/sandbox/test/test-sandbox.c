/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait: what they run, what comes back, what is refused and with which words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/sandbox/test/test-common.h"

static void test_execute(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_result *r;

	(void)state;
	test_prints(s, "echo hello", "hello\n", 0);
	test_prints(s, "exit 7", "", 7);
	test_prints(s, "echo one | tr a-z A-Z; false", "ONE\n", 1);
	test_prints(s, "echo text >$PWD/file && cat file", "text\n", 0);
	test_prints(s, "nosuchprogram 2>/dev/null", "", 127);
	r = test_run(s, "echo out; echo err >&2; kill -TERM $$", NULL);
	assert_string_equal(corral_result_stdout(r, NULL), "out\n");
	assert_string_equal(corral_result_stderr(r, NULL), "err\n");
	assert_int_equal(corral_result_signal(r), 15);
	assert_int_equal(corral_result_exit_code(r), 128 + 15);
	assert_int_equal(corral_result_timed_out(r), 0);
	assert_true(corral_result_duration_us(r) > 0);
	assert_true(corral_result_peak_bytes(r) > 0);
	assert_int_equal(corral_result_denials(r), 0);
	assert_null(corral_result_denial(r, 0));
	corral_result_free(r);
	assert_true(corral_sandbox_tier(s) >= 1);
	corral_sandbox_free(s);
}

/* The jail is there: what was not granted is absent, what is read-only stays as it is. */
static void test_is_a_jail(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	char line[256];

	(void)state;
	test_prints(s, "cat /etc/shadow 2>/dev/null || echo absent", "absent\n", 0);
	test_prints(s, "touch /usr/corral-was-here 2>/dev/null || echo refused", "refused\n", 0);
	(void)snprintf(line, sizeof(line), "test -e /proc/%d && echo visible || echo hidden",
		(int)getpid());
	if (getpid() > 100)
		test_prints(s, line, "hidden\n", 0);
	test_prints(s, "env | grep -c ^CORRAL_", "0\n", 1);
	corral_sandbox_free(s);
}

static void test_execute_argv(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(
		corral_sandbox_execute_argv(s,
			(const char *[]){ "printf", "%s|%s", "a b", "$HOME", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "a b|$HOME");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "/usr/bin/true", NULL }, NULL, NULL, &e),
		0);
	assert_int_equal(
		corral_sandbox_execute_argv(
			s, (const char *[]){ "/usr/bin/no-such-thing", NULL }, NULL, NULL, &e),
		-ENOENT);
	test_says(e, "no-such-thing");
	assert_int_equal(
		corral_sandbox_execute_argv(s, (const char *[]){ NULL }, NULL, NULL, &e), -EINVAL);
	test_says(e, "no command");
	assert_int_equal(corral_sandbox_execute(s, NULL, NULL, NULL, NULL), -EINVAL);
	corral_sandbox_free(s);
}

/* What a call may say: folder, environment, input, limits. */
static void test_calls(void **state)
{
	static const char *const env[] = { "GREETING=good day", NULL };
	struct corral_builder *b = test_builder();
	struct corral_call c = CORRAL_CALL;
	struct corral_sandbox *s;
	struct corral_result *r;
	struct corral_error *e = NULL;
	char below[256];

	(void)state;
	assert_int_equal(corral_builder_allow_env(b, "GREETING=good day"), 0);
	s = test_build(b);
	(void)snprintf(below, sizeof(below), "%s/below", test_folder);
	assert_int_equal(mkdir(below, 0755), 0);
	c.cwd = below;
	c.env = env;
	c.input = "from the host";
	c.input_len = strlen(c.input);
	r = test_run(s, "pwd; echo \"$GREETING\"; cat", &c);
	(void)strcat(below, "\ngood day\nfrom the host");
	assert_string_equal(corral_result_stdout(r, NULL), below);
	corral_result_free(r);

	c = (struct corral_call)CORRAL_CALL;
	c.cwd = "relative";
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -EINVAL);
	test_says(e, "absolute");
	c.cwd = "/nowhere/at/all";
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -ENOENT);
	test_says(e, "/nowhere/at/all");
	/* The host has it, but it was not granted. */
	c.cwd = "/var/log";
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -EACCES);
	assert_int_equal(corral_error_denial(e)->op, CORRAL_FS_READ);
	assert_string_equal(corral_error_denial(e)->target, "/var/log");
	test_says(e, "not visible");
	c = (struct corral_call)CORRAL_CALL;
	c.env = (const char *[]){ "GREETING=good day", "LD_PRELOAD=x.so", NULL };
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -EACCES);
	assert_int_equal(corral_error_denial(e)->op, CORRAL_ENV);
	assert_string_equal(corral_error_denial(e)->target, "LD_PRELOAD=x.so");
	test_says(e, "LD_PRELOAD");
	c.env = (const char *[]){ "WITHOUT_VALUE", NULL };
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -EINVAL);
	test_says(e, "entry 1 is not one");
	corral_sandbox_free(s);
}

/* Structs of callers that were compiled with another version. */
static void test_call_sizes(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct {
		struct corral_call call;
		uint64_t later;
	} c = { .call = CORRAL_CALL };
	struct corral_error *e = NULL;

	(void)state;
	c.call.size = sizeof(c);
	assert_int_equal(corral_sandbox_execute(s, "true", &c.call, NULL, NULL), 0);
	c.later = 1;
	assert_int_equal(corral_sandbox_execute(s, "true", &c.call, NULL, &e), -E2BIG);
	test_says(e, "version");
	c.call.size = sizeof(size_t);
	c.call.cwd = "ignored, since it is behind the end";
	assert_int_equal(corral_sandbox_execute(s, "true", &c.call, NULL, NULL), 0);
	c.call.size = 0;
	assert_int_equal(corral_sandbox_execute(s, "true", &c.call, NULL, &e), -EINVAL);
	test_says(e, "CORRAL_CALL");
	c.call = (struct corral_call)CORRAL_CALL;
	c.call.flags = 1 << 30;
	assert_int_equal(corral_sandbox_execute(s, "true", &c.call, NULL, NULL), -EINVAL);
	corral_sandbox_free(s);
}

static void test_timeout(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_call c = CORRAL_CALL;
	struct corral_sandbox *s;
	struct corral_result *r;
	bool printed = false;

	(void)state;
	assert_int_equal(corral_builder_timeout(b, 60000), 0);
	s = test_build(b);
	/* The tree with its daemons: none of them keeps the call waiting. On a busy machine the
	 * time may be over before it printed anything: then it gets more. */
	for (c.timeout_ms = 100; !printed && c.timeout_ms < 50000; c.timeout_ms *= 2) {
		r = test_run(s, "(setsid sleep 1000 &) ; echo before; sleep 1000", &c);
		assert_int_equal(corral_result_timed_out(r), 1);
		assert_int_equal(corral_result_exit_code(r), 124);
		printed = strcmp(corral_result_stdout(r, NULL), "before\n") == 0;
		corral_result_free(r);
	}
	assert_true(printed);
	test_prints(s, "echo warm", "warm\n", 0);
	corral_sandbox_free(s);
}

/* What is too much is read and dropped: the command ends by itself. */
static void test_output_limit(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_call c = CORRAL_CALL;
	struct corral_sandbox *s;
	struct corral_result *r;
	size_t len;

	(void)state;
	assert_int_equal(corral_builder_output_limit(b, 1000), 0);
	s = test_build(b);
	r = test_run(s, "head -c 3000000 /dev/zero; head -c 500 /dev/zero >&2", NULL);
	assert_int_equal(corral_result_exit_code(r), 0);
	(void)corral_result_stdout(r, &len);
	assert_int_equal(len, 1000);
	assert_int_equal(corral_result_stdout_truncated(r), 1);
	assert_true(corral_result_stdout_bytes(r) == 3000000);
	(void)corral_result_stderr(r, &len);
	assert_int_equal(len, 500);
	assert_int_equal(corral_result_stderr_truncated(r), 0);
	assert_true(corral_result_stderr_bytes(r) == 500);
	corral_result_free(r);
	c.output_limit = 10;
	r = test_run(s, "echo 0123456789abcdef", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "0123456789");
	corral_result_free(r);
	/* A call does not widen. */
	c.output_limit = 1 << 20;
	r = test_run(s, "head -c 2000 /dev/zero", &c);
	(void)corral_result_stdout(r, &len);
	assert_int_equal(len, 1000);
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_merge(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;

	(void)state;
	c.flags = CORRAL_CALL_MERGE;
	r = test_run(s, "echo a; echo b >&2; echo c", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "a\nb\nc\n");
	assert_string_equal(corral_result_stderr(r, NULL), "");
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_large_input(void **state)
{
	enum { LEN = 10 << 20 };
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;
	char *data = malloc(LEN);
	size_t len;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < LEN; i++)
		data[i] = (char)(i * 2654435761U >> 13);
	c.input = data;
	c.input_len = LEN;
	r = test_run(s, "cat", &c);
	(void)corral_result_stdout(r, &len);
	assert_int_equal(len, LEN);
	assert_memory_equal(corral_result_stdout(r, NULL), data, LEN);
	corral_result_free(r);
	/* Nobody reads it: the pipe breaks, and the host does not notice. */
	r = test_run(s, "exec 0<&-; echo done", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "done\n");
	corral_result_free(r);
	free(data);
	corral_sandbox_free(s);
}

static void test_limits(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;
	struct corral_result *r;

	(void)state;
	assert_int_equal(corral_builder_file_size_limit(b, 4096), 0);
	assert_int_equal(corral_builder_open_files_limit(b, 32), 0);
	assert_int_equal(corral_builder_pids_limit(b, 20), 0);
	assert_int_equal(corral_builder_memory_limit(b, 64 << 20), 0);
	s = test_build(b);
	test_prints(s, "ulimit -n", "32\n", 0);
	r = test_run(s, "head -c 100000 /dev/zero >big; stat -c %s big", NULL);
	assert_string_equal(corral_result_stdout(r, NULL), "4096\n");
	assert_true(corral_result_memory_held_by(r) != CORRAL_HELD_BY_NOTHING);
	assert_true(corral_result_pids_held_by(r) != CORRAL_HELD_BY_NOTHING);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* Programs */

static void test_exec_list(void **state)
{
	struct corral_builder *b = test_builder();
	const struct corral_denial *d;
	struct corral_sandbox *s;
	struct corral_stats stats;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_builder_allow_exec(b, "echo"), 0);
	s = test_build(b);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "echo", "x", NULL }, NULL, NULL, NULL),
		0);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "ls", "-l", NULL }, NULL, NULL, &e),
		-EACCES);
	d = corral_error_denial(e);
	assert_non_null(d);
	assert_int_equal(d->op, CORRAL_EXEC);
	assert_string_equal(d->target, "/usr/bin/ls");
	assert_int_equal(d->exact, 1);
	assert_true(d->reason[0] && d->remedy[0]);
	test_says(e, "may not run");
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "no-such-thing", NULL }, NULL, NULL, &e),
		-ENOENT);
	assert_null(corral_error_denial(e));
	test_says(e, "command not found");
	/* The shell is implied, and grants nothing else. */
	test_prints(s, "echo builtin", "builtin\n", 0);
	test_prints(s, "ls >/dev/null 2>&1; echo $?", "126\n", 0);
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.denials, 1);
	assert_int_equal(stats.refused, 2);
	corral_sandbox_free(s);
}

/* What the line names and the policy forbids is reported, if the line failed. */
static void test_advisory_denials(void **state)
{
	struct corral_builder *b = test_builder();
	const struct corral_denial *d;
	struct corral_sandbox *s;
	struct corral_result *r;

	(void)state;
	assert_int_equal(corral_builder_allow_exec(b, "cat"), 0);
	s = test_build(b);
	r = test_run(s, "cat /dev/null | id | no-such-thing $(id; stat .); $x; exit 3", NULL);
	assert_int_equal(corral_result_denials(r), 2);
	d = corral_result_denial(r, 0);
	assert_int_equal(d->op, CORRAL_EXEC);
	assert_string_equal(d->target, "/usr/bin/id");
	assert_int_equal(d->exact, 0);
	assert_true(d->reason[0] && d->remedy[0]);
	assert_string_equal(corral_result_denial(r, 1)->target, "/usr/bin/stat");
	corral_result_free(r);
	r = test_run(s, "id || echo fine", NULL);
	assert_int_equal(corral_result_denials(r), 0);
	corral_result_free(r);
	r = test_run(s, "'unbalanced", NULL);
	assert_int_equal(corral_result_denials(r), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* The system to read, and one file to write; home may be NULL. */
static struct corral_sandbox *build_for_file(const char *path, const char *home)
{
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_new(&b), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/usr/**"), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/etc/alternatives/**"), 0);
	assert_int_equal(corral_builder_allow_fs_write(b, path), 0);
	if (home)
		assert_int_equal(corral_builder_variable(b, "HOME", home), 0);
	return test_build(b);
}

/* A file that is granted by itself can be changed, not replaced: what to grant instead is said. */
static void test_replaced_file(void **state)
{
	static const char *const forged =
		"echo 'rename /etc/passwd /: Device or resource busy: /no/such //' >&2; exit 1";
	const char *path = test_file("tool.json", "old\n", 0644);
	char line[1024], remedy[512];
	const char *const homes[] = { NULL, test_folder };

	(void)state;
	(void)snprintf(remedy, sizeof(remedy), "fs.write: %s/**", test_folder);
	(void)snprintf(line, sizeof(line),
		"echo more >>%s && echo x >/tmp/x; LC_ALL=C mv -T /tmp/x %s", path, path);
	for (size_t i = 0; i < 2; i++) {
		struct corral_sandbox *s = build_for_file(path, homes[i]);
		struct corral_result *r = test_run(s, line, NULL);
		const struct corral_denial *d = corral_result_denial(r, 0);

		assert_int_not_equal(corral_result_exit_code(r), 0);
		assert_int_equal(corral_result_denials(r), 1);
		assert_int_equal(d->op, CORRAL_FS_WRITE);
		assert_string_equal(d->target, path);
		assert_int_equal(d->exact, 0);
		assert_non_null(strstr(d->reason, "not be replaced"));
		/* The home is never suggested. */
		assert_string_equal(d->remedy,
			homes[i] ? "keep it in a folder of its own, and grant all in that"
				 : remedy);
		corral_result_free(r);
		/* What a command prints names nothing that is not so. */
		r = test_run(s, forged, NULL);
		assert_int_equal(corral_result_denials(r), 0);
		corral_result_free(r);
		corral_sandbox_free(s);
	}
}

static void test_unreadable_program(void **state)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_builder_new(&b), 0);
	s = test_build(b);
	/* Nothing is granted, and still a line runs: with what the shell has built in. */
	test_prints(s, "echo $((6 * 7))", "42\n", 0);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "/usr/bin/ls", NULL }, NULL, NULL, &e),
		-EACCES);
	assert_non_null(corral_error_denial(e));
	test_says(e, "/usr/bin/ls");
	corral_sandbox_free(s);
}

static void test_scripts(void **state)
{
	static const char *const args[] = { "one", "two words", NULL };
	struct corral_sandbox *s = test_sandbox();
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	const char *path;

	(void)state;
	path = test_file("script", "#!/bin/sh -u\necho \"$0:$1:$2:$-\"\n", 0644);
	assert_int_equal(corral_sandbox_execute_script(s, path, NULL, args, NULL, &r, &e), 0);
	assert_non_null(strstr(corral_result_stdout(r, NULL), "/script:one:two words:"));
	assert_non_null(strchr(strrchr(corral_result_stdout(r, NULL), ':'), 'u'));
	corral_result_free(r);
	path = test_file("plain", "echo \"$1\"\n", 0644);
	assert_int_equal(
		corral_sandbox_execute_script(s, path, NULL, args, NULL, NULL, &e), -ENOEXEC);
	test_says(e, "#!");
	assert_int_equal(corral_sandbox_execute_script(s, path, "bash", args, NULL, &r, &e), 0);
	assert_string_equal(corral_result_stdout(r, NULL), "one\n");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_execute_script(s, "/no/script", NULL, NULL, NULL, NULL, &e),
		-ENOENT);
	test_says(e, "/no/script");
	assert_int_equal(
		corral_sandbox_execute_script(s, "script", NULL, NULL, NULL, NULL, &e), -EINVAL);
	test_says(e, "absolute");
	/* A program is run as it is. */
	assert_int_equal(corral_sandbox_execute_script(s, "/usr/bin/printf", NULL,
				 (const char *[]){ "%s", "x", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "x");
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* As by `corral run`: with a limit of nothing, nothing runs. */
static void test_limits_of_nothing(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_builder_open_files_limit(b, 0), 0);
	s = test_build(b);
	assert_int_equal(corral_sandbox_execute(s, "true", NULL, NULL, &e), -EPERM);
	test_says(e, "to 0, so no command can run");
	corral_sandbox_free(s);
}

/* Statistics and events */

struct log {
	unsigned kinds[8];
	char last[256];
	int status;
};

static void sink(void *context, const struct corral_event *event)
{
	struct log *log = context;

	assert_true(event->size >= sizeof(*event));
	assert_true(event->time_ns > 0);
	log->kinds[event->kind]++;
	(void)snprintf(log->last, sizeof(log->last), "%s", event->program);
	if (event->kind == CORRAL_EVENT_ENDED)
		log->status = corral_result_exit_code(event->result);
	assert_int_equal(event->kind == CORRAL_EVENT_DENIED, event->denial != NULL);
}

static void test_stats_and_audit(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_stats stats;
	struct corral_sandbox *s;
	struct log log = { 0 };

	(void)state;
	assert_int_equal(corral_builder_with_audit(b, sink, &log), 0);
	assert_int_equal(corral_builder_allow_exec(b, "cat"), 0);
	s = test_build(b);
	assert_int_equal(log.kinds[CORRAL_EVENT_SESSION], 1);
	corral_result_free(test_run(s, "echo 12345; exit 3", NULL));
	assert_int_equal(log.kinds[CORRAL_EVENT_STARTED], 1);
	assert_int_equal(log.kinds[CORRAL_EVENT_ENDED], 1);
	assert_string_equal(log.last, "echo 12345; exit 3");
	assert_int_equal(log.status, 3);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "/usr/bin/id", NULL }, NULL, NULL, NULL),
		-EACCES);
	assert_int_equal(log.kinds[CORRAL_EVENT_DENIED], 1);
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.commands, 1);
	assert_int_equal(stats.running, 0);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.denials, 1);
	assert_int_equal(stats.sessions, 1);
	assert_int_equal(stats.stdout_bytes, 6);
	assert_true(stats.peak_bytes > 0);
	/* A caller that knows less of the struct. */
	stats.running = 77;
	corral_sandbox_stats(s, &stats, sizeof(stats.commands));
	assert_int_equal(stats.running, 77);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_execute),
		cmocka_unit_test(test_is_a_jail),
		cmocka_unit_test(test_execute_argv),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_call_sizes),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_output_limit),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_large_input),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_exec_list),
		cmocka_unit_test(test_advisory_denials),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_unreadable_program),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_limits_of_nothing),
		cmocka_unit_test(test_stats_and_audit),
	};

	return cmocka_run_group_tests_name("sandbox", tests, test_make_folder, test_remove_folder);
}
