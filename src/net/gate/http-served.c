/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate/http-served.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

/* Which of two counts is not defined, so each is there once. */
static int http_served_on_field(void *context, const char *name, const char *value)
{
	struct http_served *s = context;
	const struct {
		const char *name;
		const char **place;
	} rows[] = { { "origin", &s->origin }, { "authorization", &s->authorization },
		{ "content-type", &s->type }, { "last-event-id", &s->event_id },
		{ "if-none-match", &s->known_etag } };

	for (unsigned i = 0; i < ROWS(rows); i++) {
		if (strcasecmp(name, rows[i].name) != 0)
			continue;
		if (s->seen & 1U << i)
			return 1;
		s->seen |= 1U << i;
		*rows[i].place = value;
	}
	return 0;
}

bool http_served_is_host(const struct http_served *s, uint16_t port)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	const struct http_request *r = &s->head.request;

	for (size_t i = 0; i < ROWS(names); i++) {
		if (strcmp(r->host, names[i]) == 0)
			return port == 0 || (r->port ? r->port : 80) == port;
	}
	return false;
}

bool http_served_is_token(const struct http_served *s, const char *token)
{
	static const char scheme[] = "Bearer ";
	const size_t len = strlen(token);
	const char *value = s->authorization;

	if (!value || strncasecmp(value, scheme, strlen(scheme)) != 0)
		return false;
	value += strlen(scheme);
	return strlen(value) == len && len > 0 && sodium_memcmp(value, token, len) == 0;
}

bool http_served_is_json(const struct http_served *s)
{
	static const char type[] = "application/json";
	const size_t len = strlen(type);

	return s->type && strncasecmp(s->type, type, len) == 0 &&
	       (s->type[len] == '\0' || s->type[len] == ';');
}

/* A line that ends without CR: some read a head there that others do not. */
static bool http_served_has_bare_line(const char *data, size_t len)
{
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
		if (at == data || at[-1] != '\r')
			return true;
	}
	return false;
}

/* Where the head ends; 0: not here. */
static size_t http_served_find_end(const char *data, size_t len, size_t *scanned)
{
	const char *end;
	/* The end may begin in what was looked at. */
	const size_t from = *scanned > 3 ? *scanned - 3 : 0;

	if (len > HTTP_SERVED_HEAD_MAX)
		len = HTTP_SERVED_HEAD_MAX;
	end = len > from ? memmem(data + from, len - from, "\r\n\r\n", 4) : NULL;
	*scanned = end ? 0 : len;
	return end ? (size_t)(end - data) + 4 : 0;
}

static int http_served_refuse(struct http_served *s, unsigned status, const char *reason)
{
	s->status = status;
	s->reason = reason;
	return 1;
}

int http_served_read(struct http_served *ret, const char *data, size_t len, size_t *scanned)
{
	const size_t end = http_served_find_end(data, len, scanned);

	ret->origin = ret->authorization = ret->type = NULL;
	ret->event_id = ret->known_etag = NULL;
	ret->reason = NULL;
	ret->status = ret->seen = 0;
	ret->bytes = end;
	if (end == 0 && !http_served_has_bare_line(
				data, len < HTTP_SERVED_HEAD_MAX ? len : HTTP_SERVED_HEAD_MAX))
		return len < HTTP_SERVED_HEAD_MAX
			       ? 0
			       : http_served_refuse(ret, 431, "the head is too large");
	if (end == 0 || http_head_parse_all(&ret->head, (const uint8_t *)data, end,
				http_served_on_field, ret) < 0)
		return http_served_refuse(ret, 400, "this is no request that can be understood");
	return 1;
}

const char *http_served_words(unsigned status)
{
	static const struct {
		unsigned status;
		const char *words;
	} rows[] = { { 200, "OK" }, { 204, "No Content" }, { 304, "Not Modified" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" }, { 409, "Conflict" },
		{ 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" } };

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].status == status)
			return rows[i].words;
	}
	return "Error";
}
