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

static int refuse(struct gate *g, const char *why)
{
	(void)judge_refuse(g->destination, g->refused, "%s", why);
	return -EACCES;
}

static bool has_urgent(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_OOB | MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EINVAL;
}

/* What is behind urgent data cannot be looked at, but epoll would tell of it for ever. */
static int await_more(struct gate *g, const struct pump *p, size_t seen)
{
	int fd = p->sides[PUMP_INNER].fd;
	int r = set_least(fd, seen + 1);

	g->seen = seen;
	if (has_urgent(fd))
		return refuse(g, "urgent data in its first message");
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
	/* Until it is answered, nobody knows whether it is the last one. */
	g->state = GATE_HELLO;
	p->streams[PUMP_OUTER].allowed = 0;
	return pass(g, p, hello.len);
}

/* Behind the request to say it again: the hello, and records in front of it that servers skip. */
static int judge_retry(struct gate *g, struct pump *p, size_t n, bool last)
{
	if (bytes[0] == TLS_RECORD_HANDSHAKE || !tls_hello_is_likely(bytes[0]))
		return judge_tls(g, p, n, last);
	if (n < TLS_RECORD_HEAD)
		return last ? refuse(g, "TLS that ends within a record") : await_more(g, p, n);
	return pass(g, p, tls_record_bytes(bytes));
}

static int await_server(struct pump *p)
{
	p->streams[PUMP_INNER].waiting = true;
	return -EAGAIN;
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

static int await_head(struct gate *g, struct pump *p, size_t n, bool last)
{
	if (http_requests_stopped(g->http))
		return await_server(p);
	if (last || n >= HTTP_HEAD_MAX)
		return refuse(g, "a request of HTTP that does not end");
	return await_more(g, p, n - g->n_passed);
}

/* Of the bytes, and of the body that follows. */
static int pass_request(struct gate *g, struct pump *p, size_t n)
{
	uint64_t body = http_requests_free_bytes(g->http);

	free(g->passed);
	g->passed = NULL;
	g->n_passed = 0;
	/* Before the request is passed on: the answer to it must not slip by. */
	if (http_requests_waits(g->http))
		p->streams[PUMP_OUTER].allowed = 0;
	if (body == UINT64_MAX)
		return open_gate(g, p);
	http_requests_skip(g->http, body);
	return pass(g, p, n + body);
}

static int feed(struct gate *g, struct pump *p, size_t n, bool last)
{
	ssize_t passed = http_requests_feed(g->http, bytes, n);

	if (passed == -EINVAL)
		return refuse(g, "a request of HTTP that servers could read in two ways");
	if (passed == -E2BIG)
		return refuse(g, "a request of HTTP with lines that are too long");
	if (passed < 0)
		return (int)passed;
	if (passed == 0)
		return await_head(g, p, n, last);
	return pass_request(g, p, (size_t)passed - g->n_passed);
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
	switch (g->state) {
	case GATE_FIRST:
		return tls_hello_is_likely(bytes[0]) ? judge_tls(g, p, all, last)
						     : judge_text(g, p, all, last);
	case GATE_HELLO:
		return await_server(p);
	case GATE_RETRY:
		return judge_retry(g, p, all, last);
	case GATE_HTTP:
		return feed(g, p, all, last);
	case GATE_OPEN:
		return open_gate(g, p);
	}
	return -EINVAL;
}

/* *ret: how many bytes of the server may pass before it is looked at again. */
static int judge_hello_answer(struct gate *g, struct pump *p, bool last, uint64_t *ret)
{
	int fd = p->sides[PUMP_OUTER].fd;
	ssize_t n = peek(fd, bytes, TLS_ANSWER_BYTES);
	enum tls_answer answer;
	int r;

	if (n < 0)
		return (int)n;
	answer = tls_answer_parse(bytes, (size_t)n);
	if (answer == TLS_ANSWER_MORE && n > 0 && !last) {
		r = set_least(fd, (size_t)n + 1);
		return r < 0 ? r : -EAGAIN;
	}
	*ret = answer == TLS_ANSWER_OTHER ? tls_record_bytes(bytes) : UINT64_MAX;
	if (answer != TLS_ANSWER_OTHER) {
		g->state = answer == TLS_ANSWER_RETRY ? GATE_RETRY : GATE_OPEN;
		p->streams[PUMP_INNER].waiting = false;
	}
	return set_least(fd, 1);
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
	uint64_t allowed = UINT64_MAX;
	int r = 0;

	if (g->state == GATE_HELLO)
		r = judge_hello_answer(g, p, last, &allowed);
	else if (g->state == GATE_HTTP && http_requests_waits(g->http))
		r = judge_upgrade(g, p, last);
	if (r == 0)
		p->streams[PUMP_OUTER].allowed = allowed;
	return r;
}

void gate_deinit(struct gate *g)
{
	http_requests_free(g->http);
	g->http = NULL;
	free(g->passed);
	g->passed = NULL;
}
