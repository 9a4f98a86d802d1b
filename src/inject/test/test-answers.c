/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "inject/answers.h"

#define SECRET "value-of-the-secret"
#define STARS "*******************"

static int upgraded;

static void on_upgraded(void *context, bool accepted)
{
	(void)context;
	upgraded = accepted ? 1 : -1;
}

static struct masking *secrets(void)
{
	struct masking *m;

	assert_int_equal(masking_new(&m), 0);
	assert_int_equal(masking_add(m, "TOKEN", SECRET, strlen(SECRET)), 0);
	return m;
}

/* In pieces of this size, then the end, if it is closed. */
static ssize_t feed(
	struct inject_answers *a, const char *text, size_t piece, bool closes, struct buffer *out)
{
	size_t len = strlen(text), start = 0, end = 0;

	while (start < len) {
		bool last;
		ssize_t n;

		end = end + piece < len ? end + piece : len;
		last = closes && end == len;
		do {
			n = inject_answers_feed(
				a, (const uint8_t *)text + start, end - start, last, out);
			if (n < 0)
				return n;
			start += (size_t)n;
		} while (n > 0 && start < end);
		if (end == len && n == 0)
			return -EAGAIN;
	}
	return 0;
}

struct row {
	const char *methods; /* of requests: G, H, U */
	const char *in, *out;
	bool closes;
	ssize_t error;
};

