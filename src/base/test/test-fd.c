/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"

static bool is_null(int fd)
{
	struct stat st, null;

	return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev &&
	       (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
}

static bool has_count(int fd, eventfd_t want)
{
	eventfd_t got = 0;

	return fcntl(fd, F_GETFD) == FD_CLOEXEC && eventfd_read(fd, &got) == 0 && got == want;
}

/*
 * Three counters where standard input and the descriptors after FD_KEPT are, named in an order in
 * which each takes the place of another. Returns the line that failed, or 0.
 */
static int keep_three(bool no_stdio)
{
	const int moved[] = { no_stdio ? 0 : 5, 4, 3 };
	int a, b, c;

	for (int i = no_stdio ? 0 : 3; i < 10; i++)
		(void)close(i);
	for (unsigned i = 0; i < 3; i++) {
		const int fd = eventfd(10 + i, EFD_CLOEXEC);

		if (fd != moved[i] && (dup3(fd, moved[i], O_CLOEXEC) < 0 || close(fd) < 0))
			return __LINE__;
	}
	if (fcntl(moved[1], F_DUPFD, 100) < 0)
		return __LINE__;
	a = moved[0];
	b = moved[1];
	c = moved[2];
	if (fd_keep_only((int *const[]){ &a, &b, &c }, 3) != 0)
		return __LINE__;
	if (a != FD_KEPT || b != FD_KEPT + 1 || c != FD_KEPT + 2)
		return __LINE__;
	if (!has_count(a, 10) || !has_count(b, 11) || !has_count(c, 12))
		return __LINE__;
	if (!is_null(0) || !is_null(1) || !is_null(2))
		return __LINE__;
	for (int i = FD_KEPT + 3; i < 200; i++)
		if (fcntl(i, F_GETFD) >= 0)
			return __LINE__;
	return 0;
}

/* One that is not open. */
static int keep_closed(bool unused)
{
	int a = -1;

	(void)unused;
	return fd_keep_only((int *const[]){ &a }, 1) == -EBADF ? 0 : __LINE__;
}

/* In a process of its own, since it closes what the test has open. The status is line % 255 + 1. */
static void check_child(int (*run)(bool), bool no_stdio)
{
	int status = 0;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const int line = run(no_stdio);

		_exit(line == 0 ? 0 : line % 255 + 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_keep_only(void **state)
{
	(void)state;
	check_child(keep_three, false);
	check_child(keep_three, true);
	check_child(keep_closed, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
