/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"

/* The linker sends the system calls here (--wrap), so that they can fail or be interrupted. */
static int next_errno;

static bool fails(void)
{
	errno = next_errno;
	next_errno = 0;
	return errno != 0;
}

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len)
{
	return fails() ? -1 : __real_read(fd, data, len);
}

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	/* At most a few bytes at a time: the rest must follow. */
	return fails() ? -1 : __real_write(fd, data, len > 1000 ? 1000 : len);
}

static int set_up(void **state)
{
	char *dir = strdup("/tmp/corral-test-file.XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	int r = chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;

	free(*state);
	return r;
}

static size_t count_files(void)
{
	DIR *d = opendir(".");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_replace(void **state)
{
	static char big[100000];
	auto_buffer b = { 0 };
	struct stat st;

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(file_replace("f", "old", 3, 0600), 0);
	assert_int_equal(file_replace("f", big, sizeof(big), 0640), 0);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(file_read("f", sizeof(big), &b), 0);
	assert_int_equal(b.len, sizeof(big));
	assert_memory_equal(b.data, big, sizeof(big));
	assert_int_equal(file_replace("f", NULL, 0, 0600), 0);
	buffer_clear(&b);
	assert_int_equal(file_read("f", 0, &b), 0);
	assert_int_equal(b.len, 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(unlink("f"), 0);
}

/* Nothing is left behind, and what was there stays. */
static void test_replace_fails(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	assert_int_equal(file_replace("no/f", "x", 1, 0600), -ENOENT);
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(file_replace("d", "x", 1, 0600), -EISDIR);
	assert_int_equal(rmdir("d"), 0);
	assert_int_equal(file_replace("f", "old", 3, 0600), 0);
	next_errno = ENOSPC;
	assert_int_equal(file_replace("f", "new", 3, 0600), -ENOSPC);
	next_errno = EINTR;
	assert_int_equal(file_read("f", 3, &b), 0);
	assert_string_equal(buffer_text(&b), "old");
	next_errno = EINTR;
	assert_int_equal(file_replace("f", "new", 3, 0600), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(unlink("f"), 0);
}

static void test_read(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	assert_int_equal(file_read("none", 10, &b), -ENOENT);
	assert_int_equal(file_read(".", 10, &b), -EISDIR);
	assert_int_equal(file_replace("f", "12345", 5, 0600), 0);
	assert_int_equal(file_read("f", 4, &b), -EFBIG);
	buffer_clear(&b);
	buffer_adds(&b, "0");
	assert_int_equal(file_read("f", 5, &b), 0);
	assert_string_equal(buffer_text(&b), "012345");
	next_errno = EIO;
	assert_int_equal(file_read("f", 5, &b), -EIO);
	b.failed = true;
	assert_int_equal(file_read("f", 5, &b), -ENOMEM);
	assert_int_equal(unlink("f"), 0);
}

static void test_regular(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	assert_int_equal(file_read_regular("none", 10, &b), -ENOENT);
	assert_int_equal(file_read_regular(".", 10, &b), -EINVAL);
	assert_int_equal(file_read_regular("/dev/zero", 10, &b), -EINVAL);
	/* Without a writer, which nothing waits for. */
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(file_read_regular("fifo", 10, &b), -EINVAL);
	assert_int_equal(unlink("fifo"), 0);
	assert_int_equal(file_replace("f", "12345", 5, 0600), 0);
	assert_int_equal(file_read_regular("f", 4, &b), -EFBIG);
	buffer_clear(&b);
	assert_int_equal(symlink("f", "link"), 0);
	assert_int_equal(file_read_regular("link", 5, &b), 0);
	assert_string_equal(buffer_text(&b), "12345");
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(file_read_regular("link", 5, &b), -ENOENT);
	assert_int_equal(unlink("link"), 0);
}

static void test_stdin(void **state)
{
	auto_buffer b = { 0 };
	auto_fd saved = dup(STDIN_FILENO);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "piped", 5), 5);
	close(ends[1]);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(file_read("-", 10, &b), 0);
	assert_string_equal(buffer_text(&b), "piped");
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
}

static void test_fd(void **state)
{
	int copy, taken;

	(void)state;
	{
		auto_fd fd = open("/", O_RDONLY | O_CLOEXEC);
		auto_fd other = open("/", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0 && other >= 0);
		copy = fd;
		taken = fd_take(&other);
		assert_int_equal(other, -1);
	}
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
	close(taken);
}

static void test_lock(void **state)
{
	auto_fd a = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_fd b = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(a >= 0 && b >= 0);
	assert_int_equal(file_lock(a, 0), 0);
	/* Whoever may read it may lock it: others do not wait for ever. */
	assert_int_equal(file_lock(b, 20), -EBUSY);
	fd_close(&a);
	assert_int_equal(file_lock(b, 0), 0);
	assert_int_equal(file_lock(-1, 0), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replace_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_regular, set_up, tear_down),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_fd),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
