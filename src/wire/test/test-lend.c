/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "wire/lend.h"

static void test_setup(void **state)
{
	const struct lend_grant grants[] = { { "A", "a.com:443", 1, NULL, NULL },
		{ "B", "[::1]:8443", 31, "x-key", "/usr/bin/gh,/usr/bin/curl" } };
	static struct lend_grant got[LEND_MAX];
	auto_buffer body = { 0 };
	size_t n = 0;

	(void)state;
	assert_int_equal(lend_setup_encode(grants, 2, &body), 0);
	assert_int_equal(lend_setup_decode(got, &n, body.data, body.len), 0);
	assert_int_equal(n, 2);
	assert_string_equal(got[1].name, "B");
	assert_string_equal(got[1].host, "[::1]:8443");
	assert_int_equal(got[1].places, 31);
	assert_string_equal(got[0].fields, "");
	assert_string_equal(got[1].fields, "x-key");
	assert_string_equal(got[0].programs, "");
	assert_string_equal(got[1].programs, "/usr/bin/gh,/usr/bin/curl");
	/* Every part of it, but for a whole grant, is refused. */
	for (size_t len = 0; len < body.len; len++)
		if (len != 4 + sizeof("A") + sizeof("a.com:443") + 2)
			assert_int_equal(lend_setup_decode(got, &n, body.data, len), -EPROTO);
	assert_int_equal(lend_setup_encode(grants, LEND_MAX + 1, &body), -E2BIG);
	assert_int_equal(
		lend_setup_encode(&(struct lend_grant){ "", "a.com:443", 1, NULL, NULL }, 1, &body),
		-EINVAL);
}

static void test_ready(void **state)
{
	static struct lend_ready ready = { .certificate = "-----BEGIN", .n = 1 }, got;
	auto_buffer body = { 0 };

	(void)state;
	ready.items[0] = (struct lend_item){ "A", "ghp_x" };
	assert_int_equal(lend_ready_encode(&ready, &body), 0);
	assert_int_equal(lend_ready_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.certificate, "-----BEGIN");
	assert_int_equal(got.n, 1);
	assert_string_equal(got.items[0].text, "ghp_x");
	assert_int_equal(lend_ready_decode(&got, body.data, body.len - 1), -EPROTO);
	assert_int_equal(lend_ready_decode(&got, "", 0), -EPROTO);
}

static void test_note(void **state)
{
	struct lend_note got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(
		lend_note_encode(&(struct lend_note){ "a.com:443", "it failed" }, &body), 0);
	assert_int_equal(lend_note_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.text, "it failed");
	assert_int_equal(lend_note_decode(&got, body.data, body.len - 1), -EPROTO);
}

static void test_open(void **state)
{
	static const struct lend_open good[] = {
		{ "a.com:443", NULL, NULL },
		{ "a.com:443", "/usr/bin/gh", "" },
		{ "a.com:443", "", "two programs have the connection" },
	};
	static const struct lend_open bad[] = {
		{ "", "/usr/bin/gh", "" },
		{ "a.com:443", "gh", "" },
		{ "a.com:443", "/usr/bin/gh\n", "" },
		{ "a.com:443", "", "a\nb" },
		/* Known, and not known. */
		{ "a.com:443", "/usr/bin/gh", "two programs have the connection" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_buffer body = { 0 };
		struct lend_open got;

		assert_int_equal(lend_open_encode(&good[i], &body), 0);
		assert_int_equal(lend_open_decode(&got, body.data, body.len), 0);
		assert_string_equal(got.host, good[i].host);
		assert_string_equal(got.program, good[i].program ? good[i].program : "");
		assert_string_equal(got.why, good[i].why ? good[i].why : "");
		for (size_t len = 0; len < body.len; len++)
			assert_int_equal(lend_open_decode(&got, body.data, len), -EPROTO);
	}
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_buffer body = { 0 };

		assert_int_equal(lend_open_encode(&bad[i], &body), -EINVAL);
	}
}

