/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	BYTES_MAX = TLS_HELLO_MAX,
	READ_MAX = 16 << 10,
	ALL_KEPT_MAX =
		64 << 20, /* of all connections: it is the relay's memory, not the command's */
};

/* What was kept, and what came behind it. One loop, one thread: it is used before the next call. */
static uint8_t bytes[BYTES_MAX];
static size_t all_kept;

static int gate_hear(ssize_t n)
{
	return n < 0 ? (errno == EINTR ? -EAGAIN : -errno) : (int)n;
}

static int gate_refuse(struct gate *g, const char *why)
{
	(void)judge_refuse(g->destination, g->refused, "%s", why);
	return -EACCES;
}

static void gate_forget(struct gate *g)
{
	free(g->kept);
	g->kept = NULL;
	all_kept -= g->n_kept;
	g->n_kept = g->n_passed = 0;
}

/* Of the n bytes, the first `passed` are on their way; all of them have to be judged once more. */
static int gate_keep(struct gate *g, size_t n, size_t passed)
{
	uint8_t *copy;

	if (n == 0 || all_kept - g->n_kept + n > ALL_KEPT_MAX)
		return -ENOBUFS;
	copy = realloc(g->kept, n);
	if (!copy)
		return -ENOMEM;
	all_kept += n - g->n_kept;
	memcpy(copy, bytes, n);
	g->kept = copy;
	g->n_kept = n;
	g->n_passed = passed;
	return 0;
}

static int await_more(struct gate *g, size_t n)
{
	int r = gate_keep(g, n, g->n_passed);

	g->seen = n - g->n_passed;
	return r < 0 ? r : -EAGAIN;
}

/*
 * The first `count` of n bytes pass. If that is more than there are, so do those that come next,
 * unseen. What is behind them is judged by itself.
 */
static int gate_pass(struct gate *g, struct pump *p, size_t n, uint64_t count)
{
	size_t here = count < n ? (size_t)count : n;
	int r = pump_give(p, PUMP_INNER, bytes + g->n_passed, here - g->n_passed);

	if (r < 0)
		return r;
	g->seen = 0;
	g->n_passed = 0;
	p->streams[PUMP_INNER].held = here < n;
	p->streams[PUMP_INNER].allowed = count == UINT64_MAX ? count : count - here;
	if (here == n) {
		gate_forget(g);
		return 0;
	}
	memmove(bytes, bytes + here, n - here);
	return gate_keep(g, n - here, 0);
}

static int open_gate(struct gate *g, struct pump *p, size_t n)
{
	g->state = GATE_OPEN;
	return gate_pass(g, p, n, UINT64_MAX);
}

/* The hello of TLS. */

static int judge_tls(struct gate *g, struct pump *p, size_t n, bool last)
{
	struct tls_hello hello;
	int r = tls_hello_parse(&hello, bytes, n);

	if (r == -EAGAIN && !last && n < BYTES_MAX)
		return await_more(g, n);
	if (r < 0)
		return gate_refuse(g, "it begins like TLS, but its hello cannot be read");
	if (!judge_hello(g->judge, g->destination, &hello, g->refused))
		return -EACCES;
	said_hello(&g->said, g->destination, &hello);
	/* Until it is answered, nobody knows whether it is the last one. */
	g->state = GATE_HELLO;
	p->streams[PUMP_OUTER].allowed = 0;
	return gate_pass(g, p, n, hello.len);
}

/* Behind the request to say it again: the hello, and records in front of it that servers skip. */
static int judge_retry(struct gate *g, struct pump *p, size_t n, bool last)
{
	if (bytes[0] == TLS_RECORD_HANDSHAKE || !tls_hello_is_likely(bytes[0]))
		return judge_tls(g, p, n, last);
	if (n < TLS_RECORD_HEAD)
		return last ? gate_refuse(g, "TLS that ends within a record") : await_more(g, n);
	return gate_pass(g, p, n, tls_record_bytes(bytes));
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
		return gate_refuse(g, "HTTP changes to another protocol after other requests");
	if (!judge_http(g->judge, g->destination, r, g->refused))
		return -EACCES;
	said_request(&g->said, r);
	return 0;
}

static int await_head(struct gate *g, struct pump *p, size_t n, bool last)
{
	if (http_requests_stopped(g->http)) {
		p->streams[PUMP_INNER].held = true;
		return gate_keep(g, n, g->n_passed) < 0 ? -ENOBUFS : await_server(p);
	}
	if (last || n >= HTTP_HEAD_MAX)
		return gate_refuse(g, "a request of HTTP that does not end");
	return await_more(g, n);
}

