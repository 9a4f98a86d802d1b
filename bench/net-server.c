/* SPDX-License-Identifier: Apache-2.0 */
#include "net-server.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "net-client.h"

enum { BACKLOG = 4096, BATCH = 64 };

static uint8_t megabyte[1 << 20];

static void listen_one(struct net_servers *s, enum net_server which, struct in_addr address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = address };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, len) < 0 || listen(fd, BACKLOG) < 0 ||
		getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		measure_die("cannot listen");
	s->listeners[which] = fd;
	s->ports[which] = ntohs(at.sin_port);
}

void net_servers_listen(struct net_servers *s, struct in_addr address)
{
	s->address = address;
	for (size_t i = 0; i < NET_SERVERS; i++)
		listen_one(s, (enum net_server)i, address);
}

static int accept_one(int listener)
{
	const int one = 1;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void greet(int fd)
{
	char byte = 0;

	(void)(send(fd, &byte, 1, MSG_NOSIGNAL) + recv(fd, &byte, 1, 0));
}

/* How many bytes the client wants to have, or to send. */
static uint64_t hear(int fd)
{
	uint8_t ask[NET_ASK_BYTES];

	if (recv(fd, ask, sizeof(ask), MSG_WAITALL) != (ssize_t)sizeof(ask))
		return 0;
	return ((uint64_t)ask[1] << 8 | ask[2]) * sizeof(megabyte);
}

static size_t at_most(uint64_t left)
{
	return left < sizeof(megabyte) ? (size_t)left : sizeof(megabyte);
}

static void send_all(int fd)
{
	for (uint64_t left = hear(fd); left > 0;) {
		ssize_t n = send(fd, megabyte, at_most(left), MSG_NOSIGNAL);

		if (n <= 0)
			return;
		left -= (uint64_t)n;
	}
	/* The client hangs up first: some proxies drop what is under way when the server does. */
	(void)recv(fd, megabyte, 1, 0);
}

static void take_all(int fd)
{
	for (uint64_t left = hear(fd); left > 0;) {
		ssize_t n = recv(fd, megabyte, at_most(left), 0);

		if (n <= 0)
			return;
		left -= (uint64_t)n;
	}
	(void)send(fd, megabyte, 1, MSG_NOSIGNAL);
}

/* What is there to read, to the other side; false: there is no more. */
static bool pass_some(int from, int to, const int pipe_[2])
{
	ssize_t n = splice(from, NULL, pipe_[1], NULL, sizeof(megabyte), SPLICE_F_MOVE);

	for (ssize_t left = n; left > 0;) {
		ssize_t sent = splice(pipe_[0], NULL, to, NULL, (size_t)left, SPLICE_F_MOVE);

		if (sent <= 0)
			return false;
		left -= sent;
	}
	return n > 0;
}

static void pass_all(int client, const struct sockaddr_in *server)
{
	const int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), pipe_[2];
	struct pollfd ends[2] = { { client, POLLIN, 0 }, { fd, POLLIN, 0 } };
	bool more = true;

	if (fd < 0 || pipe2(pipe_, O_CLOEXEC) < 0 ||
		fcntl(pipe_[1], F_SETPIPE_SZ, sizeof(megabyte)) < 0 ||
		connect(fd, (const struct sockaddr *)server, sizeof(*server)) < 0)
		measure_die("cannot pass on");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (more && poll(ends, 2, -1) > 0) {
		if (ends[0].revents)
			more = pass_some(client, fd, pipe_);
		else
			more = pass_some(fd, client, pipe_);
	}
	(void)close(fd);
	(void)close(pipe_[0]);
	(void)close(pipe_[1]);
}

static _Noreturn void serve_passing(int listener, const struct sockaddr_in *server)
{
	for (;;) {
		int fd = accept_one(listener);

		if (fd < 0)
			continue;
		pass_all(fd, server);
		(void)close(fd);
	}
}

/* One after the other. */
static _Noreturn void serve(int listener, void (*one)(int fd))
{
	for (;;) {
		int fd = accept_one(listener);

		if (fd < 0)
			continue;
		one(fd);
		(void)close(fd);
	}
}

static void watch(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		measure_die("a server cannot wait");
}

static void echo(int fd)
{
	char bytes[256];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	if (n <= 0 || send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
		(void)close(fd);
}

static _Noreturn void serve_echo(int listener)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[BATCH];

	watch(epoll, listener);
	for (;;) {
		int n = epoll_wait(epoll, events, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				watch(epoll, accept_one(listener));
			else
				echo(events[i].data.fd);
		}
	}
}

static _Noreturn void run(const struct net_servers *s, enum net_server which)
{
	static void (*const one[NET_SERVERS])(int fd) = {
		[NET_GREETS] = greet,
		[NET_SENDS] = send_all,
		[NET_TAKES] = take_all,
	};

	const enum net_server behind = which == NET_PASSES_SENT ? NET_SENDS : NET_TAKES;
	const struct sockaddr_in server = {
		.sin_family = AF_INET, .sin_addr = s->address, .sin_port = htons(s->ports[behind])
	};

	if (which == NET_ECHOES)
		serve_echo(s->listeners[which]);
	if (which == NET_PASSES_SENT || which == NET_PASSES_TAKEN)
		serve_passing(s->listeners[which], &server);
	serve(s->listeners[which], one[which]);
}

void net_servers_start(struct net_servers *s)
{
	for (size_t i = 0; i < NET_SERVERS; i++) {
		pid_t parent = getpid(), pid = fork();

		if (pid < 0)
			measure_die("cannot fork");
		if (pid == 0) {
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
				_exit(1);
			run(s, (enum net_server)i);
		}
		(void)close(s->listeners[i]);
		s->listeners[i] = -1;
	}
}
