/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the tests of pumps share: pairs of real sockets, a loop that the test turns itself, and
 * talking over the sockets while it turns.
 */
#include "policy/test/test-policy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/pump.h"

enum { TURNS_MAX = 1000000 };

typedef int pair_maker(int ret[2]);

static struct loop *loop;
static struct pump_room *room;

static inline void make_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static inline int tcp_pair(int ret[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	auto_fd listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(ret[0], (struct sockaddr *)&a, len), 0);
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return ret[1] < 0 ? -errno : 0;
}

static inline int unix_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

/* Nobody waits for what does not come. */
static inline void turn(void)
{
	struct epoll_event e;

	assert_int_equal(epoll_wait(loop_fd(loop), &e, 1, 60000), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
}

/* The same, unless something comes for us first. */
static inline void turn_or_hear(int fd)
{
	struct pollfd p[] = { { .fd = loop_fd(loop), .events = POLLIN },
		{ .fd = fd, .events = POLLIN } };

	assert_true(poll(p, 2, 60000) > 0);
	if (p[0].revents)
		assert_int_equal(loop_turn(loop, 0), 0);
}

static inline bool is_busy(void)
{
	struct epoll_event e;

	return epoll_wait(loop_fd(loop), &e, 1, 1) > 0;
}

/* As long as there is something to do; which must come to an end. */
static inline int settle(void)
{
	int n = 0;

	for (; is_busy(); n++) {
		assert_true(n < TURNS_MAX);
		assert_int_equal(loop_turn(loop, 0), 0);
	}
	return n;
}

static inline void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Turns until so much of it has come, and looks at it. "" is the end. */
static inline void hear(int fd, const char *text)
{
	char got[256] = "";
	size_t n = 0, want = strlen(text);

	for (int i = 0; n < (want ? want : 1) && i < TURNS_MAX; i++) {
		ssize_t r = recv(fd, got + n, want ? want - n : 1, MSG_DONTWAIT);

		if (r == 0)
			break;
		if (r < 0 && errno != EAGAIN)
			fail_msg("<%s> wanted, <%s> came, then: %s", text, got, strerror(errno));
		if (r > 0)
			n += (size_t)r;
		else
			turn_or_hear(fd);
	}
	assert_string_equal(got, text);
}

static inline void hear_reset(int fd)
{
	char byte;
	ssize_t r;

	while ((r = recv(fd, &byte, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		turn_or_hear(fd);
	assert_int_equal(r, -1);
	assert_int_equal(errno, ECONNRESET);
}
