/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "inject/bodies.h"
#include "inject/requests.h"
#include "vault/format.h"

struct host {
	struct placeholders *all;
	const struct placeholder *token, *password, *line, *large;
	struct inject_requests *requests;
	uint32_t places;
	unsigned begun;
};

static bool host_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	const struct host *h = context;

	(void)p;
	return h->places & place &&
	       (place != VAULT_FIELD || vault_fields_have("x-key,x-other", field, field_len));
}

static int host_begins(void *context, const struct http_request *q)
{
	(void)q;
	((struct host *)context)->begun++;
	return 0;
}

static int setup(void **state)
{
	static struct host h;
	static char large[2000];
	struct inject_requests_options o = { .host = "api.example.com",
		.port = 443,
		.usual_port = 443,
		.may = host_may,
		.begins = host_begins,
		.context = &h };

	h = (struct host){ .places = VAULT_HEADER };
	assert_int_equal(placeholders_new(&h.all), 0);
	assert_int_equal(placeholders_add(h.all, "TOKEN", "ghp_real-value", 14, &h.token), 0);
	assert_int_equal(placeholders_add(h.all, "PASSWORD", "p w&d", 5, &h.password), 0);
	assert_int_equal(placeholders_add(h.all, "LINE", "a\r\nX: y", 7, &h.line), 0);
	memset(large, 'v', sizeof(large));
	assert_int_equal(placeholders_add(h.all, "LARGE", large, sizeof(large), &h.large), 0);
	o.placeholders = h.all;
	o.rewrites = VAULT_BODY | VAULT_FORM;
	assert_int_equal(inject_requests_new(&h.requests, &o), 0);
	*state = &h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	inject_requests_free(h->requests);
	placeholders_free(h->all);
	return 0;
}

/* Feeds it in pieces of this size; returns the first error. */
static ssize_t feed(struct host *h, const char *text, size_t piece, struct buffer *out)
{
	size_t len = strlen(text), start = 0, end = 0;

	while (start < len) {
		ssize_t n;

		end = end + piece < len ? end + piece : len;
		do {
			n = inject_requests_feed(
				h->requests, (const uint8_t *)text + start, end - start, out);
			if (n < 0)
				return n;
			start += (size_t)n;
		} while (n > 0 && start < end);
		if (end == len && n == 0)
			return -EAGAIN;
	}
	return 0;
}

static void test_header(void **state)
{
	struct host *h = *state;

	for (size_t piece = 1; piece < 200; piece += 13) {
		auto_buffer in = { 0 };
		auto_buffer out = { 0 };

		buffer_printf(&in,
			"POST /x?a=%s HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: token "
			"%s\r\n"
			"accept-encoding: gzip, br\r\nContent-Length: 3\r\n\r\na=b"
			"GET / HTTP/1.1\r\nhost: API.example.com:443\r\nX-api-Key:%s\r\n\r\n",
			h->token->text, h->token->text, h->token->text);
		assert_int_equal(feed(h, in.data, piece, &out), 0);
		assert_non_null(strstr(out.data, "\r\nAuthorization: token ghp_real-value\r\n"));
		assert_non_null(strstr(out.data, "\r\nAccept-Encoding: identity\r\n"));
		assert_non_null(strstr(out.data, "\r\nX-api-Key:ghp_real-value\r\n\r\n"));
		assert_non_null(strstr(out.data, "\r\n\r\na=bGET / "));
		/* The query was not granted. */
		assert_non_null(strstr(out.data, h->token->text));
	}
	assert_int_equal(h->begun, 2 * 16);
}

static void test_query(void **state)
{
	struct host *h = *state;
	auto_buffer in = { 0 };
	auto_buffer out = { 0 };

	h->places = VAULT_QUERY;
	buffer_printf(&in, "GET /%s?key=%s&b=%s HTTP/1.1\r\nHost: api.example.com\r\nA: %s\r\n\r\n",
		h->token->text, h->password->text, h->token->text, h->token->text);
	assert_int_equal(feed(h, in.data, in.len, &out), 0);
	assert_non_null(strstr(out.data, "?key=p%20w%26d&b=ghp_real-value HTTP/1.1\r\n"));
	buffer_clear(&in);
	buffer_printf(&in, "GET /%s?key=", h->token->text);
	assert_memory_equal(out.data, in.data, in.len);
	buffer_clear(&in);
	buffer_printf(&in, "\r\nA: %s\r\n", h->token->text);
	assert_non_null(strstr(out.data, in.data));
}

static void test_basic(void **state)
{
	struct host *h = *state;
	auto_buffer pair = { 0 };
	auto_buffer in = { 0 };
	auto_buffer out = { 0 };

	buffer_printf(&pair, "user:%s", h->password->text);
	buffer_adds(&in, "GET / HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Basic ");
	encoding_print(ENCODING_BASE64, pair.data, pair.len, &in);
	buffer_adds(&in, "\r\n\r\n");
	assert_int_equal(feed(h, in.data, in.len, &out), 0);
	/* user:p w&d */
	assert_non_null(strstr(out.data, "\r\nAuthorization: Basic dXNlcjpwIHcmZA==\r\n"));
}

