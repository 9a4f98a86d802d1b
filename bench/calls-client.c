/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of bench-calls that runs inside a sandbox with a broker: makes calls by its socket and
 * prints calls per second, and the median and the 99th percentile of their times in microseconds.
 *
 *     calls-client CLIENTS BATCH SECONDS REQUEST
 *
 * CLIENTS connections at once, each with one line under way; BATCH calls in a line (1: a plain
 * request). The time of a line counts, from its first byte to the last of its answer.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 1024, BATCH_MAX = 1000, TIMES_MAX = 4000000, ANSWER_BYTES = 1 << 16 };

struct client {
	int fd;
	double since;
	char head[64]; /* of an answer: shows an error */
	size_t n_head;
};

static struct client clients[CLIENTS_MAX];
static double times[TIMES_MAX];
static size_t n_times;
static char *line;
static size_t line_len;

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "calls-client: %s: %s\n", what, strerror(errno));
	exit(1);
}

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

/* REQUEST as often as a batch has it, on one line. */
static void calls_compose(const char *request, size_t batch)
{
	size_t size = batch * (strlen(request) + 1) + 4;

	line = malloc(size);
	if (!line)
		die("memory");
	if (batch > 1)
		line[line_len++] = '[';
	for (size_t i = 0; i < batch; i++)
		line_len += (size_t)snprintf(
			line + line_len, size - line_len, "%s%s", i ? "," : "", request);
	if (batch > 1)
		line[line_len++] = ']';
	line[line_len++] = '\n';
}

static int calls_dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv("SANDBOX_SOCKET");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!path || fd < 0 || strlen(path) >= sizeof(a.sun_path))
		die("no SANDBOX_SOCKET");
	memcpy(a.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die(path);
	return fd;
}

static void calls_ask(struct client *c)
{
	size_t sent = 0;

	c->since = now();
	c->n_head = 0;
	while (sent < line_len) {
		ssize_t n = send(c->fd, line + sent, line_len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			die("send");
		sent += (size_t)n;
	}
}

/* True: its answer is complete. */
static bool calls_hear(struct client *c)
{
	static char bytes[ANSWER_BYTES];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);
	size_t more;

	if (n <= 0)
		die("the broker hung up");
	more = sizeof(c->head) - 1 - c->n_head;
	more = more < (size_t)n ? more : (size_t)n;
	memcpy(c->head + c->n_head, bytes, more);
	c->n_head += more;
	if (bytes[n - 1] != '\n')
		return false;
	c->head[c->n_head] = '\0';
	if (!strstr(c->head, "\"result\"")) {
		(void)fprintf(stderr, "calls-client: an error: %.*s\n", (int)n, bytes);
		exit(1);
	}
	if (n_times < TIMES_MAX)
		times[n_times++] = now() - c->since;
	return true;
}

static size_t calls_run(size_t n, double seconds)
{
	int poller = epoll_create1(EPOLL_CLOEXEC);
	double end = now() + seconds;
	size_t under_way = n, answers = 0;
	struct epoll_event events[64];

	for (size_t i = 0; i < n; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = &clients[i] };

		clients[i].fd = calls_dial();
		if (epoll_ctl(poller, EPOLL_CTL_ADD, clients[i].fd, &e) < 0)
			die("epoll");
	}
	for (size_t i = 0; i < n; i++)
		calls_ask(&clients[i]);
	while (under_way > 0) {
		int ready = epoll_wait(poller, events, 64, 10000);

		if (ready <= 0)
			die("no answer for 10 seconds");
		for (int i = 0; i < ready; i++) {
			if (!calls_hear(events[i].data.ptr))
				continue;
			answers++;
			if (now() < end)
				calls_ask(events[i].data.ptr);
			else
				under_way--;
		}
	}
	return answers;
}

int main(int argc, char **argv)
{
	size_t n = argc == 5 ? strtoul(argv[1], NULL, 10) : 0;
	size_t batch = n ? strtoul(argv[2], NULL, 10) : 0;
	double seconds = n ? strtod(argv[3], NULL) : 0, since;
	struct rlimit files = { 4096, 4096 };
	size_t answers;

	if (n == 0 || n > CLIENTS_MAX || batch == 0 || batch > BATCH_MAX || seconds <= 0) {
		(void)fputs("usage: calls-client CLIENTS BATCH SECONDS REQUEST\n", stderr);
		return 2;
	}
	(void)setrlimit(RLIMIT_NOFILE, &files);
	calls_compose(argv[4], batch);
	since = now();
	answers = calls_run(n, seconds);
	seconds = now() - since;
	qsort(times, n_times, sizeof(times[0]), by_value);
	(void)printf("%.0f %.1f %.1f\n", (double)(answers * batch) / seconds,
		1e6 * times[n_times / 2], 1e6 * times[n_times * 99 / 100]);
	return 0;
}
