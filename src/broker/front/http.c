/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/front/http.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buffer.h"
#include "net/gate/http-head.h"

/* What the gate's reader leaves to others. */
struct http_fields {
	const struct http_guard *guard;
	bool has_origin, has_token, has_type;
	unsigned n_tokens, n_types;
};

static bool http_is_token(const struct http_guard *g, const char *value)
{
	static const char scheme[] = "Bearer ";
	const size_t len = strlen(g->token);

	if (strncasecmp(value, scheme, strlen(scheme)) != 0)
		return false;
	value += strlen(scheme);
	return strlen(value) == len && len > 0 && sodium_memcmp(value, g->token, len) == 0;
}

/* "application/json", with or without "; charset=utf-8". */
static bool http_is_json(const char *value)
{
	static const char type[] = "application/json";
	const size_t len = strlen(type);

	return strncasecmp(value, type, len) == 0 && (value[len] == '\0' || value[len] == ';');
}

static int http_on_field(void *context, const char *name, const char *value)
{
	struct http_fields *f = context;

	if (strcasecmp(name, "origin") == 0)
		f->has_origin = true;
	if (strcasecmp(name, "authorization") == 0) {
		f->has_token = http_is_token(f->guard, value);
		f->n_tokens++;
	}
	if (strcasecmp(name, "content-type") == 0) {
		f->has_type = http_is_json(value);
		f->n_types++;
	}
	/* Which of two counts is not defined. */
	return f->n_tokens > 1 || f->n_types > 1;
}

static bool http_is_our_host(const struct http_guard *g, const struct http_request *r)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < ROWS(names); i++) {
		if (strcmp(r->host, names[i]) == 0)
			return (r->port ? r->port : 80) == g->port;
	}
	return false;
}

static int http_refuse(struct http_message *m, unsigned status, const char *reason)
{
	*m = (struct http_message){ .status = status, .reason = reason };
	return 1;
}

static int http_judge_head(
	const struct http_head *h, const struct http_fields *f, struct http_message *m)
{
	const struct http_request *r = &h->request;
	const bool is_rpc = strcmp(r->path, "/rpc") == 0;

	if (!http_is_our_host(f->guard, r))
		return http_refuse(m, 403, "the Host header names another server");
	if (f->has_origin)
		return http_refuse(m, 403, "pages may not call: there is an Origin header");
	if (r->upgrade)
		return http_refuse(m, 400, "there is no other protocol here");
	if (!is_rpc && strcmp(r->path, "/health") != 0)
		return http_refuse(m, 404, "there are POST /rpc and GET /health");
	if (strcmp(r->method, is_rpc ? "POST" : "GET") != 0)
		return http_refuse(m, 405, "there are POST /rpc and GET /health");
	if (is_rpc && !f->has_token)
		return http_refuse(
			m, 401, "the header Authorization: Bearer TOKEN is missing, or wrong");
	if (h->chunked || (is_rpc && h->length == 0))
		return http_refuse(m, 411, "the body needs a Content-Length");
	if (h->length > (is_rpc ? HTTP_FRONT_BODY_MAX : 0))
		return http_refuse(m, 413, "the body is too large");
	if (is_rpc && !f->has_type)
		return http_refuse(m, 415, "the Content-Type must be application/json");
	m->what = is_rpc ? HTTP_CALL : HTTP_HEALTH;
	m->body = (size_t)h->length;
	return 0;
}

/* A line that ends without CR: some read a head there that others do not. */
static bool http_has_bare_line(const char *data, size_t len)
{
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
		if (at == data || at[-1] != '\r')
			return true;
	}
	return false;
}

/* Where the head ends; 0: not here. */
static size_t http_find_end(const char *data, size_t len, size_t *scanned)
{
	const char *end;
	/* The end may begin in what was looked at. */
	const size_t from = *scanned > 3 ? *scanned - 3 : 0;

	if (len > HTTP_FRONT_HEAD_MAX)
		len = HTTP_FRONT_HEAD_MAX;
	end = len > from ? memmem(data + from, len - from, "\r\n\r\n", 4) : NULL;
	*scanned = end ? 0 : len;
	return end ? (size_t)(end - data) + 4 : 0;
}

int http_message_read(const struct http_guard *g, const char *data, size_t len, size_t *scanned,
	struct http_message *ret)
{
	static struct http_head head; /* it is big, and of no use afterwards */
	struct http_fields f = { .guard = g };
	const size_t end = http_find_end(data, len, scanned);

	*ret = (struct http_message){ 0 };
	if (end == 0 &&
		!http_has_bare_line(data, len < HTTP_FRONT_HEAD_MAX ? len : HTTP_FRONT_HEAD_MAX))
		return len < HTTP_FRONT_HEAD_MAX ? 0
						 : http_refuse(ret, 431, "the head is too large");
	if (end == 0 ||
		http_head_parse_all(&head, (const uint8_t *)data, end, http_on_field, &f) < 0)
		return http_refuse(ret, 400, "this is no request that can be understood");
	if (http_judge_head(&head, &f, ret) != 0)
		return 1;
	ret->head = end;
	return len - end >= ret->body;
}

void http_message_begin(struct buffer *out, unsigned status, size_t len, bool last)
{
	static const struct {
		unsigned status;
		const char *words;
	} rows[] = { { 200, "OK" }, { 204, "No Content" }, { 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 411, "Length Required" },
		{ 413, "Content Too Large" }, { 415, "Unsupported Media Type" },
		{ 431, "Request Header Fields Too Large" } };
	const char *words = "Error";

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].status == status)
			words = rows[i].words;
	}
	buffer_printf(out, "HTTP/1.1 %u %s\r\nCache-Control: no-store\r\n", status, words);
	if (status == 401)
		buffer_adds(out, "WWW-Authenticate: Bearer\r\n");
	if (status != 204)
		buffer_printf(
			out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", len);
	buffer_adds(out, last ? "Connection: close\r\n\r\n" : "\r\n");
}
