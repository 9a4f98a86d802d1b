/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "jail/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

struct shared {
	int go[2], seen;
	pid_t pid;
	char *text;
};

static int no_child_is_left(void)
{
	return waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD;
}

static void work(struct beside *b)
{
	struct shared *s = b->data;
	char buffer[64 << 10];

	/* As much stack as path buffers of nested functions need. */
	memset(buffer, 7, sizeof(buffer));
	s->pid = getpid();
	s->text = malloc(sizeof(buffer));
	if (s->text)
		memcpy(s->text, buffer, sizeof(buffer));
	beside_report(b, s->text ? 42 : -ENOMEM);
	s->seen = read(s->go[0], buffer, 1) == 1;
}

/* What it reports is there before it has ended, and it goes on. */
static void test_reports(void **state)
{
	struct shared s = { .seen = -1 };
	struct beside b = { 0 };

	(void)state;
	assert_int_equal(pipe2(s.go, O_CLOEXEC), 0);
	beside_begin(&b, work, &s);
	assert_true(b.pid > 0);
	assert_int_equal(beside_hear(&b), 42);
	assert_int_equal(s.pid, b.pid);
	assert_int_equal(s.text[(64 << 10) - 1], 7);
	assert_int_equal(s.seen, -1);
	assert_int_equal(write(s.go[1], "x", 1), 1);
	assert_int_equal(beside_end(&b), 0);
	beside_free(&b);
	assert_int_equal(s.seen, 1);
	assert_true(no_child_is_left());
	/* Only once. */
	assert_int_equal(beside_end(&b), 0);
	beside_free(&b);
	free(s.text);
	fd_close(&s.go[0]);
	fd_close(&s.go[1]);
}

static void ends(struct beside *b)
{
	(void)b;
	/* It alone: the signal is not for the caller. */
	(void)kill(getpid(), SIGKILL);
}

/* Whoever waits for its report does not wait for ever, and does not take silence for success. */
static void test_ended(void **state)
{
	struct beside b = { 0 };

	(void)state;
	beside_begin(&b, ends, NULL);
	assert_true(b.pid > 0);
	assert_int_equal(beside_hear(&b), -EIO);
	assert_int_equal(beside_end(&b), 0);
	beside_free(&b);
	assert_true(no_child_is_left());
}

/* As the last bytes of a stack that is full. */
static void overflows(struct beside *b)
{
	(void)signal(SIGSEGV, SIG_DFL);
	*(volatile char *)b->stack = 1;
	beside_report(b, 1);
}

/* More stack than there is ends it; no memory of the caller is written to instead. */
static void test_overflow(void **state)
{
	struct rlimit none = { 0, 0 };
	struct beside b = { 0 };

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_CORE, &none), 0);
	beside_begin(&b, overflows, NULL);
	assert_int_equal(beside_hear(&b), -EIO);
	assert_int_equal(beside_end(&b), 0);
	beside_free(&b);
}

static void changes(struct beside *b)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	beside_report(b, fd < 0 || fchdir(fd) < 0 ? -errno : fd);
}

/* Descriptors and the current directory are the caller's. */
static void test_shared(void **state)
{
	struct beside b = { 0 };
	struct stat here, root;
	int fd;

	(void)state;
	assert_int_equal(chdir("/proc"), 0);
	beside_begin(&b, changes, NULL);
	fd = beside_hear(&b);
	assert_true(fd >= 0);
	assert_int_equal(beside_end(&b), 0);
	beside_free(&b);
	assert_int_equal(stat("/", &root), 0);
	assert_int_equal(stat(".", &here), 0);
	assert_true(here.st_ino == root.st_ino && here.st_dev == root.st_dev);
	assert_int_equal(fstat(fd, &here), 0);
	assert_int_equal(close(fd), 0);
}

static void in_place(struct beside *b)
{
	beside_report(b, getpid() == *(pid_t *)b->data ? 1 : 2);
}

/* As many processes as there may be: the caller does it, and the result is the same. */
static void test_no_process(void **state)
{
	pid_t child = fork(), self;
	int status = 0;

	(void)state;
	if (child == 0) {
		struct rlimit none = { 0, 0 };
		struct beside b = { 0 };

		self = getpid();
		/* Root may have as many as it likes. */
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(1);
		if (setrlimit(RLIMIT_NPROC, &none) < 0)
			_exit(2);
		beside_begin(&b, in_place, &self);
		if (b.pid != 0 || beside_hear(&b) != 1)
			_exit(3);
		_exit(beside_end(&b) == 0 ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
