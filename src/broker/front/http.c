/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/front/http.h"

#include <string.h>

#include "base/buffer.h"
#include "serve/request.h"

static int http_refuse(struct http_message *m, unsigned status, const char *reason)
{
	*m = (struct http_message){ .status = status, .reason = reason };
	return 1;
}

static int http_judge_head(
	const struct http_guard *g, const struct serve_request *s, struct http_message *m)
{
	const struct http_request *r = &s->head.request;
	const bool is_rpc = strcmp(r->path, "/rpc") == 0;

	if (!serve_request_is_host(s, g->port))
		return http_refuse(m, 403, "the Host header names another server");
	if (s->origin)
		return http_refuse(m, 403, "pages may not call: there is an Origin header");
	if (r->upgrade)
		return http_refuse(m, 400, "there is no other protocol here");
	if (!is_rpc && strcmp(r->path, "/health") != 0)
		return http_refuse(m, 404, "there are POST /rpc and GET /health");
	if (strcmp(r->method, is_rpc ? "POST" : "GET") != 0)
		return http_refuse(m, 405, "there are POST /rpc and GET /health");
	if (is_rpc && !serve_request_is_token(s, g->token))
		return http_refuse(
			m, 401, "the header Authorization: Bearer TOKEN is missing, or wrong");
	if (s->head.chunked || (is_rpc && s->head.length == 0))
		return http_refuse(m, 411, "the body needs a Content-Length");
	if (s->head.length > (is_rpc ? HTTP_FRONT_BODY_MAX : 0))
		return http_refuse(m, 413, "the body is too large");
	if (is_rpc && !serve_request_is_json(s))
		return http_refuse(m, 415, "the Content-Type must be application/json");
	m->what = is_rpc ? HTTP_CALL : HTTP_HEALTH;
	m->head = s->bytes;
	m->body = (size_t)s->head.length;
	return 0;
}

int http_message_read(const struct http_guard *g, const char *data, size_t len, size_t *scanned,
	struct http_message *ret)
{
	static struct serve_request served; /* it is big, and of no use afterwards */

	*ret = (struct http_message){ 0 };
	if (serve_request_read(&served, data, len, scanned) == 0)
		return 0;
	if (served.status)
		return http_refuse(ret, served.status, served.reason);
	if (http_judge_head(g, &served, ret) != 0)
		return 1;
	return len - ret->head >= ret->body;
}

void http_message_begin(struct buffer *out, unsigned status, size_t len, bool last)
{
	buffer_printf(out, "HTTP/1.1 %u %s\r\nCache-Control: no-store\r\n", status,
		serve_request_words(status));
	if (status == 401)
		buffer_adds(out, "WWW-Authenticate: Bearer\r\n");
	if (status != 204)
		buffer_printf(
			out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", len);
	buffer_adds(out, last ? "Connection: close\r\n\r\n" : "\r\n");
}
