/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "oauth/place.h"

static void test_read(void **state)
{
	static const struct {
		const char *url, *host; /* NULL: refused */
	} rows[] = {
		{ "https://mcp.example.com/mcp", "mcp.example.com:443" },
		{ "https://MCP.example.com:8443", "mcp.example.com:8443" },
		{ "http://127.0.0.1:99/x", "127.0.0.1:99" },
		{ "http://[::1]:99/x", "[::1]:99" },
		{ "http://localhost:1/", "localhost:1" },
		{ "http://mcp.example.com/", NULL },
		{ "http://10.0.0.1/", NULL },
		{ "http://127.0.0.1.example.com/", NULL },
		{ "ftp://example.com/", NULL },
		{ "https://me@example.com/", NULL },
		{ "https://me:x@example.com/", NULL },
		{ "https://example.com/#f", NULL },
		{ "https://example.com/ x", NULL },
		{ "https://example.com\\@other.example/", NULL },
		{ "https://ex\nample.com/", NULL },
		{ "example.com", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct oauth_place p;
		struct error e = { 0 };
		int r = oauth_place_read(&p, rows[i].url, "it", &e);

		assert_int_equal(r, rows[i].host ? 0 : -EINVAL);
		if (rows[i].host)
			assert_string_equal(p.host, rows[i].host);
		else
			assert_true(e.text[0]);
	}
}

static void test_may_lead(void **state)
{
	static const struct {
		const char *from, *to;
		bool may;
	} rows[] = {
		{ "https://a.example/", "https://b.example/", true },
		{ "https://a.example/", "https://10.0.0.1/", false },
		{ "https://a.example/", "https://127.0.0.1/", false },
		{ "https://a.example/", "https://localhost/", false },
		{ "https://a.example/", "https://[::ffff:127.0.0.1]/", false },
		{ "https://a.example/", "https://2130706433/", false },
		{ "https://a.example/", "http://127.0.0.1/", false },
		{ "https://127.0.0.1:1/", "https://127.0.0.1:2/", true },
		{ "https://127.0.0.1:1/", "http://127.0.0.1:2/", false },
		{ "https://127.0.0.1:1/", "https://127.0.0.2:2/", false },
		{ "http://127.0.0.1:1/", "http://127.0.0.1:2/", true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct oauth_place from, to;

		assert_int_equal(oauth_place_read(&from, rows[i].from, "it", NULL), 0);
		assert_int_equal(oauth_place_read(&to, rows[i].to, "it", NULL), 0);
		assert_int_equal(oauth_place_may_lead(&from, &to), rows[i].may);
	}
}

static void test_metadata(void **state)
{
	static const struct {
		bool is_server;
		const char *url;
		const char *places[4];
	} rows[] = {
		{ false, "https://a.example/mcp",
			{ "https://a.example/.well-known/oauth-protected-resource/mcp",
				"https://a.example/.well-known/oauth-protected-resource" } },
		{ false, "https://a.example:8443/",
			{ "https://a.example:8443/.well-known/oauth-protected-resource" } },
		{ true, "https://a.example",
			{ "https://a.example/.well-known/oauth-authorization-server",
				"https://a.example/.well-known/openid-configuration" } },
		{ true, "https://a.example/tenant/",
			{ "https://a.example/.well-known/oauth-authorization-server/tenant",
				"https://a.example/.well-known/openid-configuration/tenant",
				"https://a.example/tenant/.well-known/openid-configuration" } },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (unsigned n = 0; n < 4; n++) {
			auto_buffer out = { 0 };
			int r = rows[i].is_server ? oauth_place_of_server(rows[i].url, n, &out)
						  : oauth_place_of_resource(rows[i].url, n, &out);

			assert_int_equal(r, rows[i].places[n] ? 0 : 1);
			if (r == 0)
				assert_string_equal(buffer_text(&out), rows[i].places[n]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_may_lead),
		cmocka_unit_test(test_metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
