/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that reads skills can do: each attempt is a task, which says what came of it. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "cli/skill/confined.h"
#include "test/scratch.h"

static char folder[] = "/tmp/corral-test-confined.XXXXXX";

static int opens(const char *path, int flags)
{
	auto_fd fd = open(path, flags | O_CLOEXEC, 0600);

	return fd >= 0;
}

/* Each is 1 if it succeeded. */

static int read_given(void *data)
{
	(void)data;
	return opens("given/file", O_RDONLY);
}

static int read_other(void *data)
{
	(void)data;
	return opens("other/file", O_RDONLY) || opens("/etc/passwd", O_RDONLY);
}

static int write_given(void *data)
{
	(void)data;
	return opens("given/file", O_WRONLY) || opens("given/new", O_WRONLY | O_CREAT) ||
	       unlink("given/file") == 0 || mkdir("given/d", 0700) == 0 ||
	       symlink("x", "given/l") == 0;
}

static int make_socket(void *data)
{
	(void)data;
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socket(AF_INET, SOCK_STREAM, 0) >= 0 ||
	       socket(AF_INET, SOCK_DGRAM, 0) >= 0;
}

static int run_program(void *data)
{
	char *const argv[] = { (char[]){ "true" }, NULL };

	(void)data;
	(void)execv("/bin/true", argv);
	return 0;
}

static int signal_parent(void *data)
{
	(void)data;
	return kill(getppid(), 0) == 0;
}

static int watch_parent(void *data)
{
	(void)data;
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
}

static int has_descriptors(void *data)
{
	(void)data;
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	return 0;
}

static int take_memory(void *data)
{
	(void)data;
	return mmap(NULL, 4UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

static int run_in(confined_task *task, uint64_t ms, struct buffer *out, struct error *e)
{
	const char *const reads[] = { "given", "absent", NULL };
	const struct confined c = { .reads = reads, .ms = ms, .max = 1000 };

	return confined_run(&c, task, NULL, out, e);
}

static void test_attempts(void **state)
{
	static const struct {
		const char *name;
		confined_task *task;
		int expected;
	} rows[] = {
		{ "read what it is given", read_given, 1 },
		{ "read another file", read_other, 0 },
		{ "write", write_given, 0 },
		{ "open a socket", make_socket, 0 },
		{ "run a program", run_program, 0 },
		{ "signal its parent", signal_parent, 0 },
		{ "trace its parent", watch_parent, 0 },
		{ "have what its parent had open", has_descriptors, 0 },
		{ "take memory", take_memory, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		struct error e = { 0 };
		const int r = run_in(rows[i].task, 60000, &out, &e);

		if (r != rows[i].expected)
			fail_msg("%s: %d, not %d: %s", rows[i].name, r, rows[i].expected, e.text);
	}
}

static int print(void *data)
{
	(void)data;
	return write(STDOUT_FILENO, "text", 4) == 4 ? 7 : 8;
}

static int print_much(void *data)
{
	char room[500] = { 0 };

	(void)data;
	while (write(STDOUT_FILENO, room, sizeof(room)) > 0)
		;
	return 0;
}

static int hang(void *data)
{
	(void)data;
	while (pause() < 0)
		;
	return 0;
}

static int spin(void *data)
{
	volatile bool goes_on = true;

	(void)data;
	(void)close(STDOUT_FILENO);
	while (goes_on)
		;
	return 0;
}

static int close_and_hang(void *data)
{
	(void)close(STDOUT_FILENO);
	return hang(data);
}

static int crash(void *data)
{
	(void)data;
	(void)raise(SIGKILL);
	return 0;
}

static void test_bounds(void **state)
{
	auto_buffer out = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(run_in(print, 60000, &out, &e), 7);
	assert_string_equal(buffer_text(&out), "text");
	assert_int_equal(run_in(print_much, 60000, &out, &e), -EFBIG);
	assert_int_equal(run_in(hang, 100, &out, &e), -ETIME);
	assert_string_equal(e.text, "reading it took too long");
	/* One that closes the pipe has no more time either. */
	assert_int_equal(run_in(spin, 100, &out, &e), -ETIME);
	assert_int_equal(run_in(close_and_hang, 100, &out, &e), -ETIME);
	assert_string_equal(e.text, "reading it took too long");
	assert_int_equal(run_in(crash, 60000, &out, &e), -EIO);
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder) < 0 || mkdir("given", 0700) < 0 ||
	       mkdir("other", 0700) < 0 || !opens("given/file", O_WRONLY | O_CREAT) ||
	       !opens("other/file", O_WRONLY | O_CREAT);
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") < 0 || scratch_remove(folder) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests_name("confined", tests, set_up, tear_down);
}
