/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "broker/fetch/hop.h"

static const struct value_item all[] = { { "Accept", "a" }, { "AUTHORIZATION", "b" },
	{ "cookie", "c" }, { "Content-Type", "d" }, { "X-Own", "e" } };

static struct hop begin(const char *method, const char *url)
{
	return (struct hop){ .method = method,
		.url = url,
		.headers = all,
		.n_headers = ROWS(all),
		.has_body = strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 };
}

static bool has(const struct hop *h, const char *name)
{
	for (size_t i = 0; i < h->n_headers; i++) {
		if (strcmp(h->headers[i].key, name) == 0)
			return true;
	}
	return false;
}

static void test_methods(void **state)
{
	static const struct {
		const char *method;
		uint64_t status;
		const char *then;
		bool has_body;
	} rows[] = {
		{ "GET", 301, "GET", false },
		{ "GET", 308, "GET", false },
		{ "HEAD", 303, "HEAD", false },
		{ "POST", 301, "GET", false },
		{ "POST", 302, "GET", false },
		{ "POST", 303, "GET", false },
		{ "POST", 307, "POST", true },
		{ "POST", 308, "POST", true },
		{ "PUT", 302, "PUT", true },
		{ "PUT", 303, "GET", false },
		{ "DELETE", 301, "DELETE", true },
		{ "DELETE", 303, "GET", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct hop h = begin(rows[i].method, "http://a.example/");
		auto_arena a = { 0 };
		const char *why = NULL;

		assert_int_equal(hop_follow(&h, rows[i].status, "http://a.example/b", &a, &why), 1);
		assert_string_equal(h.method, rows[i].then);
		assert_string_equal(h.url, "http://a.example/b");
		assert_int_equal(h.has_body, rows[i].has_body);
		assert_int_equal(has(&h, "Content-Type"), rows[i].has_body);
		assert_true(has(&h, "AUTHORIZATION") && has(&h, "Accept"));
	}
}

static void test_origins(void **state)
{
	static const struct {
		const char *from, *to;
		bool is_same;
	} rows[] = {
		{ "http://a.example/", "http://a.example:80/x", true },
		{ "http://a.example/", "http://A.Example/", true },
		{ "http://127.0.0.1/", "http://127.1/", true },
		{ "http://a.example/", "http://b.example/", false },
		{ "http://a.example/", "http://a.example:8080/", false },
		{ "http://a.example/", "https://a.example/", false },
		{ "http://a.example/", "http://x.a.example/", false },
		{ "http://a.example/", "http://127.0.0.1/", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct hop h = begin("GET", rows[i].from);
		auto_arena a = { 0 };
		const char *why = NULL;

		assert_int_equal(hop_follow(&h, 302, rows[i].to, &a, &why), 1);
		assert_int_equal(has(&h, "AUTHORIZATION"), rows[i].is_same);
		assert_int_equal(has(&h, "cookie"), rows[i].is_same);
		assert_true(has(&h, "X-Own"));
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = { "file:///etc/passwd", "gopher://a.example/",
		"ftp://a.example/", "javascript:alert(1)", "data:text/plain,x",
		"https://u:p@a.example/", "http://a.example/", "https://", "" };
	struct hop h;
	auto_arena a = { 0 };
	const char *why;

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		h = begin("GET", "https://a.example/");
		why = NULL;
		assert_int_equal(hop_follow(&h, 302, bad[i], &a, &why), -EINVAL);
		assert_non_null(strstr(why, "is not followed"));
		assert_string_equal(h.url, "https://a.example/");
	}
	h = begin("GET", "https://a.example/");
	assert_int_equal(hop_follow(&h, 200, "https://b.example/", &a, &why), 0);
	assert_int_equal(hop_follow(&h, 304, "https://b.example/", &a, &why), 0);
	assert_int_equal(hop_follow(&h, 302, NULL, &a, &why), 0);
	for (int i = 0; i < HOPS_MAX; i++)
		assert_int_equal(hop_follow(&h, 302, "https://a.example/", &a, &why), 1);
	assert_int_equal(hop_follow(&h, 302, "https://a.example/", &a, &why), -EINVAL);
	assert_string_equal(why, "there are more than 10 redirects");
}

static void test_origin_text(void **state)
{
	char out[HOP_ORIGIN_BYTES];

	(void)state;
	assert_int_equal(hop_origin("https://Example.com/a?b", out), 0);
	assert_string_equal(out, "example.com:443");
	assert_int_equal(hop_origin("http://[::1]:81/", out), 0);
	assert_string_equal(out, "[::1]:81");
	assert_int_equal(hop_origin("http://0x7f.1", out), 0);
	assert_string_equal(out, "127.0.0.1:80");
	assert_int_equal(hop_origin("file:///etc/passwd", out), -EINVAL);
}

/* Of this origin, or of another request at the same time. */
static void test_denials(void **state)
{
	static const struct {
		const char *origin, *target;
		bool is_of;
	} rows[] = {
		{ "a.test:443", "a.test:443", true },
		{ "a.test:443", "a.test", true },
		{ "a.test:443", "https://a.test/x", true },
		{ "a.test:81", "http://a.test:81/x?y", true },
		{ "[::1]:81", "[::1]:81", true },
		{ "a.test:443", "b.test:443", false },
		{ "a.test:443", "a.test:444", false },
		{ "a.test:44", "a.test:443", false },
		{ "a.test:443", "a.test:44", false },
		{ "a.test:443", "a.test.example:443", false },
		{ "a.test:443", "x.a.test:443", false },
		{ "a.test:443", "https://b.test/a.test:443", false },
		{ "a.test:443", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if (hop_is_of(rows[i].origin, rows[i].target) != rows[i].is_of)
			fail_msg("%s %s", rows[i].origin, rows[i].target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_origin_text),
		cmocka_unit_test(test_denials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
