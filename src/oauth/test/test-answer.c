/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "oauth/answer.h"

#define RESOURCE "https://m.example/mcp"
#define T "\"token_type\":\"Bearer\""
/* {"aud":"https://m.example"}, {"aud":"https://evil.example"}, {"aud":["x","https://evil.example"]}
 */
#define FOR_US "e30.eyJhdWQiOiJodHRwczovL20uZXhhbXBsZSJ9.sig"
#define FOR_OTHERS "e30.eyJhdWQiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.sig"
#define FOR_A_NAME "e30.eyJhdWQiOlsieCIsImh0dHBzOi8vZXZpbC5leGFtcGxlIl19.sig"

static const struct oauth_server server = { .issuer = "https://a.example",
	.token = "https://a.example/token" };

static void test_tokens(void **state)
{
	static const struct {
		unsigned status;
		const char *text;
		int r;
		enum oauth_refusal why;
		const char *access, *refresh;
		uint64_t expires_in;
	} rows[] = {
		{ 200, "{\"access_token\":\"A\"," T ",\"expires_in\":60,\"refresh_token\":\"R\"}",
			0, 0, "A", "R", 60 },
		{ 200, "{\"access_token\":\"A\",\"token_type\":\"bearer\"}", 0, 0, "A", NULL, 0 },
		{ 200, "{\"access_token\":\"" FOR_US "\"," T "}", 0, 0, FOR_US, NULL, 0 },
		{ 200, "{\"access_token\":\"" FOR_A_NAME "\"," T "}", 0, 0, FOR_A_NAME, NULL, 0 },
		{ 200, "{\"access_token\":\"" FOR_OTHERS "\"," T "}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "{\"access_token\":\"A\",\"token_type\":\"mac\"}", -EINVAL, 0, NULL, NULL,
			0 },
		{ 200, "{\"access_token\":\"A\"}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "{\"access_token\":\"A\\r\\nX: y\"," T "}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "{\"access_token\":\"\"," T "}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "{\"access_token\":1," T "}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "{\"access_token\":\"A\",\"access_token\":\"B\"," T "}", -EINVAL, 0, NULL,
			NULL, 0 },
		{ 200, "{\"access_token\":\"A\"," T ",\"expires_in\":-1}", -EINVAL, 0, NULL, NULL,
			0 },
		{ 200, "{\"access_token\":\"A\"," T ",\"expires_in\":1.5}", -EINVAL, 0, NULL, NULL,
			0 },
		{ 200, "{" T "}", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "access_token=A&token_type=bearer", -EINVAL, 0, NULL, NULL, 0 },
		{ 200, "", -EINVAL, 0, NULL, NULL, 0 },
		{ 400, "{\"error\":\"invalid_grant\"}", 1, OAUTH_LOGIN, NULL, NULL, 0 },
		{ 400, "{\"error\":\"authorization_pending\"}", 1, OAUTH_PENDING, NULL, NULL, 0 },
		{ 400, "{\"error\":\"slow_down\"}", 1, OAUTH_SLOWER, NULL, NULL, 0 },
		{ 401, "{\"error\":\"invalid_client\"}", 1, OAUTH_CLIENT, NULL, NULL, 0 },
		{ 400, "{\"access_token\":\"A\"," T "}", 1, OAUTH_REFUSED, NULL, NULL, 0 },
		{ 500, "<html>", 1, OAUTH_REFUSED, NULL, NULL, 0 },
		{ 302, "", 1, OAUTH_REFUSED, NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_oauth_tokens t = { 0 };
		enum oauth_refusal why = OAUTH_EXPIRED;
		struct error e = { 0 };
		int r = oauth_answer_tokens(
			&t, &why, rows[i].status, rows[i].text, strlen(rows[i].text), RESOURCE, &e);

		assert_int_equal(r, rows[i].r);
		assert_true(r == 0 || e.text[0]);
		if (r == 1)
			assert_int_equal(why, rows[i].why);
		assert_int_equal(!t.access, !rows[i].access);
		if (r == 0) {
			assert_string_equal(t.access, rows[i].access);
			assert_int_equal(t.expires_in, rows[i].expires_in);
			assert_int_equal(!t.refresh, !rows[i].refresh);
		}
	}
}

static void test_callback(void **state)
{
	static const struct {
		bool says_issuer;
		const char *query;
		int r;
	} rows[] = {
		{ false, "code=C&state=STATE", 0 },
		{ false, "code=C&state=STATE&iss=https%3A%2F%2Fa.example", 0 },
		{ true, "state=STATE&iss=https://a.example&code=C&x=y", 0 },
		{ true, "code=C&state=STATE", -EINVAL },
		{ false, "code=C&state=STATE&iss=https://evil.example", -EINVAL },
		{ false, "code=C&state=STATE&iss=https://a.example/", -EINVAL },
		{ false, "code=C", -EACCES },
		{ false, "code=C&state=", -EACCES },
		{ false, "code=C&state=STATEX", -EACCES },
		{ false, "code=C&state=STAT", -EACCES },
		{ false, "code=C&state=STATE&state=STATE", -EACCES },
		{ false, "code=C&code=D&state=STATE", -EACCES },
		{ false, "code=C%00&state=STATE", -EACCES },
		{ false, "error=access_denied&error_description=no&state=STATE", -ECANCELED },
		{ false, "error=access_denied", -EACCES },
		{ false, "state=STATE", -EINVAL },
		{ false, "code=&state=STATE", -EINVAL },
		{ false, "code=a%0ab&state=STATE", -EINVAL },
		{ false, "code=C&state=STATE&access_token=A", -EINVAL },
		{ false, "", -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct oauth_server s = server;
		struct error e = { 0 };
		const char *code = NULL;

		s.says_issuer = rows[i].says_issuer;
		assert_int_equal(oauth_answer_callback(&code, rows[i].query, "STATE", &s, &a, &e),
			rows[i].r);
		assert_int_equal(!code, rows[i].r < 0);
		if (code)
			assert_string_equal(code, "C");
	}
}

static void test_device(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{ "{\"device_code\":\"D\",\"user_code\":\"AB-CD\",\"verification_uri\":"
		  "\"https://a.example/device\",\"interval\":0}",
			0 },
		{ "{\"device_code\":\"D\",\"user_code\":\"AB-CD\",\"verification_uri\":"
		  "\"http://127.0.0.1/device\"}",
			-EINVAL },
		{ "{\"device_code\":\"D\",\"user_code\":\"\\u001b[2J\",\"verification_uri\":"
		  "\"https://a.example/device\"}",
			-EINVAL },
		{ "{\"device_code\":\"D\",\"verification_uri\":\"https://a.example/device\"}",
			-EINVAL },
		{ "{\"user_code\":\"A\",\"verification_uri\":\"https://a.example/device\"}",
			-EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct oauth_device d = { 0 };
		struct error e = { 0 };

		assert_int_equal(oauth_answer_device(&d, &server, 200, rows[i].text,
					 strlen(rows[i].text), &a, &e),
			rows[i].r);
		assert_true(rows[i].r == 0 || e.text[0]);
	}
}

static void test_client(void **state)
{
	static const struct {
		unsigned status;
		const char *text;
		int r;
	} rows[] = {
		{ 201,
			"{\"client_id\":\"me\",\"client_secret\":\"s\",\"redirect_uris\":[\"http://"
			"x\"]}",
			0 },
		{ 201, "{\"client_id\":\"me\"}", 0 },
		{ 201,
			"{\"client_id\":\"me\",\"redirect_uris\":[\"http://x\",\"https://"
			"evil.example\"]}",
			-EINVAL },
		{ 201, "{\"client_secret\":\"s\"}", -EINVAL },
		{ 400, "{\"error\":\"invalid_redirect_uri\"}", -EINVAL },
		{ 201, "no", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct error e = { 0 };
		const char *id = NULL, *secret = NULL;
		unsigned methods = OAUTH_BY_BASIC;

		assert_int_equal(
			oauth_answer_client(&id, &secret, &methods, "http://x", rows[i].status,
				rows[i].text, strlen(rows[i].text), &a, &e),
			rows[i].r);
	}
}

/* How the client shows its secret: by what the registration says, of what the server has. */
static void test_client_method(void **state)
{
#define SAYS(method) "{\"client_id\":\"me\",\"client_secret\":\"s\"" method "}"
#define METHOD(name) ",\"token_endpoint_auth_method\":\"" name "\""
	static const struct {
		const char *text;
		unsigned has, left;
	} rows[] = {
		{ SAYS(""), OAUTH_BY_NONE, OAUTH_BY_NONE },
		{ SAYS(""), OAUTH_BY_BASIC | OAUTH_BY_POST, OAUTH_BY_BASIC | OAUTH_BY_POST },
		{ SAYS(METHOD("none")), OAUTH_BY_NONE | OAUTH_BY_BASIC, OAUTH_BY_NONE },
		{ SAYS(METHOD("client_secret_post")), OAUTH_BY_BASIC | OAUTH_BY_POST,
			OAUTH_BY_POST },
		{ SAYS(METHOD("client_secret_post")), OAUTH_BY_BASIC, OAUTH_BY_BASIC },
		{ SAYS(METHOD("private_key_jwt")), OAUTH_BY_BASIC, OAUTH_BY_BASIC },
		{ SAYS(",\"token_endpoint_auth_method\":7"), OAUTH_BY_POST, OAUTH_BY_POST },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		const char *id = NULL, *secret = NULL;
		unsigned methods = rows[i].has;

		assert_int_equal(oauth_answer_client(&id, &secret, &methods, NULL, 201,
					 rows[i].text, strlen(rows[i].text), &a, NULL),
			0);
		assert_int_equal(methods, rows[i].left);
		assert_true((secret == NULL) == (methods == OAUTH_BY_NONE));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_client_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
