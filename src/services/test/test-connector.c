/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A back end that a server has taken over: it gets connections to that server from its connector,
 * and has no other way to anywhere. Each attempt is made before it is confined too, where it works.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/seccomp/seccomp.h"
#include "process/confinement.h"
#include "services/backend.h"
#include "services/connector.h"

/* A port of loopback without a listener. */
static int bind_here(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

/* A server there; its port. */
static int listen_here(uint16_t *ret_port)
{
	int fd = bind_here(ret_port);

	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static int connect_to(int fd, uint16_t port)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return connect(fd, (const struct sockaddr *)&a, sizeof(a));
}

/* Accepts one connection: does the byte c come through it? */
static bool hears(int listener, char c)
{
	auto_fd fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char got = 0;

	return fd >= 0 && read(fd, &got, 1) == 1 && got == c;
}

static bool is_waiting(int listener)
{
	auto_fd fd = -1;

	if (fcntl(listener, F_SETFL, O_NONBLOCK) < 0)
		return true;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return fd >= 0;
}

/* Runs it in a child: what it returns is the exit status. */
static int in_child(int (*work)(uint16_t port, uint16_t other), uint16_t port, uint16_t other)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(work(port, other));
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define STEP(number, condition)        \
	do {                           \
		if (!(condition))      \
			return number; \
	} while (0)

static int free_process(uint16_t port, uint16_t other)
{
	auto_fd fd = socket(AF_INET, SOCK_STREAM, 0);
	auto_fd file = open("/etc/passwd", O_RDONLY);

	(void)port;
	STEP(1, fd >= 0 && connect_to(fd, other) == 0);
	STEP(2, file >= 0);
	return 0;
}

static int taken_over(uint16_t port, uint16_t other)
{
	char program[] = "/bin/true", *const argv[] = { program, NULL };
	struct sockaddr_in peer;
	struct connector c;
	int fd, pair[2];

	STEP(1, connector_start(&c, "127.0.0.1", port) == 0);
	STEP(2, seccomp_feign_connect() == 0);
	STEP(3, confinement_enter(PROCESS_BACKEND, NULL) == 0);
	fd = connector_connect(&c, 60000);
	STEP(4, fd >= 0);
	STEP(5, write(fd, "x", 1) == 1);
	/* Elsewhere, by a socket of its own or by that one. */
	STEP(6, socket(AF_INET, SOCK_STREAM, 0) < 0);
	STEP(7, socket(AF_INET6, SOCK_DGRAM, 0) < 0);
	STEP(8, socket(AF_UNIX, SOCK_STREAM, 0) < 0);
	STEP(9, socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0);
	/* Both do nothing. */
	(void)connect(fd, &(struct sockaddr){ .sa_family = AF_UNSPEC }, sizeof(struct sockaddr));
	(void)connect_to(fd, other);
	STEP(10, getpeername(fd, (struct sockaddr *)&peer, &(socklen_t){ sizeof(peer) }) == 0);
	STEP(11, peer.sin_port == htons(port));
	STEP(12, write(fd, "y", 1) == 1);
	STEP(13, open("/etc/passwd", O_RDONLY) < 0);
	STEP(14, execv(argv[0], argv) < 0);
	return 0;
}

static void test_one_server_and_nothing_else(void **state)
{
	uint16_t port, other;
	auto_fd server = listen_here(&port);
	auto_fd elsewhere = listen_here(&other);

	(void)state;
	assert_int_equal(in_child(free_process, port, other), 0);
	assert_true(is_waiting(elsewhere));
	assert_int_equal(in_child(taken_over, port, other), 0);
	assert_true(hears(server, 'x'));
	assert_false(is_waiting(elsewhere));
}

static int no_server(uint16_t port, uint16_t other)
{
	struct connector c;

	(void)other;
	STEP(1, connector_start(&c, "127.0.0.1", port) == 0);
	STEP(2, connector_connect(&c, 60000) == -ECONNREFUSED);
	STEP(3, connector_connect(&c, 60000) == -ECONNREFUSED);
	STEP(4, !c.is_lost && kill(c.pid, SIGKILL) == 0);
	STEP(5, connector_connect(&c, 60000) == -EPIPE && c.is_lost);
	STEP(6, connector_start(&c, "no-such-host.invalid", port) == 0);
	STEP(7, connector_connect(&c, 20000) < 0 && !c.is_lost);
	return 0;
}

static void test_what_cannot_be_reached(void **state)
{
	uint16_t port;
	auto_fd server = bind_here(&port);

	(void)state;
	/* The port stays bound: no other process can take it. */
	assert_int_equal(in_child(no_server, port, 0), 0);
}

/* An answer that comes too late is not the next one's. */
static int late(uint16_t port, uint16_t other)
{
	struct connector c;
	int fd;

	(void)other;
	STEP(1, connector_start(&c, "127.0.0.1", port) == 0);
	STEP(2, kill(c.pid, SIGSTOP) == 0);
	STEP(3, connector_connect(&c, 50) == -ETIMEDOUT);
	STEP(4, connector_connect(&c, 50) == -ETIMEDOUT && !c.is_lost);
	STEP(5, kill(c.pid, SIGCONT) == 0);
	fd = connector_connect(&c, 60000);
	STEP(6, fd >= 0 && write(fd, "z", 1) == 1);
	return 0;
}

static void test_late_answers_are_dropped(void **state)
{
	uint16_t port;
	auto_fd server = listen_here(&port);

	(void)state;
	assert_int_equal(in_child(late, port, 0), 0);
	/* Two that were given up, and the one that was used. */
	assert_false(hears(server, 'z'));
	assert_false(hears(server, 'z'));
	assert_true(hears(server, 'z'));
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_server_and_nothing_else),
		cmocka_unit_test(test_what_cannot_be_reached),
		cmocka_unit_test(test_late_answers_are_dropped),
	};

	if (argc > 1 && strcmp(argv[1], CONNECTOR_WORD) == 0)
		return connector_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
