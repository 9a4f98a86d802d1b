/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	BYTES_MAX = TLS_HELLO_MAX,
	READ_MAX = 16 << 10,
	ALL_KEPT_MAX =
		64 << 20, /* of all connections: it is the relay's memory, not the command's */
	SAID_BYTES_ALL = 16 << 20,
	SAID_WORDS = 4,
};

/* What was kept, and what came after it. One loop, one thread: it is used before the next call. */
static uint8_t bytes[BYTES_MAX];
static size_t all_kept, all_said;

/* What was said. */

static void gate_said_forget(struct gate_said *s)
{
	free(s->words);
	all_said -= s->len;
	*s = (struct gate_said){ 0 };
}

static void gate_said_keep(
	struct gate_said *s, enum said_kind kind, const char *const *words, size_t n)
{
	size_t len = 0;
	char *to;

	gate_said_forget(s);
	s->kind = SAID_FORGOTTEN;
	for (size_t i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	if (len > SAID_BYTES_MAX || len > SAID_BYTES_ALL - all_said)
		return;
	s->words = to = malloc(len);
	if (!to)
		return;
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, words[i]) + 1;
	all_said += len;
	s->len = len;
	s->kind = kind;
}

bool gate_review(struct gate *g, struct net_judgement *ret)
{
	const struct gate_said *s = &g->said;
	struct tls_hello hello = { .has_name = s->kind == SAID_NAME };
	const char *words[SAID_WORDS] = { s->words, "", "", "" };
	struct http_request request = { .port = s->port, .upgrade = s->upgrade };

	switch (s->kind) {
	case SAID_NOTHING:
		return true;
	case SAID_NAMELESS:
	case SAID_NAME:
		if (hello.has_name)
			(void)snprintf(hello.name, sizeof(hello.name), "%s", s->words);
		return judge_hello(g->judge, g->destination, &hello, ret);
	case SAID_UNSEEN:
		return judge_unseen(g->judge, g->destination, "HTTP/2 without TLS", ret);
	case SAID_REQUEST:
		for (size_t i = 1; i < (s->upgrade ? SAID_WORDS : SAID_WORDS - 1); i++)
			words[i] = words[i - 1] + strlen(words[i - 1]) + 1;
		request.method = words[0];
		request.host = words[1];
		request.path = words[2];
		request.upgrade_to = words[3];
		return (s->agreed ? judge_http_agreed : judge_http)(
			g->judge, g->destination, &request, ret);
	case SAID_FORGOTTEN:
		break;
	}
	return judge_refuse(g->destination, ret,
		"the policy changed, and the connection cannot be checked again");
}

/* What is kept. */

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

static int gate_await_more(struct gate *g, size_t n)
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

static int gate_pass_all(struct gate *g, struct pump *p, size_t n)
{
	g->state = GATE_OPEN;
	return gate_pass(g, p, n, UINT64_MAX);
}

static int gate_judge_tls(struct gate *g, struct pump *p, size_t n, bool last)
{
	struct tls_hello hello;
	const char *const name = hello.name;
	int r = tls_hello_parse(&hello, bytes, n);

	if (r == -EAGAIN && !last && n < BYTES_MAX)
		return gate_await_more(g, n);
	if (r < 0)
		return gate_refuse(g, "it starts like TLS, but the ClientHello is malformed");
	if (!judge_hello(g->judge, g->destination, &hello, g->refused))
		return -EACCES;
	gate_said_forget(&g->said);
	/* The name that it is connected to is judged anyway. */
	if (!hello.has_name)
		g->said.kind = SAID_NAMELESS;
	else if (!g->destination->name || strcmp(g->destination->name, name) != 0)
		gate_said_keep(&g->said, SAID_NAME, &name, 1);
	/* Until it is answered, it is not known whether it is the last one. */
	g->state = GATE_HELLO;
	p->streams[PUMP_OUTER].allowed = 0;
	return gate_pass(g, p, n, hello.len);
}

/* Requests of HTTP. */

static void gate_forget_asked(struct gate *g)
{
	free(g->asked);
	g->asked = NULL;
	g->asking = GATE_NOT_ASKED;
}

/* About a request that the policy asks about. */
static int gate_ask(struct gate *g, const struct http_request *r, bool *ret_agreed)
{
	char shown[NET_REQUEST_BYTES];

	if (!g->ask || !judge_show_request(g->destination, r, shown))
		return -EACCES;
	if (g->asking != GATE_NOT_ASKED && strcmp(g->asked, shown) != 0)
		return -EACCES;
	switch (g->asking) {
	case GATE_NOT_ASKED:
		g->asked = strdup(shown);
		if (!g->asked)
			return -ENOMEM;
		if (!g->ask(g, shown))
			return -EACCES;
		g->asking = GATE_ASKED;
		return HTTP_HOLD;
	case GATE_ASKED:
		return HTTP_HOLD;
	case GATE_AGREED:
		*ret_agreed = true;
		return judge_http_agreed(g->judge, g->destination, r, g->refused) ? 0 : -EACCES;
	case GATE_NOT_AGREED:
		break;
	}
	return -EACCES;
}

