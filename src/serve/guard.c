/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/guard.h"

#include <string.h>

static int serve_guard_refuse(struct serve_refusal *ret, unsigned status, const char *reason)
{
	*ret = (struct serve_refusal){ status, reason };
	return 1;
}

static bool serve_guard_is_host(const struct serve_guard *g, const struct serve_request *r)
{
	const struct http_request *q = &r->head.request;

	if (!g->host)
		return serve_request_is_host(r, g->port);
	return strcmp(q->host, g->host) == 0 &&
	       (g->port == 0 || (q->port ? q->port : 80) == g->port);
}

int serve_guard_place(
	const struct serve_guard *g, const struct serve_request *r, struct serve_refusal *ret)
{
	if (!serve_guard_is_host(g, r))
		return serve_guard_refuse(ret, 403,
			g->other_host ? g->other_host : "the Host header names another server");
	if (r->origin && !g->origin)
		return serve_guard_refuse(
			ret, 403, "pages may not call: there is an Origin header");
	if (r->origin && strcmp(r->origin, g->origin) != 0)
		return serve_guard_refuse(ret, 403, "pages of other origins may not call");
	if (r->head.request.upgrade)
		return serve_guard_refuse(ret, 400, "there is no other protocol here");
	return 0;
}

int serve_guard_token(const char *token, const struct serve_request *r, struct serve_refusal *ret)
{
	if (token && serve_request_is_token(r, token))
		return 0;
	return serve_guard_refuse(
		ret, 401, "the header Authorization: Bearer TOKEN is missing, or wrong");
}

int serve_guard_body(
	const struct serve_request *r, size_t most, bool is_needed, struct serve_refusal *ret)
{
	if (r->head.chunked || (is_needed && r->head.length == 0))
		return serve_guard_refuse(ret, 411, "the body needs a Content-Length");
	if (r->head.length > most)
		return serve_guard_refuse(ret, 413, "the body is too large");
	if (r->head.length > 0 && !serve_request_is_json(r))
		return serve_guard_refuse(ret, 415, "the Content-Type must be application/json");
	return 0;
}