static void test_file(void **state)
{
	const struct lend_file f = { "/home/me/.netrc", "machine a.org\n" };
	struct lend_file got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(lend_file_encode(&f, &body), 0);
	assert_int_equal(lend_file_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.path, f.path);
	assert_string_equal(got.text, f.text);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(lend_file_decode(&got, body.data, len), -EPROTO);
	assert_int_equal(lend_file_decode(&got, "a\0b", 4), -EPROTO);
	assert_int_equal(lend_file_encode(&(struct lend_file){ "a", "b" }, &body), -EINVAL);
	assert_int_equal(lend_file_encode(&(struct lend_file){ "/a", "" }, &body), -EINVAL);
}

static void test_use(void **state)
{
	const struct lend_use u = { "A", "a.com:443", 2, 1, 7, NULL };
	const struct lend_use other = { "A", "a.com:443", 2, 0, 7, "/usr/bin/wget" };
	struct lend_use got;
	auto_buffer body = { 0 }, second = { 0 };

	(void)state;
	assert_int_equal(lend_use_encode(&u, &body), 0);
	assert_int_equal(lend_use_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.name, "A");
	assert_string_equal(got.host, "a.com:443");
	assert_true(got.place == 2 && got.is_sent == 1 && got.count == 7);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(lend_use_decode(&got, body.data, len), -EPROTO);
	assert_int_equal(lend_use_encode(&other, &second), 0);
	assert_int_equal(lend_use_decode(&got, second.data, second.len), 0);
	assert_string_equal(got.program, "/usr/bin/wget");
	/* Two places, no use at all, one that was sent in spite of its program. */
	assert_int_equal(
		lend_use_encode(&(struct lend_use){ "A", "a.com:443", 3, 1, 7, "" }, &body),
		-EINVAL);
	assert_int_equal(
		lend_use_encode(&(struct lend_use){ "A", "a.com:443", 2, 1, 0, "" }, &body),
		-EINVAL);
	assert_int_equal(
		lend_use_encode(&(struct lend_use){ "A", "a.com:443", 2, 1, 7, "/a" }, &body),
		-EINVAL);
}

static void test_inspect(void **state)
{
	const struct lend_grant grant = { "", "a.com:443", LEND_INSPECT, NULL, NULL };
	static struct lend_grant got[LEND_MAX];
	auto_buffer body = { 0 }, none = { 0 };
	size_t n = 0;

	(void)state;
	assert_int_equal(lend_setup_encode(&grant, 1, &body), 0);
	assert_int_equal(lend_setup_decode(got, &n, body.data, body.len), 0);
	assert_int_equal(n, 1);
	assert_string_equal(got[0].name, "");
	assert_int_equal(got[0].places, LEND_INSPECT);
	/* It has no name, and what has none is nothing else. */
	assert_int_equal(lend_setup_encode(
				 &(struct lend_grant){ "A", "a.com:443", LEND_INSPECT, NULL, NULL },
				 1, &none),
		-EINVAL);
	assert_int_equal(lend_setup_encode(&(struct lend_grant){ "", "a.com:443", LEND_INSPECT | 1,
						   NULL, NULL },
				 1, &none),
		-EINVAL);
}

static void test_request(void **state)
{
	static const struct lend_request all[] = {
		{ 7, 443, true, false, "GET", "a.com", "/x", "q=1", "" },
		{ 0, 0, false, true, "M-SEARCH", "", "*", "", "websocket" },
	};
	struct lend_request got, bad = all[0];
	auto_buffer none = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_buffer body = { 0 };

		assert_int_equal(lend_request_encode(&all[i], &body), 0);
		assert_int_equal(lend_request_decode(&got, body.data, body.len), 0);
		assert_int_equal(got.number, all[i].number);
		assert_int_equal(got.port, all[i].port);
		assert_int_equal(got.has_query, all[i].has_query);
		assert_int_equal(got.upgrades, all[i].upgrades);
		assert_string_equal(got.method, all[i].method);
		assert_string_equal(got.host, all[i].host);
		assert_string_equal(got.path, all[i].path);
		assert_string_equal(got.query, all[i].query);
		assert_string_equal(got.upgrade_to, all[i].upgrade_to);
		for (size_t len = 0; len < body.len; len++)
			assert_int_equal(lend_request_decode(&got, body.data, len), -EPROTO);
		buffer_addc(&body, 'x');
		assert_int_equal(lend_request_decode(&got, body.data, body.len), -EPROTO);
	}
	/* A record or a question has one line for it. */
	bad.path = "/x\ny";
	assert_int_equal(lend_request_encode(&bad, &none), -EINVAL);
	bad = all[0];
	bad.method = "";
	assert_int_equal(lend_request_encode(&bad, &none), -EINVAL);
}