void gate_answer(struct gate *g, bool agreed)
{
	if (g->asking == GATE_ASKED)
		g->asking = agreed ? GATE_AGREED : GATE_NOT_AGREED;
}

void gate_resume(struct pump *p)
{
	struct pump_stream *s = &p->streams[PUMP_INNER];

	s->waiting = s->asks = false;
	pump_again(p);
}

static int gate_on_request(void *context, const struct http_request *r)
{
	const char *const words[SAID_WORDS] = { r->method, r->host, r->path, r->upgrade_to };
	struct gate *g = context;
	bool agreed = false;
	int error = 0;

	/* The answers to requests before it would have to be read to find the one to this. */
	if (r->upgrade && http_requests_count(g->http) > 1)
		return gate_refuse(g, "HTTP switches to another protocol after earlier requests");
	if (!judge_http(g->judge, g->destination, r, g->refused))
		error = g->refused->asks ? gate_ask(g, r, &agreed) : -EACCES;
	if (error != 0)
		return error;
	/* The answer is used up. */
	gate_forget_asked(g);
	gate_said_keep(&g->said, SAID_REQUEST, words, r->upgrade ? SAID_WORDS : SAID_WORDS - 1);
	g->said.agreed = agreed;
	g->said.port = r->port;
	g->said.upgrade = r->upgrade;
	return 0;
}

static int gate_feed(struct gate *g, struct pump *p, size_t n, bool last)
{
	struct pump_stream *s = &p->streams[PUMP_INNER];
	ssize_t passed = http_requests_feed(g->http, bytes, n);
	uint64_t body;

	if (passed == -EINVAL)
		return gate_refuse(g, "an ambiguous HTTP request");
	if (passed == -E2BIG)
		return gate_refuse(g, "an HTTP request with lines that are too long");
	if (passed < 0)
		return (int)passed;
	if (passed == 0 && (http_requests_stopped(g->http) || http_requests_held(g->http))) {
		s->held = s->waiting = true;
		s->asks = http_requests_held(g->http);
		/* The question has a time of its own. */
		g->seen = s->asks ? 0 : g->seen;
		return gate_keep(g, n, g->n_passed) < 0 ? -ENOBUFS : -EAGAIN;
	}
	if (passed == 0 && (last || n >= HTTP_HEAD_MAX))
		return gate_refuse(g, "an incomplete HTTP request");
	if (passed == 0)
		return gate_await_more(g, n);
	/* Before the request is passed on: the answer to it must not slip by. */
	if (http_requests_waits(g->http))
		p->streams[PUMP_OUTER].allowed = 0;
	body = http_requests_free_bytes(g->http);
	if (body == UINT64_MAX)
		return gate_pass_all(g, p, n);
	http_requests_skip(g->http, body);
	return gate_pass(g, p, n, (size_t)passed + body);
}

/* A hello without a name. TLS 1.3 cannot be asked for in it, so there is no second one. */
static int gate_judge_ssl2(struct gate *g, struct pump *p, size_t n)
{
	const struct tls_hello nameless = { 0 };

	if (!judge_hello(g->judge, g->destination, &nameless, g->refused))
		return -EACCES;
	gate_said_forget(&g->said);
	g->said.kind = SAID_NAMELESS;
	return gate_pass_all(g, p, n);
}

static int gate_judge_text(struct gate *g, struct pump *p, size_t n, bool last)
{
	enum http_looks looks = http_requests_looks(bytes, n);
	enum tls_ssl2 ssl2 = tls_hello_looks_ssl2(bytes, n);
	int r;

	if (ssl2 == TLS_SSL2_YES)
		return gate_judge_ssl2(g, p, n);
	if (ssl2 == TLS_SSL2_MAYBE && looks == HTTP_NO)
		looks = HTTP_MAYBE;

	switch (looks) {
	case HTTP_YES:
		r = http_requests_new(&g->http, gate_on_request, g);
		if (r < 0)
			return r;
		g->state = GATE_HTTP;
		return gate_feed(g, p, n, last);
	case HTTP_MAYBE:
		/* Without the end of a line, or too short for a hello of SSL 2. */
		r = pump_give(p, PUMP_INNER, bytes + g->n_passed, n - g->n_passed);
		return r < 0 ? r : gate_keep(g, n, n);
	case HTTP_2:
		if (!judge_unseen(g->judge, g->destination, "HTTP/2 without TLS", g->refused))
			return -EACCES;
		gate_said_forget(&g->said);
		g->said.kind = SAID_UNSEEN;
		break;
	case HTTP_NO:
		break;
	}
	return gate_pass_all(g, p, n);
}

