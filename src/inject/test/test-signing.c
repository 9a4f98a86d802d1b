/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are signed by a placeholder, through inject_requests_feed(): a server that has the
 * key finds its signature right. The key and the first signature are of AWS's documentation.
 */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "codec/encoding.h"
#include "inject/requests.h"
#include "inject/sigv4.h"
#include "vault/format.h"

#define KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define HOST "Host: examplebucket.s3.amazonaws.com\r\n"
#define DATE "x-amz-date: 20130524T000000Z\r\n"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define DIGITS "0000000000000000000000000000000000000000000000000000000000000000"

struct world {
	struct placeholders *all;
	const struct placeholder *id, *key;
	struct inject_requests *requests;
	uint32_t places;
	unsigned allowed;
};

static bool world_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	struct world *w = context;
	const bool may = w->places & place;

	(void)field;
	(void)field_len;
	w->allowed += may && p == w->key;
	return may;
}

/* Ten minutes after the time of the examples. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ .tv_sec = 1369353600 + 600 };
	return 0;
}

static int world_begins(void *context, const struct http_request *q)
{
	(void)context;
	(void)q;
	return 0;
}

static int setup(void **state)
{
	static struct world w;
	struct inject_requests_options o = { .host = "examplebucket.s3.amazonaws.com",
		.port = 443,
		.usual_port = 443,
		.may = world_may,
		.begins = world_begins,
		.rewrites = VAULT_BODY,
		.context = &w };

	w = (struct world){ .places = VAULT_HEADER | VAULT_BODY };
	assert_int_equal(placeholders_new(&w.all), 0);
	assert_int_equal(placeholders_add(w.all, "ID", "AKIAIOSFODNN7EXAMPLE", 20, &w.id), 0);
	assert_int_equal(placeholders_add(w.all, "KEY", KEY, strlen(KEY), &w.key), 0);
	o.placeholders = w.all;
	assert_int_equal(inject_requests_new(&w.requests, &o), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	inject_requests_free(w->requests);
	placeholders_free(w->all);
	return 0;
}

static const char *hash_of(const char *body, char digits[65])
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const uint8_t *)body, strlen(body));
	return encoding_hex(hash, sizeof(hash), digits);
}

/* A head of these lines, signed by this key over these fields, with the empty line. */
static void sign(struct buffer *out, const char *lines, const char *id, const char *service,
	const char *fields, const char *key, const char *body)
{
	auto_buffer value = { 0 }, text = { 0 };
	char signature[SIGV4_DIGITS + 1], digits[65];
	struct sigv4 s;

	buffer_printf(&value,
		"AWS4-HMAC-SHA256 Credential=%s/20130524/us-east-1/%s/aws4_request, "
		"SignedHeaders=%s, Signature=%s",
		id, service, fields, DIGITS);
	assert_int_equal(sigv4_parse(&s, value.data, value.len), 0);
	assert_int_equal(sigv4_text(&s,
				 &(struct sigv4_request){ lines, strlen(lines),
					 hash_of(body, digits), strcmp(service, "s3") == 0 },
				 &text),
		0);
	assert_int_equal(sigv4_sign(&s, &text, key, strlen(key), signature), 0);
	buffer_printf(out, "%sAuthorization: ", lines);
	sigv4_print(&s, s.id, signature, out);
	buffer_printf(out, "\r\n\r\n%s", body);
}

/* Feeds it in pieces of this size; returns the first error. */
static ssize_t feed(struct world *w, const struct buffer *in, size_t piece, struct buffer *out)
{
	size_t start = 0, end = 0;

	while (start < in->len) {
		ssize_t n;

		end = end + piece < in->len ? end + piece : in->len;
		do {
			n = inject_requests_feed(
				w->requests, (const uint8_t *)in->data + start, end - start, out);
			if (n < 0)
				return n;
			start += (size_t)n;
		} while (n > 0 && start < end);
		if (end == in->len && n == 0)
			return -EAGAIN;
	}
	return 0;
}

struct row {
	const char *name, *lines, *fields, *service, *body;
	const char *out_lines, *out_fields; /* NULL: the same */
};