static void test_tokens(void **state)
{
	static const struct lend_tokens all = { 7, "GH", true,
		{ { "abcdef23gho_x", "gho_value" }, { "", "" }, { "abcdef23eyJ", "eyJ" } } };
	struct lend_tokens got, bad = all;
	auto_buffer body = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(lend_tokens_encode(&all, &body), 0);
	assert_int_equal(lend_tokens_decode(&got, body.data, body.len), 0);
	assert_true(got.number == 7 && got.is_refresh);
	assert_string_equal(got.login, "GH");
	assert_string_equal(got.items[LEND_TOKEN_ACCESS].value, "gho_value");
	assert_string_equal(got.items[LEND_TOKEN_REFRESH].value, "");
	assert_string_equal(got.items[LEND_TOKEN_ID].stand_in, "abcdef23eyJ");
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(lend_tokens_decode(&got, body.data, len), -EPROTO);
	/* A line in a value, one of two, none at all, no name. */
	bad.items[0].value = "gho\nvalue";
	assert_int_equal(lend_tokens_encode(&bad, &none), -EINVAL);
	bad.items[0].value = "";
	assert_int_equal(lend_tokens_encode(&bad, &none), -EINVAL);
	bad = all;
	bad.items[0] = bad.items[2] = bad.items[1];
	assert_int_equal(lend_tokens_encode(&bad, &none), -EINVAL);
	bad = all;
	bad.login = "";
	assert_int_equal(lend_tokens_encode(&bad, &none), -EINVAL);
	assert_true(lend_token_is("GH", LEND_TOKEN_REFRESH, "GH_REFRESH"));
	assert_false(lend_token_is("GH", LEND_TOKEN_REFRESH, "GH"));
	assert_false(lend_token_is("GH", LEND_TOKEN_ACCESS, "GHX"));
}

static void test_consent(void **state)
{
	static const struct lend_consent all = { 2, true, "GH", "a.com:443/token",
		"a.com:443 b.com:443", "workspace" };
	struct lend_consent got, bad = all;
	auto_buffer body = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(lend_consent_encode(&all, &body), 0);
	assert_int_equal(lend_consent_decode(&got, body.data, body.len), 0);
	assert_true(got.number == 2 && got.replaces);
	assert_string_equal(got.login, "GH");
	assert_string_equal(got.place, "a.com:443/token");
	assert_string_equal(got.hosts, "a.com:443 b.com:443");
	assert_string_equal(got.principal, "workspace");
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(lend_consent_decode(&got, body.data, len), -EPROTO);
	/* A question has a line for each. */
	bad.place = "a.com:443/\ntoken";
	assert_int_equal(lend_consent_encode(&bad, &none), -EINVAL);
}

static void test_answer(void **state)
{
	struct lend_answer got;
	auto_buffer yes = { 0 }, no = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(lend_answer_encode(&(struct lend_answer){ 9, true, "" }, &yes), 0);
	assert_int_equal(lend_answer_decode(&got, yes.data, yes.len), 0);
	assert_true(got.is_allowed && got.number == 9);
	assert_int_equal(lend_answer_encode(&(struct lend_answer){ 9, false, "why" }, &no), 0);
	assert_int_equal(lend_answer_decode(&got, no.data, no.len), 0);
	assert_false(got.is_allowed);
	assert_string_equal(got.text, "why");
	/* A no says why, and a yes says nothing: neither is taken for the other. */
	assert_int_equal(
		lend_answer_encode(&(struct lend_answer){ 9, true, "why" }, &none), -EINVAL);
	assert_int_equal(lend_answer_encode(&(struct lend_answer){ 9, false, "" }, &none), -EINVAL);
	for (size_t len = 0; len < no.len; len++)
		assert_int_equal(lend_answer_decode(&got, no.data, len), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup),
		cmocka_unit_test(test_inspect),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_consent),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_use),
	};

	return cmocka_run_group_tests_name("lend", tests, NULL, NULL);
}
