/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "net/gate/internal.h"
#include "net/gate/http-requests.h"

#define S(text) text, sizeof(text) - 1
#define E "\r\n"
/* What most requests start with. */
#define GET "GET / HTTP/1.1" E "Host: a" E
#define CHUNKED "PUT / HTTP/1.1" E "Host: a" E "Transfer-Encoding: chunked" E E

/* Writes down what it is asked. */
struct judge_log {
	struct buffer text;
	const char *refused; /* a host */
	struct http_requests *http;
	uint64_t n;
};

static int judge(void *context, const struct http_request *r)
{
	struct judge_log *log = context;

	log->n++;
	if (log->http)
		assert_int_equal(http_requests_count(log->http), log->n);
	buffer_printf(&log->text, "%s %s", r->method, r->host);
	if (r->port)
		buffer_printf(&log->text, ":%u", r->port);
	buffer_printf(&log->text, " %s", r->path);
	if (r->upgrade)
		buffer_printf(&log->text, " -> %s", r->upgrade_to);
	buffer_adds(&log->text, ";");
	return log->refused && strcmp(r->host, log->refused) == 0 ? -EPERM : 0;
}

/* What comes in, what is judged, how much passes, and what ends it. */
struct stream {
	const char *name;
	const char *bytes;
	size_t len;
	const char *judged;
	size_t passed; /* SIZE_MAX: all */
	int error;
};

static const struct stream good[] = {
	{ "get", S(GET E), "GET a /;", SIZE_MAX, 0 },
	{ "two", S(GET E GET E), "GET a /;GET a /;", SIZE_MAX, 0 },
	{ "empty lines in front", S(E E GET E E GET E), "GET a /;GET a /;", SIZE_MAX, 0 },
	{ "query", S("GET /a/b?c/d?e HTTP/1.1" E "Host: a" E E), "GET a /a/b;", SIZE_MAX, 0 },
	{ "any method", S("M-SEARCH / HTTP/1.1" E "Host: a" E E), "M-SEARCH a /;", SIZE_MAX, 0 },
	{ "bytes above ASCII in a path", S("GET /\xc3\xa4 HTTP/1.1" E "Host: a" E E),
		"GET a /\xc3\xa4;", SIZE_MAX, 0 },
	{ "HTTP/1.0 without a host", S("GET / HTTP/1.0" E E), "GET  /;", SIZE_MAX, 0 },
	{ "HTTP/1.0 with a host", S("GET / HTTP/1.0" E "Host: a" E E), "GET a /;", SIZE_MAX, 0 },
	{ "options", S("OPTIONS * HTTP/1.1" E "Host: a" E E), "OPTIONS a *;", SIZE_MAX, 0 },

	{ "host and port", S("GET / HTTP/1.1" E "Host: a.b:8080" E E), "GET a.b:8080 /;", SIZE_MAX,
		0 },
	{ "no space after the colon", S("GET / HTTP/1.1" E "Host:a" E E), "GET a /;", SIZE_MAX, 0 },
	{ "spaces around the value", S("GET / HTTP/1.1" E "Host: \t a \t" E E), "GET a /;",
		SIZE_MAX, 0 },
	{ "case", S("GET / HTTP/1.1" E "hOST: A.Example" E E), "GET a.example /;", SIZE_MAX, 0 },
	{ "dot at the end", S("GET / HTTP/1.1" E "Host: a.b.:1" E E), "GET a.b:1 /;", SIZE_MAX, 0 },
	{ "IPv4", S("GET / HTTP/1.1" E "Host: 127.0.0.1:80" E E), "GET 127.0.0.1:80 /;", SIZE_MAX,
		0 },
	{ "IPv6", S("GET / HTTP/1.1" E "Host: [2001:DB8::1]" E E), "GET [2001:db8::1] /;", SIZE_MAX,
		0 },
	{ "IPv6 and port", S("GET / HTTP/1.1" E "Host: [::1]:99" E E), "GET [::1]:99 /;", SIZE_MAX,
		0 },

	{ "URL", S("GET HTTP://A.b/c?d HTTP/1.1" E "Host: a.B" E E), "GET a.b /c;", SIZE_MAX, 0 },
	{ "URL with a port", S("GET http://a:81/ HTTP/1.1" E "Host: a:81" E E), "GET a:81 /;",
		SIZE_MAX, 0 },
	{ "URL with port 80", S("GET http://a:80/ HTTP/1.1" E "Host: a" E E), "GET a:80 /;",
		SIZE_MAX, 0 },
	{ "URL whose host has port 80", S("GET http://a/ HTTP/1.1" E "Host: a:80" E E),
		"GET a:80 /;", SIZE_MAX, 0 },
	{ "URL without a path", S("GET http://a HTTP/1.1" E "Host: a" E E), "GET a /;", SIZE_MAX,
		0 },
	{ "URL with a query only", S("GET http://a?/b HTTP/1.1" E "Host: a" E E), "GET a /;",
		SIZE_MAX, 0 },
	{ "URL in HTTP/1.0", S("GET http://a/ HTTP/1.0" E E), "GET a /;", SIZE_MAX, 0 },

	{ "body", S("POST / HTTP/1.1" E "Content-Length: 5" E "Host: a" E E "hello" GET E),
		"POST a /;GET a /;", SIZE_MAX, 0 },
	{ "body that looks like a request",
		S("POST / HTTP/1.1" E "Content-Length: 27" E "Host: a" E E "GET / HTTP/1.1" E
		  "Host: b" E E),
		"POST a /;", SIZE_MAX, 0 },
	{ "no body", S("POST / HTTP/1.1" E "Content-Length: 0" E "Host: a" E E GET E),
		"POST a /;GET a /;", SIZE_MAX, 0 },
	{ "expect",
		S("POST / HTTP/1.1" E "Host: a" E "Expect: 100-continue" E "Content-Length: 1" E E
		  "x"),
		"POST a /;", SIZE_MAX, 0 },
	{ "unfinished body", S("POST / HTTP/1.1" E "Content-Length: 9" E "Host: a" E E "hello"),
		"POST a /;", SIZE_MAX, 0 },
	{ "chunks", S(CHUNKED "5" E "hello" E "0A" E "0123456789" E "0" E E GET E),
		"PUT a /;GET a /;", SIZE_MAX, 0 },
	{ "chunks with a body that looks like the end", S(CHUNKED "7" E "0" E E E E "0" E E GET E),
		"PUT a /;GET a /;", SIZE_MAX, 0 },
	{ "chunk with zeros in front", S(CHUNKED "0000000000000001" E "x" E "000" E E), "PUT a /;",
		SIZE_MAX, 0 },
	{ "chunk extension", S(CHUNKED "1;a=\"b c\"" E "x" E "0;y" E E), "PUT a /;", SIZE_MAX, 0 },
	{ "trailers", S(CHUNKED "0" E "X-Sum: 1" E "Y:" E E GET E), "PUT a /;GET a /;", SIZE_MAX,
		0 },
	{ "Chunked", S("PUT / HTTP/1.1" E "Host: a" E "transfer-encoding:CHUNKED" E E "0" E E),
		"PUT a /;", SIZE_MAX, 0 },
	{ "upgrade without connection", S(GET "Upgrade: h2c" E E GET E), "GET a /;GET a /;",
		SIZE_MAX, 0 },
	{ "connection without upgrade", S(GET "Connection: upgrade" E E GET E), "GET a /;GET a /;",
		SIZE_MAX, 0 },
	{ "connection that ends so", S(GET "Connection: xupgrade, upgradex" E "Upgrade: h2c" E E),
		"GET a /;", SIZE_MAX, 0 },
};

