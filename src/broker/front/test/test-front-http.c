/* SPDX-License-Identifier: Apache-2.0 */
/* A front with its listener for HTTP: this test is its clients and its monitor. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
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
#include "broker/front/test/stage.h"
#include "broker/rpc.h"
#include "wire/frame.h"

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
static const char *response(struct stage *s, int fd)
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

static void responds(struct stage *s, int fd, const char *status, const char *part)
{
	const char *text = response(s, fd);

	if (!text || !strstr(text, status) || !strstr(text, part))
		fail_msg("heard %s, not %s %s", text ? text : "nothing", status, part);
}

#define CALL(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"

static void test_ping(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);

	ask(s, fd, PING);
	responds(s, fd, "HTTP/1.1 200 OK", "\"id\":1,\"result\":{\"pong\":true");
	/* The same connection once more: a batch, nothing to answer, no JSON. */
	ask(s, fd, "[" PING "," PING "]");
	responds(s, fd, "200", "\r\n\r\n[{\"jsonrpc\":\"2.0\",\"id\":1");
	ask(s, fd, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	responds(s, fd, "204", "");
	ask(s, fd, "nonsense");
	responds(s, fd, "200", "\"code\":-32700");
	say(s, fd, "GET /health HTTP/1.1\r\nHost: evil\r\n\r\n");
	responds(s, fd, "403", "Connection: close");
	assert_null(response(s, fd));
}

static void test_health(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);
	char text[128];

	(void)snprintf(
		text, sizeof(text), "GET /health HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", s->port);
	say(s, fd, text);
	responds(s, fd, "200", "{\"status\":\"ok\"}");
	say(s, fd, text);
	responds(s, fd, "200", "{\"status\":\"ok\"}");
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
	auto_fd fd = stage_connect_http(s);

	for (size_t i = 0; i < ROWS(others); i++) {
		auto_buffer batch = { 0 };

		ask(s, fd, others[i]);
		responds(s, fd, "200", "\"error\":");
		/* Nor in the company of others. */
		buffer_printf(&batch, "[" PING ",%s]", others[i]);
		ask(s, fd, batch.data);
		responds(s, fd, "200", "\"error\":");
		assert_int_equal(frame_receive(s->monitor, &s->frame), -EAGAIN);
	}
	for (size_t i = 0; i < ROWS(ours); i++) {
		auto_fd own = stage_connect_http(s);
		auto_arena a = { 0 };
		struct frame *f;
		struct broker_call c;

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
	auto_fd fd = stage_connect_http(s);
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
	responds(s, fd, "200", "\"id\":7,\"error\":{\"code\":-32007");
	responds(s, fd, "200", "\"pong\":true");
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
		auto_fd fd = stage_connect_http(s);
		auto_buffer text = { 0 };

		buffer_printf(&text,
			"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer " TOKEN
			"\r\nContent-Type: application/json\r\n%s\r\n{} ",
			s->port, lengths[i]);
		say(s, fd, text.data);
		ask(s, fd, PING);
		responds(s, fd, "HTTP/1.1 4", "Connection: close");
		assert_null(response(s, fd));
	}
}

/* A head, or a body, that does not go on is cut; others are not held up. */
static void test_slow(void **state)
{
	struct stage *s = *state;
	auto_fd slow = stage_connect_http(s), slower = stage_connect_http(s),
		fd = stage_connect_http(s);
	auto_buffer text = { 0 };

	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer " TOKEN
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		s->port);
	say(s, slow, "POST /rpc HTTP/1.1\r\nHos");
	say(s, slower, text.data);
	ask(s, fd, PING);
	responds(s, fd, "200", "\"pong\":true");
	assert_null(response(s, slow));
	assert_null(response(s, slower));
	/* One that is silent between requests stays. */
	ask(s, fd, PING);
	responds(s, fd, "200", "\"pong\":true");
}

static void test_bytes(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);
	auto_buffer text = { 0 };

	/* Without a token nothing of a body is kept. */
	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
		"application/json\r\nContent-Length: 4000000\r\n\r\n",
		s->port);
	say(s, fd, text.data);
	responds(s, fd, "401", "WWW-Authenticate: Bearer");
	assert_null(response(s, fd));
	assert_int_equal(front_bytes(s->front), 0);
	fd_close(&fd);
	for (int i = 0; i < TURNS_MAX && front_clients(s->front) > 0; i++)
		stage_turn(s);
	assert_int_equal(front_clients(s->front), 0);
}

/* A client that is refused while it sends hears why: its bytes are read, and thrown away. */
static void test_refused_while_it_sends(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);
	auto_buffer text = { 0 };

	buffer_printf(&text,
		"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
		"application/json\r\nContent-Length: 4000000\r\n\r\n",
		s->port);
	while (text.len < 1000000)
		buffer_addc(&text, ' ');
	assert_false(text.failed);
	say(s, fd, text.data);
	assert_int_equal(front_bytes(s->front), 0);
	responds(s, fd, "401", "Connection: close");
	assert_null(response(s, fd));
}

/* One that sends no more and waits is answered; an interim answer probes whether it is there. */
static void test_half_closed(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);
	uint64_t id;

	ask(s, fd, CALL("fs.read", "\"path\":\"/a\""));
	id = monitor_hears(s)->id;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	responds(s, fd, "HTTP/1.1 100 Continue", "");
	monitor_answers(s, id, "text");
	responds(s, fd, "200", "\"id\":7,\"result\"");
	assert_null(response(s, fd));
}

static void test_last_request(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect_http(s);
	char text[256];

	(void)snprintf(text, sizeof(text),
		"GET /health HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n\r\n"
		"GET /health HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
		s->port, s->port);
	say(s, fd, text);
	responds(s, fd, "200", "Connection: close");
	assert_null(response(s, fd));
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
		fds[i] = stage_connect_http(s);
		ask(s, fds[i], CALL("fs.read", "\"path\":\"/a\""));
	}
	for (int i = 0; i < TURNS_MAX && front_clients(s->front) < MANY; i++)
		stage_turn(s);
	assert_int_equal(front_clients(s->front), MANY);
	other = stage_connect_http(s);
	ask(s, other, PING);
	assert_non_null(strstr(response(s, other), "pong"));
	assert_int_equal(front_clients(s->front), MANY);
	for (int i = 0; i < MANY; i++)
		fd_close(&fds[i]);
}

static void test_tokens_are_long(void **state)
{
	struct stage *s = *state;
	struct front_options o = { .listener = s->listener,
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
		cmocka_unit_test_setup_teardown(test_ping, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_health, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_methods, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_order, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_smuggling, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_slow, stage_make_http_impatient, stage_remove),
		cmocka_unit_test_setup_teardown(test_bytes, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(
			test_refused_while_it_sends, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_half_closed, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_last_request, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(test_many, stage_make_http, stage_remove),
		cmocka_unit_test_setup_teardown(
			test_tokens_are_long, stage_make_http, stage_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
