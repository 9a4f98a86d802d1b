/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/front/http.h"

#include <string.h>

#include "base/buffer.h"
#include "serve/answer.h"
#include "serve/guard.h"

static int http_refuse(struct http_message *m, unsigned status, const char *reason)
{
	*m = (struct http_message){ .status = status, .reason = reason };
	return 1;
}

static int http_judge_head(
	const struct http_guard *g, const struct serve_request *s, struct http_message *m)
{
	const struct http_request *r = &s->head.request;
	const struct serve_guard guard = { .port = g->port };
	const bool is_rpc = strcmp(r->path, "/rpc") == 0;
	struct serve_refusal why;

	if (serve_guard_place(&guard, s, &why) != 0)
		return http_refuse(m, why.status, why.reason);
	if (!is_rpc && strcmp(r->path, "/health") != 0)
		return http_refuse(m, 404, "there are POST /rpc and GET /health");
	if (strcmp(r->method, is_rpc ? "POST" : "GET") != 0)
		return http_refuse(m, 405, "there are POST /rpc and GET /health");
	if ((is_rpc && serve_guard_token(g->token, s, &why) != 0) ||
		serve_guard_body(s, is_rpc ? HTTP_FRONT_BODY_MAX : 0, is_rpc, &why) != 0)
		return http_refuse(m, why.status, why.reason);
	m->what = is_rpc ? HTTP_CALL : HTTP_HEALTH;
	m->head = s->bytes;
	m->body = (size_t)s->head.length;
	m->is_last = s->head.closes;
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

void http_message_answer(struct buffer *out, const struct http_message *m)
{
	const bool is_refused = m->what == HTTP_REFUSED;
	const struct serve_answer a = { .status = is_refused ? m->status : 200,
		.is_last = is_refused || m->is_last };

	serve_answer_text(out, &a, is_refused ? "error" : "status", is_refused ? m->reason : "ok");
}

void http_message_begin(struct buffer *out, unsigned status, size_t len, bool last)
{
	const struct serve_answer a = { .status = status,
		.type = status == 204 ? NULL : "application/json",
		.len = len,
		.is_last = last };

	serve_answer_begin(out, &a);
}
