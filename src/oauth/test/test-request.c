/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "oauth/record.h"

/* RFC 7636, appendix B. */
static void test_pkce(void **state)
{
	static const uint8_t random[OAUTH_RANDOM_BYTES] = { 116, 24, 223, 180, 151, 153, 224, 37,
		79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240, 91, 88,
		5, 88, 83, 132, 141, 121 };
	char verifier[OAUTH_WORD_BYTES], challenge[OAUTH_WORD_BYTES];

	(void)state;
	oauth_request_word(random, verifier);
	assert_string_equal(verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
	oauth_request_challenge(verifier, challenge);
	assert_string_equal(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static const struct oauth_server server = { .issuer = "https://a.example",
	.token = "https://a.example/token",
	.authorization = "https://a.example/login?tenant=1",
	.has_s256 = true };

static void test_page(void **state)
{
	struct oauth_login l = { .server = &server,
		.client = { .id = "me&you", .method = OAUTH_BY_NONE },
		.resource = "https://m.example/mcp",
		.redirect = "http://127.0.0.1:8765/callback",
		.state = "STATE",
		.verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" };
	struct oauth_server none = server;
	auto_buffer out = { 0 }, more = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(oauth_request_page(&l, &out, &e), 0);
	assert_string_equal(buffer_text(&out),
		"https://a.example/"
		"login?tenant=1&response_type=code&client_id=me%26you&redirect_uri="
		"http%3A%2F%2F127.0.0.1%3A8765%2Fcallback&code_challenge="
		"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&state=STATE"
		"&resource=https%3A%2F%2Fm.example%2Fmcp");
	assert_null(strstr(buffer_text(&out), l.verifier));
	none.has_s256 = false;
	l.server = &none;
	assert_int_equal(oauth_request_page(&l, &more, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "S256"));
}

static void test_client(void **state)
{
	struct oauth_client c = { .id = "a:b", .secret = "x y" };
	auto_oauth_form basic = { 0 }, post = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(oauth_client_choose(&c, OAUTH_BY_BASIC | OAUTH_BY_POST, NULL), 0);
	assert_int_equal(oauth_request_refresh(&c, "R", "https://m.example", &basic), 0);
	assert_string_equal(buffer_text(&basic.body),
		"grant_type=refresh_token&refresh_token=R&resource=https%3A%2F%2Fm.example");
	assert_string_equal(buffer_text(&basic.authorization), "Basic YSUzQWI6eCUyMHk=");
	assert_int_equal(oauth_client_choose(&c, OAUTH_BY_POST, NULL), 0);
	assert_int_equal(oauth_request_revocation(&c, "R", "refresh_token", &post), 0);
	assert_string_equal(buffer_text(&post.body),
		"token=R&token_type_hint=refresh_token&client_id=a%3Ab&client_secret=x%20y");
	assert_int_equal(oauth_client_choose(&c, OAUTH_BY_NONE, NULL), -EOPNOTSUPP);
	c.secret = NULL;
	assert_int_equal(oauth_client_choose(&c, OAUTH_BY_BASIC, NULL), 0);
	assert_int_equal(oauth_request_refresh(&c, "R", NULL, &none), 0);
	assert_string_equal(buffer_text(&none.body),
		"grant_type=refresh_token&refresh_token=R&client_id=a%3Ab");
	assert_int_equal(none.authorization.len, 0);
}

static void test_record(void **state)
{
	const struct oauth_record full = { .url = "https://m.example/mcp",
		.resource = "https://m.example",
		.issuer = "https://a.example",
		.token = "https://a.example/token",
		.client_id = "me",
		.method = "none",
		.refresh = "R\"1",
		.since_s = 7 };
	struct oauth_record bad = full;
	auto_oauth_record again = { 0 };
	auto_buffer out = { 0 }, other = { 0 };

	(void)state;
	assert_int_equal(oauth_record_print(&full, &out), 0);
	assert_int_equal(oauth_record_read(&again, out.data, out.len, NULL), 0);
	assert_string_equal(again.refresh, "R\"1");
	assert_string_equal(again.client_secret, "");
	assert_int_equal(again.since_s, 7);
	assert_int_equal(oauth_record_read(&again, "{}", 2, NULL), -EINVAL);
	/* A method that needs a secret, and there is none. */
	bad.method = "client_secret_post";
	assert_int_equal(oauth_record_print(&bad, &other), 0);
	assert_int_equal(oauth_record_read(&bad, other.data, other.len, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pkce),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
