/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether it is HTTP. Here the doubt goes the other way than in http-head.c: what some server may
 * take for a request, however it is spelled, has to be read as one (and is then refused), since
 * what is not HTTP passes without a look at its host. So whatever some reader takes for a space is
 * one, any line with "HTTP/" is a request, whatever other bytes are in it, and so is one of
 * HTTP/0.9, behind which some look for fields. And what names another client, in front of a
 * request or of TLS, is nothing for a command to say.
 *
 * Only the end of the first line settles that it is none. Other protocols do not wait for one that
 * never comes: what is in doubt is passed on and remembered. Where the line is too long for that, a
 * byte that no line of text has tells them from HTTP, unless the line begins with a word.
 */
#include "net/gate/http-requests.h"

#include <string.h>
#include <strings.h>

enum { LINE_MAX_BYTES = 8 << 10 };

/* Python's str.split() takes all of these. */
static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
	       c == 0xa0;
}

static bool http_requests_looks_is_text(uint8_t c)
{
	return is_space(c) || (c >= ' ' && c != 0x7f);
}

/* A word and a space, as in front of a request's target. */
static bool begins_with_word(const uint8_t *line, size_t len)
{
	size_t n = 0;

	while (n < len && line[n] > ' ' && line[n] != 0x7f && !is_space(line[n]))
		n++;
	return n > 0 && n < len && is_space(line[n]);
}

static bool all_text(const uint8_t *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!http_requests_looks_is_text(line[i]))
			return false;
	return true;
}

/* By the slash: a line may come byte by byte, and is looked at each time. */
static bool has_version(const uint8_t *line, size_t len)
{
	const uint8_t *end = line + len, *slash = line;

	while ((slash = memchr(slash, '/', (size_t)(end - slash)))) {
		if (slash - line >= 4 && strncasecmp((const char *)slash - 4, "HTTP", 4) == 0)
			return true;
		slash++;
	}
	return false;
}

static bool is_0_9(const uint8_t *line, size_t len)
{
	return len > 4 && memcmp(line, "GET", 3) == 0 && is_space(line[3]);
}

/* The PROXY protocol, version 1: servers that speak it look for the request behind this line. */
static bool is_proxy_line(const uint8_t *line, size_t len)
{
	return len >= 6 && memcmp(line, "PROXY ", 6) == 0;
}

/* And version 2: its signature up to the line that would settle that it is something else. */
static bool is_proxy_signature(const uint8_t *data, size_t len)
{
	static const char signature[] = "\r\n\r\n\0\r\n"; /* "QUIT\n" */
	const size_t n = sizeof(signature) - 1;

	return len >= n && memcmp(data, signature, n) == 0;
}

static bool is_preface(const uint8_t *line, size_t len, bool complete)
{
	static const char preface[] = "PRI * HTTP/2.0\r";
	const size_t n = strlen(preface);

	return (complete ? len == n : len <= n) && memcmp(line, preface, len) == 0;
}

/* The first line that is not empty, or as much of it as is there, without its LF. */
static enum http_looks http_requests_looks_look_at(const uint8_t *line, size_t len, bool complete)
{
	if (is_preface(line, len, complete))
		return complete ? HTTP_2 : HTTP_MAYBE;
	if (has_version(line, len) || is_proxy_line(line, len) || (complete && is_0_9(line, len)))
		return HTTP_YES;
	return complete ? HTTP_NO : HTTP_MAYBE;
}

enum http_looks http_requests_looks(const uint8_t *data, size_t len)
{
	size_t most = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES, start = 0, n;
	const uint8_t *lf;
	enum http_looks looks;

	if (is_proxy_signature(data, len))
		return HTTP_YES;
	while (start < most && is_space(data[start]))
		start++;
	lf = start < most ? memchr(data + start, '\n', most - start) : NULL;
	n = (lf ? (size_t)(lf - data) : most) - start;
	looks = http_requests_looks_look_at(data + start, n, lf != NULL);
	if (looks != HTTP_MAYBE || most < LINE_MAX_BYTES)
		return looks;
	/* A longer line than is waited for: there are servers that take it. */
	return all_text(data + start, n) || begins_with_word(data + start, n) ? HTTP_YES : HTTP_NO;
}
