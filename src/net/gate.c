/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PEEK_BYTES = TLS_HELLO_MAX, PASSED_MAX = HTTP_HEAD_MAX };

/* What was passed on of a first line, and what came behind it. One loop, one thread: it is used
 * before the next call. */
static uint8_t bytes[PASSED_MAX + PEEK_BYTES];

static ssize_t peek(int fd, uint8_t *out, size_t size)
{
	ssize_t n = recv(fd, out, size, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 ? (errno == EINTR ? -EAGAIN : -errno) : n;
}

/* epoll shall not tell of less than that any more. */
static int set_least(int fd, size_t n)
{
	const int least = (int)n;

	return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0 ? -errno : 0;
}

static int await_more(struct gate *g, const struct pump *p, size_t seen)
{
	int r = set_least(p->sides[PUMP_INNER].fd, seen + 1);

	g->seen = seen;
	return r < 0 ? r : -EAGAIN;
}

static int pass(struct gate *g, struct pump *p, uint64_t n)
{
	int r = g->seen > 0 ? set_least(p->sides[PUMP_INNER].fd, 1) : 0;

	g->seen = 0;
	p->streams[PUMP_INNER].allowed = n;
	return r;
}

static int open_gate(struct gate *g, struct pump *p)
{
	g->state = GATE_OPEN;
	free(g->passed);
	g->passed = NULL;
	return pass(g, p, UINT64_MAX);
}

static int refuse(struct gate *g, const char *why)
{
	(void)judge_refuse(g->destination, g->refused, "%s", why);
	return -EACCES;
}

/* The hello of TLS. */

static int judge_tls(struct gate *g, struct pump *p, size_t n, bool last)
{
	struct tls_hello hello;
	int r = tls_hello_parse(&hello, bytes, n);

	if (r == -EAGAIN && !last && n < PEEK_BYTES)
		return await_more(g, p, n);
	if (r < 0)
		return refuse(g, "it begins like TLS, but its hello cannot be read");
	if (!judge_hello(g->judge, g->destination, &hello, g->refused))
		return -EACCES;
	return open_gate(g, p);
}

/* Requests of HTTP. */

static int on_request(void *context, const struct http_request *r)
{
	struct gate *g = context;

	/* The answers to requests before it would have to be read to find the one to this. */
	if (r->upgrade && http_requests_count(g->http) > 1)
		return refuse(g, "HTTP changes to another protocol after other requests");
	return judge_http(g->judge, g->destination, r, g->refused) ? 0 : -EACCES;
}

/* The server's answer decides what the bytes behind the request are. */
static int await_server(struct pump *p)
{
	p->streams[PUMP_INNER].waiting = true;
	p->streams[PUMP_OUTER].allowed = 0;
	return -EAGAIN;
}

static int await_head(struct gate *g, struct pump *p, size_t n, bool last)
{
	if (http_requests_waits(g->http))
		return await_server(p);
	if (last || n >= HTTP_HEAD_MAX)
		return refuse(g, "a request of HTTP that does not end");
	return await_more(g, p, n - g->n_passed);
}

static int feed(struct gate *g, struct pump *p, size_t n, bool last)
{
	ssize_t passed = http_requests_feed(g->http, bytes, n);

	if (passed == -EINVAL || passed == -E2BIG)
		return refuse(g, "a request of HTTP that servers could read in two ways");
	if (passed < 0)
		return (int)passed;
	if (passed == 0)
		return await_head(g, p, n, last);
	passed -= (ssize_t)g->n_passed;
	g->n_passed = 0;
	free(g->passed);
	g->passed = NULL;
	return pass(g, p, (uint64_t)passed);
}

static int begin_http(struct gate *g, struct pump *p, size_t n, bool last)
{
	int r = http_requests_new(&g->http, on_request, g);

	if (r < 0)
		return r;
	g->state = GATE_HTTP;
	return feed(g, p, n, last);
}

/* n bytes without the end of a line. */
static int pass_part(struct gate *g, struct pump *p, size_t n)
{
	size_t more = n - g->n_passed;

	if (n > PASSED_MAX)
		return refuse(g, "its first line does not end, and looks like HTTP");
	if (!g->passed)
		g->passed = malloc(PASSED_MAX);
	if (!g->passed)
		return -ENOMEM;
	memcpy(g->passed, bytes, n);
	g->n_passed = n;
	return pass(g, p, more);
}

static int judge_text(struct gate *g, struct pump *p, size_t n, bool last)
{
	switch (http_requests_looks(bytes, n)) {
	case HTTP_YES:
		return begin_http(g, p, n, last);
	case HTTP_2:
		if (!judge_nameless(g->judge, g->destination, "HTTP/2 without TLS", g->refused))
			return -EACCES;
		return open_gate(g, p);
	case HTTP_MAYBE:
		return pass_part(g, p, n);
	case HTTP_NO:
		return open_gate(g, p);
	}
	return -EINVAL;
}

/* The stream is at its end: the pump shall see that. */
static int pass_end(struct pump *p, enum pump_side from)
{
	p->streams[from].allowed = 1;
	return 0;
}

int gate_client(struct gate *g, struct pump *p, bool last)
{
	ssize_t n = peek(p->sides[PUMP_INNER].fd, bytes + g->n_passed, PEEK_BYTES);
	size_t all;

	if (n <= 0)
		return n < 0 ? (int)n : pass_end(p, PUMP_INNER);
	if (g->n_passed > 0)
		memcpy(bytes, g->passed, g->n_passed);
	all = (size_t)n + g->n_passed;
	if (g->state == GATE_HTTP)
		return feed(g, p, all, last);
	return tls_hello_is_likely(bytes[0]) ? judge_tls(g, p, all, last)
					     : judge_text(g, p, all, last);
}

/* The answer to a request for another protocol, as it begins. */
static int judge_upgrade(struct gate *g, struct pump *p, bool last)
{
	static const char accepted[] = "HTTP/1.1 101 ";
	const size_t len = sizeof(accepted) - 1;
	int fd = p->sides[PUMP_OUTER].fd;
	ssize_t n = peek(fd, bytes, len);

	if (n < 0)
		return (int)n;
	if ((size_t)n < len && !last) {
		int r = set_least(fd, len);

		return r < 0 ? r : -EAGAIN;
	}
	http_requests_upgraded(g->http, (size_t)n == len && memcmp(bytes, accepted, len) == 0);
	p->streams[PUMP_INNER].waiting = false;
	return set_least(fd, 1);
}

int gate_server(struct gate *g, struct pump *p, bool last)
{
	if (g->state == GATE_HTTP && http_requests_waits(g->http)) {
		int r = judge_upgrade(g, p, last);

		if (r < 0)
			return r;
	}
	p->streams[PUMP_OUTER].allowed = UINT64_MAX;
	return 0;
}

void gate_deinit(struct gate *g)
{
	http_requests_free(g->http);
	g->http = NULL;
	free(g->passed);
	g->passed = NULL;
}