/* Nothing passes but what was judged before. */
static const struct stream bad[] = {
	{ "no host", S("GET / HTTP/1.1" E E), "", 0, -EINVAL },
	{ "empty host", S("GET / HTTP/1.1" E "Host:" E E), "", 0, -EINVAL },
	{ "empty host in HTTP/1.0", S("GET / HTTP/1.0" E "Host: " E E), "", 0, -EINVAL },
	{ "two hosts", S(GET "Host: b" E E), "", 0, -EINVAL },
	{ "the same host twice", S(GET "host: a" E E), "", 0, -EINVAL },
	{ "two hosts in one", S("GET / HTTP/1.1" E "Host: a, b" E E), "", 0, -EINVAL },
	{ "host with a space", S("GET / HTTP/1.1" E "Host: a b" E E), "", 0, -EINVAL },
	{ "host with a tab", S("GET / HTTP/1.1" E "Host: a\tb" E E), "", 0, -EINVAL },
	{ "host with a slash", S("GET / HTTP/1.1" E "Host: a/b" E E), "", 0, -EINVAL },
	{ "host with NUL", S("GET / HTTP/1.1" E "Host: a\0b" E E), "", 0, -EINVAL },
	{ "host with UTF-8", S("GET / HTTP/1.1" E "Host: \xc3\xa4" E E), "", 0, -EINVAL },
	{ "host with a name and a word", S("GET / HTTP/1.1" E "Host: u@a" E E), "", 0, -EINVAL },
	{ "host with an empty port", S("GET / HTTP/1.1" E "Host: a:" E E), "", 0, -EINVAL },
	{ "host with port 0", S("GET / HTTP/1.1" E "Host: a:0" E E), "", 0, -EINVAL },
	{ "host with port 65536", S("GET / HTTP/1.1" E "Host: a:65536" E E), "", 0, -EINVAL },
	{ "host with port +80", S("GET / HTTP/1.1" E "Host: a:+80" E E), "", 0, -EINVAL },
	{ "host with two ports", S("GET / HTTP/1.1" E "Host: a:80:80" E E), "", 0, -EINVAL },
	{ "host of short IPv4", S("GET / HTTP/1.1" E "Host: 127.1" E E), "", 0, -EINVAL },
	{ "host of a number", S("GET / HTTP/1.1" E "Host: 2130706433" E E), "", 0, -EINVAL },
	{ "host of IPv4 and a dot", S("GET / HTTP/1.1" E "Host: 127.0.0.1." E E), "", 0, -EINVAL },
	{ "bare IPv6", S("GET / HTTP/1.1" E "Host: ::1" E E), "", 0, -EINVAL },
	{ "open bracket", S("GET / HTTP/1.1" E "Host: [::1" E E), "", 0, -EINVAL },
	{ "empty brackets", S("GET / HTTP/1.1" E "Host: []" E E), "", 0, -EINVAL },
	{ "IPv6 and a zone", S("GET / HTTP/1.1" E "Host: [fe80::1%25lo]" E E), "", 0, -EINVAL },
	{ "IPv4 in brackets", S("GET / HTTP/1.1" E "Host: [1.2.3.4]" E E), "", 0, -EINVAL },
	{ "garbage after brackets", S("GET / HTTP/1.1" E "Host: [::1]a:80" E E), "", 0, -EINVAL },

	{ "space before the colon", S("GET / HTTP/1.1" E "Host : a" E E), "", 0, -EINVAL },
	{ "tab before the colon", S("GET / HTTP/1.1" E "Host\t: a" E E), "", 0, -EINVAL },
	{ "space before another colon", S(GET "X : a" E E), "", 0, -EINVAL },
	{ "folded line", S(GET "X: a" E " b" E E), "", 0, -EINVAL },
	{ "folded host", S("GET / HTTP/1.1" E "Host:" E " a" E E), "", 0, -EINVAL },
	{ "folded by a tab", S(GET "X: a" E "\tb" E E), "", 0, -EINVAL },
	{ "space before the first field", S("GET / HTTP/1.1" E " Host: b" E "Host: a" E E), "", 0,
		-EINVAL },
	{ "no colon", S(GET "X" E E), "", 0, -EINVAL },
	{ "no name", S(GET ": x" E E), "", 0, -EINVAL },
	{ "name with NUL", S(GET "X\0Y: x" E E), "", 0, -EINVAL },
	{ "name with UTF-8", S(GET "X\xc3\xa4: x" E E), "", 0, -EINVAL },
	{ "name with a bracket", S(GET "X(Y): x" E E), "", 0, -EINVAL },
	{ "value with NUL", S(GET "X: a\0b" E E), "", 0, -EINVAL },
	{ "value with CR", S(GET "X: a\rHost: b" E E), "", 0, -EINVAL },
	{ "value with two CR", S(GET "X: a\r" E E), "", 0, -EINVAL },
	{ "value with BEL", S(GET "X: a\7" E E), "", 0, -EINVAL },
	{ "value with DEL", S(GET "X: a\x7f" E E), "", 0, -EINVAL },
	{ "LF only", S("GET / HTTP/1.1\nHost: a\n\n"), "", 0, -EINVAL },
	{ "LF in the middle", S(GET "X: a\nHost: b" E E), "", 0, -EINVAL },
	{ "LF at the end", S(GET "\n"), "", 0, -EINVAL },
	{ "LF in front", S("\n" GET E), "", 0, -EINVAL },

	{ "HTTP/0.9", S("GET /" E E), "", 0, -EINVAL },
	{ "HTTP/1.2", S("GET / HTTP/1.2" E "Host: a" E E), "", 0, -EINVAL },
	{ "HTTP/2.0", S("GET / HTTP/2.0" E "Host: a" E E), "", 0, -EINVAL },
	{ "http/1.1", S("GET / http/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "HTTP/1.10", S("GET / HTTP/1.10" E "Host: a" E E), "", 0, -EINVAL },
	{ "space after the version", S("GET / HTTP/1.1 " E "Host: a" E E), "", 0, -EINVAL },
	{ "two spaces", S("GET  / HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "tab for space", S("GET\t/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "tab in the target", S("GET /a\tb HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "space in the target", S("GET /a b HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "space in front", S(" GET / HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "no method", S("/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "method with a colon", S("G:T / HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "no target", S("GET HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "target of a name", S("GET a HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "target with a fragment", S("GET /#a HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "star for get", S("GET * HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "star with more", S("OPTIONS *a HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "star with a query", S("OPTIONS *?a HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "https", S("GET https://a/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "URL of another host", S("GET http://b/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "URL of another port", S("GET http://a:81/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "URL whose host has another port", S("GET http://a/ HTTP/1.1" E "Host: a:81" E E), "", 0,
		-EINVAL },
	{ "URL without a Host field", S("GET http://a/ HTTP/1.1" E E), "", 0, -EINVAL },
	{ "URL without a host", S("GET http:///x HTTP/1.0" E E), "", 0, -EINVAL },
	{ "URL with a user", S("GET http://a@b/ HTTP/1.0" E E), "", 0, -EINVAL },
	{ "URL with an ambiguous user", S("GET http://a;@b/ HTTP/1.1" E "Host: b" E E), "", 0,
		-EINVAL },
	{ "URL with two users", S("GET http://a@b@c/ HTTP/1.1" E "Host: c" E E), "", 0, -EINVAL },
	{ "URL with an empty user", S("GET http://@a/ HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "URL with a host after its query", S("GET http://a?@b/ HTTP/1.1" E "Host: a" E E), "", 0,
		-EINVAL },
	{ "URL with an escaped user", S("GET http://a%40b/ HTTP/1.1" E "Host: a%40b" E E), "", 0,
		-EINVAL },
	{ "Host with a user", S("GET / HTTP/1.1" E "Host: a@b" E E), "", 0, -EINVAL },
	{ "Host with an ambiguous user", S("GET / HTTP/1.1" E "Host: a;@b" E E), "", 0, -EINVAL },
	{ "CONNECT with a user", S("CONNECT a@b:443 HTTP/1.1" E "Host: b:443" E E), "", 0,
		-EINVAL },
	{ "URL with a backslash", S("GET http://a\\b/ HTTP/1.0" E E), "", 0, -EINVAL },
	{ "connect without a port", S("CONNECT a HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "connect to a path", S("CONNECT / HTTP/1.1" E "Host: a" E E), "", 0, -EINVAL },
	{ "connect to another host", S("CONNECT a:1 HTTP/1.1" E "Host: b:1" E E), "", 0, -EINVAL },
	{ "connect to another port", S("CONNECT a:1 HTTP/1.1" E "Host: a:2" E E), "", 0, -EINVAL },
	{ "connect with a body", S("CONNECT a:1 HTTP/1.1" E "Host: a:1" E "Content-Length: 1" E E),
		"", 0, -EINVAL },
	{ "connect with chunks",
		S("CONNECT a:1 HTTP/1.1" E "Host: a:1" E "Transfer-Encoding: chunked" E E), "", 0,
		-EINVAL },

	{ "two lengths", S(GET "Content-Length: 1" E "Content-Length: 2" E E), "", 0, -EINVAL },
	{ "the same length twice", S(GET "Content-Length: 1" E "Content-Length: 1" E E), "", 0,
		-EINVAL },
	{ "two lengths in one", S(GET "Content-Length: 1, 1" E E), "", 0, -EINVAL },
	{ "length and chunks", S(GET "Content-Length: 1" E "Transfer-Encoding: chunked" E E), "", 0,
		-EINVAL },
	{ "length 0 and chunks", S(GET "Transfer-Encoding: chunked" E "Content-Length: 0" E E), "",
		0, -EINVAL },
	{ "empty length", S(GET "Content-Length:" E E), "", 0, -EINVAL },
	{ "negative length", S(GET "Content-Length: -1" E E), "", 0, -EINVAL },
	{ "length with a plus", S(GET "Content-Length: +1" E E), "", 0, -EINVAL },
	{ "length in hexadecimal", S(GET "Content-Length: 0x10" E E), "", 0, -EINVAL },
	{ "length with a zero", S(GET "Content-Length: 010" E E), "", 0, -EINVAL },
	{ "length and garbage", S(GET "Content-Length: 1a" E E), "", 0, -EINVAL },
	{ "length with a space", S(GET "Content-Length: 1 0" E E), "", 0, -EINVAL },
	{ "length 2^64", S(GET "Content-Length: 18446744073709551616" E E), "", 0, -EINVAL },
	{ "length 10^18", S(GET "Content-Length: 1000000000000000000" E E), "", 0, -EINVAL },
	{ "two codings", S(GET "Transfer-Encoding: gzip, chunked" E E), "", 0, -EINVAL },
	{ "chunked twice", S(GET "Transfer-Encoding: chunked, chunked" E E), "", 0, -EINVAL },
	{ "two coding fields",
		S(GET "Transfer-Encoding: chunked" E "Transfer-Encoding: chunked" E E), "", 0,
		-EINVAL },
	{ "chunked and more", S(GET "Transfer-Encoding: chunked;q=1" E E), "", 0, -EINVAL },
	{ "identity", S(GET "Transfer-Encoding: identity" E E), "", 0, -EINVAL },
	{ "xchunked", S(GET "Transfer-Encoding: xchunked" E E), "", 0, -EINVAL },
	{ "quoted coding", S(GET "Transfer-Encoding: \"chunked\"" E E), "", 0, -EINVAL },
	{ "empty coding", S(GET "Transfer-Encoding:" E E), "", 0, -EINVAL },
	{ "VT before the coding", S(GET "Transfer-Encoding:\vchunked" E E), "", 0, -EINVAL },
	{ "chunks in HTTP/1.0", S("PUT / HTTP/1.0" E "Transfer-Encoding: chunked" E E), "", 0,
		-EINVAL },
	{ "connection that drops the host", S(GET "Connection: close, HOST" E E), "", 0, -EINVAL },
	{ "connection that drops the length", S(GET "Connection: content-length" E E), "", 0,
		-EINVAL },
	{ "two upgrades", S(GET "Upgrade: a" E "Upgrade: b" E E), "", 0, -EINVAL },
	{ "empty upgrade", S(GET "Upgrade:" E E), "", 0, -EINVAL },

	{ "garbage after a request", S(GET E "garbage" E E), "GET a /;", sizeof(GET E) - 1,
		-EINVAL },
	{ "second without a host", S(GET E "GET / HTTP/1.1" E E), "GET a /;", sizeof(GET E) - 1,
		-EINVAL },
#define BAD_CHUNK(name, text)                                                   \
	{                                                                       \
		name, S(CHUNKED text), "PUT a /;", sizeof(CHUNKED) - 1, -EINVAL \
	}
	BAD_CHUNK("no size", E),
	BAD_CHUNK("negative size", "-1" E),
	BAD_CHUNK("size with a plus", "+1" E),
	BAD_CHUNK("size with 0x", "0x10" E),
	BAD_CHUNK("size of 17 digits", "00000000000000001" E),
	BAD_CHUNK("size 2^63", "8000000000000000" E),
	BAD_CHUNK("size 2^64", "10000000000000000" E),
	BAD_CHUNK("size with a space after", "1 " E),
	BAD_CHUNK("size with a space in front", " 1" E),
	BAD_CHUNK("size with a space and an extension", "1 ;a" E),
	BAD_CHUNK("size and garbage", "1g" E),
	BAD_CHUNK("size with LF", "1\n"),
	BAD_CHUNK("size with CR", "1\r" E),
	BAD_CHUNK("extension only", ";a" E),
	BAD_CHUNK("extension with LF", "1;a\nx" E),
	BAD_CHUNK("extension with CR", "1;a\rx" E),
	BAD_CHUNK("extension with NUL", "1;a\0x" E),
#undef BAD_CHUNK
#define BAD_END(name, passed, text)                                                           \
	{                                                                                     \
		name, S(CHUNKED passed text), "PUT a /;", sizeof(CHUNKED passed) - 1, -EINVAL \
	}
	BAD_END("chunk too long", "1" E "x", "y" E),
	BAD_END("chunk that ends in LF", "1" E "x", "\n"),
	BAD_END("chunk that ends in CR", "1" E "x", "\rx"),
	BAD_END("trailer of a host", "0" E, "Host: b" E E),
	BAD_END("trailer of a length", "0" E, "Content-Length: 1" E E),
	BAD_END("trailer of a coding", "0" E, "Transfer-Encoding: chunked" E E),
	BAD_END("trailer without a colon", "0" E, "x" E E),
	BAD_END("folded trailer", "0" E, "X: a" E " b" E E),
	BAD_END("trailers that end in LF", "0" E, "\n"),
#undef BAD_END
};

/* All in pieces of this size; returns how much passed. */
static size_t feed(struct http_requests *h, const struct stream *s, size_t piece, int *ret_error)
{
	size_t passed = 0, end = 0;
	ssize_t n = 0;

	while (end < s->len && n >= 0) {
		end = s->len - end < piece ? s->len : end + piece;
		do {
			n = http_requests_feed(h, (const uint8_t *)s->bytes + passed, end - passed);
			if (n > 0)
				passed += (size_t)n;
		} while (n > 0);
	}
	*ret_error = n < 0 ? (int)n : 0;
	return passed;
}

static void check_stream(const struct stream *s, size_t piece, const char *refused)
{
	struct judge_log log = { .refused = refused };
	struct http_requests *h;
	size_t passed;
	int error;

	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	log.http = h;
	passed = feed(h, s, piece, &error);
	if (error != s->error || passed != (s->passed == SIZE_MAX ? s->len : s->passed) ||
		strcmp(buffer_text(&log.text), s->judged) != 0)
		fail_msg("%s, by %zu: %d, %zu passed, judged: %s", s->name, piece, error, passed,
			buffer_text(&log.text));
	/* It stays so. */
	if (error < 0) {
		assert_int_equal(http_requests_feed(h, (const uint8_t *)S(GET E)), error);
		assert_int_equal(http_requests_free_bytes(h), 0);
	}
	http_requests_free(h);
	buffer_deinit(&log.text);
}

static void check_streams(const struct stream *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_stream(&s[i], SIZE_MAX, NULL);
		check_stream(&s[i], 1, NULL);
		check_stream(&s[i], 7, NULL);
	}
}

static void test_good(void **state)
{
	(void)state;
	check_streams(good, ROWS(good));
}

static void test_bad(void **state)
{
	(void)state;
	check_streams(bad, ROWS(bad));
}

static void test_refused(void **state)
{
#define OTHER "GET / HTTP/1.1" E "Host: b" E E
	static const struct stream streams[] = {
		{ "first", S(OTHER GET E), "GET b /;", 0, -EPERM },
		{ "second", S(GET E OTHER GET E), "GET a /;GET b /;", sizeof(GET E) - 1, -EPERM },
		{ "unfinished", S(GET E "GET / HTTP/1.1" E "Host: b" E), "GET a /;",
			sizeof(GET E) - 1, 0 },
	};
#undef OTHER

	(void)state;
	for (size_t i = 0; i < ROWS(streams); i++) {
		check_stream(&streams[i], SIZE_MAX, "b");
		check_stream(&streams[i], 1, "b");
	}
}

/* A head of this many bytes. */
static int feed_long(size_t len, size_t given)
{
	static char text[2 * HTTP_HEAD_MAX];
	struct judge_log log = { 0 };
	struct http_requests *h;
	ssize_t n;

	memset(text, 'x', sizeof(text));
	memcpy(text, GET "X: ", sizeof(GET "X: ") - 1);
	memcpy(text + len - 4, E E, 4);
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	n = http_requests_feed(h, (const uint8_t *)text, given);
	http_requests_free(h);
	buffer_deinit(&log.text);
	return (int)n;
}

static void test_long_head(void **state)
{
	(void)state;
	assert_int_equal(feed_long(HTTP_HEAD_MAX, HTTP_HEAD_MAX), HTTP_HEAD_MAX);
	assert_int_equal(feed_long(HTTP_HEAD_MAX, HTTP_HEAD_MAX - 1), 0);
	assert_int_equal(feed_long(HTTP_HEAD_MAX + 1, HTTP_HEAD_MAX + 1), -E2BIG);
	assert_int_equal(feed_long(HTTP_HEAD_MAX + 1, HTTP_HEAD_MAX), -E2BIG);
	assert_int_equal(feed_long(HTTP_HEAD_MAX + 1, HTTP_HEAD_MAX - 1), 0);
}

static void test_long_chunk_line(void **state)
{
	static char text[2048] = "1;";
	struct judge_log log = { 0 };
	struct http_requests *h;

	(void)state;
	memset(text + 2, 'x', sizeof(text) - 2);
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(CHUNKED)), sizeof(CHUNKED) - 1);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)text, 1023), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)text, 1024), -E2BIG);
	http_requests_free(h);
	buffer_deinit(&log.text);
}

#define SWITCH "GET / HTTP/1.1" E "Host: a" E "Upgrade: websocket" E "Connection: x, Upgrade" E E
#define TUNNEL "CONNECT a:443 HTTP/1.1" E "Host: a" E E
#define SWITCH_BODY                                                                                \
	"POST / HTTP/1.1" E "Host: a" E "Upgrade: h2c" E "Connection: Upgrade" E "Connection: y" E \
	"Content-Length: 2" E E

static const struct {
	const char *name;
	const char *bytes;
	size_t len, stops;
	const char *judged;
} upgrades[] = {
	{ "websocket", S(SWITCH "\x81\x05hello"), sizeof(SWITCH) - 1, "GET a / -> websocket;" },
	{ "connect", S(TUNNEL "\x16\x03\x01"), sizeof(TUNNEL) - 1, "CONNECT a:443  -> ;" },
	{ "with a body", S(SWITCH_BODY "xyPRI"), sizeof(SWITCH_BODY "xy") - 1, "POST a / -> h2c;" },
};

static void test_upgrade_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(upgrades); i++) {
		const uint8_t *data = (const uint8_t *)upgrades[i].bytes;
		size_t len = upgrades[i].len, stops = upgrades[i].stops;
		struct judge_log log = { 0 };
		struct http_requests *h;

		assert_int_equal(http_requests_new(&h, judge, &log), 0);
		assert_false(http_requests_waits(h));
		assert_int_equal(http_requests_feed(h, data, len), stops);
		assert_string_equal(buffer_text(&log.text), upgrades[i].judged);
		assert_true(http_requests_waits(h));
		assert_true(http_requests_stopped(h));
		assert_int_equal(http_requests_count(h), 1);
		assert_int_equal(http_requests_free_bytes(h), 0);
		assert_int_equal(http_requests_feed(h, data + stops, len - stops), 0);
		http_requests_upgraded(h, true);
		assert_false(http_requests_waits(h));
		assert_true(http_requests_free_bytes(h) == UINT64_MAX);
		assert_int_equal(
			http_requests_feed(h, data + stops, len - stops), (ssize_t)(len - stops));
		http_requests_skip(h, UINT64_MAX);
		assert_int_equal(http_requests_feed(h, data, len), (ssize_t)len);
		http_requests_free(h);
		buffer_deinit(&log.text);
	}
}

