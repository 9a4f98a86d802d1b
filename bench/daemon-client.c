/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon-client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum {
	CLIENT_ROOM = 2 << 20, /* for an answer; of one that listens much less is used */
	CLIENT_REQUEST = 8192,
	CLIENT_QUIET_MS = 500,
	CLIENT_PATIENCE_MS = 60000,
};

struct daemon_client {
	int fd;
	char *room;
	size_t len;
	double asked;  /* when */
	uint64_t last; /* id of the last event; 0: none came */
	size_t heard;  /* events, come or dropped */
};

static void daemon_client_connect(struct daemon_client *c, const struct daemon_host *h)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s/corral/api.sock", h->runtime) >=
		(int)sizeof(to.sun_path))
		measure_die("the daemon's folder has too long a path");
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!c->room)
		c->room = malloc(CLIENT_ROOM + 1);
	if (c->fd < 0 || !c->room || connect(c->fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		measure_die("cannot connect to the daemon");
	c->len = 0;
}

static size_t daemon_client_format(char out[CLIENT_REQUEST], const struct daemon_host *h,
	const char *method, const char *path, const char *body)
{
	const int n = snprintf(out, CLIENT_REQUEST,
		"%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n", method, path,
		h->token);
	const size_t left = CLIENT_REQUEST - (size_t)n;
	const int m = body ? snprintf(out + n, left,
				     "Content-Type: application/json\r\nContent-Length: "
				     "%zu\r\n\r\n%s",
				     strlen(body), body)
			   : snprintf(out + n, left, "\r\n");

	if (n < 0 || m < 0 || (size_t)m >= left)
		measure_die("a request is too long");
	return (size_t)n + (size_t)m;
}

static void daemon_client_ask(struct daemon_client *c, const char *request, size_t len)
{
	c->asked = measure_now();
	c->len = 0;
	if (send(c->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
		measure_die("cannot send a request");
}

static void daemon_client_watch(int epoll, struct daemon_client *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e) < 0)
		measure_die("epoll");
}

/* The status of an answer that is complete; 0: there is more to come. */
static unsigned daemon_client_status(struct daemon_client *c)
{
	static const char field[] = "Content-Length: ";

	c->room[c->len] = '\0';
	const char *end = strstr(c->room, "\r\n\r\n");
	const char *length = end ? strstr(c->room, field) : NULL;
	if (!length || length > end)
		return 0;
	const size_t body = strtoul(length + sizeof(field) - 1, NULL, 10);
	if (c->len < (size_t)(end + 4 - c->room) + body)
		return 0;
	return (unsigned)strtoul(c->room + sizeof("HTTP/1.1"), NULL, 10);
}

static void daemon_client_read(struct daemon_client *c)
{
	const ssize_t n = recv(c->fd, c->room + c->len, CLIENT_ROOM - c->len, MSG_DONTWAIT);

	if (n > 0)
		c->len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		measure_die("the daemon closed a connection");
}

/* Requests */

struct daemon_asking {
	const struct daemon_host *host;
	struct daemon_load *load;
	char request[CLIENT_REQUEST];
	size_t len;
	int epoll;
	double *times;
};

static void daemon_load_take(struct daemon_asking *a, struct daemon_client *c)
{
	struct daemon_load *l = a->load;
	unsigned status;

	daemon_client_read(c);
	status = daemon_client_status(c);
	if (status == 0)
		return;
	if (status != 200 && status != 429) {
		(void)fprintf(stderr, "%s %s: %s\n", l->method, l->path, c->room);
		measure_die("the daemon gave no answer");
	}
	l->bytes = c->len;
	if (status == 200 && l->answered < DAEMON_TIMES_MAX)
		a->times[l->answered] = measure_now() - c->asked;
	l->answered += status == 200;
	l->refused += status == 429;
	/* Who was refused is not heard again on this connection. */
	if (status == 429) {
		(void)close(c->fd);
		daemon_client_connect(c, a->host);
		daemon_client_watch(a->epoll, c);
	}
	daemon_client_ask(c, a->request, a->len);
}

static int daemon_load_order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void daemon_load_sum(struct daemon_load *l, double *times, double took)
{
	const size_t n = l->answered < DAEMON_TIMES_MAX ? l->answered : DAEMON_TIMES_MAX;

	if (n == 0)
		measure_die("the daemon answered nothing");
	qsort(times, n, sizeof(*times), daemon_load_order);
	l->per_second = (double)l->answered / took;
	l->median = times[n / 2];
	l->percentile = times[n * 99 / 100];
}

void daemon_load_run(const struct daemon_host *h, struct daemon_load *l)
{
	static struct daemon_client clients[DAEMON_CLIENTS_MAX];
	struct daemon_asking a = { .host = h, .load = l, .epoll = epoll_create1(EPOLL_CLOEXEC) };
	struct epoll_event events[DAEMON_CLIENTS_MAX];
	const double start = measure_now();

	a.times = calloc(DAEMON_TIMES_MAX, sizeof(*a.times));
	if (a.epoll < 0 || !a.times || l->clients > DAEMON_CLIENTS_MAX)
		measure_die("out of memory");
	a.len = daemon_client_format(a.request, h, l->method, l->path, l->body);
	for (size_t i = 0; i < l->clients; i++) {
		daemon_client_connect(&clients[i], h);
		daemon_client_watch(a.epoll, &clients[i]);
		daemon_client_ask(&clients[i], a.request, a.len);
	}
	while (l->answered == 0 || measure_now() - start < l->seconds) {
		const int n = epoll_wait(a.epoll, events, DAEMON_CLIENTS_MAX, CLIENT_PATIENCE_MS);

		if (n <= 0)
			measure_die("the daemon does not answer");
		for (int i = 0; i < n; i++)
			daemon_load_take(&a, events[i].data.ptr);
	}
	daemon_load_sum(l, a.times, measure_now() - start);
	for (size_t i = 0; i < l->clients; i++)
		(void)close(clients[i].fd);
	(void)close(a.epoll);
	free(a.times);
}

/* Events */

/* "id: N\nevent: …", or "event: dropped\ndata: {"from":A,"to":B}". */
static void daemon_listen_event(struct daemon_client *c, struct daemon_listen *l, const char *text)
{
	static const char id[] = "id: ", dropped[] = "event: dropped\ndata: {\"from\":",
			  to[] = ",\"to\":";
	uint64_t first, last;
	char *end;

	if (strncmp(text, id, sizeof(id) - 1) == 0) {
		first = last = strtoull(text + sizeof(id) - 1, NULL, 10);
		l->delivered++;
	} else if (strncmp(text, dropped, sizeof(dropped) - 1) == 0) {
		first = strtoull(text + sizeof(dropped) - 1, &end, 10);
		if (strncmp(end, to, sizeof(to) - 1) != 0)
			measure_die("a marker of dropped events is broken");
		last = strtoull(end + sizeof(to) - 1, NULL, 10);
		l->dropped += last - first + 1;
	} else {
		return; /* connected, a heartbeat */
	}
	if (c->last && first != c->last + 1)
		l->missing++;
	c->heard += last - first + 1;
	c->last = last;
}

static void daemon_listen_take(struct daemon_client *c, struct daemon_listen *l)
{
	char *at = c->room, *end;

	daemon_client_read(c);
	c->room[c->len] = '\0';
	while ((end = strstr(at, "\n\n"))) {
		*end = '\0';
		daemon_listen_event(c, l, at);
		at = end + 2;
	}
	c->len -= (size_t)(at - c->room);
	memmove(c->room, at, c->len);
}

/* One turn; whether anything came within that time. */
static bool daemon_listen_turn(int epoll, struct daemon_listen *l, int ms)
{
	struct epoll_event events[DAEMON_CLIENTS_MAX];
	const int n = epoll_wait(epoll, events, DAEMON_CLIENTS_MAX, ms);

	for (int i = 0; i < n; i++)
		daemon_listen_take(events[i].data.ptr, l);
	return n > 0;
}

/* Its head, and the event `connected`. */
static void daemon_listen_begin(struct daemon_client *c, const struct daemon_host *h)
{
	char request[CLIENT_REQUEST];
	const size_t len = daemon_client_format(request, h, "GET", "/sse/events", NULL);
	const char *head, *end;

	daemon_client_connect(c, h);
	daemon_client_ask(c, request, len);
	for (;;) {
		const ssize_t n = recv(c->fd, c->room + c->len, CLIENT_ROOM - c->len, 0);

		if (n <= 0)
			measure_die("the daemon has no events");
		c->len += (size_t)n;
		c->room[c->len] = '\0';
		head = strstr(c->room, "event: connected\n");
		end = head ? strstr(head, "\n\n") : NULL;
		if (end)
			break;
	}
	c->len -= (size_t)(end + 2 - c->room);
	memmove(c->room, end + 2, c->len);
	c->last = c->heard = 0;
}

void daemon_listen_run(
	const struct daemon_host *h, struct daemon_listen *l, const char *const *sender)
{
	static struct daemon_client clients[DAEMON_CLIENTS_MAX];
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	int status = 0;
	pid_t pid;

	if (epoll < 0 || l->clients > DAEMON_CLIENTS_MAX)
		measure_die("out of memory");
	for (size_t i = 0; i < l->clients; i++) {
		daemon_listen_begin(&clients[i], h);
		daemon_client_watch(epoll, &clients[i]);
	}
	pid = measure_spawn(sender, NULL);
	if (pid < 0)
		measure_die(sender[0]);
	while (waitpid(pid, &status, WNOHANG) == 0)
		(void)daemon_listen_turn(epoll, l, CLIENT_QUIET_MS);
	if (status != 0)
		measure_die("events could not be sent");
	while (daemon_listen_turn(epoll, l, CLIENT_QUIET_MS))
		;
	l->least = SIZE_MAX;
	for (size_t i = 0; i < l->clients; i++) {
		if (clients[i].heard < l->least)
			l->least = clients[i].heard;
		(void)close(clients[i].fd);
	}
	(void)close(epoll);
}
