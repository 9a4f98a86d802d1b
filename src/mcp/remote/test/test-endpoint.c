/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "mcp/remote/endpoint.h"

/* URLs, and what becomes of them: a place, or a part of the sentence that refuses them. */
static const struct {
	const char *url, *place, *refusal;
} rows[] = {
	{ "https://mcp.example.com/mcp", "mcp.example.com:443", NULL },
	{ "https://MCP.Example.com:8443/", "mcp.example.com:8443", NULL },
	{ "https://10.1.2.3/mcp", "10.1.2.3:443", NULL },
	{ "https://[2001:db8::1]/mcp?project=1", "[2001:db8::1]:443", NULL },
	{ "http://localhost:3001/mcp", "localhost:3001", NULL },
	{ "http://127.0.0.1/mcp", "127.0.0.1:80", NULL },
	{ "http://127.8.9.1:1/", "127.8.9.1:1", NULL },
	{ "http://[::1]:3001/mcp", "[::1]:3001", NULL },
	{ "https://example.com/?monkey=1&tokens=2&hotkey=x", "example.com:443", NULL },
	/* Not of this machine, whatever they look like. */
	{ "http://example.com/mcp", NULL, "on this machine alone" },
	{ "http://localhost.example.com/", NULL, "on this machine alone" },
	{ "http://10.0.0.1/", NULL, "on this machine alone" },
	{ "http://0.0.0.0/", NULL, "on this machine alone" },
	{ "http://[::ffff:8.8.8.8]/", NULL, "on this machine alone" },
	{ "http://[::2]/", NULL, "on this machine alone" },
	/* Secrets in it. */
	{ "https://me:pw@example.com/", NULL, "a name or a password" },
	{ "https://me@example.com/", NULL, "a name or a password" },
	{ "https://example.com/?token=x", NULL, "`token`" },
	{ "https://example.com/?a=1&access_token=x", NULL, "`access_token`" },
	{ "https://example.com/?a=1;API-Key=x", NULL, "`API-Key`" },
	{ "https://example.com/?KEY", NULL, "`KEY`" },
	{ "https://example.com/?%6bey=1", NULL, "`%6bey`" },
	{ "https://example.com/?client_secret=1", NULL, "`client_secret`" },
	{ "https://example.com/?sig=1", NULL, "`sig`" },
	{ "https://example.com/mcp#access_token=1", NULL, "behind `#`" },
	/* No URLs of a server. */
	{ "", NULL, "no URL of a server" },
	{ "example.com", NULL, "no URL of a server" },
	{ "ftp://example.com/", NULL, "only http and https" },
	{ "wss://example.com/", NULL, "only http and https" },
	{ "file:///etc/passwd", NULL, "no URL of a server" },
	{ "https://exa mple.com/", NULL, "" },
	{ "https://example.com/\nX: y", NULL, "" },
	{ "https://example.com:0/", NULL, "" },
};

static void test_urls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct remote_endpoint got = { .place = "untouched" };
		struct error e = { 0 };
		const int r = endpoint_read(&got, rows[i].url, NULL, &e);

		if (rows[i].place) {
			assert_int_equal(r, 0);
			assert_string_equal(got.place, rows[i].place);
			assert_int_equal(got.is_https, strncmp(rows[i].url, "https", 5) == 0);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_string_equal(got.place, "untouched");
			assert_non_null(strstr(e.text, rows[i].refusal));
		}
	}
}

static void test_headers(void **state)
{
	static const struct {
		const char *name, *value, *refusal;
	} headers[] = {
		{ "X-Project", "a b", NULL },
		{ "X-Monkey", "", NULL },
		{ "Authorization", "x", "carries a secret" },
		{ "X-Api-Key", "x", "carries a secret" },
		{ "private-TOKEN", "x", "carries a secret" },
		{ "Cookie", "x", "carries a secret" },
		{ "Mcp-Session-Id", "x", "sets it itself" },
		{ "MCP-Protocol-Version", "x", "sets it itself" },
		{ "Accept", "x", "sets it itself" },
		{ "content-type", "x", "sets it itself" },
		{ "Host", "x", "sets it itself" },
		{ "Content-Length", "1", "sets it itself" },
		{ "", "x", "no name of a header" },
		{ "a b", "x", "no name of a header" },
		{ "a\nb", "x", "no name of a header" },
		{ "X-A", "b\r\nX-C: d", "control character" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(headers); i++) {
		struct error e = { 0 };
		const int r = endpoint_check_header(headers[i].name, headers[i].value, NULL, &e);

		assert_int_equal(r, headers[i].refusal ? -EINVAL : 0);
		if (headers[i].refusal)
			assert_non_null(strstr(e.text, headers[i].refusal));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
