/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/connection.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"

enum { PIECE = 64 << 10 };

int connection_open(struct connection *c, const char *path, uint64_t timeout_ms)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	auto_fd fd = -1;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	*c = (struct connection){ .fd = fd_take(&fd),
		.deadline_ms = timeout_ms ? clock_ms(CLOCK_MONOTONIC) + timeout_ms : 0 };
	return 0;
}

static int connection_wait(const struct connection *c, short events)
{
	struct pollfd p = { .fd = c->fd, .events = events };
	int ms = -1, r;

	if (c->deadline_ms) {
		const uint64_t now = clock_ms(CLOCK_MONOTONIC);
		const uint64_t left = c->deadline_ms > now ? c->deadline_ms - now : 0;

		ms = left > INT_MAX ? INT_MAX : (int)left;
	}
	r = poll(&p, 1, ms);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	return r == 0 ? -ETIMEDOUT : 0;
}

static int connection_send_bytes(struct connection *c, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n < 0)
			r = errno == EAGAIN || errno == EINTR ? connection_wait(c, POLLOUT)
							      : -errno;
		if (r < 0)
			return r;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int connection_send(struct connection *c, const char *line, size_t len)
{
	int r = connection_send_bytes(c, line, len);

	return r < 0 ? r : connection_send_bytes(c, "\n", 1);
}

/* 1: a line is there. 0: not yet. */
static int connection_take(struct connection *c, const char **ret, size_t *ret_len)
{
	const size_t len = c->in.len - c->start;
	const char *begin = buffer_text(&c->in) + c->start;
	const char *end = memchr(begin + c->scanned, '\n', len - c->scanned);

	c->scanned = end ? 0 : len;
	if (!end)
		return len > CONNECTION_LINE_MAX ? -EMSGSIZE : 0;
	*ret = begin;
	*ret_len = (size_t)(end - begin);
	c->start += *ret_len + 1;
	return 1;
}

/* What was read before is gone. */
static void connection_compact(struct connection *c)
{
	if (c->start == 0)
		return;
	c->in.len -= c->start;
	memmove(c->in.data, c->in.data + c->start, c->in.len);
	c->start = 0;
}

int connection_receive(struct connection *c, const char **ret, size_t *ret_len)
{
	static char piece[PIECE];

	for (;;) {
		int r = connection_take(c, ret, ret_len);
		ssize_t n;

		if (r != 0)
			return r;
		connection_compact(c);
		r = connection_wait(c, POLLIN);
		if (r < 0)
			return r;
		n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		buffer_add(&c->in, piece, n > 0 ? (size_t)n : 0);
		if (c->in.failed)
			return -ENOMEM;
	}
}

int connection_finish(struct connection *c)
{
	const char *line;
	size_t len;
	int r = shutdown(c->fd, SHUT_WR) < 0 ? -errno : 1;

	while (r == 1)
		r = connection_receive(c, &line, &len);
	return r;
}

void connection_close(struct connection *c)
{
	fd_close(&c->fd);
	buffer_deinit(&c->in);
}
