/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, and what the front makes of them: each that is refused works against a lax reader. */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/front/http.h"
#include "serve/request.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:8200\r\n"
#define AUTH "Authorization: Bearer " TOKEN "\r\n"
#define JSON "Content-Type: application/json\r\n"
#define POST "POST /rpc HTTP/1.1\r\n"

static const struct http_guard guard = { .token = TOKEN, .port = 8200 };

static const struct {
	const char *text;
	unsigned status; /* 200: a call; 0: more is needed */
} rows[] = {
	{ POST HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 200 },
	{ POST "Host: localhost:8200\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 200 },
	{ POST "Host: [::1]:8200\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 200 },
	{ POST HOST "authorization: bearer " TOKEN "\r\n" JSON "Content-Length: 2\r\n\r\n{}", 200 },
	{ POST HOST AUTH "Content-Type: application/json; charset=utf-8\r\n"
			 "Content-Length: 2\r\n\r\n{}",
		200 },
	{ "GET /health HTTP/1.1\r\n" HOST "\r\n", 200 },
	/* Parts. */
	{ "", 0 },
	{ "POST /rpc HTTP/1.1\r\nHo", 0 },
	{ POST HOST AUTH JSON "Content-Length: 3\r\n\r\n{}", 0 },
	/* Tokens: none, part of it, more than it, another, another scheme, two. */
	{ POST HOST JSON "Content-Length: 2\r\n\r\n{}", 401 },
	{ POST HOST "Authorization: Bearer \r\n" JSON "Content-Length: 2\r\n\r\n{}", 401 },
	{ POST HOST "Authorization: Bearer 0123\r\n" JSON "Content-Length: 2\r\n\r\n{}", 401 },
	{ POST HOST "Authorization: Bearer " TOKEN "0\r\n" JSON "Content-Length: 2\r\n\r\n", 401 },
	{ POST HOST "Authorization: Bearer 0123456789abcdef0123456789abcdeF\r\n" JSON
		    "Content-Length: 2\r\n\r\n{}",
		401 },
	{ POST HOST "Authorization: Basic " TOKEN "\r\n" JSON "Content-Length: 2\r\n\r\n{}", 401 },
	{ POST HOST "Authorization: " TOKEN "\r\n" JSON "Content-Length: 2\r\n\r\n{}", 401 },
	{ POST HOST AUTH AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ "POST /rpc?token=" TOKEN " HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\n\r\n{}", 401 },
	/* A large body is refused by its head: none of it is kept. */
	{ POST HOST JSON "Content-Length: 8000000\r\n\r\n", 401 },
	{ POST HOST AUTH JSON "Content-Length: 8388609\r\n\r\n", 413 },
	{ POST HOST AUTH JSON "Content-Length: 18446744073709551618\r\n\r\n", 400 },
	{ "GET /health HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 413 },
	/* Hosts: a name that was made to lead here, another port, none, two. */
	{ POST "Host: evil.example:8200\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 403 },
	{ POST "Host: 127.0.0.1.evil.example:8200\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}",
		403 },
	{ POST "Host: 127.0.0.1\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 403 },
	{ POST "Host: 127.0.0.1:8201\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 403 },
	{ POST AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ POST HOST HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ "GET /health HTTP/1.1\r\nHost: evil.example:8200\r\n\r\n", 403 },
	{ "GET http://evil.example:8200/health HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /health HTTP/1.0\r\n\r\n", 403 },
	/* Pages. */
	{ POST HOST "Origin: http://evil.example\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}",
		403 },
	{ POST HOST "Origin: null\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 403 },
	{ POST HOST "ORIGIN: http://127.0.0.1:8200\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}",
		403 },
	{ "OPTIONS /rpc HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 403 },
	{ "GET /health HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", 403 },
	{ POST HOST AUTH "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415 },
	{ POST HOST AUTH "Content-Length: 2\r\n\r\n{}", 415 },
	{ POST HOST AUTH "Content-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}", 415 },
	{ POST HOST AUTH JSON "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 400 },
	/* Other ways in. */
	{ "GET /rpc HTTP/1.1\r\n" HOST AUTH "\r\n", 405 },
	{ "PUT /rpc HTTP/1.1\r\n" HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 405 },
	{ "post /rpc HTTP/1.1\r\n" HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 405 },
	{ "POST /health HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 405 },
	{ "POST /rpc/ HTTP/1.1\r\n" HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 404 },
	{ "POST //rpc HTTP/1.1\r\n" HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 404 },
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", 404 },
	{ "CONNECT 127.0.0.1:8200 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /health HTTP/1.1\r\n" HOST "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", 400 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400 },
	/* What two could read in two ways. */
	{ POST HOST AUTH JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: 2\r\ncontent-length: 40\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: 2, 2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: +2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: 0x2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: -2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length : 2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411 },
	{ POST HOST AUTH JSON "Transfer-Encoding: gzip, chunked\r\n\r\n", 400 },
	{ POST HOST AUTH JSON "\r\n{}", 411 },
	{ POST HOST AUTH JSON " Content-Length: 40\r\nContent-Length: 2\r\n\r\n{}", 400 },
	{ "POST /rpc HTTP/1.1\nHost: 127.0.0.1:8200\n\n", 400 },
	{ POST "Host: 127.0.0.1:8200\n" AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ POST HOST AUTH JSON "X: a\rContent-Length: 40\r\nContent-Length: 2\r\n\r\n{}", 400 },
	{ "POST  /rpc HTTP/1.1\r\n" HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ "POST /rpc\r\n\r\n", 400 },
	{ "\r\n\r\n" POST HOST AUTH JSON "Content-Length: 2\r\n\r\n{}", 400 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", 400 },
};

static unsigned read_all(const char *text, size_t len, size_t piece, struct http_message *m)
{
	size_t scanned = 0;
	char *copy = malloc(len + 1);
	int r = 0;

	assert_non_null(copy);
	for (size_t at = 0; r == 0 && at < len;) {
		at = len - at < piece ? len : at + piece;
		/* A new place each time: nothing may be kept of the old one. */
		memcpy(copy, text, at);
		r = http_message_read(&guard, copy, at, &scanned, m);
		memset(copy, 'x', at);
	}
	free(copy);
	return r == 0 ? 0 : m->what == HTTP_REFUSED ? m->status : 200;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (size_t piece = 1; piece < 2000; piece = piece * 7 + 1) {
			struct http_message m = { 0 };
			unsigned status = read_all(rows[i].text, strlen(rows[i].text), piece, &m);

			if (status != rows[i].status)
				fail_msg("%s\n%u, not %u", rows[i].text, status, rows[i].status);
		}
	}
}

/* What stands behind a request is the next one, and not part of this. */
static void test_ends(void **state)
{
	static const char text[] = POST HOST AUTH JSON "Content-Length: 2\r\n\r\n{}" POST;
	struct http_message m;
	size_t scanned = 0;

	(void)state;
	assert_int_equal(http_message_read(&guard, text, strlen(text), &scanned, &m), 1);
	assert_int_equal(m.what, HTTP_CALL);
	assert_memory_equal(text + m.head, "{}", 2);
	assert_int_equal(m.head + m.body + strlen(POST), strlen(text));
}

static void test_large_heads(void **state)
{
	auto_buffer text = { 0 };
	struct http_message m = { 0 };

	(void)state;
	buffer_adds(&text, POST HOST);
	while (text.len < SERVE_REQUEST_HEAD_MAX)
		buffer_adds(&text, "X: y\r\n");
	assert_int_equal(read_all(text.data, text.len, 100, &m), 431);
	buffer_clear(&text);
	while (text.len < SERVE_REQUEST_HEAD_MAX)
		buffer_adds(&text, "GET ");
	assert_int_equal(read_all(text.data, text.len, 4096, &m), 431);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_large_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
