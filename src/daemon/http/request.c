/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/http/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "serve/guard.h"

static int api_request_refuse(
	struct api_request *q, unsigned status, const char *reason, const char *more)
{
	auto_buffer text = { 0 };
	size_t end;

	q->status = status;
	buffer_adds(&text, reason);
	/* What the client chose is made visible, and cut. */
	if (more)
		buffer_add_visible(&text, more, strnlen(more, 64));
	(void)snprintf(q->reason, sizeof(q->reason), "%s", buffer_text(&text));
	/* A character that was cut in two would keep the refusal from the log. */
	if (!utf8_valid(q->reason, strlen(q->reason), &end))
		q->reason[end] = '\0';
	return 1;
}

static void api_request_note_target(struct api_request *q, const struct http_request *r)
{
	auto_buffer text = { 0 };

	buffer_add_visible(&text, r->method, strnlen(r->method, 16));
	buffer_addc(&text, ' ');
	buffer_add_visible(&text, r->path, strnlen(r->path, 100));
	(void)snprintf(q->target, sizeof(q->target), "%s", buffer_text(&text));
}

static int api_request_judge(
	const struct api_guard *g, const struct serve_request *s, struct api_request *q)
{
	char host[64], origin[96];
	struct serve_guard guard = { 0 };
	struct serve_refusal why;

	if (g->port) {
		(void)snprintf(host, sizeof(host), "%s.localhost", g->label);
		(void)snprintf(origin, sizeof(origin), "http://%s:%u", host, g->port);
		guard = (struct serve_guard){ .host = host,
			.port = g->port,
			.origin = origin,
			.other_host = "the Host header names another server: the page has a name "
				      "of its own for each start of the daemon, which `corral "
				      "dashboard` opens; programs use the Unix socket, see "
				      "corrald(8)" };
	}
	return serve_guard_place(&guard, s, &why) == 0
		       ? 0
		       : api_request_refuse(q, why.status, why.reason, NULL);
}

static int api_request_judge_body(const struct serve_request *s, struct api_request *q)
{
	const size_t most = route_takes_body(q->call.route) ? API_REQUEST_BODY_MAX : 0;
	struct serve_refusal why;

	return serve_guard_body(s, most, route_needs_body(q->call.route), &why) == 0
		       ? 0
		       : api_request_refuse(q, why.status, why.reason, NULL);
}

/* Values */

/* Percent-encoding away; NULL: it is none, holds a NUL, or there is no memory. */
static char *api_request_plain(struct arena *a, const char *text, size_t len)
{
	char *out = arena_alloc(a, len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		const int byte = encoding_percent_byte(text + i, len - i);

		if (text[i] != '%') {
			out[n++] = text[i] == '+' ? ' ' : text[i];
			continue;
		}
		if (byte <= 0)
			return NULL;
		out[n++] = (char)byte;
		i += 2;
	}
	return out;
}

/* The value is text, or a node of the body. */
static int api_request_refuse_value(struct api_request *q, const struct schema_field *f,
	const char *value, const struct node *n)
{
	struct error e = { 0 };
	char what[96];

	(void)snprintf(what, sizeof(what), "the parameter `%s`", f->name);
	if (n)
		(void)schema_refuse_node(f, what, n, NULL, &e);
	else
		(void)schema_refuse(f, what, value, NULL, &e);
	(void)api_request_refuse(q, 400, e.text, e.hint[0] ? "; " : NULL);
	if (e.hint[0]) {
		const size_t len = strlen(q->reason);

		(void)snprintf(q->reason + len, sizeof(q->reason) - len, "%s", e.hint);
	}
	return 1;
}

static int api_request_set(
	struct api_request *q, enum route_place place, const char *name, const char *value)
{
	const struct schema_field *fields = q->call.route->fields;
	struct schema_names names = { .n = 0 };
	const char *near;

