/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client and a server in turn, without a network. Each step is a line of the client, or what
 * becomes of an exchange: by the place of the request among those that were made.
 */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "mcp/remote/remote.h"

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}"
#define HELLO_ANSWER                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"," \
	"\"capabilities\":{\"tools\":{\"listChanged\":true}}}}"
#define DONE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CALL(id)                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/" \
	"call\",\"params\":{\"name\":\"t\"}}"
#define MODERN(id)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":" \
	"\"t\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}"
#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define CANCEL(id)                                         \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" \
	"cancelled\",\"params\":{\"requestId\":" id "}}"

struct test_remote {
	struct remote remote;
	struct remote_exchange *made[64];
	size_t n;
	const char *challenge; /* of answers */
};

/* As the owner does: sends what is new, forgets what is gone. */
static void test_turn(struct test_remote *t)
{
	for (struct remote_exchange *x = t->remote.exchanges, *next; x; x = next) {
		next = x->next;
		if (x->state == REMOTE_NEW) {
			x->state = REMOTE_OPEN;
			assert_true(t->n < ROWS(t->made));
			t->made[t->n++] = x;
		} else if (x->state == REMOTE_GONE) {
			for (size_t i = 0; i < t->n; i++)
				if (t->made[i] == x)
					t->made[i] = NULL;
			remote_forget(&t->remote, x);
		}
	}
}

static void test_line(struct test_remote *t, const char *line)
{
	remote_line(&t->remote, line, strlen(line));
	test_turn(t);
}

static void test_answer(struct test_remote *t, size_t i, unsigned status, const char *type,
	const char *session, const char *body, const char *why)
{
	const struct remote_head head = { status, type, NULL, session, NULL, t->challenge };

	assert_true(i < t->n && t->made[i]);
	if (status > 0 && remote_begun(&t->remote, t->made[i], &head) == 0)
		(void)remote_data(&t->remote, t->made[i], body, strlen(body));
	remote_ended(&t->remote, t->made[i], why);
	test_turn(t);
	test_turn(t);
}

#define JSON "application/json"
#define STREAM "text/event-stream; charset=utf-8"

static const char *test_headers(struct test_remote *t, size_t i, struct buffer *out)
{
	buffer_clear(out);
	assert_int_equal(remote_print_headers(&t->remote, t->made[i], out), 0);
	return buffer_text(out);
}

static void test_expect(struct test_remote *t, const char *out)
{
	assert_string_equal(buffer_text(&t->remote.out), out);
	buffer_clear(&t->remote.out);
}

static bool test_says(struct test_remote *t, const char *part)
{
	const bool does = strstr(buffer_text(&t->remote.out), part) != NULL;

	buffer_clear(&t->remote.out);
	return does;
}

/* A handshake: exchanges 0 (initialize), 1 (initialized), 2 (the stream). */
static void test_begin(struct test_remote *t, const char *session)
{
	*t = (struct test_remote){ .remote.o = { "https://x/", NULL } };
	test_line(t, HELLO);
	test_line(t, DONE);
	test_line(t, CALL("1"));
	/* The rest waits for the answer, and for the end of the handshake. */
	assert_int_equal(t->n, 1);
	test_answer(t, 0, 200, JSON, session, HELLO_ANSWER, NULL);
	test_expect(t, HELLO_ANSWER "\n");
	assert_int_equal(t->n, 2);
	test_answer(t, 1, 202, NULL, NULL, "", NULL);
	assert_int_equal(t->n, 4);
}

/* The call and the stream, in whatever order. */
static size_t test_place(const struct test_remote *t, enum remote_kind kind)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->made[i] && t->made[i]->kind == kind && !t->made[i]->is_answered)
			return i;
	fail_msg("no exchange of this kind");
	return 0;
}

