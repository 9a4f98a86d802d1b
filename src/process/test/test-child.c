/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/child.h"
#include "test/fds.h"
#include "wire/frame.h"

#define CHILD_WORD "--child"

/* In the child: says what it sees, then waits until its parent is gone. */
enum {
	SEES_NULL = 1,
	SEES_ENV = 2,
	SEES_SESSION = 4,
	SEES_MASK = 8,
	SEES_MORE = 16,
	SEES_PIPE = 32,
};

static int child_main(void)
{
	struct stat st, null;
	unsigned seen = 0;
	sigset_t mask;
	char byte;

	if (stat("/dev/null", &null) == 0 && fstat(STDERR_FILENO, &st) == 0 &&
		st.st_rdev == null.st_rdev)
		seen |= SEES_NULL;
	seen |= getenv("CHILD_TEST") && !getenv("PATH") ? SEES_ENV : 0;
	seen |= getsid(0) == getpid() ? SEES_SESSION : 0;
	seen |= sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) ? SEES_MASK
											: 0;
	/* What a test hands to it is a pipe, in this order. */
	if (read(CHILD_FDS, &byte, 1) == 1 && byte == 'x' && write(CHILD_FDS + 1, "y", 1) == 1)
		seen |= SEES_PIPE;
	(void)close(CHILD_FDS);
	(void)close(CHILD_FDS + 1);
	for (int fd = CHILD_SOCKET + 1; fd < 256; fd++)
		seen |= fcntl(fd, F_GETFD) >= 0 ? SEES_MORE : 0;
	if (frame_send(CHILD_SOCKET, FRAME_READY, seen, NULL, 0, NULL, 0) < 0)
		return 1;
	return (int)read(CHILD_SOCKET, &byte, 1);
}

static void child_hear(const struct child *c, struct frame *f)
{
	struct pollfd p = { .fd = c->socket, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(frame_receive(c->socket, f), 1);
	assert_int_equal(f->type, FRAME_READY);
}

/* Nothing of the parent is in it, whatever number its end of the socket had. */
static void test_start(void **state)
{
	const char *const argv[] = { "child", CHILD_WORD, NULL };
	const char *const env[] = { "CHILD_TEST=1", NULL };
	struct child c = CHILD_NONE;
	sigset_t mask, before;
	auto_frame f = { 0 };

	(void)state;
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &mask, &before), 0);
	assert_int_equal(child_start(&c, "/proc/self/exe", argv, env), 0);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	child_hear(&c, &f);
	assert_int_equal(f.id, SEES_NULL | SEES_ENV | SEES_SESSION);
	assert_true(fcntl(c.socket, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(c.socket, F_GETFD) & FD_CLOEXEC);
	child_end(&c);
	assert_int_equal(c.pid, 0);
	assert_int_equal(c.socket, -1);
	child_end(&c);
}

/* The child's end has the number 3 here already, where nothing else does. */
static void test_numbers(void **state)
{
	const char *const argv[] = { "child", CHILD_WORD, NULL };
	struct child c = CHILD_NONE;
	auto_frame f = { 0 };
	int saved = dup(STDERR_FILENO);

	(void)state;
	assert_true(saved >= 0);
	(void)close(STDERR_FILENO);
	assert_int_equal(child_start(&c, "/proc/self/exe", argv, NULL), 0);
	child_hear(&c, &f);
	assert_int_equal(f.id, SEES_NULL | SEES_SESSION);
	child_end(&c);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
}

/* Descriptors that are handed to it, whatever numbers they have here. */
static void test_handed(void **state)
{
	const char *const argv[] = { "child", CHILD_WORD, NULL };
	struct child c = CHILD_NONE;
	auto_frame f = { 0 };
	int in[2], out[2];
	char byte = 0;

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "x", 1), 1);
	/* The lowest number last: a dup2() in order would overwrite it. */
	for (int i = 0; i < 2; i++) {
		const int fds[] = { in[0], out[1] };
		const size_t before = count_fds();

		assert_int_equal(child_start_with(&c, "/proc/self/exe", argv, NULL, fds, 2), 0);
		child_hear(&c, &f);
		assert_int_equal(f.id, SEES_NULL | SEES_SESSION | SEES_PIPE);
		child_end(&c);
		assert_int_equal(count_fds(), before);
		assert_int_equal(read(out[0], &byte, 1), 1);
		assert_int_equal(write(in[1], "x", 1), 1);
		assert_true(fcntl(out[1], F_GETFD) & FD_CLOEXEC);
		/* Once more, with numbers that go down. */
		if (i == 0) {
			int high = fcntl(in[0], F_DUPFD_CLOEXEC, 100);

			(void)close(in[0]);
			in[0] = high;
		}
	}
	for (int i = 0; i < 2; i++) {
		(void)close(in[i]);
		(void)close(out[i]);
	}
}

static void test_failure(void **state)
{
	const char *const argv[] = { "child", NULL };
	struct child c = CHILD_NONE;
	const size_t before = count_fds();

	(void)state;
	assert_int_equal(child_start(&c, "/no/such/program", argv, NULL), -ENOENT);
	assert_int_equal(c.pid, 0);
	assert_int_equal(count_fds(), before);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_handed),
		cmocka_unit_test(test_failure),
	};

	if (argc == 2 && strcmp(argv[1], CHILD_WORD) == 0)
		return child_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
