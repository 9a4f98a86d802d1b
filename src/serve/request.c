/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/request.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

/* Which of two counts is not defined, so each is there once. */
static int serve_request_on_field(void *context, const char *name, const char *value)
{
	struct serve_request *s = context;
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
	for (size_t i = 0; i < s->n_own; i++) {
		if (strcasecmp(name, s->own[i].name) != 0)
			continue;
		if (s->own[i].value)
			return 1;
		s->own[i].value = value;
	}
	return 0;
}

bool serve_request_is_host(const struct serve_request *s, uint16_t port)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	const struct http_request *r = &s->head.request;

	for (size_t i = 0; i < ROWS(names); i++) {
		if (strcmp(r->host, names[i]) == 0)
			return port == 0 || (r->port ? r->port : 80) == port;
	}
	return false;
}

bool serve_request_is_token(const struct serve_request *s, const char *token)
{
	static const char scheme[] = "Bearer ";
	const size_t len = strlen(token);
	const char *value = s->authorization;

	if (!value || strncasecmp(value, scheme, strlen(scheme)) != 0)
		return false;
	value += strlen(scheme);
	return strlen(value) == len && len > 0 && sodium_memcmp(value, token, len) == 0;
}

bool serve_request_is_json(const struct serve_request *s)
{
	static const char type[] = "application/json";
	const size_t len = strlen(type);

	return s->type && strncasecmp(s->type, type, len) == 0 &&
	       (s->type[len] == '\0' || s->type[len] == ';');
}

/* A line that ends without CR: some read a head there that others do not. */
static bool serve_request_has_bare_line(const char *data, size_t len)
{
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
		if (at == data || at[-1] != '\r')
			return true;
	}
	return false;
}

/* Where the head ends; 0: not here. */
static size_t serve_request_find_end(const char *data, size_t len, size_t *scanned)
{
	const char *end;
	/* The end may begin in what was looked at. */
	const size_t from = *scanned > 3 ? *scanned - 3 : 0;

	if (len > SERVE_REQUEST_HEAD_MAX)
		len = SERVE_REQUEST_HEAD_MAX;
	end = len > from ? memmem(data + from, len - from, "\r\n\r\n", 4) : NULL;
	*scanned = end ? 0 : len;
	return end ? (size_t)(end - data) + 4 : 0;
}

static int serve_request_refuse(struct serve_request *s, unsigned status, const char *reason)
{
	s->status = status;
	s->reason = reason;
	return 1;
}

int serve_request_read(struct serve_request *ret, const char *data, size_t len, size_t *scanned)
{
	const size_t end = serve_request_find_end(data, len, scanned);

	ret->origin = ret->authorization = ret->type = NULL;
	ret->event_id = ret->known_etag = NULL;
	ret->reason = NULL;
	ret->status = ret->seen = 0;
	for (size_t i = 0; i < ret->n_own; i++)
		ret->own[i].value = NULL;
	ret->bytes = end;
	if (end == 0 && !serve_request_has_bare_line(
				data, len < SERVE_REQUEST_HEAD_MAX ? len : SERVE_REQUEST_HEAD_MAX))
		return len < SERVE_REQUEST_HEAD_MAX
			       ? 0
			       : serve_request_refuse(ret, 431, "the head is too large");
	if (end == 0 || http_head_parse_all(&ret->head, (const uint8_t *)data, end,
				serve_request_on_field, ret) < 0)
		return serve_request_refuse(ret, 400, "this is no request that can be understood");
	return 1;
}

const char *serve_request_words(unsigned status)
{
	static const struct {
		unsigned status;
		const char *words;
	} rows[] = { { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 304, "Not Modified" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 409, "Conflict" }, { 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" } };

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].status == status)
			return rows[i].words;
	}
	return "Error";
}
