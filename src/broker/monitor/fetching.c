/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/fetching.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "broker/fetch/request.h"
#include "broker/monitor/fetcher.h"

enum { TIMEOUT_DEFAULT_MS = 30000, MESSAGE_BYTES = 1024 };

/* Refusing */

__attribute__((format(printf, 3, 4))) static void fetching_reject(
	const struct fetching_owner *o, enum rpc_class class, const char *format, ...)
{
	char text[MESSAGE_BYTES];
	const struct rpc_refusal why = { .class = class, .message = text };
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	o->refuse(o->context, &why);
}

int fetching_refuse(struct fetching *f, enum rpc_class class, const char *format, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	f->why.class = class;
	f->why.message = arena_strdup(f->owner.arena, text);
	if (!f->why.message)
		f->why.message = "out of memory";
	return -ECANCELED;
}

void fetching_free(struct fetching *f)
{
	if (f->sink->leave && f->state)
		f->sink->leave(f);
	loop_remove(f->owner.loop, &f->watcher);
	corral_process_free(f->process);
	corral_error_free(f->error);
	record_reader_deinit(&f->reader);
	f->owner.freed(f->owner.context);
	/* It lives in the owner's arena. */
}

/* Ends it with the reason that fetching_refuse() was given. */
static void fetching_give_up(struct fetching *f)
{
	const struct fetching_owner o = f->owner;
	const struct rpc_refusal why = f->why;

	fetching_free(f);
	o.refuse(o.context, &why);
}

void fetching_fail(struct fetching *f, enum rpc_class class, const char *message)
{
	f->why = (struct rpc_refusal){ .class = class, .message = message };
	fetching_give_up(f);
}

/* Records */

static int fetching_copy_text(struct fetching *f, const struct value *from, struct value *ret)
{
	*ret = *from;
	if (from->type == SCHEMA_NONE)
		return 0;
	ret->text = arena_strndup(f->owner.arena, from->text, from->len);
	return ret->text ? 0 : -ENOMEM;
}

static int fetching_copy_headers(struct fetching *f, const struct value *from)
{
	struct arena *a = f->owner.arena;
	struct value_item *items = arena_calloc(a, from->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		items[i].key = arena_strdup(a, from->items[i].key);
		items[i].text = arena_strdup(a, from->items[i].text);
		if (!items[i].key || !items[i].text)
			return -ENOMEM;
	}
	f->headers = *from;
	f->headers.items = items;
	return 0;
}

static bool fetching_is_redirected(const struct fetching *f)
{
	return f->flags & FETCH_STOPS_AT_REDIRECT && f->location;
}

static int fetching_on_head(struct fetching *f, const struct values *v)
{
	struct value location;
	int r = fetching_copy_text(f, &v->v[RECORD_LOCATION], &location);

	if (r == 0)
		r = fetching_copy_text(f, &v->v[RECORD_STATUS_TEXT], &f->status_text);
	if (r == 0)
		r = fetching_copy_headers(f, &v->v[RECORD_HEADERS]);
	if (r < 0)
		return r;
	f->status = v->v[RECORD_STATUS].number;
	f->location = location.text;
	f->length =
		v->v[RECORD_LENGTH].type == SCHEMA_NONE ? UINT64_MAX : v->v[RECORD_LENGTH].number;
	return fetching_is_redirected(f) || !f->sink->head ? 0 : f->sink->head(f);
}

static int fetching_on_record(void *context, const struct fetch_record *r)
{
	struct fetching *f = context;

	switch (r->kind) {
	case RECORD_HEAD:
		return fetching_on_head(f, &r->values);
	case RECORD_BODY:
		/* corral-fetch counts too; but it may not be itself any more. */
		if (r->len > f->max_bytes)
			return -EPROTO;
		f->max_bytes -= r->len;
		return fetching_is_redirected(f) ? -EPROTO : f->sink->body(f, r->data, r->len);
	case RECORD_ERROR:
		f->has_failed = true;
		f->cause = (enum record_cause)r->values.v[RECORD_CAUSE].number;
		f->message = arena_strdup(f->owner.arena, r->values.v[RECORD_MESSAGE].text);
		break;
	case RECORD_END:
		break;
	}
	return 0;
}

/* From within corral_process_dispatch(): nothing is answered here. */
static int fetching_on_output(
	void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct fetching *f = context;
	int r;

	if (stream != CORRAL_STDOUT || f->why.message)
		return 0;
	r = record_reader_feed(&f->reader, data, len, fetching_on_record, f);
	if (r < 0 && !f->why.message)
		(void)fetching_refuse(f, RPC_INTERNAL,
			r == -ENOMEM ? "out of memory"
				     : "what corral-fetch sent was not understood");
	return r;
}

/* Its end */