static void test_upgrade_refused(void **state)
{
	struct judge_log log = { 0 };
	struct http_requests *h;

	(void)state;
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(SWITCH)), sizeof(SWITCH) - 1);
	http_requests_upgraded(h, false);
	assert_false(http_requests_waits(h));
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(GET E)), sizeof(GET E) - 1);
	/* Nobody asked: it changes nothing. */
	http_requests_upgraded(h, true);
	assert_int_equal(http_requests_free_bytes(h), 0);
	assert_int_equal(
		http_requests_feed(h, (const uint8_t *)S("\x81\x05hello\r\n\r\n")), -EINVAL);
	assert_int_equal(http_requests_count(h), 2);
	http_requests_free(h);
	buffer_deinit(&log.text);
}

/* Nor in the middle of a body. */
static void test_upgrade_unasked(void **state)
{
#define POST "POST / HTTP/1.1" E "Host: a" E "Content-Length: 2" E E
	struct judge_log log = { 0 };
	struct http_requests *h;

	(void)state;
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(POST)), sizeof(POST) - 1);
	http_requests_upgraded(h, true);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S("xy\x81" E E)), 2);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S("\x81" E E)), -EINVAL);
	http_requests_free(h);
	buffer_deinit(&log.text);
#undef POST
}

/* A head by itself, without the search for its end, which finds some of this before. */
static void test_head(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int want;
	} heads[] = {
		{ S(GET E), 0 },
		{ S(""), -EINVAL },
		{ S(E), -EINVAL },
		{ S(GET), -EINVAL },
		{ S(GET "\n"), -EINVAL },
		{ S(GET "X: y\n" E), -EINVAL },
		{ S("GET / HTTP/1.1\nHost: a" E E), -EINVAL },
		{ S(GET E GET E), -EINVAL },
		{ S(GET E E), -EINVAL },
	};
	static struct http_head head;
	static const uint8_t big[HTTP_HEAD_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ROWS(heads); i++) {
		int r = http_head_parse(&head, (const uint8_t *)heads[i].bytes, heads[i].len);

		if (r != heads[i].want)
			fail_msg("%zu: %d", i, r);
	}
	assert_int_equal(http_head_parse(&head, big, sizeof(big)), -E2BIG);
	assert_int_equal(http_head_check_trailers(big, sizeof(big)), -E2BIG);
	assert_int_equal(http_head_check_trailers((const uint8_t *)S("")), -EINVAL);
}

