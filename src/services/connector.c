/* SPDX-License-Identifier: Apache-2.0 */
#include "services/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "process/confinement.h"
#include "process/child.h"
#include "wire/frame.h"

enum { SOCKET = CHILD_SOCKET, CONNECTOR_TRY_MS = 10000 }; /* for one address */

/* Outside: in the back end. */

int connector_start(struct connector *ret, const char *host, uint16_t port)
{
	char text[8];
	const char *const argv[] = { "corral-connector", CONNECTOR_WORD, host, text, NULL };
	struct child child;
	int r;

	(void)snprintf(text, sizeof(text), "%u", port);
	r = child_start(&child, "/proc/self/exe", argv, NULL);
	if (r == 0)
		*ret = (struct connector){ .pid = child.pid, .socket = child.socket };
	return r;
}

/* Answers to requests that were given up before this one are dropped. */
static int connector_receive(const struct connector *c, struct frame *f, uint64_t until_ms)
{
	for (;;) {
		int r = wait_for_one(c->socket, POLLIN, until_ms);

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		r = frame_receive(c->socket, f);
		if (r == 0)
			return -EPIPE;
		if (r == 1 && f->id == c->count)
			return 0;
		if (r < 0 && r != -EAGAIN)
			return r;
	}
}

int connector_connect(struct connector *c, uint64_t timeout_ms)
{
	const uint64_t until = clock_ms(CLOCK_MONOTONIC) + timeout_ms;
	static struct frame f;
	int code = 0, r;

	c->count++;
	r = frame_send(c->socket, FRAME_CALL, c->count, &timeout_ms, sizeof(timeout_ms), NULL, 0);
	if (r == 0)
		r = connector_receive(c, &f, until);
	c->is_lost = r < 0 && r != -ETIMEDOUT;
	if (r < 0)
		return r;
	if (f.len == sizeof(code))
		memcpy(&code, f.body, sizeof(code));
	if (f.type == FRAME_CALL_ANSWER && f.n_fds == 1)
		return frame_take_fd(&f, 0);
	return code < 0 ? code : -EPROTO;
}

/* Inside: in the process of the connector. */

static int connector_await(int fd, uint64_t until_ms)
{
	socklen_t size = sizeof(int);
	int code = 0, r = wait_for_one(fd, POLLOUT, until_ms);

	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 ? -errno : -code;
}

static int connector_try(const struct addrinfo *a, uint64_t until_ms)
{
	const uint64_t one = clock_ms(CLOCK_MONOTONIC) + CONNECTOR_TRY_MS;
	auto_fd fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno == EINPROGRESS ? connector_await(fd, one < until_ms ? one : until_ms)
					 : -errno;
	if (r < 0)
		return r;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd_take(&fd);
}

static int connector_code(int found)
{
	switch (found) {
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EHOSTUNREACH;
	default:
		return -ENOENT;
	}
}

/* The addresses of the name as they are now, one after the other. */
static int connector_dial(const char *host, const char *port, uint64_t until_ms)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	int found = getaddrinfo(host, port, &hints, &list);
	int r = found == 0 ? -ENOENT : connector_code(found);

	for (const struct addrinfo *a = list; found == 0 && a && r < 0; a = a->ai_next)
		r = connector_try(a, until_ms);
	if (found == 0)
		freeaddrinfo(list);
	return r;
}

static int connector_serve(const char *host, const char *port)
{
	static struct frame f;
	int r;

	while ((r = frame_receive(SOCKET, &f)) == 1) {
		uint64_t ms;
		int code;
		auto_fd fd = -1;

		if (f.type != FRAME_CALL || f.len != sizeof(ms))
			return -EPROTO;
		memcpy(&ms, f.body, sizeof(ms));
		code = connector_dial(host, port, clock_ms(CLOCK_MONOTONIC) + ms);
		fd = code < 0 ? -1 : code;
		r = fd < 0 ? frame_send(
				     SOCKET, FRAME_CALL_REFUSED, f.id, &code, sizeof(code), NULL, 0)
			   : frame_send(SOCKET, FRAME_CALL_ANSWER, f.id, NULL, 0, &fd, 1);
		if (r < 0)
			return r;
	}
	return r;
}

int connector_main(int argc, char **argv)
{
	int r;

	if (argc != 4)
		return 2;
	r = confinement_begin(PROCESS_CONNECTOR);
	if (r == 0)
		r = confinement_enter(PROCESS_CONNECTOR, NULL);
	if (r == 0)
		r = connector_serve(argv[2], argv[3]);
	return r < 0;
}