static void test_handshake(void **state)
{
	struct test_remote t;
	auto_buffer headers = { 0 };
	size_t call;

	(void)state;
	test_begin(&t, "s1");
	call = test_place(&t, REMOTE_CALL);
	assert_string_equal(test_headers(&t, call, &headers),
		"Content-Type: application/json\nAccept: application/json, text/event-stream\n"
		"Mcp-Session-Id: s1\nMCP-Protocol-Version: 2025-11-25\n");
	assert_string_equal(test_headers(&t, test_place(&t, REMOTE_LISTEN), &headers),
		"Accept: text/event-stream\nMcp-Session-Id: s1\n"
		"MCP-Protocol-Version: 2025-11-25\n");
	/* What is printed over lines is one. */
	test_answer(&t, call, 200, JSON, NULL, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\"result\":{}}",
		NULL);
	test_expect(&t, "{\"jsonrpc\":\"2.0\", \"id\":1,  \"result\":{}}\n");
	/* What the server asks passes, and what the client answers does. */
	test_answer(&t, test_place(&t, REMOTE_LISTEN), 200, STREAM, NULL,
		"id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n", NULL);
	test_expect(&t, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n");
	test_line(&t, ANSWER("5"));
	test_answer(&t, test_place(&t, REMOTE_NOTICE), 202, NULL, NULL, "", NULL);
	/* Its stream goes on from there. */
	assert_non_null(strstr(
		test_headers(&t, test_place(&t, REMOTE_LISTEN), &headers), "Last-Event-ID: 7\n"));
	remote_close(&t.remote, false);
	test_turn(&t);
	test_turn(&t);
	assert_false(t.remote.is_over);
	test_answer(&t, test_place(&t, REMOTE_GOODBYE), 200, NULL, NULL, "", NULL);
	assert_true(t.remote.is_over);
	remote_deinit(&t.remote);
}

/* Answers that are none: each request has one error. */
static void test_bad_answers(void **state)
{
	static const struct {
		unsigned status;
		const char *type, *body, *why, *says;
	} answers[] = {
		{ 200, JSON, ANSWER("2"), NULL, "before it was complete" },
		{ 200, JSON, ANSWER("\"1\""), NULL, "before it was complete" },
		{ 200, JSON, "{", NULL, "before it was complete" },
		{ 200, JSON, "", NULL, "before it was complete" },
		{ 200, JSON, "[" ANSWER("1") "]", NULL, "before it was complete" },
		{ 200, "text/html", "<html>", NULL, "neither JSON nor a stream" },
		{ 200, "application/jsonx", ANSWER("1"), NULL, "neither JSON nor a stream" },
		{ 202, NULL, "", NULL, "neither JSON nor a stream" },
		{ 200, STREAM, "data: " ANSWER("2") "\n\n", NULL, "before it was complete" },
		{ 200, STREAM, "data: " ANSWER("1"), NULL, "before it was complete" },
		{ 200, STREAM, "data: " ANSWER("1") "\n", "cut off", "cut off" },
		{ 0, NULL, "", "Could not connect", "Could not connect" },
		{ 500, "text/html", "<html>", NULL, "answered 500" },
		{ 405, NULL, "", NULL, "no server of MCP" },
		{ 401, JSON, "{}", NULL, "corral link auth NAME https://x/" },
		{ 403, NULL, "", NULL, "--secret LINK_NAME" },
		{ 302, NULL, "", NULL, "answered 302" },
		{ 400, JSON,
			"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32004,\"message\":"
			"\"no\"}}",
			NULL,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,\"message\":"
			"\"no\"}}" },
		{ 400, JSON,
			"{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":1,\"message\":\"n\"}}",
			NULL, "answered 400" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		struct test_remote t;
		size_t call;
		const char *out;

		test_begin(&t, NULL);
		call = test_place(&t, REMOTE_CALL);
		test_answer(&t, call, answers[i].status, answers[i].type, NULL, answers[i].body,
			answers[i].why);
		out = buffer_text(&t.remote.out);
		assert_non_null(strstr(out, answers[i].says));
		assert_non_null(strstr(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"));
		assert_true(strchr(out, '\n') == out + strlen(out) - 1);
		assert_null(t.made[call]);
		assert_int_equal(t.remote.held, 0);
		remote_deinit(&t.remote);
	}
}

/* A session that the server has forgotten is made again, once, and the call is asked again. */
static void test_renewal(void **state)
{
	struct test_remote t;
	auto_buffer headers = { 0 };

	(void)state;
	test_begin(&t, "s1");
	(void)test_headers(&t, test_place(&t, REMOTE_CALL), &headers);
	test_answer(&t, test_place(&t, REMOTE_CALL), 404, NULL, NULL, "", NULL);
	test_expect(&t, "");
	test_answer(&t, test_place(&t, REMOTE_RENEWAL), 200, JSON, "s2", HELLO_ANSWER, NULL);
	/* The client has had that answer. */
	test_expect(&t, "");
	test_answer(&t, test_place(&t, REMOTE_RENEWAL_DONE), 202, NULL, NULL, "", NULL);
	test_expect(&t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
	assert_non_null(strstr(
		test_headers(&t, test_place(&t, REMOTE_CALL), &headers), "Mcp-Session-Id: s2\n"));
	/* Not a second time. */
	test_answer(&t, test_place(&t, REMOTE_CALL), 404, NULL, NULL, "", NULL);
	assert_true(test_says(&t, "answered 404"));
	/* One that makes no new session. */
	test_line(&t, CALL("2"));
	(void)test_headers(&t, test_place(&t, REMOTE_CALL), &headers);
	test_answer(&t, test_place(&t, REMOTE_CALL), 404, NULL, NULL, "", NULL);
	test_answer(&t, test_place(&t, REMOTE_RENEWAL), 500, NULL, NULL, "", NULL);
	assert_true(test_says(&t, "makes no new one"));
	/* It is tried with the next call. */
	test_line(&t, CALL("3"));
	test_answer(&t, test_place(&t, REMOTE_RENEWAL), 200, JSON, "s3", HELLO_ANSWER, NULL);
	test_answer(&t, test_place(&t, REMOTE_RENEWAL_DONE), 202, NULL, NULL, "", NULL);
	buffer_clear(&t.remote.out);
	test_answer(&t, test_place(&t, REMOTE_CALL), 200, JSON, NULL, ANSWER("3"), NULL);
	test_expect(&t, ANSWER("3") "\n");
	remote_deinit(&t.remote);
}

/* A stream that broke off goes on by GET, as often as the server says where it is. */
static void test_resumption(void **state)
{
	struct test_remote t;
	auto_buffer headers = { 0 };
	size_t call;

	(void)state;
	test_begin(&t, "s1");
	call = test_place(&t, REMOTE_CALL);
	for (int i = 0; i < 20; i++) {
		char event[64];

		(void)snprintf(event, sizeof(event), "id: %d\nretry: 700\ndata:\n\n", i);
		test_answer(&t, call, 200, STREAM, NULL, event, NULL);
		call = test_place(&t, REMOTE_CALL);
		assert_int_equal(t.made[call]->delay_ms, 700);
		assert_true(t.made[call]->resumes);
	}
	assert_non_null(strstr(test_headers(&t, call, &headers), "Last-Event-ID: 19\n"));
	test_answer(&t, call, 200, STREAM, NULL, "data: " ANSWER("1") "\n\n", NULL);
	test_expect(&t, ANSWER("1") "\n");
	/* One that does not get on. */
	test_line(&t, CALL("2"));
	call = test_place(&t, REMOTE_CALL);
	test_answer(&t, call, 200, STREAM, NULL, "id: a\ndata:\n\n", NULL);
	for (int i = 0; i < REMOTE_FAILURES_MAX - 1; i++) {
		test_expect(&t, "");
		test_answer(&t, test_place(&t, REMOTE_CALL), 0, NULL, NULL, "", "no way");
	}
	test_expect(&t, "");
	test_answer(&t, test_place(&t, REMOTE_CALL), 0, NULL, NULL, "", "no way");
	assert_true(test_says(&t, "no way"));
	remote_deinit(&t.remote);
}

static void test_cancellation(void **state)
{
	struct test_remote t = { .remote.o = { "https://x/", NULL } };
	auto_buffer headers = { 0 };

	(void)state;
	/* 2026-07-28: its connection is closed, and nothing is sent. */
	test_line(&t, MODERN("1"));
	assert_non_null(strstr(test_headers(&t, 0, &headers),
		"MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: t\n"));
	test_line(&t, CANCEL("1"));
	test_turn(&t);
	assert_null(t.remote.exchanges);
	remote_deinit(&t.remote);
	/* Before: it is said. */
	test_begin(&t, NULL);
	test_line(&t, CANCEL("1"));
	test_turn(&t);
	assert_int_equal(test_place(&t, REMOTE_NOTICE), t.n - 1);
	test_expect(&t, "");
	/* Of what was answered, or never asked, it is not. */
	test_line(&t, CANCEL("\"1\""));
	assert_int_equal(t.n, 5);
	remote_deinit(&t.remote);
}

/* What a client may not do, and how much. */
static void test_client(void **state)
{
	struct test_remote t = { .remote.o = { "https://x/", NULL } };

	(void)state;
	test_line(&t, "{");
	assert_true(test_says(&t, "-32700"));
	test_line(&t, "[]");
	assert_true(test_says(&t, "-32600"));
	remote_line(&t.remote, NULL, 0);
	assert_true(test_says(&t, "16 MiB"));
	test_line(&t, MODERN("1"));
	test_line(&t, MODERN("1"));
	assert_true(test_says(&t, "has no answer yet"));
	for (int i = 0; i < REMOTE_EXCHANGES_MAX + 2; i++) {
		auto_buffer line = { 0 };

		buffer_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}", 10 + i);
		remote_line(&t.remote, line.data, line.len);
	}
	assert_true(test_says(&t, "too many requests"));
	remote_deinit(&t.remote);
}

/* Without a handshake a server asks nothing by itself. */
static void test_modern(void **state)
{
	struct test_remote t = { .remote.o = { "https://x/", "TOKEN" } };

	(void)state;
	test_line(&t, MODERN("1"));
	test_answer(&t, 0, 200, STREAM, "s1",
		"data: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n"
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
		"data: " ANSWER("1") "\n\ndata: " ANSWER("1") "\n\n",
		NULL);
	test_expect(&t,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n" ANSWER("1") "\n");
	assert_string_equal(t.remote.session, "");
	test_line(&t, MODERN("2"));
	test_answer(&t, 1, 401, NULL, NULL, "", NULL);
	assert_true(test_says(&t, "it does not take the secret TOKEN"));
	remote_deinit(&t.remote);
}

/* What a token lacks, and how to get it: only what a server says plainly. */
static void test_scope(void **state)
{
	static const struct {
		unsigned status;
		const char *secret, *challenge, *says;
	} rows[] = {
		{ 403, "LINK_MY_TOOLS", "Bearer error=\"insufficient_scope\", scope=\"a:b c\"",
			"`corral link auth --add-scope 'a:b c' my-tools` asks for it" },
		{ 401, "LINK_MY_TOOLS", "Bearer error=\"insufficient_scope\", scope=\"a\"",
			"`corral link auth my-tools` gets a new one" },
		{ 403, "LINK_MY_TOOLS", "Bearer error=\"invalid_token\", scope=\"a\"",
			"`corral link auth my-tools` gets a new one" },
		{ 403, "LINK_MY_TOOLS", "Bearer error=\"insufficient_scope\", scope=\"a';rm\"",
			"`corral link auth my-tools` gets a new one" },
		{ 403, "LINK_MY_TOOLS", "Bearer scope=a, Bearer scope=b",
			"`corral link auth my-tools` gets a new one" },
		{ 403, "LINK_MY_TOOLS", NULL, "`corral link auth my-tools` gets a new one" },
		{ 403, "TOKEN", "Bearer error=\"insufficient_scope\", scope=\"a\"",
			"`corral vault set TOKEN` replaces it" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct test_remote t = { .remote.o = { "https://x/", rows[i].secret },
			.challenge = rows[i].challenge };

		test_line(&t, MODERN("1"));
		test_answer(&t, 0, rows[i].status, JSON, NULL, "{}", NULL);
		assert_non_null(strstr(buffer_text(&t.remote.out), rows[i].says));
		remote_deinit(&t.remote);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_renewal),
		cmocka_unit_test(test_resumption),
		cmocka_unit_test(test_cancellation),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_modern),
		cmocka_unit_test(test_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
