/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether it is HTTP. Here the doubt goes the other way than in http-head.c: what some server may
 * take for a request, however it is spelled, has to be read as one (and is then refused), since
 * what is not HTTP passes without a look at its host. So whatever some reader takes for a space is
 * one, any line with "HTTP/" is a request, and so is one of HTTP/0.9, behind which some look for
 * fields.
 *
 * But other protocols must not wait for a line that never comes: a byte that no request starts
 * with, or that no line of text has, settles it.
 */
#include "net/http-requests.h"

#include <string.h>
#include <strings.h>

enum { LINE_MAX_BYTES = 8 << 10 };

/* Python's str.split() takes all of these. */
static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
	       c == 0xa0;
}

static bool is_text(uint8_t c)
{
	return is_space(c) || (c >= ' ' && c != 0x7f);
}

/* Methods are tokens. */
static bool is_method_start(uint8_t c)
{
	return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

static bool has_version(const uint8_t *line, size_t len)
{
	static const char version[] = "HTTP/";

	for (size_t n = strlen(version); len >= n; line++, len--)
		if (strncasecmp((const char *)line, version, n) == 0)
			return true;
	return false;
}

static bool is_0_9(const uint8_t *line, size_t len)
{
	return len > 4 && memcmp(line, "GET", 3) == 0 && is_space(line[3]) &&
	       memchr(line, '/', len);
}

/* The first line that is not empty, or as much of it as is there, without its LF. */
static enum http_looks look_at(const uint8_t *line, size_t len, bool complete)
{
	static const char preface[] = "PRI * HTTP/2.0\r";

	if (len > 0 && !is_method_start(line[0]))
		return HTTP_NO;
	for (size_t i = 0; i < len; i++)
		if (!is_text(line[i]))
			return HTTP_NO;
	if (!complete)
		return HTTP_MAYBE;
	if (len == strlen(preface) && memcmp(line, preface, len) == 0)
		return HTTP_2;
	return has_version(line, len) || is_0_9(line, len) ? HTTP_YES : HTTP_NO;
}

enum http_looks http_requests_looks(const uint8_t *data, size_t len)
{
	size_t most = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES, start = 0;
	const uint8_t *lf;
	enum http_looks looks;

	while (start < most && is_space(data[start]))
		start++;
	lf = start < most ? memchr(data + start, '\n', most - start) : NULL;
	looks = look_at(data + start, (lf ? (size_t)(lf - data) : most) - start, lf != NULL);
	/* A longer line than is waited for, and all of it text: there are servers that take it. */
	return looks == HTTP_MAYBE && most == LINE_MAX_BYTES ? HTTP_YES : looks;
}
