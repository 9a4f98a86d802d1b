/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "wire/sockets.h"

enum { MANY = 2 * FRAME_FDS_MAX + 3 };

static int pair[2];

static int setup(void **state)
{
	(void)state;
	return frame_pair(pair);
}

static int teardown(void **state)
{
	(void)state;
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	return 0;
}

/* Files that can be told apart. */
static void open_some(int fds[MANY], unsigned which)
{
	for (int i = 0; i < MANY; i++) {
		int ends[2];

		fds[i] = -1;
		if (!(which >> i & 1))
			continue;
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		fds[i] = ends[0];
		fd_close(&ends[1]);
	}
}

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Every descriptor comes under its own number; the frames are as few as can be. */
static void check_sent(unsigned which)
{
	int fds[MANY];
	unsigned seen = 0;
	size_t left = (size_t)__builtin_popcount(which);

	open_some(fds, which);
	assert_int_equal(sockets_send(pair[0], SOCKETS_DOOR, fds, MANY), 0);
	while (left > 0) {
		auto_frame f = { 0 };
		struct sockets s;

		assert_int_equal(frame_receive(pair[1], &f), 1);
		assert_int_equal(sockets_decode(&s, &f), 0);
		assert_int_equal(s.kind, SOCKETS_DOOR);
		assert_int_equal(s.n, left < FRAME_FDS_MAX ? left : FRAME_FDS_MAX);
		for (size_t i = 0; i < s.n; i++) {
			assert_true(s.numbers[i] < MANY);
			assert_int_equal(inode(f.fds[i]), inode(fds[s.numbers[i]]));
			seen |= 1U << s.numbers[i];
		}
		left -= s.n;
	}
	assert_int_equal(seen, which);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
}

static void test_round_trip(void **state)
{
	static const unsigned sets[] = { 1, 0x80, 0xff, 0x1ff, 0xfff0, 0x55555, 0x7ffff };

	(void)state;
	for (size_t i = 0; i < ROWS(sets); i++)
		check_sent(sets[i]);
}

/* No frame at all. */
static void test_none(void **state)
{
	int fds[MANY];
	auto_frame f = { 0 };

	(void)state;
	open_some(fds, 0);
	assert_int_equal(sockets_send(pair[0], SOCKETS_CAPTURE, fds, MANY), 0);
	assert_int_equal(sockets_send(pair[0], SOCKETS_CAPTURE, NULL, 0), 0);
	assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(frame_receive(pair[1], &f), -EAGAIN);
}

static void test_send_fails(void **state)
{
	int fds[MANY];

	(void)state;
	open_some(fds, 0x7ffff);
	fd_close(&pair[1]);
	pair[1] = -1;
	assert_int_equal(sockets_send(pair[0], SOCKETS_CAPTURE, fds, MANY), -EPIPE);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
}

/* Bodies as somebody may make them up, with so many descriptors beside. */
static const struct {
	uint32_t words[FRAME_FDS_MAX + 3];
	size_t len, n_fds;
	int answer;
} bodies[] = {
	{ { SOCKETS_PORT, 1, 0 }, 12, 1, 0 },
	{ { SOCKETS_PORT, 2, 7, 7 }, 16, 2, 0 },
	{ { SOCKETS_CAPTURE, 1, SOCKETS_NUMBER_MAX - 1 }, 12, 1, 0 },
	{ { SOCKETS_CAPTURE, 8, 0, 1, 2, 3, 4, 5, 6, 7 }, 40, 8, 0 },
	{ { SOCKETS_CAPTURE, 1, SOCKETS_NUMBER_MAX }, 12, 1, -EPROTO },
	{ { SOCKETS_CAPTURE, 2, 0, UINT32_MAX }, 16, 2, -EPROTO },
	{ { SOCKETS_KIND_COUNT, 1, 0 }, 12, 1, -EPROTO },
	{ { UINT32_MAX, 1, 0 }, 12, 1, -EPROTO },
	/* Numbers and descriptors do not fit. */
	{ { SOCKETS_PORT, 0 }, 8, 0, -EPROTO },
	{ { SOCKETS_PORT, 1, 0 }, 12, 0, -EPROTO },
	{ { SOCKETS_PORT, 1, 0 }, 12, 2, -EPROTO },
	{ { SOCKETS_PORT, 2, 0, 1 }, 16, 1, -EPROTO },
	/* Lengths. */
	{ { 0 }, 0, 0, -EPROTO },
	{ { SOCKETS_PORT, 1 }, 7, 1, -EPROTO },
	{ { SOCKETS_PORT, 1 }, 8, 1, -EPROTO },
	{ { SOCKETS_PORT, 1, 0 }, 11, 1, -EPROTO },
	{ { SOCKETS_PORT, 1, 0, 0 }, 16, 1, -EPROTO },
	{ { SOCKETS_PORT, 8, 0 }, 44, 8, -EPROTO },
	{ { SOCKETS_PORT, 0x40000001, 0 }, 12, 1, -EPROTO },
	{ { SOCKETS_PORT, UINT32_MAX }, 4, 1, -EPROTO },
};

