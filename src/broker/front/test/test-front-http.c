/* SPDX-License-Identifier: Apache-2.0 */
/* A front with its listener for HTTP: this test is its clients and its monitor. */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "broker/call.h"
#include "broker/front/front.h"
#include "broker/rpc.h"
#include "wire/frame.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

enum { TURNS_MAX = 100000 };

struct stage {
	struct front *front;
	int lines, http, monitor, theirs;
	uint16_t port;
	struct frame frame;
};

static int listener(int family, uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (family == AF_INET) {
		assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
		*ret_port = ntohs(a.sin_port);
	} else
		/* The kernel chooses an abstract name. */
		assert_int_equal(
			bind(fd, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t)),
			0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

static int stage_make(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct front_options o = { .version = "1.2.3", .stall_ms = 200, .token = TOKEN };
	int pair[2];

	assert_non_null(s);
	s->lines = listener(AF_UNIX, NULL);
	s->http = listener(AF_INET, &s->port);
	assert_int_equal(frame_pair(pair), 0);
	s->monitor = pair[0];
	s->theirs = pair[1];
	assert_int_equal(fcntl(s->monitor, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->theirs, F_SETFL, O_NONBLOCK), 0);
	o.listener = s->lines;
	o.monitor = s->theirs;
	o.http = s->http;
	assert_int_equal(front_new(&s->front, &o), 0);
	*state = s;
	return 0;
}

static int stage_remove(void **state)
{
	struct stage *s = *state;

	front_free(s->front);
	frame_deinit(&s->frame);
	fd_close(&s->lines);
	fd_close(&s->http);
	fd_close(&s->monitor);
	fd_close(&s->theirs);
	free(s);
	return 0;
}

static int stage_connect(const struct stage *s)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static void stage_turn(struct stage *s)
{
	assert_int_equal(front_turn(s->front, 1), 0);
}

static void say(struct stage *s, int fd, const char *text)
{
	for (size_t sent = 0, len = strlen(text); sent < len;) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		stage_turn(s);
	}
}

/* A request with what a client has to say. */
static void ask(struct stage *s, int fd, const char *body)
{
	auto_buffer text = { 0 };

	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer " TOKEN
		"\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		s->port, strlen(body), body);
	say(s, fd, text.data);
}

/* One response, until the next call; NULL: the front has closed it. */
static const char *hear(struct stage *s, int fd)
{
	static char text[1 << 16];
	size_t len = 0, want = 0;

	for (int i = 0; i < TURNS_MAX && len + 1 < sizeof(text); i++) {
		ssize_t n = recv(fd, text + len, 1, 0);
		const char *end, *length;

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return NULL;
		if (n < 0) {
			stage_turn(s);
			continue;
		}
		text[++len] = '\0';
		end = want ? NULL : strstr(text, "\r\n\r\n");
		length = strcasestr(text, "Content-Length: ");
		if (end)
			want = (size_t)(end - text) + 4 +
			       (length ? strtoul(length + 16, NULL, 10) : 0);
		if (want && len >= want)
			return text;
	}
	fail_msg("no response came");
	return NULL;
}

static void hears(struct stage *s, int fd, const char *status, const char *part)
{
	const char *text = hear(s, fd);

	if (!text || !strstr(text, status) || !strstr(text, part))
		fail_msg("heard %s, not %s %s", text ? text : "nothing", status, part);
}

static struct frame *monitor_hears(struct stage *s)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		int r = frame_receive(s->monitor, &s->frame);

		if (r == 1)
			return &s->frame;
		assert_int_equal(r, -EAGAIN);
		stage_turn(s);
	}
	fail_msg("the monitor hears nothing");
	return NULL;
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define CALL(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"

static void test_ping(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);

	ask(s, fd, PING);
	hears(s, fd, "HTTP/1.1 200 OK", "\"id\":1,\"result\":{\"pong\":true");
	/* The same connection once more: a batch, nothing to answer, no JSON. */
	ask(s, fd, "[" PING "," PING "]");
	hears(s, fd, "200", "\r\n\r\n[{\"jsonrpc\":\"2.0\",\"id\":1");
	ask(s, fd, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	hears(s, fd, "204", "");
	ask(s, fd, "nonsense");
	hears(s, fd, "200", "\"code\":-32700");
	say(s, fd, "GET /health HTTP/1.1\r\nHost: evil\r\n\r\n");
	hears(s, fd, "403", "Connection: close");
	assert_null(hear(s, fd));
}

static void test_health(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	char text[128];

	(void)snprintf(
		text, sizeof(text), "GET /health HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", s->port);
	say(s, fd, text);
	hears(s, fd, "200", "{\"status\":\"ok\"}");
	say(s, fd, text);
	hears(s, fd, "200", "{\"status\":\"ok\"}");
}

/* Five methods and no other, by both names of each; and none by another spelling. */
static void test_methods(void **state)
{
	static const char *const others[] = {
		CALL("fs.write", "\"path\":\"/a\",\"content\":\"\""),
		CALL("file_write", "\"path\":\"/a\",\"content\":\"\""),
		CALL("fs.delete", "\"path\":\"/a\""),
		CALL("fs.stat", "\"path\":\"/a\""),
		CALL("exec", "\"command\":\"id\""),
		CALL("exec.run", "\"command\":\"id\""),
		CALL("network.download", "\"url\":\"http://a/\",\"saveTo\":\"/a\""),
		CALL("env.get", "\"name\":\"A\""),
		CALL("secret_inject", "\"name\":\"A\""),
		CALL("policy_check", "\"operation\":\"exec\",\"target\":\"id\""),
		CALL("events_batch", "\"events\":[]"),
		CALL("skill_install", ""),
		CALL("EXEC", "\"command\":\"id\""),
		CALL("exec ", "\"command\":\"id\""),
		CALL("\\u0065xec", "\"command\":\"id\""),
		CALL("exec\\u0000", "\"command\":\"id\""),
	};
	static const char *const ours[] = {
		CALL("http_request", "\"url\":\"http://a/\""),
		CALL("network.http", "\"url\":\"http://a/\""),
		CALL("file_read", "\"path\":\"/a\""),
		CALL("fs.read", "\"path\":\"/a\""),
		CALL("file_list", "\"path\":\"/a\""),
		CALL("fs.list", "\"path\":\"/a\""),
		CALL("open_url", "\"url\":\"http://a/\""),
	};
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);

	for (size_t i = 0; i < ROWS(others); i++) {
		auto_buffer batch = { 0 };

		ask(s, fd, others[i]);
		hears(s, fd, "200", "\"error\":");
		/* Nor in the company of others. */
		buffer_printf(&batch, "[" PING ",%s]", others[i]);
		ask(s, fd, batch.data);
		hears(s, fd, "200", "\"error\":");
		assert_int_equal(frame_receive(s->monitor, &s->frame), -EAGAIN);
	}
	for (size_t i = 0; i < ROWS(ours); i++) {
		auto_fd own = stage_connect(s);
		auto_arena a = { 0 };
		struct frame *f;
		struct call c;

		ask(s, own, ours[i]);
		f = monitor_hears(s);
		assert_int_equal(f->type, FRAME_CALL);
		assert_int_equal(call_decode(&c, f->body, f->len, &a), 0);
		assert_true(c.flags & CALL_BY_HTTP);
		fd_close(&own);
		assert_int_equal(monitor_hears(s)->type, FRAME_CALL_CANCEL);
	}
}

