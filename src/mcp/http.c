/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_request: one request, with the redirects that it leads to, by the code that makes those of a
 * broker (broker/monitor/fetching.h). The enclave judges each; a corral-fetch in a sandbox of its
 * own makes it, and what that says is read as from a program that may have been taken over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/fetch/request.h"
#include "broker/monitor/fetcher.h"
#include "broker/monitor/fetching.h"
#include "codec/encoding.h"
#include "codec/json-writer.h"
#include "mcp/backend.h"

struct mcp_http {
	struct mcp_call *call;
	const struct mcp_backend_options *options;
	struct corral_by by;
	struct arena arena;
	struct fetching *fetching; /* NULL: it has ended */
	struct buffer body;
	struct value headers; /* of the request */
};

static void http_free(struct mcp_http *h)
{
	if (h->fetching)
		fetching_free(h->fetching);
	h->call->state = NULL;
	buffer_deinit(&h->body);
	arena_deinit(&h->arena);
	free(h);
}

/* Its end, whatever it was. */
static void http_end(struct mcp_http *h, struct mcp_result *answer)
{
	const struct mcp_backend_options *o = h->options;
	struct mcp_call *c = h->call;

	http_free(h);
	mcp_answer_end(o, c, answer);
}

static void http_freed(void *context)
{
	struct mcp_http *h = context;

	h->fetching = NULL;
}

static void http_refused(void *context, const struct rpc_refusal *why)
{
	struct mcp_result answer = { .is_error = true };

	mcp_answer_refusal(&answer.text, why->message, why->hint);
	http_end(context, &answer);
}

static void http_failed(void *context, int code, struct corral_error *e)
{
	struct mcp_http *h = context;
	struct mcp_result answer = { 0 };

	mcp_answer_refuse(h->options, &answer, code, e);
	http_end(h, &answer);
}

/* A sandbox is started as that of a command is: the loop waits for it. */
static int http_run(
	struct fetching *f, void (*work)(struct fetching *f), void (*done)(struct fetching *f))
{
	work(f);
	done(f);
	return 0;
}

/* The response */

static int http_on_body(struct fetching *f, const char *data, size_t len)
{
	struct mcp_http *h = f->state;

	buffer_add(&h->body, data, len);
	return h->body.failed ? -ENOMEM : 0;
}

static void http_put_headers(struct json_writer *w, const struct value *headers)
{
	json_open_map(w, "headers");
	for (size_t i = 0; i < headers->n; i++)
		json_put_text(w, headers->items[i].key, headers->items[i].text);
	json_close(w);
}

static void http_structure(
	const struct mcp_http *h, const struct fetching *f, bool is_text, struct buffer *out)
{
	const enum encoding encoding = is_text ? ENCODING_UTF8 : ENCODING_BASE64;
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_count(&w, "status", f->status);
	json_put_text(&w, "url", f->hop.url);
	http_put_headers(&w, &f->headers);
	json_put_text(&w, "encoding", is_text ? "utf8" : "base64");
	json_put_count(&w, "size", h->body.len);
	json_put_encoded(&w, "body", encoding, buffer_text(&h->body), h->body.len);
	(void)json_end(&w);
}

static void http_describe(
	const struct mcp_http *h, const struct fetching *f, bool is_text, struct buffer *out)
{
	buffer_printf(out, "%llu %s\n", (unsigned long long)f->status,
		f->status_text.text ? f->status_text.text : "");
	if (f->hop.count > 0)
		buffer_printf(out, "[after %u redirects: %s]\n", f->hop.count, f->hop.url);
	for (size_t i = 0; i < f->headers.n; i++)
		buffer_printf(out, "%s: %s\n", f->headers.items[i].key, f->headers.items[i].text);
	buffer_adds(out, is_text ? "\n" : "\n[the body is no text; as base64:]\n");
	encoding_print(
		is_text ? ENCODING_UTF8 : ENCODING_BASE64, buffer_text(&h->body), h->body.len, out);
}

static void http_on_end(struct fetching *f)
{
	struct mcp_http *h = f->state;
	struct mcp_result answer = { 0 };
	const bool is_text = encoding_fits(ENCODING_UTF8, buffer_text(&h->body), h->body.len);

	http_describe(h, f, is_text, &answer.text);
	http_structure(h, f, is_text, &answer.structured);
	http_end(h, &answer);
}

