/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of bench-net that runs inside a sandbox, and bare beside it: reads what to do from its
 * input, a line each, and answers with the seconds that it took.
 *
 *     net-client ADDRESS [proxy]
 *
 *     connect N PORT   N connections, one after the other, closed as soon as they stand: each
 *     greet N PORT     the same, but each waits for the server's byte
 *     echo N PORT      a byte there and back, N times on one connection: the median
 *     down N PORT      N megabytes from the server
 *     up N PORT        N megabytes to the server
 *     open N PORT      N connections more, which stay open; each carried a byte there and back
 *     ask N PORT       a name, N times, by UDP: the median; at any address, it is the sandbox's
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net-client.h"
#include "net-proxy.h"

enum { TIMES_MAX = 100000 };

static struct in_addr server;
static bool by_proxy;
static double times[TIMES_MAX];
static uint8_t megabyte[1 << 20];

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(unsigned n)
{
	qsort(times, n, sizeof(times[0]), by_value);
	return times[n / 2];
}

static int dial(uint16_t port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr = server, .sin_port = htons(port)
	};
	const int one = 1;
	int fd;

	if (by_proxy)
		return net_proxy_dial(server, port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* A byte that no text begins with, so that nobody waits for the rest of a line. */
static bool ping(int fd)
{
	uint8_t byte = 0;

	return write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1;
}

static double repeat_dial(unsigned n, uint16_t port, bool greeted)
{
	double start = now();

	for (unsigned i = 0; i < n; i++) {
		int fd = dial(port);
		char byte;
		bool ok = fd >= 0 && (!greeted || read(fd, &byte, 1) == 1);

		if (fd >= 0)
			(void)close(fd);
		if (!ok)
			return -1;
	}
	return (now() - start) / n;
}

static double do_connect(unsigned n, uint16_t port)
{
	return repeat_dial(n, port, false);
}

static double do_greet(unsigned n, uint16_t port)
{
	return repeat_dial(n, port, true);
}

static double do_echo(unsigned n, uint16_t port)
{
	int fd = dial(port);
	bool ok = fd >= 0 && ping(fd);

	for (unsigned i = 0; ok && i < n; i++) {
		double start = now();

		ok = ping(fd);
		times[i] = now() - start;
	}
	if (fd >= 0)
		(void)close(fd);
	return ok ? median(n) : -1;
}

/* A connection on which the server was told how many megabytes there will be. */
static int dial_bulk(unsigned n, uint16_t port)
{
	const uint8_t ask[NET_ASK_BYTES] = { 0, (uint8_t)(n >> 8), (uint8_t)n };
	int fd = dial(port);

	if (fd >= 0 && write(fd, ask, sizeof(ask)) == (ssize_t)sizeof(ask))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static double do_down(unsigned n, uint16_t port)
{
	double start = now();
	int fd = dial_bulk(n, port);
	bool ok = fd >= 0;

	for (uint64_t left = (uint64_t)n * sizeof(megabyte); ok && left > 0;) {
		ssize_t len = read(fd, megabyte, sizeof(megabyte));

		ok = len > 0 && (uint64_t)len <= left;
		left -= ok ? (uint64_t)len : 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return ok ? now() - start : -1;
}

/* Until the server has said that it got everything. */
static double do_up(unsigned n, uint16_t port)
{
	double start = now();
	int fd = dial_bulk(n, port);
	bool ok = fd >= 0;
	char byte;

	for (uint64_t left = (uint64_t)n * sizeof(megabyte); ok && left > 0;) {
		ssize_t len = write(
			fd, megabyte, left < sizeof(megabyte) ? (size_t)left : sizeof(megabyte));

		ok = len > 0;
		left -= ok ? (uint64_t)len : 0;
	}
	ok = ok && read(fd, &byte, 1) == 1;
	if (fd >= 0)
		(void)close(fd);
	return ok ? now() - start : -1;
}

static double do_open(unsigned n, uint16_t port)
{
	double start = now();

	for (unsigned i = 0; i < n; i++) {
		int fd = dial(port);

		if (fd < 0 || !ping(fd))
			return -1;
	}
	return now() - start;
}

static bool ask_once(int fd, uint16_t id)
{
	/* One question, and recursion, please: an address of bench.example.com. */
	uint8_t query[] = "\0\0\1\0\0\1\0\0\0\0\0\0\5bench\7example\3com\0\0\1\0\1";
	const size_t len = sizeof(query) - 1;
	uint8_t answer[512];
	ssize_t n;

	query[0] = (uint8_t)(id >> 8);
	query[1] = (uint8_t)id;
	if (send(fd, query, len, 0) != (ssize_t)len)
		return false;
	n = recv(fd, answer, sizeof(answer), 0);
	/* The same id, no error, an answer. */
	return n > 12 && memcmp(answer, query, 2) == 0 && (answer[3] & 15) == 0 && answer[7] > 0;
}

static double do_ask(unsigned n, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	const struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = inet_pton(AF_INET, "192.0.2.53", &to.sin_addr) == 1 && fd >= 0 &&
		  connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
		  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;

	for (unsigned i = 0; ok && i < n; i++) {
		double start = now();

		ok = ask_once(fd, (uint16_t)i);
		times[i] = now() - start;
	}
	if (fd >= 0)
		(void)close(fd);
	return ok ? median(n) : -1;
}

static const struct {
	const char *name;
	double (*run)(unsigned n, uint16_t port);
} works[] = {
	{ "connect", do_connect },
	{ "greet", do_greet },
	{ "echo", do_echo },
	{ "down", do_down },
	{ "up", do_up },
	{ "open", do_open },
	{ "ask", do_ask },
};

static double do_line(char *line)
{
	const char *name = strtok(line, " "), *n = strtok(NULL, " "), *port = strtok(NULL, " \n");
	unsigned long count = n && port ? strtoul(n, NULL, 10) : 0;

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (count > 0 && count <= TIMES_MAX && strcmp(name, works[i].name) == 0)
			return works[i].run((unsigned)count, (uint16_t)strtoul(port, NULL, 10));
	return -1;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	char line[256];

	if (argc < 2 || inet_pton(AF_INET, argv[1], &server) != 1)
		return 2;
	by_proxy = argc > 2 && strcmp(argv[2], "proxy") == 0;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	while (fgets(line, sizeof(line), stdin)) {
		(void)printf("%.9f\n", do_line(line));
		(void)fflush(stdout);
	}
	return 0;
}