/* The server may say so before the body ended. */
static void test_upgrade_early(void **state)
{
	struct judge_log log = { 0 };
	struct http_requests *h;

	(void)state;
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(SWITCH_BODY "x")),
		sizeof(SWITCH_BODY "x") - 1);
	assert_true(http_requests_waits(h));
	assert_false(http_requests_stopped(h));
	http_requests_upgraded(h, true);
	assert_int_equal(http_requests_free_bytes(h), 1);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S("yPRI")), 4);
	assert_true(http_requests_free_bytes(h) == UINT64_MAX);
	http_requests_free(h);
	buffer_deinit(&log.text);
}

struct holding {
	unsigned n, holds; /* how often it was asked; and what the first ones of them were */
};

static int hold(void *context, const struct http_request *r)
{
	struct holding *x = context;

	x->n++;
	return strcmp(r->path, "/held") == 0 && x->n <= x->holds ? HTTP_HOLD : 0;
}

/* Nothing of it passes, nor of what is behind it, until the judge says so. */
static void test_hold(void **state)
{
#define HELD "POST /held?x=y HTTP/1.1" E "Host: a" E "Content-Length: 3" E E "abc"
	static const char all[] = GET E HELD GET E;
	const size_t first = sizeof(GET E) - 1;
	struct holding x = { .holds = 3 };
	struct http_requests *h;

	(void)state;
	assert_int_equal(http_requests_new(&h, hold, &x), 0);
	/* A head that is incomplete is not held yet. */
	assert_int_equal(http_requests_feed(h, (const uint8_t *)all, first + 10), first);
	assert_false(http_requests_held(h));
	for (unsigned i = 2; i <= x.holds; i++) {
		assert_int_equal(http_requests_feed(h, (const uint8_t *)S(HELD GET E)), 0);
		assert_true(http_requests_held(h));
		assert_int_equal(http_requests_count(h), 1);
		assert_int_equal(http_requests_free_bytes(h), 0);
		assert_int_equal(x.n, i);
	}
	assert_int_equal(
		http_requests_feed(h, (const uint8_t *)S(HELD GET E)), sizeof(HELD GET E) - 1);
	assert_false(http_requests_held(h));
	assert_int_equal(http_requests_count(h), 3);
	http_requests_free(h);
#undef HELD
}