static const struct row rows[] = {
	{ "G", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", false, 0 },
	{ "G", "HTTP/1.1 200 OK\r\nX: " SECRET "\r\nContent-Length: 23\r\n\r\n(" SECRET ") =",
		"HTTP/1.1 200 OK\r\nX: " STARS "\r\nContent-Length: 23\r\n\r\n(" STARS ") =", false,
		0 },
	/* In two chunks: those that come out are ours. */
	{ "G",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nvalue-of\r\n"
		"b\r\n-the-secret\r\n0\r\nT: " SECRET "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n" STARS
		"\r\n0\r\nT: " STARS "\r\n\r\n",
		false, 0 },
	{ "GG",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 "
		"No\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 "
		"No\r\nContent-Length: 9\r\n\r\n",
		false, 0 },
	{ "HG",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
		"0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
		"0\r\n\r\n",
		false, 0 },
	{ "G", "HTTP/1.0 200 OK\r\n\r\nto the end " SECRET,
		"HTTP/1.0 200 OK\r\n\r\nto the end " STARS, true, 0 },
	{ "U", "HTTP/1.1 101 Yes\r\nUpgrade: x\r\n\r\nopen " SECRET "!",
		"HTTP/1.1 101 Yes\r\nUpgrade: x\r\n\r\nopen " STARS "!", true, 0 },
	/* Refused. */
	{ "G", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "", false,
		-EOPNOTSUPP },
	{ "G", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "", false,
		-EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", "",
		false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nx", "", false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", "", false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "", false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", "", false, -EINVAL },
	{ "G", "HTTP/1.1 101 Yes\r\n\r\n", "", false, -EINVAL },
	{ "", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", false, -EINVAL },
	{ "G", "HTTP/2 200 OK\r\n\r\n", "", false, -EINVAL },
	{ "G", "HTTP/1.1 20 OK\r\n\r\n", "", false, -EINVAL },
	{ "G", "SSH-2.0-x\r\n\r\n", "", false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\nX: y\n\n", "", false, -EINVAL },
	{ "G", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, -EPIPE },
	/* A part of a value would pass in a part of an answer; and in one that is compressed. */
	{ "G", "HTTP/1.1 206 Part\r\nContent-Length: 1\r\n\r\nx", "", false, -EOPNOTSUPP },
	{ "U",
		"HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: "
		"permessage-deflate\r\n\r\n",
		"", false, -EOPNOTSUPP },
};

static void test_rows(void **state)
{
	static const struct inject_answers_options none;
	struct masking *m = secrets();

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (size_t piece = rows[i].error ? 1000 : 1; piece <= 1000; piece += 37) {
			struct inject_answers_options o = none;
			struct inject_answers *a;
			auto_buffer out = { 0 };
			ssize_t r;

			o.masking = m;
			o.upgraded = on_upgraded;
			assert_int_equal(inject_answers_new(&a, &o), 0);
			for (const char *c = rows[i].methods; *c; c++)
				assert_int_equal(inject_answers_expect(
							 a, *c == 'H' ? "HEAD" : "GET", *c == 'U'),
					0);
			upgraded = 0;
			r = feed(a, rows[i].in, piece, rows[i].closes, &out);
			if (r != rows[i].error ||
				(strstr(rows[i].in, "chunked") && piece < 100
						? strstr(buffer_text(&out), SECRET) != NULL
						: strcmp(buffer_text(&out), rows[i].out) != 0))
				fail_msg(
					"row %zu, by %zu: %zd: %s", i, piece, r, buffer_text(&out));
			assert_int_equal(upgraded, !r && strchr(rows[i].methods, 'U') ? 1 : 0);
			inject_answers_free(a);
		}
	}
	masking_free(m);
}

/* An answer that goes on: its last bytes go when nothing has followed for a while. */
static void test_flush(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\n\r\ndata: " SECRET "!\n\n";
	struct masking *m = secrets();
	struct inject_answers_options o = { .masking = m, .upgraded = on_upgraded };
	struct inject_answers *a;
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(inject_answers_new(&a, &o), 0);
	assert_true(inject_answers_are_complete(a));
	assert_int_equal(inject_answers_expect(a, "GET", false), 0);
	assert_false(inject_answers_are_complete(a));
	assert_int_equal(feed(a, text, sizeof(text), false, &out), 0);
	assert_true(inject_answers_waits(a));
	assert_int_equal(inject_answers_flush(a, &out), 0);
	assert_false(inject_answers_waits(a));
	assert_string_equal(buffer_text(&out), "HTTP/1.1 200 OK\r\n\r\ndata: " STARS "!\n\n");
	assert_false(inject_answers_are_complete(a));
	inject_answers_free(a);
	masking_free(m);
}

/* A server that pauses in the middle of a value. */
static void test_pauses(void **state)
{
	static const struct {
		const char *first, *second, *out; /* out: of the body */
		bool rests;
	} pauses[] = {
		/* The length says that more comes: nothing goes. */
		{ "Content-Length: 19\r\n\r\nvalue-of-", "the-secret", STARS, false },
		{ "Transfer-Encoding: chunked\r\n\r\n13\r\nvalue-of-", "the-secret\r\n0\r\n\r\n",
			"13\r\n" STARS "\r\n0\r\n\r\n", false },
		/* Nothing says so: what went has gone, and the rest does not follow. */
		{ "Transfer-Encoding: chunked\r\n\r\n9\r\nvalue-of-\r\n",
			"a\r\nthe-secret\r\n0\r\n\r\n",
			"9\r\nvalue-of-\r\na\r\n**********\r\n0\r\n\r\n", true },
		{ "A: b\r\n\r\nvalue-of-", "the-secret!", "value-of-**********!", true },
		{ "A: b\r\n\r\n0123456789012345678901234567890123456789value-of-",
			"the-secret" SECRET,
			"0123456789012345678901234567890123456789value-of-**********" STARS, true },
	};
	struct masking *m = secrets();

	(void)state;
	for (size_t i = 0; i < ROWS(pauses); i++) {
		struct inject_answers_options o = { .masking = m, .upgraded = on_upgraded };
		struct inject_answers *a;
		auto_buffer out = { 0 };
		auto_buffer in = { 0 };

		assert_int_equal(inject_answers_new(&a, &o), 0);
		assert_int_equal(inject_answers_expect(a, "GET", false), 0);
		buffer_printf(&in, "HTTP/1.1 200 OK\r\n%s", pauses[i].first);
		assert_int_equal(feed(a, in.data, in.len, false, &out), 0);
		assert_int_equal(inject_answers_waits(a), pauses[i].rests);
		assert_int_equal(inject_answers_flush(a, &out), 0);
		assert_false(inject_answers_waits(a));
		assert_int_equal(feed(a, pauses[i].second, 100, true, &out), 0);
		if (strcmp(strstr(out.data, "\r\n\r\n") + 4, pauses[i].out) != 0)
			fail_msg("row %zu: %s", i, out.data);
		inject_answers_free(a);
	}
	masking_free(m);
}

/* Byte by byte, with a pause behind each: the end does not follow the beginning. */
static void test_trickle(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n", body[] = "(" SECRET ")";
	struct masking *m = secrets();
	struct inject_answers_options o = { .masking = m, .upgraded = on_upgraded };
	struct inject_answers *a;
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(inject_answers_new(&a, &o), 0);
	assert_int_equal(inject_answers_expect(a, "GET", false), 0);
	assert_int_equal(feed(a, head, 100, false, &out), 0);
	for (size_t i = 0; body[i]; i++) {
		assert_int_equal(
			inject_answers_feed(a, (const uint8_t *)body + i, 1, false, &out), 1);
		assert_int_equal(inject_answers_flush(a, &out), 0);
	}
	assert_null(strstr(out.data, SECRET));
	assert_non_null(strstr(out.data, "*)"));
	inject_answers_free(a);
	masking_free(m);
}

static void test_waiting(void **state)
{
	struct masking *m = secrets();
	struct inject_answers_options o = { .masking = m, .upgraded = on_upgraded };
	struct inject_answers *a;

	(void)state;
	assert_int_equal(inject_answers_new(&a, &o), 0);
	for (int i = 0; i < INJECT_WAITING_MAX; i++)
		assert_int_equal(inject_answers_expect(a, "GET", false), 0);
	assert_int_equal(inject_answers_expect(a, "GET", false), -E2BIG);
	inject_answers_free(a);
	masking_free(m);
}

/* Answers that wait until they are complete. */

static struct held {
	int hold, result; /* what is said about it */
	unsigned calls, status;
	bool is_framed;
	char type[64];
	struct buffer body;
} held;

static int on_hold(void *context, unsigned status, const char *type, size_t len)
{
	(void)context;
	held.status = status;
	(void)snprintf(held.type, sizeof(held.type), "%.*s", (int)len, type ? type : "");
	return held.hold;
}

static int on_held(void *context, const char *body, size_t len, bool is_framed)
{
	(void)context;
	held.calls++;
	held.is_framed = is_framed;
	buffer_clear(&held.body);
	buffer_add(&held.body, body, len);
	return held.result;
}

#define HELD_HEAD "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n"

static void test_held(void **state)
{
	static const struct {
		const char *in;
		bool is_framed, closes;
	} forms[] = {
		{ HELD_HEAD "Content-Length: 9\r\nETag: x\r\n\r\nthe-token", true, false },
		{ HELD_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nthe-\r\n5\r\ntoken\r\n0\r\n"
			    "T: the-token\r\n\r\n",
			true, false },
		{ HELD_HEAD "\r\nthe-token", false, true },
	};
	struct masking *m = secrets();
	struct inject_answers_options o = {
		.masking = m, .hold = on_hold, .held = on_held, .upgraded = on_upgraded
	};

	(void)state;
	for (size_t i = 0; i < 6 * ROWS(forms); i++) {
		const char *in = forms[i % ROWS(forms)].in;
		const size_t piece = i < 3 * ROWS(forms) ? 1000 : 1;
		struct inject_answers *a;
		auto_buffer out = { 0 };

		held = (struct held){ .hold = ANSWERS_HOLD,
			.result = (int)(i / ROWS(forms) % 3) - 1 };
		assert_int_equal(inject_answers_new(&a, &o), 0);
		assert_int_equal(inject_answers_expect(a, "POST", false), 0);
		assert_int_equal(feed(a, in, piece, forms[i % ROWS(forms)].closes, &out),
			held.result == -1 ? -1 : 0);
		assert_true(held.calls == 1 && held.status == 200);
		assert_string_equal(held.type, "a/b");
		assert_string_equal(held.body.data, "the-token");
		assert_int_equal(held.is_framed, forms[i % ROWS(forms)].is_framed);
		assert_int_equal(inject_answers_is_held(a), held.result != 0);
		if (held.result == 1) {
			assert_int_equal(out.len, 0);
			assert_false(inject_answers_are_complete(a));
			/* The end of the connection does not end it. */
			assert_int_equal(
				inject_answers_feed(a, (const uint8_t *)"", 0, true, &out), 0);
			assert_int_equal(inject_answers_release(
						 a, "other " SECRET, 6 + strlen(SECRET), &out),
				0);
			assert_string_equal(
				out.data, HELD_HEAD "Content-Length: 25\r\n\r\nother " STARS);
			assert_true(inject_answers_are_complete(a));
		}
		if (held.result == 0)
			assert_string_equal(
				out.data, HELD_HEAD "Content-Length: 9\r\n\r\nthe-token");
		if (held.result < 0)
			assert_int_equal(out.len, 0);
		buffer_deinit(&held.body);
		inject_answers_free(a);
	}
	masking_free(m);
}

/* Half of one, one without a body, one that is compressed, one that is refused at its head. */
static void test_held_not(void **state)
{
	static const struct {
		const char *in;
		int hold;
		ssize_t result;
	} forms[] = {
		{ HELD_HEAD "Content-Length: 9\r\n\r\nthe-tok", ANSWERS_HOLD, -EPIPE },
		{ HELD_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nthe-\r\n", ANSWERS_HOLD,
			-EPIPE },
		{ HELD_HEAD "Content-Length: 0\r\n\r\n", ANSWERS_HOLD, 0 },
		{ "HTTP/1.1 204 No\r\n\r\n", ANSWERS_HOLD, 0 },
		{ HELD_HEAD "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", ANSWERS_HOLD,
			-EOPNOTSUPP },
		{ HELD_HEAD "Content-Length: 1\r\n\r\nx", -EACCES, -EACCES },
	};
	struct masking *none;
	struct inject_answers_options o = {
		.hold = on_hold, .held = on_held, .upgraded = on_upgraded
	};

	(void)state;
	assert_int_equal(masking_new(&none), 0);
	o.masking = none;
	for (size_t i = 0; i < ROWS(forms); i++) {
		struct inject_answers *a;
		auto_buffer out = { 0 };

		held = (struct held){ .hold = forms[i].hold };
		assert_int_equal(inject_answers_new(&a, &o), 0);
		assert_int_equal(inject_answers_expect(a, "POST", false), 0);
		assert_int_equal(feed(a, forms[i].in, 1000, true, &out), forms[i].result);
		assert_int_equal(held.calls, 0);
		assert_int_equal(out.len > 0, forms[i].result == 0);
		inject_answers_free(a);
	}
	masking_free(none);
}

/* One that is too long is refused, or passes, with what of it was kept. */
static void test_held_long(void **state)
{
	struct masking *m = secrets();
	struct inject_answers_options o = {
		.masking = m, .hold = on_hold, .held = on_held, .upgraded = on_upgraded
	};

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		const size_t len = ANSWERS_HELD_MAX + (i & 1 ? 1000 : 0);
		struct inject_answers *a;
		auto_buffer in = { 0 }, out = { 0 };

		held = (struct held){ .hold = i & 2 ? ANSWERS_TRY : ANSWERS_HOLD };
		buffer_printf(&in,
			i & 4 ? HELD_HEAD "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
			      : HELD_HEAD "Content-Length: %zu\r\n\r\n",
			len);
		for (size_t n = 0; n < len; n++)
			buffer_addc(&in, n >= 10 && n < 10 + strlen(SECRET) ? SECRET[n - 10] : 'x');
		buffer_adds(&in, i & 4 ? "\r\n0\r\n\r\n" : "");
		assert_int_equal(inject_answers_new(&a, &o), 0);
		assert_int_equal(inject_answers_expect(a, "POST", false), 0);
		assert_int_equal(feed(a, in.data, 65536, false, &out),
			held.hold == ANSWERS_HOLD && i & 1 ? -E2BIG : 0);
		assert_int_equal(held.calls, !(i & 1));
		assert_null(strstr(buffer_text(&out), SECRET));
		assert_int_equal(out.len >= len, !(i & 1) || held.hold == ANSWERS_TRY);
		assert_int_equal(inject_answers_are_complete(a), out.len >= len);
		buffer_deinit(&held.body);
		inject_answers_free(a);
	}
	masking_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_held_not),
		cmocka_unit_test(test_held_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