static int gate_judge(struct gate *g, struct pump *p, size_t n, bool last)
{
	switch (g->state) {
	case GATE_FIRST:
		return tls_hello_is_likely(bytes[0]) ? gate_judge_tls(g, p, n, last)
						     : gate_judge_text(g, p, n, last);
	case GATE_RETRY:
		/* The hello once more, and records in front of it that servers skip. */
		if (bytes[0] == TLS_RECORD_HANDSHAKE || !tls_hello_is_likely(bytes[0]))
			return gate_judge_tls(g, p, n, last);
		if (n >= TLS_RECORD_HEAD)
			return gate_pass(g, p, n, tls_record_bytes(bytes));
		return last ? gate_refuse(g, "an incomplete TLS record") : gate_await_more(g, n);
	case GATE_HTTP:
		return gate_feed(g, p, n, last);
	case GATE_HELLO:
	case GATE_OPEN:
		return gate_pass_all(g, p, n);
	}
	return -EINVAL;
}

int gate_client(struct gate *g, struct pump *p)
{
	struct pump_stream *s = &p->streams[PUMP_INNER];
	size_t room = BYTES_MAX - g->n_kept;
	int n = 0;

	if (g->state == GATE_HELLO) {
		s->waiting = true;
		return -EAGAIN;
	}
	if (g->n_kept > 0)
		memcpy(bytes, g->kept, g->n_kept);
	if (!s->held) {
		n = gate_hear(recv(p->sides[PUMP_INNER].fd, bytes + g->n_kept,
			room < READ_MAX ? room : READ_MAX, MSG_DONTWAIT));
		if (n < 0)
			return n;
	}
	if (n == 0 && !s->held) {
		/* What is kept must be judged as it is. A reset is no message. */
		if (g->n_kept > g->n_passed && p->error == 0)
			return gate_judge(g, p, g->n_kept, true);
		s->ended = true;
		return 0;
	}
	s->held = false;
	return gate_judge(g, p, g->n_kept + (size_t)n, false);
}

/* epoll shall not tell of less than that any more. */
static int gate_set_least(int fd, size_t n)
{
	const int least = (int)n;

	return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0 ? -errno : 0;
}

static int gate_await_server(int fd, size_t n)
{
	int r = gate_set_least(fd, n);

	return r < 0 ? r : -EAGAIN;
}

/* *ret: how many bytes of the server may pass before it is looked at again. */
static int gate_judge_answer(struct gate *g, struct pump *p, bool last, uint64_t *ret)
{
	int fd = p->sides[PUMP_OUTER].fd;
	/* What servers send is only looked at. */
	int n = gate_hear(recv(fd, bytes, TLS_ANSWER_BYTES, MSG_PEEK | MSG_DONTWAIT));
	enum tls_answer answer;

	if (n < 0)
		return n;
	answer = tls_answer_parse(bytes, (size_t)n);
	if (answer == TLS_ANSWER_MORE && n > 0 && !last)
		return gate_await_server(fd, (size_t)n + 1);
	*ret = answer == TLS_ANSWER_OTHER ? tls_record_bytes(bytes) : UINT64_MAX;
	if (answer != TLS_ANSWER_OTHER) {
		g->state = answer == TLS_ANSWER_RETRY ? GATE_RETRY : GATE_OPEN;
		p->streams[PUMP_INNER].waiting = false;
	}
	return gate_set_least(fd, 1);
}

/* The answer to a request for another protocol, as it begins. */
static int gate_judge_upgrade(struct gate *g, struct pump *p, bool last)
{
	static const char accepted[] = "HTTP/1.1 101 ";
	const size_t len = sizeof(accepted) - 1;
	int fd = p->sides[PUMP_OUTER].fd;
	int n = gate_hear(recv(fd, bytes, len, MSG_PEEK | MSG_DONTWAIT));

	if (n < 0)
		return n;
	if ((size_t)n < len && !last)
		return gate_await_server(fd, len);
	http_requests_upgraded(g->http, (size_t)n == len && memcmp(bytes, accepted, len) == 0);
	p->streams[PUMP_INNER].waiting = false;
	return gate_set_least(fd, 1);
}

int gate_server(struct gate *g, struct pump *p, bool last)
{
	uint64_t allowed = UINT64_MAX;
	int r = 0;

	if (g->state == GATE_HELLO)
		r = gate_judge_answer(g, p, last, &allowed);
	else if (g->state == GATE_HTTP && http_requests_waits(g->http))
		r = gate_judge_upgrade(g, p, last);
	if (r == 0)
		p->streams[PUMP_OUTER].allowed = allowed;
	return r;
}

void gate_deinit(struct gate *g)
{
	gate_said_forget(&g->said);
	gate_forget_asked(g);
	http_requests_free(g->http);
	g->http = NULL;
	gate_forget(g);
}