/* A field that a host may store is none for a value, unless it was named. */
static void test_fields(void **state)
{
	static const struct {
		const char *name;
		uint32_t places; /* of which any is enough */
	} fields[] = {
		{ "Authorization", VAULT_HEADER },
		{ "cookie", VAULT_HEADER },
		{ "PRIVATE-TOKEN", VAULT_HEADER },
		{ "Ocp-Apim-Subscription-Key", VAULT_HEADER },
		{ "X-KEY", VAULT_FIELD },
		{ "x-other", VAULT_FIELD },
		{ "x-goog-meta-a", 0 },
		{ "x-amz-meta-a", 0 },
		{ "x-ke", 0 },
		{ "Content-Type", 0 },
		{ "User-Agent", 0 },
		{ "Referer", 0 },
		{ "Authorizatio", 0 },
		{ "X-Authorization-", 0 },
	};
	struct host *h = *state;

	for (size_t i = 0; i < ROWS(fields); i++) {
		for (uint32_t places = 1; places <= VAULT_PLACES_ALL; places *= 2) {
			auto_buffer in = { 0 };
			auto_buffer out = { 0 };

			h->places = places;
			buffer_printf(&in,
				"GET / HTTP/1.1\r\nHost: api.example.com\r\n%s: %s\r\n\r\n",
				fields[i].name, h->token->text);
			assert_int_equal(feed(h, in.data, in.len, &out), 0);
			if ((strstr(out.data, "ghp_real-value") != NULL) !=
				((fields[i].places & places) != 0))
				fail_msg("%s, %u: %s", fields[i].name, places, out.data);
		}
	}
}

/* A value that would end the line is no part of one. */
static void test_lines(void **state)
{
	struct host *h = *state;
	auto_buffer in = { 0 };
	auto_buffer out = { 0 };

	buffer_printf(
		&in, "GET / HTTP/1.1\r\nHost: api.example.com\r\nA: %s\r\n\r\n", h->line->text);
	assert_int_equal(feed(h, in.data, in.len, &out), 0);
	assert_string_equal(out.data, in.data);
}

/* An answer in parts, or compressed, could have a value that is not found. */
static void test_dropped(void **state)
{
	auto_buffer out = { 0 };

	assert_int_equal(feed(*state,
				 "GET / HTTP/1.1\r\nHost: api.example.com\r\nrange: bytes=0-3\r\n"
				 "If-Range: x\r\nTE: gzip\r\nA: b\r\n\r\n",
				 1000, &out),
		0);
	assert_string_equal(out.data, "GET / HTTP/1.1\r\nHost: api.example.com\r\nA: b\r\n\r\n");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		ssize_t error;
	} rows[] = {
		{ "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n", -EXDEV },
		{ "GET / HTTP/1.1\r\nHost: api.example.com:444\r\n\r\n", -EXDEV },
		{ "GET http://other.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n",
			-EXDEV },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: x\r\n\r\n", -EINVAL },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 1\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
			-EINVAL },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nA: b\r\n c\r\n\r\n", -EINVAL },
		{ "GET / HTTP/1.1\nHost: api.example.com\n\n", -EINVAL },
		/* For a proxy, which could go on in the clear; and a tunnel. */
		{ "GET http://api.example.com:443/ HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
			-EINVAL },
		{ "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
			-EINVAL },
		/* What would follow is not searched. */
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: upgrade\r\n"
		  "Upgrade: h2c\r\n\r\n",
			-EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buffer out = { 0 };

		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
		if (feed(*state, rows[i].text, strlen(rows[i].text), &out) != rows[i].error)
			fail_msg("%s", rows[i].text);
		assert_int_equal(out.len, 0);
	}
}

static ssize_t post(
	struct host *h, const char *head, const char *body, size_t piece, struct buffer *out)
{
	auto_buffer in = { 0 };

	buffer_printf(&in, "POST / HTTP/1.1\r\nHost: api.example.com\r\n%s\r\n%s", head, body);
	return feed(h, in.data, piece, out);
}

static void expect(const struct buffer *out, const char *what, size_t piece)
{
	if (!strstr(buffer_text(out), what))
		fail_msg("by %zu, not there: %s\nin: %s", piece, what, buffer_text(out));
}

