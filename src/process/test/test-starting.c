/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was started prints what it was given. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "process/starting.h"
#include "test/fds.h"

enum { TEXT_MAX = 4096 };

/* Starts `sh -c script` with its output in text; its exit status. */
static int run(const char *script, struct starting s, char text[TEXT_MAX])
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	int pipes[2], status = 0;
	size_t len = 0;
	ssize_t n;
	pid_t pid = 0;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	s.program = "/bin/sh";
	s.argv = argv;
	s.fds = (int[]){ -1, pipes[1], -1, pipes[0] };
	s.n = s.n ? s.n : 3;
	assert_int_equal(starting_program(&s, &pid), 0);
	fd_close(&pipes[1]);
	while ((n = read(pipes[0], text + len, TEXT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	fd_close(&pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_descriptors(void **state)
{
	char text[TEXT_MAX];
	const int before = (int)count_fds();

	(void)state;
	assert_int_equal(run("readlink /proc/$$/fd/0 /proc/$$/fd/2; for i in 3 4 5 6 7 8 9; do [ ! "
			     "-e /proc/$$/fd/$i ] || echo $i; done",
				 (struct starting){ .n = 4 }, text),
		0);
	assert_string_equal(text, "/dev/null\n/dev/null\n3\n");
	assert_int_equal((int)count_fds(), before);
}

/* Of a host program that does not know close-on-exec. */
static void test_rest(void **state)
{
	static const char script[] =
		"for i in 3 4 5 6 7 8 9 30; do [ ! -e /proc/$$/fd/$i ] || echo $i; done";
	char text[TEXT_MAX];
	auto_fd open = dup2(STDERR_FILENO, 30);

	(void)state;
	assert_int_equal(open, 30);
	assert_int_equal(run(script, (struct starting){ .n = 3 }, text), 0);
	assert_string_equal(text, "30\n");
	assert_int_equal(run(script, (struct starting){ .n = 3, .closes_rest = true }, text), 0);
	assert_string_equal(text, "");
	assert_int_equal(run(script, (struct starting){ .n = 4, .closes_rest = true }, text), 0);
	assert_string_equal(text, "3\n");
}

static void test_signals(void **state)
{
	char text[TEXT_MAX];
	sigset_t some, old;

	(void)state;
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &some, &old), 0);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(
		run("exec grep -E '^Sig(Blk|Ign)' /proc/self/status", (struct starting){ 0 }, text),
		0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	(void)signal(SIGPIPE, SIG_DFL);
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
	/* Two signals are the C library's own. */
	assert_true(strstr(text, "SigIgn:\t0000000000000000\n") ||
		    strstr(text, "SigIgn:\t0000000180000000\n"));
}

static void test_places(void **state)
{
	static const char ids[] = "set -- $(cat /proc/$$/stat); echo $(($1 == $5)) $(($1 == $6))";
	static const struct {
		enum starting_place place;
		const char *wanted;
	} rows[] = {
		{ STARTING_HERE, "0 0\n" },
		{ STARTING_GROUP, "1 0\n" },
		{ STARTING_SESSION, "1 1\n" },
	};
	char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(run(ids, (struct starting){ .place = rows[i].place }, text), 0);
		assert_string_equal(text, rows[i].wanted);
	}
}

static void test_environment(void **state)
{
	static const char *const env[] = { "GIVEN=yes", NULL };
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(setenv("KEPT", "no", 1), 0);
	assert_int_equal(run("echo \"$GIVEN$KEPT\"; pwd",
				 (struct starting){ .env = env, .folder = "/" }, text),
		0);
	assert_string_equal(text, "yes\n/\n");
	assert_int_equal(run("echo \"$GIVEN$KEPT\"", (struct starting){ 0 }, text), 0);
	assert_string_equal(text, "\n");
}

static void test_copies(void **state)
{
	auto_fd pidfd = -1;
	int status = 0;
	pid_t pid = starting_copy(0, &pidfd);

	(void)state;
	if (pid == 0)
		_exit(getppid() > 0 ? 7 : 8);
	assert_true(pid > 0 && pidfd >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
	pid = starting_copy(0, NULL);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* It says why there is none. */
	assert_int_equal(starting_copy(CLONE_NEWUSER | CLONE_THREAD, NULL), -EINVAL);
}

static void test_failures(void **state)
{
	const char *const argv[] = { "x", NULL };
	struct starting s = {
		.program = "/nonexistent/x", .argv = argv, .fds = (int[]){ -1, -1, -1 }, .n = 3
	};
	const int before = (int)count_fds();
	pid_t pid = 7;

	(void)state;
	assert_int_equal(starting_program(&s, &pid), -ENOENT);
	s.program = "/dev/null";
	assert_int_equal(starting_program(&s, &pid), -EACCES);
	s.fds = (int[]){ -1, -1, 1000000 };
	assert_int_equal(starting_program(&s, &pid), -EBADF);
	s.n = 2;
	assert_int_equal(starting_program(&s, &pid), -EINVAL);
	s.n = STARTING_FDS_MAX + 1;
	assert_int_equal(starting_program(&s, &pid), -EINVAL);
	assert_int_equal(pid, 7);
	assert_int_equal((int)count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_failures),
	};

	/* Those that the test itself was given, as ours all are. */
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