/* The first `passed` of n bytes, and the body that follows. */
static int pass_request(struct gate *g, struct pump *p, size_t n, size_t passed)
{
	uint64_t body = http_requests_free_bytes(g->http);

	/* Before the request is passed on: the answer to it must not slip by. */
	if (http_requests_waits(g->http))
		p->streams[PUMP_OUTER].allowed = 0;
	if (body == UINT64_MAX)
		return open_gate(g, p, n);
	http_requests_skip(g->http, body);
	return gate_pass(g, p, n, passed + body);
}

static int feed(struct gate *g, struct pump *p, size_t n, bool last)
{
	ssize_t passed = http_requests_feed(g->http, bytes, n);

	if (passed == -EINVAL)
		return gate_refuse(g, "a request of HTTP that servers could read in two ways");
	if (passed == -E2BIG)
		return gate_refuse(g, "a request of HTTP with lines that are too long");
	if (passed < 0)
		return (int)passed;
	if (passed == 0)
		return await_head(g, p, n, last);
	return pass_request(g, p, n, (size_t)passed);
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
	int r = pump_give(p, PUMP_INNER, bytes + g->n_passed, n - g->n_passed);

	return r < 0 ? r : gate_keep(g, n, n);
}

static int judge_text(struct gate *g, struct pump *p, size_t n, bool last)
{
	switch (http_requests_looks(bytes, n)) {
	case HTTP_YES:
		return begin_http(g, p, n, last);
	case HTTP_2:
		if (!judge_unseen(g->judge, g->destination, "HTTP/2 without TLS", g->refused))
			return -EACCES;
		said_unseen(&g->said);
		return open_gate(g, p, n);
	case HTTP_MAYBE:
		return pass_part(g, p, n);
	case HTTP_NO:
		return open_gate(g, p, n);
	}
	return -EINVAL;
}

static int gate_judge(struct gate *g, struct pump *p, size_t n, bool last)
{
	switch (g->state) {
	case GATE_FIRST:
		return tls_hello_is_likely(bytes[0]) ? judge_tls(g, p, n, last)
						     : judge_text(g, p, n, last);
	case GATE_RETRY:
		return judge_retry(g, p, n, last);
	case GATE_HTTP:
		return feed(g, p, n, last);
	case GATE_HELLO:
	case GATE_OPEN:
		return open_gate(g, p, n);
	}
	return -EINVAL;
}

/* What is kept must be judged, though it is not all that was hoped for. A reset is no message. */
static int end_client(struct gate *g, struct pump *p)
{
	if (g->n_kept > g->n_passed && p->error == 0)
		return gate_judge(g, p, g->n_kept, true);
	p->streams[PUMP_INNER].ended = true;
	return 0;
}

static int gate_read_more(struct gate *g, const struct pump *p)
{
	size_t room = BYTES_MAX - g->n_kept;

	return gate_hear(recv(p->sides[PUMP_INNER].fd, bytes + g->n_kept,
		room < READ_MAX ? room : READ_MAX, MSG_DONTWAIT));
}

int gate_client(struct gate *g, struct pump *p)
{
	int n = 0;

	if (g->state == GATE_HELLO)
		return await_server(p);
	if (g->n_kept > 0)
		memcpy(bytes, g->kept, g->n_kept);
	if (!p->streams[PUMP_INNER].held) {
		n = gate_read_more(g, p);
		if (n < 0)
			return n;
		if (n == 0)
			return end_client(g, p);
	}
	p->streams[PUMP_INNER].held = false;
	return gate_judge(g, p, g->n_kept + (size_t)n, false);
}

/* What servers send is only looked at. */
static int gate_peek(int fd, size_t size)
{
	return gate_hear(recv(fd, bytes, size, MSG_PEEK | MSG_DONTWAIT));
}

/* epoll shall not tell of less than that any more. */
static int set_least(int fd, size_t n)
{
	const int least = (int)n;

	return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0 ? -errno : 0;
}

/* *ret: how many bytes of the server may pass before it is looked at again. */
static int judge_hello_answer(struct gate *g, struct pump *p, bool last, uint64_t *ret)
{
	int fd = p->sides[PUMP_OUTER].fd;
	int n = gate_peek(fd, TLS_ANSWER_BYTES);
	enum tls_answer answer;
	int r;

	if (n < 0)
		return n;
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
	int n = gate_peek(fd, len);

	if (n < 0)
		return n;
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

bool gate_review(struct gate *g, struct net_judgement *ret)
{
	return said_judge(&g->said, g->judge, g->destination, ret);
}

void gate_deinit(struct gate *g)
{
	said_deinit(&g->said);
	http_requests_free(g->http);
	g->http = NULL;
	gate_forget(g);
}