/* Values in bodies: their length is told anew, however they are cut. */
static void test_values_in_bodies(void **state)
{
	struct host *h = *state;

	for (size_t piece = 1; piece < 300; piece += 7) {
		auto_buffer body = { 0 };
		auto_buffer head = { 0 };
		auto_buffer out = { 0 };

		/* As it is. Behind it another request, which must begin where it does. */
		h->places = VAULT_BODY;
		buffer_printf(&body, "[%s]", h->password->text);
		buffer_printf(
			&head, "Content-Type: text/plain\r\nContent-Length: %zu\r\n", body.len);
		buffer_adds(&body, "GET /next HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
		assert_int_equal(post(h, head.data, body.data, piece, &out), 0);
		expect(&out, "\r\nContent-Length: 7\r\n\r\n[p w&d]GET /next HTTP/1.1\r\n", piece);
		assert_null(strstr(strstr(out.data, "Content-Length") + 1, "Content-Length"));
		/* A form. */
		h->places = VAULT_FORM;
		buffer_clear(&body), buffer_clear(&head), buffer_clear(&out);
		buffer_printf(&body, "a=%s&b=c", h->password->text);
		buffer_printf(&head,
			"content-type: Application/x-www-form-urlencoded;charset=utf-8\r\n"
			"Content-Length: %zu\r\n",
			body.len);
		assert_int_equal(post(h, head.data, body.data, piece, &out), 0);
		expect(&out, "\r\nContent-Length: 15\r\n\r\na=p%20w%26d&b=c", piece);
		/* JSON. */
		h->places = VAULT_BODY;
		buffer_clear(&body), buffer_clear(&head), buffer_clear(&out);
		buffer_printf(&body, "{\"a\":\"%s\"}", h->line->text);
		buffer_printf(&head,
			"Content-Type: application/vnd.x+json\r\nContent-Length: %zu\r\n",
			body.len);
		assert_int_equal(post(h, head.data, body.data, piece, &out), 0);
		expect(&out, "Content-Length: 17\r\n\r\n{\"a\":\"a\\r\\nX: y\"}", piece);
	}
}

/* Chunks of our own: a placeholder in two of the client's is one. None goes into a trailer. */
static void test_values_in_chunks(void **state)
{
	struct host *h = *state;

	for (size_t piece = 1; piece < 300; piece += 7) {
		auto_buffer body = { 0 };
		auto_buffer out = { 0 };
		char *text;

		h->places = VAULT_BODY;
		buffer_printf(&body, "5\r\n%.5s\r\n%zx\r\n%s\r\n0\r\nT: %s\r\n\r\n", h->token->text,
			h->token->len - 5, h->token->text + 5, h->token->text);
		assert_int_equal(
			post(h, "Transfer-Encoding: chunked\r\n", body.data, piece, &out), 0);
		text = strstr(out.data, "\r\n\r\n") + 4;
		buffer_clear(&body);
		buffer_printf(&body, "e\r\nghp_real-value\r\n0\r\nT: %s\r\n\r\n", h->token->text);
		assert_string_equal(text, body.data);
	}
}

/* Long ones, and those whose client waits for a word, do not wait until they are complete. */
static void test_long_bodies(void **state)
{
	static char filler[BODIES_HELD_MAX + 1];
	struct host *h = *state;
	auto_buffer body = { 0 };
	auto_buffer head = { 0 };
	auto_buffer out = { 0 };

	h->places = VAULT_BODY;
	memset(filler, 'x', sizeof(filler) - 1);
	buffer_printf(&body, "%s%s", filler, h->token->text);
	buffer_printf(&head, "Content-Length: %zu\r\n", body.len);
	assert_int_equal(post(h, head.data, body.data, 16384, &out), 0);
	assert_null(strstr(out.data, "Content-Length"));
	expect(&out, "Host: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n", 0);
	expect(&out, "ghp_real-value\r\n0\r\n\r\n", 0);
	buffer_clear(&body), buffer_clear(&head), buffer_clear(&out);
	buffer_printf(&head, "Expect: 100-continue\r\nContent-Length: %zu\r\n", h->token->len);
	assert_int_equal(post(h, head.data, "", 1000, &out), 0);
	expect(&out, "Transfer-Encoding: chunked\r\n\r\n", 0);
	assert_int_equal(feed(h, h->token->text, 3, &out), 0);
	expect(&out, "\r\n\r\ne\r\nghp_real-value\r\n0\r\n\r\n", 0);
	/* What is compressed is not searched, and stays. */
	buffer_clear(&head), buffer_clear(&out);
	buffer_printf(&head, "Content-Encoding: gzip\r\nContent-Length: %zu\r\n", h->token->len);
	assert_int_equal(post(h, head.data, h->token->text, 1000, &out), 0);
	expect(&out, h->token->text, 0);
	/* Values that are too many. */
	buffer_clear(&body), buffer_clear(&head), buffer_clear(&out);
	while (body.len < BODIES_HELD_MAX - 1000)
		buffer_adds(&body, h->large->text);
	buffer_printf(&head, "Content-Length: %zu\r\n", body.len);
	assert_int_equal(post(h, head.data, body.data, 16384, &out), -E2BIG);
	assert_int_equal(out.len, 0);
}

/* Without a grant bodies pass as they are: chunks, too, with a placeholder in them and in the
 * trailers. */
static void test_bodies(void **state)
{
	struct host *h = *state;
	auto_buffer in = { 0 };
	auto_buffer out = { 0 };

	buffer_printf(&in,
		"POST / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n"
		"%zx\r\n%s\r\n0\r\nT: %s\r\n\r\n",
		h->token->len, h->token->text, h->token->text);
	assert_int_equal(feed(h, in.data, 7, &out), 0);
	assert_string_equal(out.data, in.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query, setup, teardown),
		cmocka_unit_test_setup_teardown(test_basic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bodies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values_in_bodies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values_in_chunks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_bodies, setup, teardown),
	};

	if (secret_begin() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