/* The request */

/* -ENOMEM. */
static int http_read_headers(struct mcp_http *h)
{
	const struct node *headers = node_get(h->call->arguments, "headers");
	const size_t n = headers ? headers->count : 0;
	struct value_item *items = arena_calloc(&h->arena, n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	h->headers = (struct value){ .type = SCHEMA_PAIRS, .items = items };
	for (const struct node *i = headers ? headers->first : NULL; i; i = i->next)
		items[h->headers.n++] = (struct value_item){ i->key, node_text(i) };
	return 0;
}

/* false: it is no base64. */
static bool http_read_body(struct mcp_http *h, struct fetching *f)
{
	const struct mcp_call *c = h->call;
	const struct node *body = node_get(c->arguments, "body");
	const bool is_base64 = mcp_tool_number(c->tool, c->arguments, "encoding", 0) == 1;

	if (!body)
		return true;
	f->hop.has_body = true;
	f->body.type = SCHEMA_DATA;
	return encoding_decode(is_base64 ? ENCODING_BASE64 : ENCODING_UTF8, body->text,
		       strlen(body->text), &h->arena, &f->body.text, &f->body.len) == 0;
}

static void http_start(struct mcp_http *h, struct fetcher *fetcher)
{
	static const struct fetching_sink sink = { .body = http_on_body, .end = http_on_end };
	const struct mcp_call *c = h->call;
	const struct node *method = node_get(c->arguments, "method");
	const struct value timeout = value_number(
		SCHEMA_NUMBER, mcp_tool_number(c->tool, c->arguments, "timeout_ms", 30000));
	const struct fetching_owner o = { .loop = h->options->loop,
		.arena = &h->arena,
		.enclave = h->options->enclave,
		.by = &h->by,
		.fetcher = fetcher,
		.run = http_run,
		.freed = http_freed,
		.refuse = http_refused,
		.fail = http_failed,
		.context = h };
	struct fetching *f =
		fetching_new(&o, &sink, node_get_text(c->arguments, "url"), &h->headers, &timeout);

	if (!f)
		return;
	h->fetching = f;
	f->state = h;
	f->flags = FETCH_DECODES | FETCH_STOPS_AT_REDIRECT;
	f->max_bytes = MCP_CONTENT_MAX;
	if (method)
		f->hop.method = method->text;
	if (http_read_body(h, f))
		fetching_start(f);
	else
		fetching_fail(f, RPC_PARAMS, "`body` is no base64");
}

void mcp_http_start(
	struct mcp_fetcher *fetcher, const struct mcp_backend_options *o, struct mcp_call *c)
{
	struct mcp_result answer = { .is_error = true };
	struct mcp_http *h = NULL;
	struct error e = { 0 };
	int r = mcp_fetcher_make(fetcher, o, &e);

	if (r == 0) {
		h = calloc(1, sizeof(*h));
		r = h ? 0 : -ENOMEM;
	}
	if (r == 0) {
		*h = (struct mcp_http){ .call = c, .options = o };
		h->by = (struct corral_by){ .size = sizeof(h->by), .actor = "mcp" };
		c->state = h;
		r = http_read_headers(h);
	}
	if (r == 0) {
		http_start(h, fetcher->fetcher);
		return;
	}
	if (h)
		http_free(h);
	buffer_printf(&answer.text, "this server cannot make requests: %s\n",
		e.text[0] ? e.text : strerror(-r));
	mcp_server_answer(c, &answer);
}

void mcp_http_cancel(struct mcp_call *c)
{
	if (c->state)
		http_free(c->state);
}

/* The fetcher */

int mcp_fetcher_make(struct mcp_fetcher *f, const struct mcp_backend_options *o, struct error *e)
{
	struct fetcher_options options = { .warden = "", .layers = &f->layer, .n_layers = 1 };
	int r;

	if (f->fetcher)
		return 0;
	f->layer = o->permissions;
	r = fetcher_find(&options, e);
	return r < 0 ? r : fetcher_new(&f->fetcher, &options, e);
}

void mcp_fetcher_deinit(struct mcp_fetcher *f)
{
	fetcher_free(f->fetcher);
}