/* The relay refused: its words say more than "connection reset". */
static bool fetching_was_denied(struct fetching *f, const struct corral_result *result)
{
	struct arena *a = f->owner.arena;

	for (size_t i = 0; i < corral_result_denials(result); i++) {
		const struct corral_denial *d = corral_result_denial(result, i);

		if (d->op != CORRAL_NET_CONNECT || !hop_is_of(f->origin, d->target))
			continue;
		(void)fetching_refuse(
			f, RPC_PERMISSION, "permission denied: %s: %s", d->target, d->reason);
		f->why.rule = d->rule[0] ? arena_strdup(a, d->rule) : NULL;
		f->why.hint = d->remedy[0] ? arena_strdup(a, d->remedy) : NULL;
		return true;
	}
	return false;
}

static void fetching_explain_failure(struct fetching *f)
{
	static const enum rpc_class classes[] = {
		[RECORD_CAUSE_NETWORK] = RPC_NETWORK,
		[RECORD_CAUSE_TIMEOUT] = RPC_TIMEOUT,
		[RECORD_CAUSE_SIZE] = RPC_NETWORK,
		[RECORD_CAUSE_TLS] = RPC_NETWORK,
		[RECORD_CAUSE_REQUEST] = RPC_PARAMS,
		[RECORD_CAUSE_INTERNAL] = RPC_INTERNAL,
	};

	(void)fetching_refuse(f, classes[f->cause], "%.512s: %s%s", f->hop.url,
		f->cause == RECORD_CAUSE_TLS ? "TLS: " : "", f->message ? f->message : "");
}

/* It ended without an END. */
static void fetching_explain_end(struct fetching *f)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r;

	if (f->why.message)
		return;
	r = corral_process_wait(f->process, 0, &result, &e);
	if (r == 0 && corral_result_timed_out(result))
		(void)fetching_refuse(f, RPC_TIMEOUT, "the request took too long");
	/* What is denied fails at once. */
	else if (r == 0 && !(f->has_failed && f->cause == RECORD_CAUSE_TIMEOUT) &&
		 fetching_was_denied(f, result))
		;
	else if (r == 0 &&
		 (corral_result_out_of_memory(result) || corral_result_too_many_pids(result)))
		(void)fetching_refuse(f, RPC_RATE, "the limit of %s of this session is used up",
			corral_result_out_of_memory(result) ? "memory" : "pids");
	else if (f->has_failed)
		fetching_explain_failure(f);
	else
		(void)fetching_refuse(f, RPC_SERVICE,
			"corral-fetch ended before the response was complete%s%s",
			r < 0 ? ": " : "", r < 0 ? corral_error_message(e) : "");
	corral_result_free(result);
	corral_error_free(e);
}

static void fetching_follow(struct fetching *f)
{
	const char *why = NULL;
	int r = hop_follow(&f->hop, f->status, f->location, f->owner.arena, &why);

	if (r != 1) {
		(void)fetching_refuse(f, why ? RPC_NETWORK : RPC_INTERNAL, "%s",
			why ? why : "the redirect was not understood");
		fetching_give_up(f);
		return;
	}
	corral_process_free(f->process);
	f->process = NULL;
	record_reader_deinit(&f->reader);
	f->reader = (struct record_reader){ 0 };
	fetching_start(f);
}

static void fetching_on_ready(struct watcher *w, uint32_t events)
{
	struct fetching *f = container_of(w, struct fetching, watcher);
	int r = corral_process_dispatch(f->process);
	const bool is_complete = f->reader.has_ended && !f->has_failed && !f->why.message;

	(void)events;
	/* What it says last is waited for no longer than it is needed. */
	if (r == 0 && !is_complete && !f->why.message)
		return;
	if (!is_complete) {
		fetching_explain_end(f);
		fetching_give_up(f);
		return;
	}
	loop_remove(f->owner.loop, w);
	if (fetching_is_redirected(f))
		fetching_follow(f);
	else
		f->sink->end(f);
}

/* Its start */

static void fetching_work(struct fetching *f)
{
	struct values v = { 0 };

	v.v[FETCH_URL] = value_text(f->hop.url, strlen(f->hop.url));
	v.v[FETCH_METHOD] = value_text(f->hop.method, strlen(f->hop.method));
	v.v[FETCH_HEADERS] = (struct value){
		.type = SCHEMA_PAIRS, .items = f->hop.headers, .n = f->hop.n_headers
	};
	if (f->hop.has_body)
		v.v[FETCH_BODY] = f->body;
	v.v[FETCH_TIMEOUT_MS] = value_number(SCHEMA_NUMBER, f->left_ms);
	v.v[FETCH_MAX_BYTES] = value_number(SCHEMA_NUMBER, f->max_bytes);
	v.v[FETCH_FLAGS] = value_number(SCHEMA_NUMBER, f->flags);
	f->code = fetcher_start(
		f->owner.fetcher, f->origin, &v, fetching_on_output, f, &f->process, &f->error);
}