static const struct row rows[] = {
	{ "a hash in a field",
		"GET /test.txt HTTP/1.1\r\n" HOST "x-amz-content-sha256: " EMPTY "\r\n" DATE,
		"host;x-amz-content-sha256;x-amz-date", "s3", "", NULL, NULL },
	{ "a range, which does not go out",
		"GET /test.txt HTTP/1.1\r\n" HOST "Range: bytes=0-9\r\nx-amz-content-sha256: " EMPTY
		"\r\n" DATE,
		"host;range;x-amz-content-sha256;x-amz-date", "s3", "",
		"GET /test.txt HTTP/1.1\r\n" HOST "x-amz-content-sha256: " EMPTY "\r\n" DATE,
		"host;x-amz-content-sha256;x-amz-date" },
	{ "an encoding of answers that goes out otherwise",
		"GET / HTTP/1.1\r\n" HOST "Accept-Encoding: identity, br\r\n" DATE,
		"accept-encoding;host;x-amz-date", "s3", "",
		"GET / HTTP/1.1\r\n" HOST "Accept-Encoding: identity\r\n" DATE, NULL },
	{ "a path that is encoded twice", "GET /a%20b HTTP/1.1\r\n" HOST DATE, "host;x-amz-date",
		"service", "", NULL, NULL },
	{ "a body that no field has the hash of",
		"POST / HTTP/1.1\r\n" HOST DATE
		"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 7\r\n",
		"content-length;content-type;host;x-amz-date", "dynamodb", "{\"a\":1}",
		"POST / HTTP/1.1\r\n" HOST DATE
		"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 7\r\n",
		NULL },
	{ "an unsigned body",
		"PUT /x HTTP/1.1\r\n" HOST DATE
		"x-amz-content-sha256: UNSIGNED-PAYLOAD\r\nContent-Length: 3\r\n",
		"host;x-amz-content-sha256;x-amz-date", "s3", "abc", NULL, NULL },
};

/* The Authorization field, and what follows the head. */
static void compare(const char *is, const char *expected)
{
	static const char name[] = "Authorization: ";
	const char *a = strstr(is, name), *b = strstr(expected, name);

	assert_non_null(a);
	assert_int_equal(strcspn(a, "\r"), strcspn(b, "\r"));
	assert_memory_equal(a, b, strcspn(b, "\r"));
	assert_string_equal(strstr(is, "\r\n\r\n"), strstr(expected, "\r\n\r\n"));
}

static void test_signed_again(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 400; piece += 37) {
			auto_buffer in = { 0 }, out = { 0 }, expected = { 0 };
			const struct row *r = &rows[i];

			sign(&in, r->lines, w->id->text, r->service, r->fields, w->key->text,
				r->body);
			sign(&expected, r->out_lines ? r->out_lines : r->lines,
				"AKIAIOSFODNN7EXAMPLE", r->service,
				r->out_fields ? r->out_fields : r->fields, KEY, r->body);
			assert_int_equal(feed(w, &in, piece, &out), 0);
			compare(buffer_text(&out), expected.data);
			assert_null(strstr(buffer_text(&out), w->key->text));
			assert_null(strstr(buffer_text(&out), KEY));
		}
}