static void test_skip(void **state)
{
#define POST "POST / HTTP/1.1" E "Host: a" E "Content-Length: 999999999999999999" E E
	struct judge_log log = { 0 };
	struct http_requests *h;

	(void)state;
	assert_int_equal(http_requests_new(&h, judge, &log), 0);
	assert_int_equal(http_requests_free_bytes(h), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(POST)), sizeof(POST) - 1);
	assert_int_equal(http_requests_free_bytes(h), 999999999999999999);
	http_requests_skip(h, 999999999999999990);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S("12345")), 5);
	http_requests_skip(h, 0);
	http_requests_skip(h, 4);
	assert_int_equal(http_requests_free_bytes(h), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(GET E)), sizeof(GET E) - 1);
	/* A chunk: what ends it is not free. */
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(CHUNKED "3" E)),
		sizeof(CHUNKED "3" E) - 1);
	assert_int_equal(http_requests_free_bytes(h), 3);
	http_requests_skip(h, 3);
	assert_int_equal(http_requests_free_bytes(h), 0);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(E "0" E E)), 7);
	assert_int_equal(http_requests_count(h), 3);
	/* More than was free passed: nobody knows any more where it stands. */
	http_requests_skip(h, 1);
	assert_int_equal(http_requests_feed(h, (const uint8_t *)S(GET E)), -EINVAL);
	http_requests_free(h);
	buffer_deinit(&log.text);
