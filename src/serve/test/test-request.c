/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests: what is read, what is refused, and what says who asks. */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "serve/request.h"

static struct serve_request request; /* it is big */

static int read_head(const char *text)
{
	size_t scanned = 0;

	return serve_request_read(&request, text, strlen(text), &scanned);
}

static void test_refused_heads(void **state)
{
	static const struct {
		const char *text;
		unsigned status;
	} rows[] = {
		{ "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\nHost: localhost\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: localhost\n\n", 400 },
		{ "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nOrigin: x\r\nOrigin: y\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nauthorization: x\r\n\r\n",
			400 },
		{ "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
			400 },
		{ "\r\n\r\n", 400 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(read_head(rows[i].text), 1);
		if (request.status != rows[i].status)
			fail_msg("row %zu: %u, not %u", i, request.status, rows[i].status);
		assert_int_equal(request.reason != NULL, rows[i].status != 0);
	}
}

/* Fields that only this server looks at: each once, and none is left of the head before. */
static void test_own_fields(void **state)
{
	struct serve_header own[] = { { "x-one", NULL }, { "x-two", NULL } };

	(void)state;
	request.own = own;
	request.n_own = ROWS(own);
	assert_int_equal(
		read_head("GET / HTTP/1.1\r\nHost: a\r\nX-One:  1 \r\nX-Three: 3\r\n\r\n"), 1);
	assert_int_equal(request.status, 0);
	assert_string_equal(own[0].value, "1");
	assert_null(own[1].value);
	assert_int_equal(read_head("GET / HTTP/1.1\r\nHost: a\r\nx-TWO: 2\r\n\r\n"), 1);
	assert_null(own[0].value);
	assert_string_equal(own[1].value, "2");
	assert_int_equal(read_head("GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nx-one: 1\r\n\r\n"), 1);
	assert_int_equal(request.status, 400);
	request.own = NULL;
	request.n_own = 0;
}

/* A head that comes byte by byte is read once, at its end; one without an end is refused. */
static void test_pieces(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n{}";
	const size_t head = strlen(text) - 2;
	size_t scanned = 0;
	auto_buffer endless = { 0 };

	(void)state;
	for (size_t len = 1; len < head; len++)
		assert_int_equal(serve_request_read(&request, text, len, &scanned), 0);
	assert_int_equal(serve_request_read(&request, text, strlen(text), &scanned), 1);
	assert_int_equal(request.status, 0);
	assert_int_equal(request.bytes, head);
	assert_string_equal(request.head.request.path, "/a");

	buffer_adds(&endless, "GET / HTTP/1.1\r\nA: ");
	while (endless.len < SERVE_REQUEST_HEAD_MAX - 1)
		buffer_addc(&endless, 'a');
	scanned = 0;
	assert_int_equal(serve_request_read(&request, endless.data, endless.len, &scanned), 0);
	buffer_addc(&endless, 'a');
	assert_int_equal(serve_request_read(&request, endless.data, endless.len, &scanned), 1);
	assert_int_equal(request.status, 431);
}

static bool is_host(const char *host, uint16_t port)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	assert_int_equal(read_head(text), 1);
	return request.status == 0 && serve_request_is_host(&request, port);
}

static void test_hosts(void **state)
{
	(void)state;
	assert_true(is_host("localhost:82", 82));
	assert_true(is_host("127.0.0.1:82", 82));
	assert_true(is_host("[::1]:82", 82));
	assert_true(is_host("localhost", 80));
	assert_true(is_host("localhost:1", 0));
	assert_false(is_host("localhost", 82));
	assert_false(is_host("localhost:83", 82));
	assert_false(is_host("localhost.evil:82", 82));
	assert_false(is_host("evil:82", 82));
	assert_false(is_host("127.0.0.2:82", 82));
}

static bool is_token(const char *field, const char *token)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", field);
	assert_int_equal(read_head(text), 1);
	assert_int_equal(request.status, 0);
	return serve_request_is_token(&request, token);
}

static void test_tokens(void **state)
{
	(void)state;
	assert_true(is_token("Authorization: Bearer abc\r\n", "abc"));
	assert_true(is_token("authorization: bearer abc\r\n", "abc"));
	assert_false(is_token("", "abc"));
	assert_false(is_token("Authorization: Bearer abcd\r\n", "abc"));
	assert_false(is_token("Authorization: Bearer ab\r\n", "abc"));
	assert_false(is_token("Authorization: Basic abc\r\n", "abc"));
	assert_false(is_token("Authorization: Bearer \r\n", ""));
	assert_false(is_token("", ""));
}

static bool is_json(const char *type)
{
	char text[256];

	(void)snprintf(
		text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\n\r\n", type);
	assert_int_equal(read_head(text), 1);
	assert_int_equal(request.status, 0);
	return serve_request_is_json(&request);
}

static void test_types(void **state)
{
	(void)state;
	assert_true(is_json("application/json"));
	assert_true(is_json("Application/JSON; charset=utf-8"));
	assert_false(is_json("application/jsonp"));
	assert_false(is_json("text/plain"));
	assert_false(is_json("application/x-www-form-urlencoded"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_heads),
		cmocka_unit_test(test_own_fields),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