	for (size_t i = 0; fields[i].name; i++) {
		if (fields[i].place != place)
			continue;
		schema_names_add(&names, fields[i].name);
		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (q->call.values[i])
			return api_request_refuse(q, 400, "there are two of the parameter ", name);
		if (!value || !route_allows(&fields[i], value))
			return api_request_refuse_value(q, &fields[i], value, NULL);
		q->call.values[i] = value;
		return 0;
	}
	near = schema_names_near(&names, name);
	(void)api_request_refuse(q, 400, "there is no parameter ", name);
	if (near) {
		const size_t len = strlen(q->reason);

		(void)snprintf(
			q->reason + len, sizeof(q->reason) - len, "; did you mean %s?", near);
	}
	return 1;
}

static int api_request_read_query(struct api_request *q, const char *query, struct arena *a)
{
	while (*query) {
		const size_t len = strcspn(query, "&"), name = strcspn(query, "=&");
		char *key = api_request_plain(a, query, name);
		char *value =
			name < len ? api_request_plain(a, query + name + 1, len - name - 1) : NULL;

		if (!key || !value)
			return api_request_refuse(q, 400, "the query cannot be understood", NULL);
		if (api_request_set(q, ROUTE_IN_QUERY, key, value) != 0)
			return 1;
		query += len + (query[len] == '&');
	}
	return 0;
}

/* A value of the body as text: a list or a map is written once more. NULL: there is no memory. */
static const char *api_request_text(struct arena *a, const struct node *n)
{
	auto_buffer text = { 0 };

	if (n->type != NODE_LIST && n->type != NODE_MAP)
		return arena_strdup(a, n->text);
	json_print(&text, n, JSON_COMPACT);
	return text.failed ? NULL : arena_strndup(a, buffer_text(&text), text.len);
}

static int api_request_set_node(struct api_request *q, const struct node *n, struct arena *a)
{
	const struct schema_field *f = q->call.route->fields;
	const char *text = NULL;
	uint64_t number;

	while (f->name && (f->place != ROUTE_IN_BODY || strcmp(f->name, n->key) != 0))
		f++;
	if (f->name && schema_parse_node(f, n, &number) < 0)
		return api_request_refuse_value(q, f, NULL, n);
	if (f->name) {
		text = api_request_text(a, n);
		if (!text)
			return api_request_refuse(q, 503, "out of memory", NULL);
	}
	return api_request_set(q, ROUTE_IN_BODY, n->key, text);
}

static int api_request_read_body(
	struct api_request *q, const char *body, size_t len, struct arena *a)
{
	const struct node_bounds bounds = { API_REQUEST_BODY_MAX, ROUTE_POLICY_MAX };
	auto_document d = { 0 };
	struct error e = { 0 };

	if (json_read_within(&d, NULL, body, len, &bounds, &e) < 0)
		return api_request_refuse(q, 400, "the body is not JSON: ", e.text);
	if (d.root->type != NODE_MAP)
		return api_request_refuse(q, 400, "the body must be an object", NULL);
	node_for_each(n, d.root)
		if (api_request_set_node(q, n, a) != 0)
			return 1;
	return 0;
}

static int api_request_check_all(struct api_request *q)
{
	const struct schema_field *fields = q->call.route->fields;

	for (size_t i = 0; fields[i].name; i++)
		if (fields[i].required && !q->call.values[i])
			return api_request_refuse(
				q, 400, "this parameter is missing: ", fields[i].name);
	return 0;
}

/* The proof of a tab; 1: there is none. */
static int api_request_judge_proof(
	const struct api_guard *g, const struct serve_request *s, struct api_request *q)
{
	const struct http_request *r = &s->head.request;
	const struct proof_request asked = { .start = g->start,
		.method = r->method,
		.host = r->host,
		.path = r->path,
		.query = r->query,
		.port = r->port ? r->port : 80 };

	if (s->authorization && strncasecmp(s->authorization, "Bearer", 6) == 0)
		return api_request_refuse(q, 401,
			"the token is not taken by TCP; use the Unix socket: curl --unix-socket "
			"$XDG_RUNTIME_DIR/corral/api.sock …, see corrald(8)",
			NULL);
	if (!proof_read(s->authorization, &q->claim))
		return api_request_refuse(q, 401,
			"by TCP only tabs of the page may ask, which `corral dashboard` opens; "
			"programs use the Unix socket, see corrald(8)",
			NULL);
	for (size_t i = 0; i < PROOF_TABS_MAX && !q->tab; i++)
		if (proof_is_right(&g->tabs[i], &q->claim, &asked))
			q->tab = &g->tabs[i];
	return q->tab ? 0
		      : api_request_refuse(q, 401,
				"this tab is not known, or its proof is wrong: the daemon was "
				"started again, perhaps; `corral dashboard` opens a new one",
				NULL);
}

