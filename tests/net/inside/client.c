/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client KIND HOST PORT: a plain HTTP request, as programs in C do it. It is built twice: with the
 * C library of the system, and statically with musl, whose resolver asks for A and AAAA at once and
 * reads resolv.conf itself.
 *
 *   plain   getaddrinfo, connect, in turn for each address
 *   epoll   the socket is in an epoll set before it is connected, and stays there
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 60000 };

static int fail(const char *what, int error)
{
	(void)fprintf(stderr, "%s: %s\n", what, strerror(error));
	return 1;
}

static int await(int epoll, int fd, unsigned events)
{
	struct epoll_event event = { .events = events };

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) < 0)
		return -errno;
	return epoll_wait(epoll, &event, 1, WAIT_MS) == 1 ? 0 : -ETIMEDOUT;
}

/* A connected socket, or a negative errno. */
static int dial_epoll(const struct addrinfo *a, int *ret_epoll)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	socklen_t len = sizeof(error);

	*ret_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || *ret_epoll < 0 || epoll_ctl(*ret_epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	if (await(*ret_epoll, fd, EPOLLOUT) < 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)
		return -error;
	return fd;
}

static int dial_plain(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		return -errno;
	return fd;
}

static int talk(int fd, int epoll, const char *host)
{
	char text[4096];
	int len = snprintf(text, sizeof(text), "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", host);
	ssize_t n = send(fd, text, (size_t)len, MSG_NOSIGNAL);

	if (n != len)
		return fail("send", errno);
	len = 0;
	do {
		if (epoll >= 0 && await(epoll, fd, EPOLLIN) < 0)
			return fail("wait", ETIMEDOUT);
		n = recv(fd, text + len, sizeof(text) - 1 - (size_t)len, 0);
		len += n > 0 ? (int)n : 0;
	} while (n > 0 && (size_t)len < sizeof(text) - 1);
	if (n < 0 || len == 0)
		return fail("receive", n < 0 ? errno : ECONNRESET);
	text[len] = '\0';
	(void)fputs(strstr(text, "\r\n\r\n") ? strstr(text, "\r\n\r\n") + 4 : text, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	int fd = -1, epoll = -1, r;

	if (argc != 4)
		return 2;
	r = getaddrinfo(argv[2], argv[3], &hints, &found);
	if (r != 0) {
		(void)fprintf(stderr, "%s: %s\n", argv[2], gai_strerror(r));
		return 1;
	}
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
		fd = strcmp(argv[1], "epoll") == 0 ? dial_epoll(a, &epoll) : dial_plain(a);
	freeaddrinfo(found);
	return fd < 0 ? fail("connect", -fd) : talk(fd, epoll, argv[2]);
}