static void fetching_started(struct fetching *f)
{
	int r = f->code;

	if (r == 0) {
		f->watcher = (struct watcher){ .ready = fetching_on_ready, .fd = -1 };
		r = loop_add(f->owner.loop, &f->watcher, corral_process_fd(f->process), EPOLLIN);
	}
	if (r == 0)
		return;
	(void)fetching_refuse(f, RPC_SERVICE, "corral-fetch could not be started: %s",
		f->error ? corral_error_message(f->error) : strerror(-r));
	fetching_give_up(f);
}

/* The policy's word on this request. False: it is over. */
static bool fetching_is_granted(struct fetching *f)
{
	const struct fetching_owner o = f->owner;
	struct corral_error *e = NULL;
	int r = corral_enclave_http_request(o.enclave, o.by, f->hop.method, f->hop.url, &e);

	if (r == 0)
		return true;
	/* What was done already must not be done again by asking from the start. */
	if (r == -EINPROGRESS && f->hop.count > 0) {
		(void)fetching_refuse(f, RPC_PERMISSION, "the redirect leads to %.512s, which %s",
			f->hop.url, "needs an approval of its own");
		corral_error_free(e);
		fetching_give_up(f);
		return false;
	}
	fetching_free(f);
	o.fail(o.context, r, e);
	return false;
}

void fetching_start(struct fetching *f)
{
	const uint64_t now = loop_now(f->owner.loop);
	char reason[256];
	int r;

	if (!fetching_is_granted(f))
		return;
	f->left_ms = f->until_ms > now ? f->until_ms - now : 1;
	r = hop_origin(f->hop.url, f->origin);
	if (r == 0)
		r = fetcher_admit(f->owner.fetcher, f->origin, f->hop.has_body ? f->body.len : 0,
			now, reason);
	if (r == -EDQUOT)
		(void)fetching_refuse(f, RPC_RATE, "%s", reason);
	else if (r == -EMSGSIZE)
		(void)fetching_refuse(f, RPC_SCOPE, "%s", reason);
	else if (r == 0)
		r = f->owner.run(f, fetching_work, fetching_started);
	if (r < 0 && !f->why.message)
		(void)fetching_refuse(f, RPC_INTERNAL, "%s", strerror(-r));
	if (r < 0)
		fetching_give_up(f);
}

/* What the caller gave */

static bool fetching_headers_are_fit(const struct fetching_owner *o, const struct value *headers)
{
	for (size_t i = 0; i < headers->n; i++) {
		const char *name = headers->items[i].key;
		const char *fault = fetch_header_fault(name, headers->items[i].text);

		if (fault) {
			fetching_reject(o, RPC_PARAMS, "headers: %.128s: %s", name, fault);
			return false;
		}
	}
	return true;
}

/* Without its fragment, which no server sees. NULL: it was refused. */
static const char *fetching_url(const struct fetching_owner *o, const char *url)
{
	const char *whole = arena_strndup(o->arena, url, strcspn(url, "#"));
	char origin[HOP_ORIGIN_BYTES];
	const char *fault = whole ? fetch_url_fault(whole) : "out of memory";

	if (!fault && hop_origin(whole, origin) < 0)
		fault = "it is no URL that can be understood";
	if (!fault)
		return whole;
	fetching_reject(o, RPC_PARAMS, "url: %s", fault);
	return NULL;
}

struct fetching *fetching_new(const struct fetching_owner *o, const struct fetching_sink *sink,
	const char *url, const struct value *headers, const struct value *timeout)
{
	struct fetching *f = arena_calloc(o->arena, 1, sizeof(*f));
	uint64_t ms = timeout->type == SCHEMA_NONE ? TIMEOUT_DEFAULT_MS : timeout->number;
	const char *whole;

	if (!f) {
		fetching_reject(o, RPC_INTERNAL, "out of memory");
		return NULL;
	}
	if (!fetching_headers_are_fit(o, headers))
		return NULL;
	/* Once it was refused, the owner's arena may be gone, and the state with it. */
	whole = fetching_url(o, url);
	if (!whole)
		return NULL;
	f->hop = (struct hop){
		.method = "GET", .url = whole, .headers = headers->items, .n_headers = headers->n
	};
	f->owner = *o;
	f->sink = sink;
	f->watcher.fd = -1;
	f->until_ms = loop_now(o->loop) + (ms ? ms : 1);
	return f;
}

const char *fetching_header(const struct fetching *f, const char *name)
{
	for (size_t i = 0; i < f->headers.n; i++) {
		if (strcmp(f->headers.items[i].key, name) == 0)
			return f->headers.items[i].text;
	}
	return NULL;
}