static int api_request_judge_caller(
	const struct api_guard *g, const struct serve_request *s, struct api_request *q)
{
	struct serve_refusal why;

	if (g->port)
		return api_request_judge_proof(g, s, q);
	return serve_guard_token(g->token, s, &why) == 0
		       ? 0
		       : api_request_refuse(q, why.status, why.reason, NULL);
}

/* A file of the page. Anybody may have it: it is the same for all. 1: refused. */
static int api_request_take_asset(
	const struct asset *asset, const struct serve_request *s, struct api_request *q)
{
	if (strcmp(s->head.request.method, "GET") != 0) {
		(void)snprintf(q->allow, sizeof(q->allow), "GET");
		return api_request_refuse(q, 405, "this path has other methods: ", q->allow);
	}
	if (s->head.chunked || s->head.length > 0)
		return api_request_refuse(q, 413, "the body is too large", NULL);
	q->asset = asset;
	q->is_known = s->known_etag && strcmp(s->known_etag, asset->etag) == 0;
	q->head = s->bytes;
	return 0;
}

/* Everything of the head. 1: refused. ret: of the path. */
static int api_request_read_head(const struct api_guard *g, const struct serve_request *s,
	struct api_request *q, struct route_places *ret)
{
	const struct http_request *r = &s->head.request;
	const struct asset *asset = asset_find(r->path);
	bool known = false;

	api_request_note_target(q, r);
	q->is_last = s->head.closes;
	if (api_request_judge(g, s, q) != 0)
		return 1;
	if (asset)
		return api_request_take_asset(asset, s, q);
	q->call.route = route_find(r->method, r->path, ret, &known);
	if (!q->call.route && known) {
		auto_buffer methods = { 0 };

		route_methods(r->path, &methods);
		(void)snprintf(q->allow, sizeof(q->allow), "%s", buffer_text(&methods));
		return api_request_refuse(q, 405, "this path has other methods: ", q->allow);
	}
	if (!q->call.route)
		return api_request_refuse(
			q, 404, "there is no such path; see /api/openapi.json", NULL);
	if (!q->call.route->is_open && api_request_judge_caller(g, s, q) != 0)
		return 1;
	q->call.flags = g->port ? 0 : ROUTE_BY_UNIX;
	q->head = s->bytes;
	q->body = (size_t)s->head.length;
	if (s->event_id && strspn(s->event_id, "0123456789") == strlen(s->event_id))
		q->after = strtoull(s->event_id, NULL, 10);
	return api_request_judge_body(s, q);
}

int api_request_read(const struct api_guard *g, const char *data, size_t len, size_t *scanned,
	struct arena *a, struct api_request *ret)
{
	static struct serve_request served; /* it is big, and of no use afterwards */
	struct route_places places = { .n = 0 };

	*ret = (struct api_request){ .target = "?" };
	if (serve_request_read(&served, data, len, scanned) == 0)
		return 0;
	if (served.status)
		return api_request_refuse(ret, served.status, served.reason, NULL);
	if (api_request_read_head(g, &served, ret, &places) != 0 || ret->asset)
		return 1;
	if (len - ret->head < ret->body)
		return 0;
	if (ret->tab && !proof_is_body(&ret->claim, data + ret->head, ret->body))
		return api_request_refuse(
			ret, 401, "the body is not the one that the proof is about", NULL);
	for (size_t i = 0; i < places.n; i++) {
		const struct schema_field *f = &ret->call.route->fields[i];
		const char *plain = api_request_plain(a, places.values[i], places.lens[i]);

		if (api_request_set(ret, ROUTE_IN_PATH, f->name, plain) != 0)
			return 1;
	}
	if (served.head.request.query &&
		api_request_read_query(ret, served.head.request.query, a) != 0)
		return 1;
	if (ret->body > 0 && api_request_read_body(ret, data + ret->head, ret->body, a) != 0)
		return 1;
	(void)api_request_check_all(ret);
	return 1;
}
