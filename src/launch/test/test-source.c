/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "launch/source.h"

enum { MAX = 1 << 20 };

static int read_number(const char *number, struct buffer *out, struct error *e)
{
	char name[PATH_BYTES];

	return launch_source_read("--policy", number, MAX, out, name, e);
}

static int read_fd(int fd, struct buffer *out, struct error *e)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", fd);
	return read_number(number, out, e);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Whoever writes to a memfd leaves it at its end; it is read from its start. */
static int file_with(const char *text)
{
	int fd = memfd_create("policy", 0);

	assert_true(fd > 2);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void test_kinds(void **state)
{
	int pipes[2], sockets[2], fds[3];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(write(pipes[1], "text", 4), 4);
	assert_int_equal(write(sockets[1], "text", 4), 4);
	assert_int_equal(fcntl(pipes[0], F_SETFL, O_NONBLOCK), 0);
	(void)close(pipes[1]);
	(void)close(sockets[1]);
	fds[0] = file_with("text");
	fds[1] = pipes[0];
	fds[2] = sockets[0];
	for (size_t i = 0; i < ROWS(fds); i++) {
		auto_buffer out = { 0 };
		struct error e = { 0 };

		if (read_fd(fds[i], &out, &e) < 0)
			fail_msg("%zu: %s", i, e.text);
		assert_string_equal(buffer_text(&out), "text");
		assert_false(is_open(fds[i]));
	}
}

static void test_numbers(void **state)
{
	static const struct {
		const char *number, *says;
		int code;
	} rows[] = {
		{ "", "is not a valid descriptor", -EINVAL },
		{ "x", "is not a valid descriptor", -EINVAL },
		{ "-1", "is not a valid descriptor", -EINVAL },
		{ "+3", "is not a valid descriptor", -EINVAL },
		{ " 3", "is not a valid descriptor", -EINVAL },
		{ "3 ", "is not a valid descriptor", -EINVAL },
		{ "03", "is not a valid descriptor", -EINVAL },
		{ "3x", "is not a valid descriptor", -EINVAL },
		{ "0x3", "is not a valid descriptor", -EINVAL },
		{ "4294967299", "is not a valid descriptor", -EINVAL },
		{ "99999999999999999999", "is not a valid descriptor", -EINVAL },
		{ "0", "is not a valid descriptor", -EINVAL },
		{ "1", "is not a valid descriptor", -EINVAL },
		{ "2", "is not a valid descriptor", -EINVAL },
		{ "999999", "is not open", -EBADF },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		struct error e = { 0 };
		int r = read_number(rows[i].number, &out, &e);

		if (r != rows[i].code || !strstr(e.text, rows[i].says) || !e.hint[0])
			fail_msg("%s: %d, %s", rows[i].number, r, e.text);
		assert_true(is_open(0) && is_open(1) && is_open(2));
	}
}

/* What is not ours stays open; what is of no use is closed. */
static void test_refused(void **state)
{
	auto_buffer out = { 0 };
	struct error e = { 0 };
	int own = memfd_create("own", MFD_CLOEXEC), packets[2], folder, pipes[2];

	(void)state;
	assert_int_equal(read_fd(own, &out, &e), -EBADF);
	assert_non_null(strstr(e.text, "was not passed to this program"));
	assert_true(is_open(own));
	(void)close(own);
	folder = open("/", O_RDONLY | O_DIRECTORY); /* NOLINT(android-cloexec-open): handed over */
	assert_int_equal(read_fd(folder, &out, &e), -EINVAL);
	assert_false(is_open(folder));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets), 0);
	assert_int_equal(read_fd(packets[0], &out, &e), -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(read_fd(pipes[1], &out, &e), -EBADF);
	assert_non_null(strstr(e.text, "cannot be read"));
	(void)close(packets[1]);
	(void)close(pipes[0]);
}

static void test_bound(void **state)
{
	auto_buffer fits = { 0 }, out = { 0 };
	struct error e = { 0 };
	int fd = memfd_create("large", 0);

	(void)state;
	assert_int_equal(ftruncate(fd, MAX), 0);
	assert_int_equal(read_fd(fd, &fits, &e), 0);
	assert_int_equal(fits.len, MAX);
	fd = memfd_create("larger", 0);
	assert_int_equal(ftruncate(fd, MAX + 1), 0);
	assert_int_equal(read_fd(fd, &out, &e), -EFBIG);
	assert_false(is_open(fd));
}

static void test_names(void **state)
{
	(void)state;
	assert_true(launch_source_is_fd("fd:3"));
	assert_true(launch_source_is_fd("fd:"));
	assert_false(launch_source_is_fd("./fd:3"));
	assert_false(launch_source_is_fd("fd"));
	assert_false(launch_source_is_fd("-"));
}

static void test_forget(void **state)
{
	char *value;

	(void)state;
	assert_null(launch_source_forget());
	assert_int_equal(setenv("SANDBOX_POLICY", "canary", 1), 0);
	assert_int_equal(setenv("SANDBOX_POLICY_FILE", "/canary", 1), 0);
	assert_int_equal(setenv("SANDBOX_POLICY_OTHER", "stays", 1), 0);
	value = getenv("SANDBOX_POLICY");
	assert_string_equal(launch_source_forget(), "SANDBOX_POLICY_FILE");
	assert_null(getenv("SANDBOX_POLICY"));
	assert_null(getenv("SANDBOX_POLICY_FILE"));
	assert_string_equal(getenv("SANDBOX_POLICY_OTHER"), "stays");
	/* glibc keeps such memory; what was there is gone. */
	assert_string_equal(value, "");
	assert_null(launch_source_forget());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
