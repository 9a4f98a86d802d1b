/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "oauth/metadata.h"

#define URL "https://mcp.example.com/mcp"
#define ISSUER "https://login.example.com/t"

static void test_covers(void **state)
{
	static const struct {
		const char *resource, *url;
		bool does;
	} rows[] = {
		{ URL, URL, true },
		{ "https://mcp.example.com", URL, true },
		{ "https://mcp.example.com/", URL, true },
		{ "https://mcp.example.com:443/mcp/", URL, true },
		{ "https://mcp.example.com/mc", URL, false },
		{ "https://mcp.example.com/mcp/more", URL, false },
		{ "https://mcp.example.com:8443/mcp", URL, false },
		{ "https://evil.example.com/mcp", URL, false },
		{ "http://mcp.example.com/mcp", URL, false },
		{ "https://mcp.example.com/mcp?x", URL, false },
		{ "urn:x", URL, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(
			oauth_resource_covers(rows[i].resource, rows[i].url), rows[i].does);
}

static void test_resource(void **state)
{
	static const struct {
		const char *text, *server, *says; /* server NULL: refused, with these words */
	} rows[] = {
		{ "{\"resource\":\"" URL "\",\"authorization_servers\":[\"" ISSUER "\"]}", ISSUER,
			NULL },
		{ "{\"resource\":\"https://evil.example.com/"
		  "mcp\",\"authorization_servers\":[\"" ISSUER "\"]}",
			NULL, "another resource" },
		{ "{\"authorization_servers\":[\"" ISSUER "\"]}", NULL, "another resource" },
		{ "{\"resource\":\"" URL
		  "\",\"authorization_servers\":[\"http://login.example.com\"]}",
			NULL, "https" },
		{ "{\"resource\":\"" URL
		  "\",\"authorization_servers\":[\"https://169.254.169.254\"]}",
			NULL, "may not lead to" },
		{ "{\"resource\":\"" URL "\",\"authorization_servers\":[\"http://127.0.0.1:1\"]}",
			NULL, "may not lead to" },
		{ "{\"resource\":\"" URL "\",\"authorization_servers\":[]}", NULL, "names no" },
		{ "{\"resource\":\"" URL "\",\"authorization_servers\":[1]}", NULL, "more than" },
		{ "{\"resource\":\"" URL "\",\"resource\":\"" URL
		  "\",\"authorization_servers\":[\"" ISSUER "\"]}",
			NULL, "no JSON object" },
		{ "{\"resource\":1,\"authorization_servers\":[\"" ISSUER "\"]}", NULL, "no text" },
		{ "[]", NULL, "no JSON object" },
		{ "", NULL, "no JSON object" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct oauth_resource x = { 0 };
		struct error e = { 0 };
		int r = oauth_resource_read(&x, URL, rows[i].text, strlen(rows[i].text), &a, &e);

		assert_int_equal(r, rows[i].server ? 0 : -EINVAL);
		if (rows[i].server)
			assert_string_equal(x.servers[0], rows[i].server);
		else
			assert_non_null(strstr(e.text, rows[i].says));
	}
}

#define HEAD "{\"issuer\":\"" ISSUER "\","
static void test_server(void **state)
{
	static const struct {
		const char *text, *says; /* says NULL: accepted */
	} rows[] = {
		{ HEAD "\"token_endpoint\":\"https://api.example.com/token\"}", NULL },
		{ "{\"issuer\":\"https://login.example.com/other\",\"token_endpoint\":"
		  "\"https://login.example.com/token\"}",
			"another issuer" },
		{ "{\"issuer\":\"" ISSUER
		  "/\",\"token_endpoint\":\"https://login.example.com/token\"}",
			"another issuer" },
		{ "{\"token_endpoint\":\"https://login.example.com/token\"}", "another issuer" },
		{ HEAD "\"authorization_endpoint\":\"https://login.example.com/a\"}",
			"no token_endpoint" },
		{ HEAD "\"token_endpoint\":\"http://login.example.com/token\"}", "must be https" },
		{ HEAD "\"token_endpoint\":\"http://127.0.0.1/token\"}", "may not lead to" },
		{ HEAD "\"token_endpoint\":\"https://192.168.0.1/token\"}", "may not lead to" },
		{ HEAD "\"token_endpoint\":\"javascript:alert(1)\"}", "token_endpoint" },
	};
	static const char all[] =
		HEAD "\"token_endpoint\":\"https://login.example.com/token\","
		     "\"authorization_endpoint\":\"https://login.example.com/a\","
		     "\"code_challenge_methods_supported\":[\"plain\",\"S256\"],"
		     "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"],"
		     "\"scopes_supported\":[\"tools\",\"offline_access\"],"
		     "\"client_id_metadata_document_supported\":true,"
		     "\"authorization_response_iss_parameter_supported\":true}";
	auto_arena a = { 0 };
	struct oauth_server x = { 0 };
	struct error e = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		e = (struct error){ 0 };
		assert_int_equal(
			oauth_server_read(&x, ISSUER, rows[i].text, strlen(rows[i].text), &a, &e),
			rows[i].says ? -EINVAL : 0);
		if (rows[i].says)
			assert_non_null(strstr(e.text, rows[i].says));
		else
			assert_false(
				x.has_s256 || x.says_issuer || x.has_document || x.has_offline);
	}
	assert_int_equal(oauth_server_read(&x, ISSUER, all, strlen(all), &a, &e), 0);
	assert_true(x.has_s256 && x.says_issuer && x.has_document && x.has_offline);
	assert_int_equal(x.methods, OAUTH_BY_POST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_resource),
		cmocka_unit_test(test_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
