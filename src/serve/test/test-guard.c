/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and rules in a table, with what is said to them; and heads of answers. */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "serve/answer.h"
#include "serve/guard.h"

static struct serve_request request; /* it is big */

static void read_head(const char *text)
{
	size_t scanned = 0;

	assert_int_equal(serve_request_read(&request, text, strlen(text), &scanned), 1);
	assert_int_equal(request.status, 0);
}

static void test_place(void **state)
{
	static const struct serve_guard machine = { .port = 82 }, by_unix = { 0 };
	static const struct serve_guard page = { .host = "x.localhost",
		.port = 82,
		.origin = "http://x.localhost:82",
		.other_host = "ask elsewhere" };
	static const struct {
		const struct serve_guard *guard;
		const char *fields;
		unsigned status;
	} rows[] = {
		{ &machine, "Host: localhost:82\r\n", 0 },
		{ &machine, "Host: localhost\r\n", 403 },
		{ &machine, "Host: evil:82\r\n", 403 },
		{ &machine, "Host: x.localhost:82\r\n", 403 },
		{ &machine, "Host: localhost:82\r\nOrigin: null\r\n", 403 },
		{ &machine, "Host: localhost:82\r\nOrigin: http://localhost:82\r\n", 403 },
		{ &machine, "Host: localhost:82\r\nUpgrade: websocket\r\nConnection: upgrade\r\n",
			400 },
		{ &by_unix, "Host: localhost\r\n", 0 },
		{ &by_unix, "Host: evil\r\n", 403 },
		{ &page, "Host: x.localhost:82\r\n", 0 },
		{ &page, "Host: x.localhost\r\n", 403 },
		{ &page, "Host: localhost:82\r\n", 403 },
		{ &page, "Host: x.localhost:82\r\nOrigin: http://x.localhost:82\r\n", 0 },
		{ &page, "Host: x.localhost:82\r\nOrigin: http://y.localhost:82\r\n", 403 },
		{ &page, "Host: x.localhost:82\r\nOrigin: null\r\n", 403 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer text = { 0 };
		struct serve_refusal why = { 0 };

		buffer_printf(&text, "GET / HTTP/1.1\r\n%s\r\n", rows[i].fields);
		read_head(text.data);
		assert_int_equal(
			serve_guard_place(rows[i].guard, &request, &why), rows[i].status != 0);
		if (why.status != rows[i].status)
			fail_msg("row %zu: %u, not %u", i, why.status, rows[i].status);
	}
	read_head("GET / HTTP/1.1\r\nHost: evil\r\n\r\n");
	assert_int_equal(serve_guard_place(&page, &request, &(struct serve_refusal){ 0 }), 1);
}

static void test_token(void **state)
{
	struct serve_refusal why;

	(void)state;
	read_head("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer abc\r\n\r\n");
	assert_int_equal(serve_guard_token("abc", &request, &why), 0);
	assert_int_equal(serve_guard_token("abd", &request, &why), 1);
	assert_int_equal(why.status, 401);
	/* Without a token nobody has it. */
	assert_int_equal(serve_guard_token(NULL, &request, &why), 1);
	assert_int_equal(serve_guard_token("", &request, &why), 1);
}

static void test_body(void **state)
{
	static const struct {
		const char *fields;
		size_t most;
		bool is_needed;
		unsigned status;
	} rows[] = {
		{ "", 0, false, 0 },
		{ "", 9, false, 0 },
		{ "", 9, true, 411 },
		{ "Content-Length: 9\r\nContent-Type: application/json\r\n", 9, true, 0 },
		{ "Content-Length: 10\r\nContent-Type: application/json\r\n", 9, true, 413 },
		{ "Content-Length: 1\r\nContent-Type: application/json\r\n", 0, false, 413 },
		{ "Content-Length: 9\r\n", 9, true, 415 },
		{ "Content-Length: 9\r\nContent-Type: text/plain\r\n", 9, true, 415 },
		{ "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n", 9, true,
			411 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer text = { 0 };
		struct serve_refusal why = { 0 };

		buffer_printf(&text, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].fields);
		read_head(text.data);
		assert_int_equal(serve_guard_body(&request, rows[i].most, rows[i].is_needed, &why),
			rows[i].status != 0);
		if (why.status != rows[i].status)
			fail_msg("row %zu: %u, not %u", i, why.status, rows[i].status);
	}
}

static void has(const struct buffer *b, const char *part, bool is_there)
{
	if ((strstr(buffer_text(b), part) != NULL) != is_there)
		fail_msg("%s in %s", part, buffer_text(b));
}

static void test_answers(void **state)
{
	auto_buffer text = { 0 }, stream = { 0 }, empty = { 0 };

	(void)state;
	serve_answer_text(&text, &(struct serve_answer){ .status = 401, .is_last = true }, "error",
		"say \"please\"");
	has(&text, "HTTP/1.1 401 Unauthorized\r\n", true);
	has(&text, "Cache-Control: no-store\r\n", true);
	has(&text, "X-Content-Type-Options: nosniff\r\n", true);
	has(&text, "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n", true);
	has(&text, "WWW-Authenticate: Bearer\r\n", true);
	has(&text, "Connection: close\r\n\r\n{\"error\":\"say \\\"please\\\"\"}\n", true);
	has(&text, "Content-Length: 27\r\n", true);

	serve_answer_begin(&stream, &(struct serve_answer){ .status = 200,
					    .type = "text/event-stream",
					    .is_stream = true,
					    .fields = "A: b\r\n" });
	has(&stream, "Content-Length", false);
	has(&stream, "A: b\r\n", true);

	serve_answer_begin(&empty, &(struct serve_answer){ .status = 204 });
	has(&empty, "Content-Length", false);
	has(&empty, "Content-Type:", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