static void test_decode(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bodies); i++) {
		int fds[FRAME_FDS_MAX];
		auto_frame f = { 0 };
		struct sockets s;
		int r;

		for (size_t k = 0; k < FRAME_FDS_MAX; k++)
			fds[k] = pair[0];
		assert_int_equal(frame_send(pair[0], FRAME_SOCKETS, 0, bodies[i].words,
					 bodies[i].len, fds, bodies[i].n_fds),
			0);
		assert_int_equal(frame_receive(pair[1], &f), 1);
		r = sockets_decode(&s, &f);
		if (r != bodies[i].answer)
			fail_msg("row %zu: %d", i, r);
		if (r == 0)
			assert_memory_equal(&s, bodies[i].words, bodies[i].len);
	}
}

static void test_another_type(void **state)
{
	const uint32_t body[] = { SOCKETS_PORT, 1, 0 };
	auto_frame f = { 0 };
	struct sockets s;

	(void)state;
	assert_int_equal(frame_send(pair[0], FRAME_INIT, 0, body, sizeof(body), &pair[0], 1), 0);
	assert_int_equal(frame_receive(pair[1], &f), 1);
	assert_int_equal(sockets_decode(&s, &f), -EPROTO);
}

static void test_pass(void **state)
{
	int fds[MANY], other[2];
	auto_frame f = { 0 }, passed = { 0 };
	struct sockets s;

	(void)state;
	open_some(fds, 0xa1);
	assert_int_equal(frame_pair(other), 0);
	assert_int_equal(sockets_send(pair[0], SOCKETS_LISTENER, fds, MANY), 0);
	assert_int_equal(frame_receive(pair[1], &f), 1);
	assert_int_equal(sockets_pass(other[0], &f), 0);
	assert_int_equal(frame_receive(other[1], &passed), 1);
	assert_int_equal(sockets_decode(&s, &passed), 0);
	assert_int_equal(s.kind, SOCKETS_LISTENER);
	assert_int_equal(s.n, 3);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(inode(passed.fds[i]), inode(fds[s.numbers[i]]));
	assert_int_equal(s.numbers[2], 7);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
	fd_close(&other[0]);
	fd_close(&other[1]);
}

/* Reads that many frames; is the exit status. There is never much that is unread. */
static int read_slowly(int n)
{
	int unread, most = 0;

	for (int i = 0; i < n; i++) {
		auto_frame f = { 0 };

		/* The sender goes on meanwhile, as far as it does; at first, it begins. */
		do {
			(void)usleep(1000);
			if (ioctl(pair[0], SIOCOUTQ, &unread) < 0)
				return 1;
		} while (most == 0 && unread == 0);
		if (frame_receive(pair[1], &f) != 1)
			return 1;
		most = unread > most ? unread : most;
	}
	return most > 0 && most <= 8192 ? 0 : 2;
}

static void test_few_under_way(void **state)
{
	enum { TIMES = 32 };
	int fds[MANY], status = -1;
	pid_t reader = fork();

	(void)state;
	if (reader == 0)
		_exit(read_slowly(3 * TIMES));
	open_some(fds, 0x7ffff);
	for (int i = 0; i < TIMES; i++)
		assert_int_equal(sockets_send(pair[0], SOCKETS_PORT, fds, MANY), 0);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_none),
		TEST(test_send_fails),
		TEST(test_decode),
		TEST(test_another_type),
		TEST(test_pass),
		TEST(test_few_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
