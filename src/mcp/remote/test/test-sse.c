/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "mcp/remote/sse.h"

enum { LONGEST = 8 };

/* Streams, and what comes of them: data of events, "!" for one that is too long. */
static const struct {
	const char *stream, *events, *id;
	uint64_t retry_ms;
	bool has_retry;
} rows[] = {
	{ "", "", "", 0, false },
	{ "data: a\n\n", "a|", "", 0, false },
	{ "data:a\n\n", "a|", "", 0, false },
	{ "data:  a\n\n", " a|", "", 0, false },
	{ "data: a\r\rdata: b\r\n\r\n", "a|b|", "", 0, false },
	{ "data: a\ndata: b\n\n", "a\nb|", "", 0, false },
	{ "data\ndata\n\n", "\n|", "", 0, false },
	{ "\xef\xbb\xbf"
	  "data: a\n\n",
		"a|", "", 0, false },
	/* No data, another event, a comment, a field that is none. */
	{ "data:\n\nid: 1\n\n", "", "1", 0, false },
	{ "event: ping\ndata: a\n\ndata: b\n\n", "b|", "", 0, false },
	{ "event: message\ndata: a\n\nevent:\ndata: b\n\n", "a|b|", "", 0, false },
	{ ": data: a\n\ndatax: a\n\n data: a\n\n", "", "", 0, false },
	/* Half an event is none, and neither is its id. */
	{ "data: a\n", "", "", 0, false },
	{ "data: a", "", "", 0, false },
	{ "id: 1\ndata: a\n\nid: 2\ndata: b\n", "a|", "1", 0, false },
	{ "id: 1\ndata: a\n\nid\ndata: b\n\n", "a|b|", "", 0, false },
	{ "id: a\tb\ndata: a\n\n", "a|", "", 0, false },
	{ "retry: 500\n\n", "", "", 500, true },
	{ "retry: 5s\n\nretry:\n\nretry: -1\n\n", "", "", 0, false },
	{ "retry: 99999999\n\n", "", "", SSE_RETRY_MAX_MS, true },
	/* Bounds: of a line, and of an event of many. */
	{ "data: 12345678\n\n", "12345678|", "", 0, false },
	{ "data: 123456789\n\ndata: a\n\n", "!a|", "", 0, false },
	{ "data: 1234\ndata: 5678\n\ndata: a\n\n", "!a|", "", 0, false },
	{ "data: 1234\ndata: 567\n\n", "1234\n567|", "", 0, false },
	{ "id: 7\ndata: 12345678901234567890123456789012345678901234567890\ndata: b\n\ndata: c\n\n",
		"!c|", "7", 0, false },
	{ "data: 12345678901234567890123456789012345678901234567890", "", "", 0, false },
};

static int test_note(void *context, const char *data, size_t len)
{
	if (!data)
		buffer_addc(context, '!');
	buffer_add(context, data ? data : "", len);
	if (data)
		buffer_addc(context, '|');
	return 0;
}

/* Whole, and byte by byte. */
static void test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ROWS(rows); i++) {
		const char *stream = rows[i / 2].stream;
		const size_t len = strlen(stream), step = i % 2 ? 1 : len;
		struct sse s = { .max = LONGEST };
		auto_buffer got = { 0 };

		for (size_t at = 0; at < len; at += step) {
			assert_int_equal(sse_feed(&s, stream + at, step, test_note, &got), 0);
			assert_true(sse_held(&s) <= (size_t)(2 * LONGEST + 16));
		}
		assert_string_equal(buffer_text(&got), rows[i / 2].events);
		assert_string_equal(s.id, rows[i / 2].id);
		assert_int_equal(s.retry_ms, rows[i / 2].retry_ms);
		assert_int_equal(s.has_retry, rows[i / 2].has_retry);
		sse_deinit(&s);
	}
}

static int test_stop(void *context, const char *data, size_t len)
{
	(void)data;
	(void)len;
	++*(int *)context;
	return 7;
}

/* A visitor that wants no more, and a stream that goes on by another connection. */
static void test_ends(void **state)
{
	static const char stream[] = "id: 1\ndata: a\n\ndata: b\n\n", half[] = "id: 2\ndata: b\n";
	struct sse s = { 0 };
	auto_buffer got = { 0 };
	int n = 0;

	(void)state;
	assert_int_equal(sse_feed(&s, stream, sizeof(stream) - 1, test_stop, &n), 7);
	assert_int_equal(n, 1);
	assert_int_equal(sse_feed(&s, half, sizeof(half) - 1, test_note, &got), 0);
	sse_restart(&s);
	assert_string_equal(s.id, "1");
	assert_int_equal(sse_feed(&s, "data: c\n\n", 9, test_note, &got), 0);
	assert_string_equal(buffer_text(&got), "c|");
	assert_string_equal(s.id, "1");
	sse_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
