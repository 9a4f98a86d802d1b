/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client and a server over real TCP, with a pump and the gate between them, and a real policy.
 * What reaches the server is what counts: each test says what that is.
 */
#include "net/test/test-line.h"

#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"
#include "net/gate/gate.h"

struct line {
	struct pump pump;
	struct gate gate;
	struct destination destination;
	struct net_judge judge;
	struct policy *policy;
	struct net_judgement refused;
	int near, inner, outer, far;
	int n_done, error;
	int n_asked;
	char shown[NET_REQUEST_BYTES]; /* what was asked about last */
};

static int on_gate(struct pump *p, enum pump_side from, bool last)
{
	struct line *l = container_of(p, struct line, pump);

	l->gate.refused = &l->refused;
	return from == PUMP_INNER ? gate_client(&l->gate, p) : gate_server(&l->gate, p, last);
}

static void on_done(struct pump *p, int error)
{
	struct line *l = container_of(p, struct line, pump);

	l->n_done++;
	l->error = error;
	pump_reset(fd_take(&l->inner));
	pump_reset(fd_take(&l->outer));
}

static const char exact[] = "network: {allow: ['a.com', '1.2.3.4']}";
static const char wild[] = "network: {allow: ['*.com']}";

static void start_line(struct line *l, const char *policy, const char *name)
{
	const int on = 1;
	int pair[2];

	*l = (struct line){ .policy = test_compile(policy) };
	judge_init(&l->judge, l->policy);
	l->destination = (struct destination){ .name = name, .port = 80 };
	if (!name)
		l->destination.address = (struct address){ .bits = 32, .bytes = { 1, 2, 3, 4 } };
	l->gate.judge = &l->judge;
	l->gate.destination = &l->destination;
	assert_int_equal(tcp_pair(pair), 0);
	l->near = pair[0];
	l->inner = pair[1];
	assert_int_equal(tcp_pair(pair), 0);
	l->outer = pair[0];
	l->far = pair[1];
	assert_int_equal(setsockopt(l->near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(l->outer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(l->inner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(l->far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	make_nonblocking(l->inner);
	make_nonblocking(l->outer);
	l->pump.done = on_done;
	l->pump.gate = on_gate;
	assert_int_equal(pump_start(&l->pump, room, l->inner, l->outer), 0);
}

static void end_line(struct line *l)
{
	if (l->n_done == 0)
		pump_stop(&l->pump);
	gate_deinit(&l->gate);
	policy_free(l->policy);
	fd_close(&l->near);
	fd_close(&l->inner);
	fd_close(&l->outer);
	fd_close(&l->far);
}

static int setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pump_room_new(&room, loop), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pump_room_free(room);
	loop_free(loop);
	return 0;
}

/* The connection is over, for a reason that has this in it. */
static void check_reason(const struct line *l, const char *reason)
{
	while (l->n_done == 0)
		turn();
	assert_int_equal(l->error, -EACCES);
	if (!strstr(l->refused.reason, reason))
		fail_msg("<%s> wanted: <%s>", reason, l->refused.reason);
}

/* And nothing more reaches the server. */
static void check_refused(const struct line *l, const char *reason)
{
	char byte;

	check_reason(l, reason);
	assert_int_equal(recv(l->far, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void check_silent(const struct line *l)
{
	char byte;

	settle();
	assert_int_equal(l->n_done, 0);
	assert_int_equal(recv(l->far, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* TLS. */

struct bytes {
	uint8_t data[1024];
	size_t n;
};

static void add(struct bytes *b, const void *data, size_t n)
{
	assert_true(n <= sizeof(b->data) - b->n);
	memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void add_number(struct bytes *b, size_t bytes, size_t value)
{
	for (size_t i = bytes; i > 0; i--)
		add(b, &(uint8_t){ (uint8_t)(value >> 8 * (i - 1)) }, 1);
}

/* The name may be NULL; ech: with the extension that hides another. */
static struct bytes make_hello(const char *name, bool ech)
{
	struct bytes all = { 0 }, body = { 0 }, extensions = { 0 };
	size_t n = name ? strlen(name) : 0;

	if (name) {
		add_number(&extensions, 2, 0);
		add_number(&extensions, 2, n + 5);
		add_number(&extensions, 2, n + 3);
		add_number(&extensions, 1, 0);
		add_number(&extensions, 2, n);
		add(&extensions, name, n);
	}
	if (ech)
		add(&extensions, "\xfe\x0d\0\4ECH.", 8);
	add(&extensions, "\0\x2b\0\3\2\3\4", 7);
	add(&body, "\3\3", 2);
	add(&body, "01234567890123456789012345678901", 32);
	add(&body, "\0\0\2\x13\1\1\0", 7);
	add_number(&body, 2, extensions.n);
	add(&body, extensions.data, extensions.n);
	add(&all, "\x16\3\1", 3);
	add_number(&all, 2, body.n + 4);
	add_number(&all, 1, 1);
	add_number(&all, 3, body.n);
	add(&all, body.data, body.n);
	return all;
}

static void say_bytes(int fd, const uint8_t *data, size_t n)
{
	assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
}

static void hear_bytes(int fd, const uint8_t *data, size_t n)
{
	uint8_t got[4096];
	size_t have = 0;

	assert_true(n <= sizeof(got));

	while (have < n) {
		ssize_t r = recv(fd, got + have, n - have, MSG_DONTWAIT);

		assert_true(r > 0 || (r < 0 && errno == EAGAIN));
		if (r > 0)
			have += (size_t)r;
		else
			turn();
	}
	assert_memory_equal(got, data, n);
}

static const struct {
	const char *policy, *name, *sni;
	bool ech;
	const char *refused; /* a part of the reason; NULL: it passes */
} hellos[] = {
	{ exact, "a.com", "a.com", false, NULL },
	{ exact, "a.com", "A.Com", false, NULL },
	{ exact, "a.com", NULL, false, NULL },
	{ wild, "a.com", "a.com", false, NULL },
	{ wild, "a.com", NULL, false, "TLS without a server name" },
	{ exact, "a.com", "b.com", false, "TLS asks for b.com, but the connection is to a.com" },
	{ wild, "a.com", "b.com", false, "TLS asks for b.com, but the connection is to a.com" },
	/* The outer name is the one that is judged. */
	{ wild, "a.com", "a.com", true, NULL },
	{ exact, "a.com", "b.com", true, "TLS asks for b.com" },
	{ exact, NULL, "b.com", false, NULL },
	{ exact, NULL, NULL, false, NULL },
	{ "network: {allow: ['1.2.3.4'], deny: [b.com]}", NULL, "b.com", false,
		"network.deny denies b.com" },
	{ exact, "a.com", "a..com", false, "it starts like TLS, but the ClientHello is malformed" },
};

static void test_hello(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(hellos); i++) {
		struct bytes hello = make_hello(hellos[i].sni, hellos[i].ech);
		struct line l;

		start_line(&l, hellos[i].policy, hellos[i].name);
		say_bytes(l.near, hello.data, hello.n);
		if (hellos[i].refused) {
			check_refused(&l, hellos[i].refused);
		} else {
			hear_bytes(l.far, hello.data, hello.n);
			say(l.far, "server's turn");
			hear(l.near, "server's turn");
			say(l.near, "GET / HTTP/1.1\r\nhost: x.com\r\n\r\n");
			hear(l.far, "GET / HTTP/1.1\r\nhost: x.com\r\n\r\n");
		}
		end_line(&l);
	}
}

/* Nothing passes before it is complete, and nobody is woken up in vain. */
static void test_hello_in_pieces(void **state)
{
	struct bytes hello = make_hello("a.com", false);

	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		struct line l;

		start_line(&l, exact, wrong ? "b.com" : "a.com");
		for (size_t i = 0; i < hello.n; i++) {
			while (l.gate.seen < i)
				turn();
			check_silent(&l);
			say_bytes(l.near, hello.data + i, 1);
		}
		if (wrong)
			check_refused(&l, "TLS asks for a.com");
		else
			hear_bytes(l.far, hello.data, hello.n);
		assert_int_equal(l.gate.seen, wrong ? hello.n - 1 : 0);
		end_line(&l);
	}
}

static void test_hello_never_complete(void **state)
{
	struct bytes hello = make_hello("a.com", false);
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say_bytes(l.near, hello.data, hello.n - 1);
	check_silent(&l);
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	check_refused(&l, "it starts like TLS, but the ClientHello is malformed");
	end_line(&l);
	/* A reset is no message. */
	start_line(&l, exact, "a.com");
	say_bytes(l.near, hello.data, hello.n - 1);
	check_silent(&l);
	pump_reset(fd_take(&l.near));
	while (l.n_done == 0)
		turn();
	assert_int_equal(l.error, -ECONNRESET);
	end_line(&l);
}

/* A ServerHello, as far as it is looked at; or the request to say the hello again. */
static struct bytes make_answer(bool retry)
{
	static const char again[] =
		"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
		"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";
	struct bytes b = { 0 };

	add(&b, "\x16\3\3\0\x2c\2\0\0\x28\3\3", 11);
	add(&b, retry ? again : "01234567890123456789012345678901", 32);
	add(&b, "\0\x13\1\0\0\0", 6);
	return b;
}

static const uint8_t change[] = "\x14\3\3\0\1\1", early_data[] = "\x17\3\3\0\5early";
enum { CHANGE_BYTES = sizeof(change) - 1, EARLY_BYTES = sizeof(early_data) - 1 };

/* A hello passed, something after it waits, and the server wants another hello. */
static void start_again(struct line *l)
{
	struct bytes hello = make_hello("a.com", false), retry = make_answer(true);

	start_line(l, exact, "a.com");
	say_bytes(l->near, hello.data, hello.n);
	say_bytes(l->near, early_data, EARLY_BYTES);
	hear_bytes(l->far, hello.data, hello.n);
	check_silent(l);
	say_bytes(l->far, retry.data, 20);
	check_silent(l);
	say_bytes(l->far, retry.data + 20, retry.n - 20);
	hear_bytes(l->near, retry.data, retry.n);
	hear_bytes(l->far, early_data, EARLY_BYTES);
}

/* The second hello is judged like the first, whatever stands before it. */
static void test_hello_again(void **state)
{
	struct bytes answer = make_answer(false);

	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		struct bytes second = make_hello(wrong ? "b.com" : "a.com", false);
		struct line l;

		start_again(&l);
		say_bytes(l.near, change, CHANGE_BYTES);
		say_bytes(l.near, second.data, second.n);
		if (wrong) {
			check_reason(&l, "TLS asks for b.com");
			/* The first one was as long. */
			assert_int_equal(l.pump.streams[PUMP_INNER].moved,
				second.n + EARLY_BYTES + CHANGE_BYTES);
		} else {
			hear_bytes(l.far, change, CHANGE_BYTES);
			hear_bytes(l.far, second.data, second.n);
			say_bytes(l.far, change, CHANGE_BYTES);
			say_bytes(l.far, answer.data, answer.n);
			hear_bytes(l.near, change, CHANGE_BYTES);
			hear_bytes(l.near, answer.data, answer.n);
			say(l.near, "anything");
			hear(l.far, "anything");
		}
		end_line(&l);
	}
}

/* There are servers that pass over an alert. */
static void test_alert_first(void **state)
{
	struct bytes hello = make_hello("b.com", false);
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say_bytes(l.near, (const uint8_t *)"\x15\3\1\0\2\1\x70", 7);
	say_bytes(l.near, hello.data, hello.n);
	check_refused(&l, "it starts like TLS, but the ClientHello is malformed");
	end_line(&l);
}

/* What servers take for a hello without a name, though no record of TLS begins so. */
static void test_ssl2(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *policy;
		bool refused;
	} rows[] = {
#define REST                     \
	"\0\3\0\0\0\x10\0\0\x2f" \
	"0123456789abcdef"
#define SAID(text) text, sizeof(text) - 1
		{ SAID("\x80\x1c\1\3\3" REST), wild, true },
		{ SAID("\x80\x1c\1\3\3" REST), exact, false },
		{ SAID("\0\x1c\0\1\3\3" REST), wild, true },
		{ SAID("\0\x1c\0\1\3\3" REST), exact, false },
		{ SAID("\0\x1c\1\3\3" REST), wild, true },
		{ SAID("\0\x1c\1\3\3\0\3\0\n\0\x06\0\0\x2f"
		       "0123456789abcdef"),
			wild, true },
		/* A database, and others. */
		{ SAID("\x20\0\0\1\x85\xae\xff\1\0\0\0\1\x2d"), wild, false },
		{ SAID("\x80\1\0\1\n\0\0\0\0\0\0\0\0"), wild, false },
		{ SAID("\5\3\0\1\2"), wild, false },
#undef SAID
#undef REST
	};

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(rows); i++) {
		const uint8_t *said = (const uint8_t *)rows[i / 2].bytes;
		size_t n = rows[i / 2].n, piece = i % 2 ? 1 : n;
		struct line l;

		start_line(&l, rows[i / 2].policy, "a.com");
		for (size_t at = 0; at < n && l.n_done == 0; at += piece) {
			(void)send(l.near, said + at, piece, MSG_NOSIGNAL);
			settle();
		}
		if (rows[i / 2].refused) {
			check_reason(&l, "TLS without a server name");
			/* No server answers to so few. */
			assert_true(l.pump.streams[PUMP_INNER].moved < TLS_SSL2_BYTES);
		} else {
			hear_bytes(l.far, said, n);
			say(l.far, "answer");
			hear(l.near, "answer");
			say(l.near, "more\n");
			hear(l.far, "more\n");
		}
		end_line(&l);
	}
}

/* Judged once more when the policy changes. */
static void test_ssl2_review(void **state)
{
	static const char hello[] = "\x80\x1c\1\3\3\0\3\0\0\0\x10\0\0\x2f"
				    "0123456789abcdef";
	struct net_judgement why;
	struct policy *other;
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say_bytes(l.near, (const uint8_t *)hello, sizeof(hello) - 1);
	hear_bytes(l.far, (const uint8_t *)hello, sizeof(hello) - 1);
	assert_true(gate_review(&l.gate, &why));
	other = test_compile(wild);
	judge_init(&l.judge, other);
	assert_false(gate_review(&l.gate, &why));
	policy_free(other);
	end_line(&l);
}

/* It is no part of the stream, and does not keep from reading what is behind it. */
static void test_urgent(void **state)
{
	struct bytes hello = make_hello("a.com", false);
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say_bytes(l.near, hello.data, 7);
	assert_int_equal(send(l.near, "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
	say_bytes(l.near, hello.data + 7, 20);
	check_silent(&l);
	say_bytes(l.near, hello.data + 27, hello.n - 27);
	hear_bytes(l.far, hello.data, hello.n);
	end_line(&l);
}

/* Plain HTTP. */

#define GET_A "GET / HTTP/1.1\r\nHost: a.com\r\n\r\n"
#define GET_B "GET / HTTP/1.1\r\nHost: b.com\r\n\r\n"
#define POST_A "POST /x HTTP/1.1\r\nHost: a.com\r\nContent-Length: 5\r\n\r\n"
#define CHUNKED_A "POST /x HTTP/1.1\r\nHost: a.com\r\nTransfer-Encoding: chunked\r\n\r\n"
#define NO_HOST "GET / HTTP/1.0\r\n\r\n"
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define TWO_WAYS "an ambiguous HTTP request"

static const struct {
	const char *policy, *name, *sent;
	const char *passed;  /* what reaches the server at least */
	const char *refused; /* a part of the reason; NULL: all of it passes */
} requests[] = {
	{ exact, "a.com", GET_A, GET_A, NULL },
	{ exact, "a.com", GET_A GET_A GET_A, GET_A GET_A GET_A, NULL },
	{ exact, "a.com", "\r\n\r\n" GET_A, "\r\n\r\n" GET_A, NULL },
	{ exact, "a.com", GET_B, "", "HTTP asks for b.com, but the connection is to a.com" },
	{ wild, "a.com", GET_B, "", "HTTP asks for b.com, but the connection is to a.com" },
	{ exact, "a.com", "\r\n" GET_B, "", "HTTP asks for b.com" },
	/* Another host after a request that is right. */
	{ exact, "a.com", GET_A GET_B, GET_A, "HTTP asks for b.com" },
	{ exact, "a.com", POST_A "12345" GET_B, POST_A "12345", "HTTP asks for b.com" },
	{ exact, "a.com", POST_A "12345" GET_A, POST_A "12345" GET_A, NULL },
	{ exact, "a.com", CHUNKED_A "3\r\nabc\r\n0\r\n\r\n" GET_B,
		CHUNKED_A "3\r\nabc\r\n0\r\n\r\n", "HTTP asks for b.com" },
	{ exact, "a.com", CHUNKED_A "3\r\nabc\r\n0\r\nX: y\r\n\r\n" GET_A,
		CHUNKED_A "3\r\nabc\r\n0\r\nX: y\r\n\r\n" GET_A, NULL },
	{ exact, "a.com", CHUNKED_A "zz\r\n", CHUNKED_A, TWO_WAYS },
	{ exact, "a.com", GET_A "GARBAGE", GET_A, NULL },
	/* Odd ones. */
	{ exact, "a.com", "GET /\1 HTTP/1.1\r\nhost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "(GET / HTTP/1.1\r\nhost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "get / http/1.1\r\nhost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "FROBNICATE / HTTP/1.1\r\nhost: b.com\r\n\r\n", "", "asks for b.com" },
	{ exact, "a.com", "GET  / HTTP/1.1\r\nhost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "GET\t/ HTTP/1.1\r\nhost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "GET / HTTP/1.1\nhost: b.com\n\n", "", TWO_WAYS },
	{ exact, "a.com", "GET /\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "GET / HTTP/1.1\r\nHost: a.com\r\nHost: b.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "GET http://b.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", "", TWO_WAYS },
	{ exact, "a.com", "GET / HTTP/1.1\r\nHost: a.com:81\r\n\r\n", "", "HTTP asks for port 81" },
	{ exact, "a.com", "GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n\r\n", "", "HTTP asks for 1.2.3.4" },
	/* Nobody says which host. */
	{ exact, "a.com", NO_HOST, NO_HOST, NULL },
	{ wild, "a.com", NO_HOST, "", "HTTP without a host" },
	{ exact, "a.com", PREFACE, PREFACE, NULL },
	{ wild, "a.com", PREFACE, "", "HTTP/2 without TLS" },
	{ exact, NULL, GET_A, GET_A, NULL },
	{ exact, "a.com", "CONNECT b.com:80 HTTP/1.1\r\nHost: b.com:80\r\n\r\n", "",
		"HTTP asks for b.com" },
	/* Methods. */
	{ "network: {allow: ['a.com'], methods: [GET]}", "a.com", GET_A, GET_A, NULL },
	{ "network: {allow: ['a.com'], methods: [GET]}", "a.com", GET_A POST_A "12345", GET_A,
		"network.methods does not include POST" },
	{ "network: {allow: ['a.com'], methods: [GET]}", "a.com", PREFACE, "",
		"HTTP/2 without TLS, so methods" },
	{ "network: {allow: ['a.com'], methods: [GET]}", "a.com",
		"GET / HTTP/1.1\r\nHost: a.com\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "",
		"another protocol, so methods" },
	/* Not HTTP at all. */
	{ exact, "a.com", "hello", "hello", NULL },
	{ exact, "a.com", "EHLO b.com\r\n", "EHLO b.com\r\n", NULL },
	{ exact, "a.com", "*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\r\n", NULL },
	{ exact, "a.com", "\1\2\3binary", "\1\2\3binary", NULL },
	{ wild, "a.com", "SSH-2.0-x\r\n" GET_B, "SSH-2.0-x\r\n" GET_B, NULL },
};

static void check_request(size_t i)
{
	struct line l;

	start_line(&l, requests[i].policy, requests[i].name);
	say(l.near, requests[i].sent);
	if (requests[i].passed[0])
		hear(l.far, requests[i].passed);
	if (requests[i].refused)
		check_refused(&l, requests[i].refused);
	else
		check_silent(&l);
	end_line(&l);
}

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++)
		check_request(i);
}

/* The same byte by byte. What is refused may reach the server up to the end of its first line. */
static void check_request_in_pieces(size_t i)
{
	char got[512] = "";
	size_t n = 0, fine = strlen(requests[i].passed), line;
	const char *sent = requests[i].sent;
	struct line l;
	ssize_t r;

	start_line(&l, requests[i].policy, requests[i].name);
	for (size_t k = 0; sent[k] && l.n_done == 0; k++) {
		(void)send(l.near, sent + k, 1, MSG_NOSIGNAL);
		settle();
		while ((r = recv(l.far, got + n, sizeof(got) - n - 1, MSG_DONTWAIT)) > 0)
			n += (size_t)r;
	}
	while (l.n_done == 0 && n < fine) {
		turn();
		r = recv(l.far, got + n, sizeof(got) - n - 1, MSG_DONTWAIT);
		n += r > 0 ? (size_t)r : 0;
	}
	while (requests[i].refused && l.n_done == 0)
		turn();
	line = fine ? 0 : strspn(sent, "\r\n") + strcspn(sent + strspn(sent, "\r\n"), "\n");
	assert_memory_equal(got, sent, n);
	assert_true(n >= fine);
	if (n > fine + line)
		fail_msg("<%s>: <%s> reached the server", sent, got);
	assert_int_equal(l.n_done, requests[i].refused ? 1 : 0);
	end_line(&l);
}

static void test_requests_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++)
		check_request_in_pieces(i);
}

/* Some servers take the end of the connection for the end of the line: of HTTP/0.9, where that is
 * a whole request. */
static void test_request_without_end(void **state)
{
	static const char *const sent[] = { "GET /a", "\r\nGET /a", "GET\t/a" };

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(sent); i++) {
		const char *text = sent[i / 2];
		char got[64];
		struct line l;
		ssize_t n;

		start_line(&l, exact, "a.com");
		if (i % 2 == 0)
			say(l.near, text);
		for (size_t k = 0; i % 2 && text[k]; k++) {
			(void)send(l.near, text + k, 1, MSG_NOSIGNAL);
			settle();
		}
		settle();
		/* Byte by byte, what stands before the space is passed. */
		n = recv(l.far, got, sizeof(got), MSG_DONTWAIT);
		if (n > 0 && memchr(got, '/', (size_t)n))
			fail_msg("%s: its path reached the server", text);
		(void)shutdown(l.near, SHUT_WR);
		check_refused(&l, "an incomplete HTTP request");
		end_line(&l);
	}
}

/* Requests that wait for the user. */

static bool on_ask(struct gate *g, const char *shown)
{
	struct line *l = container_of(g, struct line, gate);

	l->n_asked++;
	(void)snprintf(l->shown, sizeof(l->shown), "%s", shown);
	return true;
}

static const char asking[] = "network: {allow: [a.com]}\n"
			     "rules: [{id: r, action: ask, operations: [net.connect], patterns: "
			     "['http://a.com/admin/**']}]";

static void start_asking(struct line *l)
{
	start_line(l, asking, "a.com");
	l->gate.ask = on_ask;
}

static void check_asked(struct line *l, int n, const char *shown)
{
	while (l->n_done == 0 && l->n_asked < n)
		turn();
	check_silent(l);
	assert_int_equal(l->n_asked, n);
	assert_string_equal(l->shown, shown);
	assert_int_equal(l->gate.asking, GATE_ASKED);
	/* However long it takes: the time for a first message does not run. */
	assert_int_equal(l->gate.seen, 0);
}

static void agree(struct line *l)
{
	gate_answer(&l->gate, true);
	gate_resume(&l->pump);
}

#define GET_X(path) "GET " path " HTTP/1.1\r\nHost: a.com\r\n\r\n"
#define POST_X(path, body, length) \
	"POST " path " HTTP/1.1\r\nHost: a.com\r\nContent-Length: " length "\r\n\r\n" body

static void test_ask(void **state)
{
	struct line l;

	(void)state;
	start_asking(&l);
	say(l.near, GET_X("/") GET_X("/admin/a?b=c") GET_X("/admin/a?b=c") GET_X("/last"));
	hear(l.far, GET_X("/"));
	check_asked(&l, 1, "GET http://a.com:80/admin/a?b=c");
	/* What comes meanwhile waits, too. */
	say(l.near, GET_X("/behind"));
	check_asked(&l, 1, "GET http://a.com:80/admin/a?b=c");
	/* The answer is for the first of the two. */
	agree(&l);
	hear(l.far, GET_X("/admin/a?b=c"));
	check_asked(&l, 2, "GET http://a.com:80/admin/a?b=c");
	agree(&l);
	hear(l.far, GET_X("/admin/a?b=c") GET_X("/last") GET_X("/behind"));
	/* And is used up. */
	assert_int_equal(l.gate.asking, GATE_NOT_ASKED);
	gate_answer(&l.gate, true);
	assert_int_equal(l.gate.asking, GATE_NOT_ASKED);
	say(l.near, GET_X("/admin/a?b=c"));
	check_asked(&l, 3, "GET http://a.com:80/admin/a?b=c");
	gate_answer(&l.gate, false);
	gate_resume(&l.pump);
	check_refused(&l, "asks about");
	end_line(&l);
}

static void test_ask_body(void **state)
{
	struct line l;

	(void)state;
	start_asking(&l);
	say(l.near, POST_X("/admin/a", GET_X("/"), "31") GET_X("/admin/b"));
	check_asked(&l, 1, "POST http://a.com:80/admin/a");
	agree(&l);
	hear(l.far, POST_X("/admin/a", GET_X("/"), "31"));
	check_asked(&l, 2, "GET http://a.com:80/admin/b");
	end_line(&l);
}

/* Without a user, for another protocol, and for what is ambiguous: as ever. */
static void test_ask_not(void **state)
{
	static const struct {
		const char *sent, *reason;
		bool no_user;
	} cases[] = {
		{ GET_X("/admin/a"), "asks about", true },
		{ "GET /admin/a HTTP/1.1\r\nHost: a.com\r\nConnection: upgrade\r\n"
		  "Upgrade: websocket\r\n\r\n",
			"asks about", false },
		{ "GET /admin/a HTTP/1.1\r\nHost: a.com\r\nHost: a.com\r\n\r\n", "ambiguous",
			false },
		{ GET_X("/admin//a"), "ambiguous", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct line l;

		start_asking(&l);
		if (cases[i].no_user)
			l.gate.ask = NULL;
		say(l.near, cases[i].sent);
		check_refused(&l, cases[i].reason);
		assert_int_equal(l.n_asked, 0);
		end_line(&l);
	}
}

/* The client goes away: by a reset, or in order, also with bytes behind the request. */
static void test_ask_gone(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char byte;
		struct line l;

		start_asking(&l);
		say(l.near, GET_X("/admin/a"));
		check_asked(&l, 1, "GET http://a.com:80/admin/a");
		if (i == 1)
			say(l.near, GET_X("/"));
		if (i == 2)
			pump_reset(fd_take(&l.near));
		else if (i == 3)
			assert_int_equal(shutdown(l.near, SHUT_WR), 0);
		else
			fd_close(&l.near);
		while (l.n_done == 0)
			turn();
		assert_true(l.error < 0);
		assert_int_equal(recv(l.far, &byte, 1, 0), -1);
		end_line(&l);
	}
}

/* The policy changes while it waits, and afterwards. */
static void test_ask_review(void **state)
{
	static const struct {
		const char *policy;
		bool asks, passes;
	} cases[] = {
		{ asking, true, true },
		{ "network: {allow: [a.com]}", false, true },
		{ "network: {allow: [a.com], deny: ['http://a.com/admin/**']}", false, false },
		{ "network: {allow: [a.com], methods: [PUT]}", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases) * 2; i++) {
		const bool answered = i >= ROWS(cases);
		const char *policy = cases[i % ROWS(cases)].policy;
		struct line l;

		start_asking(&l);
		say(l.near, GET_X("/admin/a"));
		check_asked(&l, 1, "GET http://a.com:80/admin/a");
		policy_free(l.policy);
		l.policy = test_compile(policy);
		judge_init(&l.judge, l.policy);
		/* An answer that was given before the change is judged after it. */
		if (answered)
			gate_answer(&l.gate, true);
		gate_resume(&l.pump);
		if (cases[i % ROWS(cases)].asks && !answered) {
			check_asked(&l, 1, "GET http://a.com:80/admin/a");
			agree(&l);
		}
		if (cases[i % ROWS(cases)].passes)
			hear(l.far, GET_X("/admin/a"));
		else
			check_refused(&l, "");
		if (cases[i % ROWS(cases)].asks) {
			struct net_judgement j;

			assert_true(gate_review(&l.gate, &j));
			policy_free(l.policy);
			l.policy = test_compile(cases[2].policy);
			judge_init(&l.judge, l.policy);
			assert_false(gate_review(&l.gate, &j));
		}
		end_line(&l);
	}
}

/* Byte by byte: half a line passes before it is known to be a request, and nothing more. */
static void test_ask_in_pieces(void **state)
{
	static const char sent[] = GET_X("/admin/a");
	const size_t line = strcspn(sent, "\n");
	struct line l;

	(void)state;
	start_asking(&l);
	for (size_t i = 0; sent[i]; i++) {
		assert_int_equal(send(l.near, sent + i, 1, MSG_NOSIGNAL), 1);
		settle();
	}
	while (l.n_asked == 0)
		turn();
	settle();
	assert_int_equal(l.n_asked, 1);
	assert_true(l.pump.streams[PUMP_INNER].moved <= line);
	agree(&l);
	hear(l.far, sent);
	end_line(&l);
}

/* Over one connection, one after the other, with answers between. */
static void test_keep_alive(void **state)
{
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	for (int i = 0; i < 3; i++) {
		say(l.near, GET_A);
		hear(l.far, GET_A);
		say(l.far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		hear(l.near, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
	say(l.near, GET_B);
	check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
}

/* A body is not looked at, however long it is. */
static void test_large_body(void **state)
{
	static uint8_t data[1 << 20];
	static char got[1 << 16];
	const char head[] = "PUT / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 10485760\r\n\r\n";
	size_t sent = 0, received = 0, all = sizeof(data) * 10 + strlen(head);
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	memset(data, '\n', sizeof(data));
	say(l.near, head);
	while (received < all) {
		size_t left = all - strlen(head) - sent;
		ssize_t r = send(l.near, data, left < sizeof(data) ? left : sizeof(data),
			MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += r > 0 ? (size_t)r : 0;
		assert_int_equal(loop_turn(loop, 0), 0);
		r = recv(l.far, got, sizeof(got), MSG_DONTWAIT);
		received += r > 0 ? (size_t)r : 0;
	}
	assert_int_equal(received, all);
	say(l.near, GET_A);
	hear(l.far, GET_A);
	say(l.near, GET_B);
	check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
}

#define WEBSOCKET                                                    \
	"GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\n" \
	"Upgrade: websocket\r\n\r\n"
#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\n\r\n"

/* at: where the request is cut in two. early: the client does not wait for the answer. */
static void check_websocket(size_t at, bool early, const char *answer)
{
	bool accepted = strcmp(answer, SWITCHING) == 0;
	struct line l;

	start_line(&l, exact, "a.com");
	if (at) {
		say_bytes(l.near, (const uint8_t *)WEBSOCKET, at);
		settle();
	}
	say(l.near, &WEBSOCKET[at]);
	if (early)
		say(l.near, GET_B);
	hear(l.far, WEBSOCKET);
	check_silent(&l);
	/* In pieces, too. */
	say_bytes(l.far, (const uint8_t *)answer, 5);
	settle();
	say(l.far, answer + 5);
	hear(l.near, answer);
	if (!early)
		say(l.near, GET_B);
	if (accepted)
		hear(l.far, GET_B);
	else
		check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
}

static void test_websocket(void **state)
{
	static const char *const answers[] = { SWITCHING, "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0 101 Switching Protocols\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++)
		for (size_t at = 0; at < strlen(WEBSOCKET); at += 7) {
			check_websocket(at, false, answers[i]);
			check_websocket(at, true, answers[i]);
		}
}

/* Servers that go, or never answer. */
static void test_websocket_unanswered(void **state)
{
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say(l.near, WEBSOCKET GET_B);
	hear(l.far, WEBSOCKET);
	say(l.far, "HTTP");
	check_silent(&l);
	assert_int_equal(shutdown(l.far, SHUT_WR), 0);
	check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
}

static void test_upgrade_to_others(void **state)
{
	static const char h2c[] = "GET / HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\n"
				  "Upgrade: h2c\r\n\r\n";
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say(l.near, h2c);
	hear(l.far, h2c);
	end_line(&l);
	start_line(&l, wild, "a.com");
	say(l.near, h2c);
	check_refused(&l, "HTTP switches to another protocol");
	end_line(&l);
	/* After another request it is not known which answer is the one to it. */
	start_line(&l, exact, "a.com");
	say(l.near, GET_A WEBSOCKET);
	hear(l.far, GET_A);
	check_refused(&l, "HTTP switches to another protocol after earlier requests");
	end_line(&l);
}

/* Other protocols. */

static void test_server_first(void **state)
{
	struct line l;

	(void)state;
	start_line(&l, wild, "a.com");
	say(l.far, "220 mail.a.com\r\n");
	hear(l.near, "220 mail.a.com\r\n");
	say(l.near, "EHLO me\r\n");
	hear(l.far, "EHLO me\r\n");
	end_line(&l);
}

/* Half a line passes at once, since the server may answer it; what it becomes is judged. */
static void test_half_a_line(void **state)
{
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	say(l.near, "hello");
	hear(l.far, "hello");
	say(l.far, "you");
	hear(l.near, "you");
	say(l.near, " there\n" GET_B);
	hear(l.far, " there\n" GET_B);
	end_line(&l);
	start_line(&l, exact, "a.com");
	say(l.near, "PUT / HT");
	hear(l.far, "PUT / HT");
	say(l.near, "TP/1.1\r\nHost: b.com\r\n\r\n");
	check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
	start_line(&l, exact, "a.com");
	say(l.near, "PUT / HT");
	hear(l.far, "PUT / HT");
	say(l.near, "TP/1.1\r\nHost: a.com\r\n\r\n" GET_B);
	hear(l.far, "TP/1.1\r\nHost: a.com\r\n\r\n");
	check_refused(&l, "HTTP asks for b.com");
	end_line(&l);
}

/* No length makes a request something else. piece: how much is sent at once. */
static void check_long_line(size_t len, size_t piece, bool right)
{
	char *text = malloc(len + 64);
	size_t n, passed = 0;
	struct line l;

	assert_non_null(text);
	memcpy(text, "GET /", 5);
	memset(text + 5, 'x', len);
	(void)snprintf(text + 5 + len, 59, " HTTP/1.1\r\nHost: %s.com\r\n\r\n", right ? "a" : "b");
	n = strlen(text);
	start_line(&l, exact, "a.com");
	for (size_t at = 0; at < n && l.n_done == 0; at += piece) {
		char got[4096];
		ssize_t r;

		(void)send(l.near, text + at, n - at < piece ? n - at : piece, MSG_NOSIGNAL);
		settle();
		while ((r = recv(l.far, got, sizeof(got), MSG_DONTWAIT)) > 0)
			passed += (size_t)r;
	}
	while (right && passed < n) {
		char got[4096];
		ssize_t r = recv(l.far, got, sizeof(got), MSG_DONTWAIT);

		passed += r > 0 ? (size_t)r : 0;
		if (r < 0)
			turn();
	}
	if (right) {
		assert_int_equal(passed, n);
	} else {
		assert_true(passed < (piece < n ? len + 15 : 1));
		check_reason(&l, len > 30000 ? "too long" : "HTTP asks for b.com");
	}
	end_line(&l);
	free(text);
}

static void test_long_lines(void **state)
{
	static const size_t lengths[] = { 100, 8180, 8192, 9000, 20000 };

	(void)state;
	for (size_t i = 0; i < ROWS(lengths); i++) {
		check_long_line(lengths[i], 1 << 20, true);
		check_long_line(lengths[i], 1 << 20, false);
		check_long_line(lengths[i], 1000, true);
		check_long_line(lengths[i], 1000, false);
	}
	check_long_line(100000, 1 << 20, false);
	check_long_line(100000, 1000, false);
}

/* Another policy, while the connection is open. */

#define POST "POST /up HTTP/1.1\r\nHost: a.com\r\nContent-Length: 100\r\n\r\n"
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static const struct {
	const char *name; /* NULL: by address */
	const char *said;
	const char *after;
	const char *reason; /* NULL: it may go on */
} reviews[] = {
	{ "a.com", GET_A, exact, NULL },
	{ "a.com", "SSH-2.0-x\r\n", wild, NULL },
	{ "a.com", POST, "network: {allow: ['a.com'], methods: [POST]}", NULL },
	{ "a.com", POST, "network: {allow: ['a.com'], methods: [GET]}", "" },
	{ "a.com", POST, "network: {allow: ['a.com'], deny: ['http://a.com/up']}", "" },
	{ "a.com", POST, "network: {allow: ['a.com'], deny: ['http://a.com/down']}", NULL },
	{ "a.com", PREFACE, exact, NULL },
	{ "a.com", PREFACE, wild, "HTTP/2 without TLS" },
	{ "a.com", "GET / HTTP/1.0\r\n\r\n", exact, NULL },
	{ "a.com", "GET / HTTP/1.0\r\n\r\n", wild, "HTTP without a host" },
	{ NULL, "GET / HTTP/1.1\r\nHost: b.com\r\n\r\n", exact, NULL },
	{ NULL, "GET / HTTP/1.1\r\nHost: b.com\r\n\r\n",
		"network: {allow: ['1.2.3.4'], deny: ['b.com']}", "HTTP asks for b.com" },
};

static void check_review(struct line *l, const char *after, const char *reason)
{
	struct policy *old = l->policy;
	struct net_judgement j = { 0 };

	l->policy = test_compile(after);
	judge_init(&l->judge, l->policy);
	policy_free(old);
	assert_int_equal(gate_review(&l->gate, &j), reason == NULL);
	if (reason && !strstr(j.reason, reason))
		fail_msg("<%s> wanted: <%s>", reason, j.reason);
}

static void test_review(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(reviews); i++) {
		struct line l;

		start_line(&l, exact, reviews[i].name);
		say(l.near, reviews[i].said);
		hear(l.far, reviews[i].said);
		check_review(&l, reviews[i].after, reviews[i].reason);
		end_line(&l);
	}
}

static void test_review_hello(void **state)
{
	static const struct {
		const char *name, *sni, *after, *reason;
	} rows[] = {
		{ "a.com", "a.com", wild, NULL },
		{ "a.com", NULL, exact, NULL },
		{ "a.com", NULL, wild, "TLS without a server name" },
		{ NULL, "b.com", exact, NULL },
		{ NULL, "b.com", "network: {allow: ['1.2.3.4'], deny: ['b.com']}",
			"TLS asks for b.com" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct bytes hello = make_hello(rows[i].sni, false);
		struct line l;

		start_line(&l, exact, rows[i].name);
		say_bytes(l.near, hello.data, hello.n);
		hear_bytes(l.far, hello.data, hello.n);
		check_review(&l, rows[i].after, rows[i].reason);
		end_line(&l);
	}
}

/* What is too long to be kept does not pass twice. */
static void test_review_forgotten(void **state)
{
	static char path[SAID_BYTES_MAX + 1], request[SAID_BYTES_MAX + 64];
	struct line l;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	(void)snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a.com\r\n\r\n", path);
	start_line(&l, exact, "a.com");
	say(l.near, request);
	hear_bytes(l.far, (const uint8_t *)request, strlen(request));
	check_review(&l, exact, "the policy changed, and the connection cannot be checked again");
	/* The next one is judged by itself. */
	say(l.near, GET_A);
	hear(l.far, GET_A);
	check_review(&l, exact, NULL);
	end_line(&l);
}

static void test_ends(void **state)
{
	struct line l;

	(void)state;
	start_line(&l, exact, "a.com");
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	hear(l.far, "");
	say(l.far, "bye");
	hear(l.near, "bye");
	end_line(&l);
	start_line(&l, exact, "a.com");
	say(l.near, GET_A);
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	hear(l.far, GET_A);
	hear(l.far, "");
	end_line(&l);
	start_line(&l, exact, "a.com");
	say(l.near, "half");
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	hear(l.far, "half");
	hear(l.far, "");
	end_line(&l);
	start_line(&l, exact, "a.com");
	say(l.near, "GET / HTTP/1.1\r\nHost: a.com\r\n");
	check_silent(&l);
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	check_refused(&l, "an incomplete HTTP request");
	end_line(&l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_hello),
		TEST(test_hello_in_pieces),
		TEST(test_hello_never_complete),
		TEST(test_hello_again),
		TEST(test_alert_first),
		TEST(test_ssl2),
		TEST(test_ssl2_review),
		TEST(test_urgent),
		TEST(test_requests),
		TEST(test_requests_in_pieces),
		TEST(test_request_without_end),
		TEST(test_ask),
		TEST(test_ask_body),
		TEST(test_ask_not),
		TEST(test_ask_gone),
		TEST(test_ask_review),
		TEST(test_ask_in_pieces),
		TEST(test_keep_alive),
		TEST(test_large_body),
		TEST(test_websocket),
		TEST(test_websocket_unanswered),
		TEST(test_upgrade_to_others),
		TEST(test_server_first),
		TEST(test_half_a_line),
		TEST(test_long_lines),
		TEST(test_review),
		TEST(test_review_hello),
		TEST(test_review_forgotten),
		TEST(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
