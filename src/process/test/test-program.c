/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/program.h"

enum { SERVED = 77 };

static int served(const char *const *args)
{
	if (args[0] && strcmp(args[0], "/gone") == 0)
		return -EPIPE;
	if (args[0] && strcmp(args[0], "/broken") == 0)
		return -EIO;
	_exit(fcntl(CHILD_FDS, F_GETFD) & FD_CLOEXEC ? SERVED : 1);
}

static const struct program example = {
	.role = PROCESS_VAULT,
	.name = "corral-example",
	.version = "1.2.3",
	.purpose = "is an example",
	.used_by = "corral example",
	.sockets = "3 to 5",
	.takes_arguments = true,
	.types = { SOCK_SEQPACKET, SOCK_STREAM, 0 },
	.serve = served,
};

/* The status of the program with this argument and sockets; what it printed is in text. */
static int status_of(
	const struct program *p, const char *arg, const int types[3], char *text, size_t size)
{
	char *argv[] = { (char[]){ "program" }, (char *)(uintptr_t)arg, NULL };
	int pipes[2], status = 0, fds[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(pipes[1], STDOUT_FILENO);
		(void)dup2(pipes[1], STDERR_FILENO);
		for (int i = 0; i < 3; i++) {
			(void)close(CHILD_SOCKET + i);
			if (types && socketpair(AF_UNIX, types[i], 0, fds) == 0)
				(void)dup2(fds[0], CHILD_SOCKET + i);
		}
		exit(program_run(p, arg ? 2 : 1, argv));
	}
	(void)close(pipes[1]);
	n = read(pipes[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* By hand it says what it is, and does nothing. */
static void test_by_hand(void **state)
{
	char text[1024];

	(void)state;
	assert_int_equal(status_of(&example, NULL, NULL, text, sizeof(text)), 2);
	assert_non_null(strstr(text, "started by corral, see corral-example(8)"));
	assert_int_equal(status_of(&example, "/path", NULL, text, sizeof(text)), 2);
	assert_int_equal(status_of(&example, "--version", NULL, text, sizeof(text)), 0);
	assert_string_equal(text, "corral-example 1.2.3\n");
	assert_int_equal(status_of(&example, "--help", NULL, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "corral-example: is an example.\n"));
	assert_non_null(strstr(text, "`corral example`"));
}

static void test_started(void **state)
{
	const int right[] = { SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM };
	const int wrong[] = { SOCK_SEQPACKET, SOCK_SEQPACKET, SOCK_STREAM };
	struct program plain = example;
	char text[1024];

	(void)state;
	plain.takes_arguments = false;
	assert_int_equal(status_of(&example, "/path", right, text, sizeof(text)), SERVED);
	assert_int_equal(status_of(&plain, NULL, right, text, sizeof(text)), SERVED);
	assert_int_equal(status_of(&example, "/gone", right, text, sizeof(text)), 0);
	assert_int_equal(status_of(&example, "/broken", right, text, sizeof(text)), 1);
	/* Another kind of socket, no argument, one that is not a path, one too many. */
	assert_int_equal(status_of(&example, "/path", wrong, text, sizeof(text)), 2);
	assert_int_equal(status_of(&example, NULL, right, text, sizeof(text)), 2);
	assert_int_equal(status_of(&example, "path", right, text, sizeof(text)), 2);
	assert_int_equal(status_of(&plain, "/path", right, text, sizeof(text)), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