#undef POST
}

static const struct {
	const char *bytes;
	size_t len;
	enum http_looks want;
} looks[] = {
	{ S(""), HTTP_MAYBE },
	{ S("G"), HTTP_MAYBE },
	{ S("GET / HTTP/1."), HTTP_YES },
	{ S("GET"), HTTP_MAYBE },
	{ S("GET "), HTTP_YES },
	{ S("GET / HTTP"), HTTP_YES },
	{ S("POST / HTTP"), HTTP_MAYBE },
	{ S("PRI * HTTP/2.0\r"), HTTP_MAYBE },
	{ S("GET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("GET / HTTP/1.0\r\nx"), HTTP_YES },
	{ S("ANY * HTTP/9\n"), HTTP_YES },
	{ S("\r\n\r\nGET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("\n\nGET / HTTP/1.1\n"), HTTP_YES },
	{ S("\r\n"), HTTP_MAYBE },
	{ S(" GET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("GET\v/\x1cHTTP/1.1\r\n"), HTTP_YES },
	{ S("GET / http/1.1\r\n"), HTTP_YES },
	{ S("GET / HTTP/1.1 x\r\n"), HTTP_YES },
	{ S("GET /\r\n"), HTTP_YES },
	{ S("GET\r"), HTTP_YES },
	{ S("GET\r\n"), HTTP_YES },
	{ S("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("PROXY UNKNOWN\r\n\x16\x03\x01"), HTTP_YES },
	{ S("PROXYTYPE a\r\n"), HTTP_NO },
	{ S("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"), HTTP_YES },
	{ S("\r\n\r\n\0\r\nQ"), HTTP_YES },
	{ S("GET key\r\n"), HTTP_YES },
	{ S("get key\r\n"), HTTP_NO },
	{ S("GETS key\r\n"), HTTP_NO },
	{ S("PRI * HTTP/2.0\r\n"), HTTP_2 },
	{ S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HTTP_2 },
	{ S("PRI * HTTP/1.1\r\n"), HTTP_YES },
	{ S("SSH-2.0-OpenSSH_9.2\r\n"), HTTP_NO },
	{ S("EHLO a\r\n"), HTTP_NO },
	{ S("*1\r\n$4\r\nPING\r\n"), HTTP_NO },
	{ S("0032git-upload-pack /a\0host=b\0"), HTTP_MAYBE },
	{ S("0032git-upload-pack /a\0host=b\0000032want\n"), HTTP_NO },
	{ S("\0\0\0\x08\4\xd2\x16\x2f"), HTTP_MAYBE },
	{ S("\0\0\0\x08\n"), HTTP_NO },
	{ S("{\"a\":1}\n"), HTTP_NO },
	{ S("AMQP\0"), HTTP_MAYBE },
	/* There are servers that take these for requests. */
	{ S("GET /\0 HTTP/1.1\r\n"), HTTP_YES },
	{ S("GET /\1 HTTP/1.1\r\n"), HTTP_YES },
	{ S("GET /\x7f HTTP/1.1\r\n"), HTTP_YES },
	{ S("\1GET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("(GET / HTTP/1.1\r\n"), HTTP_YES },
	{ S("GET / HTTP/1.1\rHost: a\r\r"), HTTP_YES },
};

static void test_looks(void **state)
{
	static uint8_t line[8193];

	(void)state;
	for (size_t i = 0; i < ROWS(looks); i++) {
		enum http_looks got =
			http_requests_looks((const uint8_t *)looks[i].bytes, looks[i].len);

		if (got != looks[i].want)
			fail_msg("%s: %d", looks[i].bytes, (int)got);
	}
	/* A line that is too long to wait for is refused as HTTP, not passed as something else. */
	memset(line, 'x', sizeof(line));
	assert_int_equal(http_requests_looks(line, 8191), HTTP_MAYBE);
	assert_int_equal(http_requests_looks(line, 8192), HTTP_YES);
	assert_int_equal(http_requests_looks(line, 8193), HTTP_YES);
	line[8000] = 1;
	assert_int_equal(http_requests_looks(line, 8191), HTTP_MAYBE);
	assert_int_equal(http_requests_looks(line, 8193), HTTP_NO);
	line[3] = ' ';
	assert_int_equal(http_requests_looks(line, 8193), HTTP_YES);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_head),
		cmocka_unit_test(test_long_chunk_line),
		cmocka_unit_test(test_upgrade_accepted),
		cmocka_unit_test(test_upgrade_refused),
		cmocka_unit_test(test_upgrade_unasked),
		cmocka_unit_test(test_upgrade_early),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
