/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/asked.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "jail/plan/plan.h"
#include "net/dns/message.h"
#include "warden/spawn.h"

enum {
	CLASS_IN = 1,
	DNS_PORT = 53,
	QUERY_MAX = 2048,
	REPLY_MAX = 512,
	TTL = 60,
	DONE_MS = 1000,   /* for the report of a name, before it is answered all the same */
	WINDOW_MS = 1000, /* of several commands: in which so many are reported */
	SERVER = FD_KEPT,
	LINK,
};

/* In the process that answers. */

struct asked_server {
	struct asked_name names[ASKED_NAMES_MAX]; /* that were reported */
	size_t n;
	bool is_full; /* and that there are more */
	bool is_shared;
	uint64_t since_ms; /* then: when the first of them was */
};

/* Programs ask for these without being told to. */
static bool asked_is_reported(const struct dns_question *q)
{
	return q->class == CLASS_IN && *q->name && strcmp(q->name, "corral") != 0 &&
	       !dns_name_is_within(q->name, "localhost") &&
	       !dns_name_is_within(q->name, "in-addr.arpa") &&
	       !dns_name_is_within(q->name, "ip6.arpa");
}

/* Of several commands each is to have its own record; both questions of a look-up, for IPv4 and
 * IPv6, come from one socket. */
static bool asked_is_known(const struct asked_server *s, const char *name, uint16_t port)
{
	size_t i = 0;

	while (i < s->n &&
		(strcmp(s->names[i].name, name) != 0 || (s->is_shared && s->names[i].port != port)))
		i++;
	return i < s->n;
}

static void asked_begin_window(struct asked_server *s)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (!s->is_shared || now - s->since_ms < WINDOW_MS)
		return;
	s->since_ms = now;
	s->n = 0;
	s->is_full = false;
}

/* Whoever asked waits for its answer: its socket is found while it is open. */
static void asked_report(struct asked_server *s, const char *name, uint16_t port)
{
	struct asked_name m = { .port = port };
	char done;

	asked_begin_window(s);
	if (asked_is_known(s, name, port) || s->is_full)
		return;
	s->is_full = s->n == ASKED_NAMES_MAX;
	(void)snprintf(m.name, sizeof(m.name), "%s", s->is_full ? "*" : name);
	if (!s->is_full)
		s->names[s->n++] = m;
	if (send(LINK, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		_exit(1);
	if (wait_for_one(LINK, POLLIN, wait_until(DONE_MS)) && recv(LINK, &done, 1, 0) <= 0)
		_exit(0);
}

static size_t asked_answer(
	struct asked_server *s, const uint8_t *query, size_t len, uint16_t port, uint8_t *out)
{
	static const uint8_t v4[16] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };
	struct dns_reply reply = { .ttl = TTL, .code = DNS_NO_NAME };
	struct dns_question q;
	int r = dns_question_parse(&q, query, len);

	if (r == -EBADMSG)
		return 0;
	if (r < 0) {
		reply.code = r == -EOPNOTSUPP ? DNS_NOT_IMPLEMENTED : DNS_FORMAT_ERROR;
	} else if (q.class != CLASS_IN) {
		reply.code = DNS_REFUSED;
	} else if (dns_name_is_within(q.name, "localhost") || (!q.odd && !*q.name)) {
		reply.code = DNS_OK;
		reply.n_addresses = *q.name && (q.type == DNS_A || q.type == DNS_AAAA);
		reply.addresses = q.type == DNS_A ? &v4 : &v6;
	} else if (asked_is_reported(&q)) {
		asked_report(s, q.name, port);
	}
	return dns_reply_write(&q, query, &reply, out, REPLY_MAX);
}

static void asked_serve_one(struct asked_server *s)
{
	uint8_t query[QUERY_MAX], reply[REPLY_MAX];
	struct sockaddr_in from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(SERVER, query, sizeof(query), MSG_DONTWAIT | MSG_TRUNC,
		(struct sockaddr *)&from, &from_len);
	size_t len = 0;

	if (n >= 0 && (size_t)n <= sizeof(query) && from_len == sizeof(from))
		len = asked_answer(s, query, (size_t)n, ntohs(from.sin_port), reply);
	if (len > 0)
		(void)sendto(SERVER, reply, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			(struct sockaddr *)&from, from_len);
}

static void asked_serve(void *data)
{
	static struct asked_server s;
	struct asked_socket *a = data;
	struct pollfd p[] = { { .fd = SERVER, .events = POLLIN }, { .fd = LINK } };
	int *kept[] = { &a->server, &a->link };

	s.is_shared = a->is_shared;
	if (prctl(PR_SET_NAME, "corral-names", 0, 0, 0) < 0 || fd_keep_only(kept, 2) < 0)
		return;
	while (wait_for(p, ROWS(p), WAIT_FOR_EVER) > 0) {
		if (p[1].revents)
			_exit(0);
		if (p[0].revents)
			asked_serve_one(&s);
	}
}

/* In the init, or the zygote of several. */

int asked_open(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT) };
	auto_fd fd = -1;

	if (inet_pton(AF_INET, PLAN_SERVER_LOCAL, &a.sin_addr) != 1)
		return -EINVAL;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return fd_take(&fd);
}

void asked_begin(struct asked_socket *a, int rules)
{
	int pair[2] = { -1, -1 };
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		a->link = pair[1];
		pid = spawn_confined(rules, asked_serve, a);
	}
	fd_close(&pair[1]);
	fd_close(&a->server);
	if (pid < 0)
		fd_close(&pair[0]);
	a->link = pair[0];
}

/* From a process that may be the attacker's by now. */
static bool asked_is_name(const struct asked_name *m)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	const size_t len = strnlen(m->name, sizeof(m->name));

	return len > 0 && len < sizeof(m->name) &&
	       (strcmp(m->name, "*") == 0 || strspn(m->name, plain) == len);
}

int asked_hear(struct asked_socket *a, struct asked_name *ret)
{
	struct asked_name m;
	ssize_t n = recv(a->link, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(m) || !asked_is_name(&m)) {
		fd_close(&a->link);
		return -EPIPE;
	}
	*ret = m;
	return 1;
}

void asked_done(const struct asked_socket *a)
{
	(void)send(a->link, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void asked_end(struct asked_socket *a)
{
	fd_close(&a->link);
	fd_close(&a->server);
}