/* Responses come in the order of the requests, so the second waits for the first. */
static void test_order(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	const struct rpc_refusal why = { .class = RPC_PATH, .message = "no" };
	const struct values v = rpc_refusal_values(&why);
	auto_buffer body = { 0 };
	struct frame *f;
	char byte;

	ask(s, fd, CALL("fs.read", "\"path\":\"/a\""));
	ask(s, fd, PING);
	f = monitor_hears(s);
	for (int i = 0; i < 20; i++)
		stage_turn(s);
	assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), -1);
	assert_int_equal(values_encode(rpc_refusal_fields, &v, &body), 0);
	assert_int_equal(
		frame_send(s->monitor, FRAME_CALL_REFUSED, f->id, body.data, body.len, NULL, 0), 0);
	hears(s, fd, "200", "\"id\":7,\"error\":{\"code\":-32007");
	hears(s, fd, "200", "\"pong\":true");
}

/* What comes behind a request that was refused is no request. */
static void test_smuggling(void **state)
{
	static const char *const lengths[] = {
		"Content-Length: 3\r\nContent-Length: 300\r\n",
		"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\n",
		"Content-Length: 3 \r\n 00\r\n",
	};
	struct stage *s = *state;

	for (size_t i = 0; i < ROWS(lengths); i++) {
		auto_fd fd = stage_connect(s);
		auto_buffer text = { 0 };

		buffer_printf(&text,
			"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer " TOKEN
			"\r\nContent-Type: application/json\r\n%s\r\n{} ",
			s->port, lengths[i]);
		say(s, fd, text.data);
		ask(s, fd, PING);
		hears(s, fd, "HTTP/1.1 4", "Connection: close");
		assert_null(hear(s, fd));
	}
}

/* A head, or a body, that does not go on is cut; others are not held up. */
static void test_slow(void **state)
{
	struct stage *s = *state;
	auto_fd slow = stage_connect(s), slower = stage_connect(s), fd = stage_connect(s);
	auto_buffer text = { 0 };

	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer " TOKEN
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		s->port);
	say(s, slow, "POST /rpc HTTP/1.1\r\nHos");
	say(s, slower, text.data);
	ask(s, fd, PING);
	hears(s, fd, "200", "\"pong\":true");
	assert_null(hear(s, slow));
	assert_null(hear(s, slower));
	/* One that is silent between requests stays. */
	ask(s, fd, PING);
	hears(s, fd, "200", "\"pong\":true");
}

static void test_bytes(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	auto_buffer text = { 0 };

	/* Without a token nothing of a body is kept. */
	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
		"application/json\r\nContent-Length: 4000000\r\n\r\n",
		s->port);
	say(s, fd, text.data);
	hears(s, fd, "401", "WWW-Authenticate: Bearer");
	assert_null(hear(s, fd));
	assert_int_equal(front_bytes(s->front), 0);
	assert_int_equal(front_clients(s->front), 0);
}

/* Connections that all wait, as many as there may be: another one still gets in. */
static void test_many(void **state)
{
	enum { MANY = FRONT_CLIENTS_MAX };
	struct stage *s = *state;
	static int fds[MANY];
	auto_fd other = -1;
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = stage_connect(s);
		ask(s, fds[i], CALL("fs.read", "\"path\":\"/a\""));
	}
	assert_int_equal(front_clients(s->front), MANY);
	other = stage_connect(s);
	ask(s, other, PING);
	assert_non_null(strstr(hear(s, other), "pong"));
	assert_int_equal(front_clients(s->front), MANY);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
}

static void test_tokens_are_long(void **state)
{
	struct stage *s = *state;
	struct front_options o = { .listener = s->lines,
		.monitor = s->theirs,
		.version = "",
		.token = "short",
		.http = s->http };
	struct front *f = NULL;

	assert_int_equal(front_new(&f, &o), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ping, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_health, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_methods, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_order, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_smuggling, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_slow, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_bytes, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_many, stage_make, stage_remove),
		cmocka_unit_test_setup_teardown(test_tokens_are_long, stage_make, stage_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
