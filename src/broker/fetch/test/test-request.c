/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdlib.h>

#include "base/array.h"
#include "broker/fetch/request.h"

static void test_headers(void **state)
{
	static const struct {
		const char *name, *value;
		bool may;
	} rows[] = {
		{ "Accept", "text/html", true },
		{ "Authorization", "Bearer x", true },
		{ "Cookie", "a=b", true },
		{ "X-Text", "", true },
		{ "X-Text", "a\tb", true },
		{ "X-Text", "gr\xc3\xbc\xc3\x9f", true },
		{ "Hosts", "x", true },
		{ "Proxying", "x", true },
		{ "Host", "other.example", false },
		{ "hOsT", "other.example", false },
		{ "Content-Length", "3", false },
		{ "Transfer-Encoding", "chunked", false },
		{ "Connection", "close", false },
		{ "Keep-Alive", "1", false },
		{ "Proxy-Authorization", "x", false },
		{ "proxy-connection", "x", false },
		{ "Upgrade", "h2c", false },
		{ "HTTP2-Settings", "x", false },
		{ "TE", "trailers", false },
		{ "Trailer", "x", false },
		{ "Expect", "100-continue", false },
		{ "", "x", false },
		{ "A b", "x", false },
		{ "Host ", "x", false },
		{ " Host", "x", false },
		{ "A:b", "x", false },
		{ "A\r\nHost", "x", false },
		{ "A\xc3\xbc", "x", false },
		{ "X-Text", "a\r\nHost: other", false },
		{ "X-Text", "a\nHost: other", false },
		{ "X-Text", "a\rHost: other", false },
		{ "X-Text", "a\x7f", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *fault = fetch_header_fault(rows[i].name, rows[i].value);

		if (!fault != rows[i].may)
			fail_msg("%s: %s: %s", rows[i].name, rows[i].value, fault ? fault : "may");
	}
}

static void test_urls(void **state)
{
	static const struct {
		const char *url;
		bool may;
	} rows[] = {
		{ "http://example.com/", true },
		{ "HTTPS://example.com", true },
		{ "https://example.com/a@b?c@d", true },
		{ "https://[::1]:8443/", true },
		{ "file:///etc/passwd", false },
		{ "ftp://example.com/", false },
		{ "gopher://example.com/", false },
		{ "dict://example.com:11211/", false },
		{ "example.com", false },
		{ "//example.com/", false },
		{ "", false },
		{ "https://user:secret@example.com/", false },
		{ "https://user@example.com", false },
		{ "https://example.com/a b", false },
		{ "https://example.com/a\r\nHost: x", false },
		{ " https://example.com/", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (!fetch_url_fault(rows[i].url) != rows[i].may)
			fail_msg("%s", rows[i].url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