static void test_not_signed(void **state)
{
	static const char lines[] = "GET / HTTP/1.1\r\n" HOST DATE;
	struct world *w = *state;
	auto_buffer by_other = { 0 }, changed = { 0 }, out = { 0 };

	/* By another key, and another request than the one that was signed. */
	sign(&by_other, lines, w->id->text, "s3", "host;x-amz-date", "another", "");
	assert_int_equal(feed(w, &by_other, 1000, &out), 0);
	assert_non_null(strstr(buffer_text(&out), strstr(by_other.data, "Signature=")));
	assert_int_equal(w->allowed, 0);
	buffer_clear(&out);
	sign(&changed, lines, w->id->text, "s3", "host;x-amz-date", w->key->text, "");
	changed.data[strlen("GET ")] = '/';
	memcpy(changed.data, "PUT", 3);
	assert_int_equal(feed(w, &changed, 1000, &out), 0);
	assert_non_null(strstr(buffer_text(&out), strstr(changed.data, "Signature=")));
	assert_int_equal(w->allowed, 0);
	buffer_clear(&out);
	/* Where the key may not go to this host. */
	w->places = VAULT_QUERY;
	buffer_clear(&changed);
	sign(&changed, lines, "id", "s3", "host;x-amz-date", w->key->text, "");
	assert_int_equal(feed(w, &changed, 1000, &out), 0);
	assert_string_equal(buffer_text(&out), changed.data);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *lines, *fields;
	} unfit[] = {
		/* As a URL that is good for a week. */
		{ "DELETE /x?X-Amz-Expires=604800 HTTP/1.1\r\n" HOST DATE, "host;x-amz-date" },
		{ "DELETE /x?a=b&%58-amz-Credential=AKIAIOSFODNN7EXAMPLE HTTP/1.1\r\n" HOST DATE,
			"host;x-amz-date" },
		/* In two days; on the day before the key's. */
		{ "GET / HTTP/1.1\r\n" HOST "x-amz-date: 20130526T000000Z\r\n", "host;x-amz-date" },
		{ "GET / HTTP/1.1\r\n" HOST "x-amz-date: 20130523T235959Z\r\n", "host;x-amz-date" },
		/* To any host, at any time, with any body. */
		{ "GET / HTTP/1.1\r\n" HOST DATE, "x-amz-date" },
		{ "GET / HTTP/1.1\r\n" HOST DATE, "host" },
		{ "PUT / HTTP/1.1\r\n" HOST DATE "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n",
			"host;x-amz-date" },
		/* Work for nothing. */
		{ "GET / HTTP/1.1\r\n" HOST DATE, "host;host;x-amz-date" },
		{ "GET / HTTP/1.1\r\n" HOST DATE, "x-amz-date;host" },
	};
	auto_buffer chunks = { 0 }, url = { 0 }, other = { 0 }, weak = { 0 }, out = { 0 };
	const struct placeholder *password;

	sign(&chunks,
		"PUT /x HTTP/1.1\r\n" HOST DATE
		"x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"
		"Content-Length: 3\r\n",
		w->id->text, "s3", "host;x-amz-content-sha256;x-amz-date", w->key->text, "abc");
	assert_int_equal(feed(w, &chunks, 4000, &out), -EKEYREJECTED);
	teardown(state);
	setup(state);
	buffer_clear(&out);
	buffer_printf(&url,
		"GET /x?X-Amz-Credential=%s%%2F20130524&X-Amz-Signature=0 HTTP/1.1\r\n" HOST "\r\n",
		w->id->text);
	assert_int_equal(feed(w, &url, 4000, &out), -EKEYREJECTED);
	teardown(state);
	setup(state);
	buffer_clear(&out);
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
		auto_buffer in = { 0 };

		sign(&in, unfit[i].lines, w->id->text, "s3", unfit[i].fields, w->key->text, "");
		assert_int_equal(feed(w, &in, 4000, &out), -EKEYREJECTED);
		assert_null(strstr(buffer_text(&out), "Signature"));
		teardown(state);
		setup(state);
		buffer_clear(&out);
	}
	/* What is no key of AWS signs nothing: its signature would tell a guess. */
	assert_int_equal(placeholders_add(w->all, "PASSWORD", "correct horse", 13, &password), 0);
	sign(&weak, "GET / HTTP/1.1\r\n" HOST DATE, "id", "s3", "host;x-amz-date", password->text,
		"");
	assert_int_equal(feed(w, &weak, 4000, &out), 0);
	assert_string_equal(buffer_text(&out), weak.data);
	teardown(state);
	setup(state);
	buffer_clear(&out);
	/* A URL that somebody else signed is none of ours. */
	buffer_adds(&other,
		"GET /x?X-Amz-Credential=AKIAOTHER%2F20130524&X-Amz-Signature=0 HTTP/1.1\r\n" HOST
		"\r\n");
	assert_int_equal(feed(w, &other, 4000, &out), 0);
	assert_string_equal(buffer_text(&out), other.data);
}

/* What waits for its body to be signed does not take a value on the way. */
static void test_body_has_no_value(void **state)
{
	struct world *w = *state;
	auto_buffer in = { 0 }, out = { 0 }, lines = { 0 };

	buffer_printf(
		&lines, "POST / HTTP/1.1\r\n" HOST DATE "Content-Length: %zu\r\n", w->id->len);
	sign(&in, lines.data, w->id->text, "sts", "host;x-amz-date", w->key->text, w->id->text);
	assert_int_equal(feed(w, &in, 50, &out), 0);
	assert_non_null(strstr(strstr(buffer_text(&out), "\r\n\r\n"), w->id->text));
	assert_int_equal(w->allowed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signed_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_signed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_body_has_no_value, setup, teardown),
	};

	if (secret_begin() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
