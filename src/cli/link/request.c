/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link/request.h"

#include <corral/sandbox.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "broker/fetch/record.h"
#include "broker/fetch/request.h"
#include "broker/fetch/response.h"
#include "broker/monitor/fetcher.h"
#include "event/wait.h"
#include "host/authorities.h"
#include "oauth/metadata.h"
#include "oauth/place.h"
#include "vault/client.h"
#include "vault/secret.h"

enum {
	REQUEST_MS = 20 * 1000,
	REQUEST_SLACK_MS = 10 * 1000,
	REQUEST_REDIRECTS = 3,
	REQUEST_FIELDS = 5,
};

/* A sandbox gets the one host of its request; the policy itself has none. */
static const char *const request_layer = "{\"network\": {\"allow\": []}}";

struct request_run {
	struct request_answer *answer;
	struct record_reader reader;
	const char *location;
	struct error why;
	bool has_failed;
};

/* The process of requests */

void requests_deinit(struct requests *r)
{
	fetcher_free(r->fetcher);
	buffer_deinit(&r->trusted);
	*r = (struct requests){ 0 };
}

static int request_trust(struct requests *r, struct error *e)
{
	char real[PATH_BYTES];
	const char *system = authorities_system(real);
	auto_buffer own = { 0 };
	int error = vault_place(&own, e);

	if (error < 0)
		return error;
	buffer_adds(&own, "/authorities.pem");
	error = own.failed ? -ENOMEM : authorities_read(system, &r->trusted);
	if (error == 0)
		error = authorities_read(own.data, &r->trusted);
	if (error == 0 && r->trusted.len <= 2)
		error = -ENOENT;
	if (error < 0) {
		(void)error_set(
			e, error, NULL, "the certificates of authorities: %s", strerror(-error));
		error_hint(e, "install ca-certificates");
	}
	return error;
}

static int request_prepare(struct requests *r, struct error *e)
{
	struct fetcher_options o = { .warden = "", .layers = &request_layer, .n_layers = 1 };
	int error;

	if (r->fetcher)
		return 0;
	error = request_trust(r, e);
	if (error == 0)
		error = fetcher_find(&o, e);
	/* A variable may name a file of a project. */
	o.authorities = NULL;
	return error < 0 ? error : fetcher_new(&r->fetcher, &o, e);
}

/* What comes back */

void request_answer_deinit(struct request_answer *a)
{
	if (a->body.data)
		secret_wipe(a->body.data, a->body.cap);
	buffer_deinit(&a->body);
	arena_deinit(&a->arena);
	*a = (struct request_answer){ 0 };
}

static int request_on_head(struct request_run *run, const struct values *v)
{
	struct request_answer *a = run->answer;
	const struct value *headers = &v->v[RECORD_HEADERS];

	a->status = (unsigned)v->v[RECORD_STATUS].number;
	a->challenge = "";
	for (size_t i = 0; i < headers->n; i++)
		if (strcmp(headers->items[i].key, "www-authenticate") == 0)
			a->challenge = arena_strdup(&a->arena, headers->items[i].text);
	if (v->v[RECORD_LOCATION].type != SCHEMA_NONE)
		run->location = arena_strdup(&a->arena, v->v[RECORD_LOCATION].text);
	return a->challenge ? 0 : -ENOMEM;
}

static int request_on_record(void *context, const struct fetch_record *r)
{
	struct request_run *run = context;
	struct buffer *body = &run->answer->body;

	switch (r->kind) {
	case RECORD_HEAD:
		return request_on_head(run, &r->values);
	case RECORD_BODY:
		if (r->len > OAUTH_ANSWER_MAX - body->len)
			return -EPROTO;
		buffer_add(body, r->data, r->len);
		return body->failed ? -ENOMEM : 0;
	case RECORD_ERROR:
		run->has_failed = true;
		(void)error_set(&run->why, -EIO, NULL, "%s", r->values.v[RECORD_MESSAGE].text);
		break;
	case RECORD_END:
		break;
	}
	return 0;
}

static int request_on_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct request_run *run = context;
	int r;

	if (stream != CORRAL_STDOUT)
		return 0;
	r = record_reader_feed(&run->reader, data, len, request_on_record, run);
	if (r < 0 && !run->has_failed) {
		run->has_failed = true;
		(void)error_set(&run->why, r, NULL, "what corral-fetch sent was not understood");
	}
	return r;
}

/* Why the connection was not made says the relay. */
static void request_explain(struct request_run *run, struct corral_process *p)
{
	struct corral_result *result = NULL;
	const struct corral_denial *d;
	int r = corral_process_wait(p, REQUEST_SLACK_MS, &result, NULL);

	d = r == 0 && corral_result_denials(result) > 0 ? corral_result_denial(result, 0) : NULL;
	if (d) {
		(void)error_set(&run->why, -EACCES, NULL, "%s: %s", d->target, d->reason);
		run->has_failed = true;
	}
	if (!run->has_failed)
		(void)error_set(&run->why, -EIO, NULL, "the request was ended");
	run->has_failed = true;
	corral_result_free(result);
}

static void request_wait(struct request_run *run, struct corral_process *p)
{
	const uint64_t until = wait_until(REQUEST_MS + REQUEST_SLACK_MS);

	while (!run->reader.has_ended && !run->has_failed) {
		if (wait_for_one(corral_process_fd(p), POLLIN, until) <= 0 ||
			corral_process_dispatch(p) != 0)
			break;
	}
	if (!run->reader.has_ended || run->has_failed)
		request_explain(run, p);
}

/* One request */

static int request_fill(const struct requests *r, const struct request_of *of, const char *url,
	struct value_item items[REQUEST_FIELDS], struct values *v)
{
	size_t n = 0;

	items[n++] = (struct value_item){ "Accept",
		of->mcp ? "application/json, text/event-stream" : "application/json" };
	if (of->mcp) {
		items[n++] = (struct value_item){ "MCP-Protocol-Version", REQUEST_MCP_VERSION };
		items[n++] = (struct value_item){ "Mcp-Method", of->mcp };
	}
	if (of->type)
		items[n++] = (struct value_item){ "Content-Type", of->type };
	if (of->authorization && *of->authorization)
		items[n++] = (struct value_item){ "Authorization", of->authorization };
	v->v[FETCH_URL] = value_text(url, strlen(url));
	v->v[FETCH_METHOD] = value_text(of->method, strlen(of->method));
	v->v[FETCH_HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = items, .n = n };
	if (of->body)
		v->v[FETCH_BODY] = (struct value){
			.type = SCHEMA_DATA, .text = buffer_text(of->body), .len = of->body->len
		};
	v->v[FETCH_TIMEOUT_MS] = value_number(SCHEMA_NUMBER, REQUEST_MS);
	v->v[FETCH_MAX_BYTES] = value_number(SCHEMA_NUMBER, OAUTH_ANSWER_MAX);
	v->v[FETCH_FLAGS] = value_number(SCHEMA_NUMBER, FETCH_DECODES);
	v->v[FETCH_TRUSTED] = (struct value){
		.type = SCHEMA_DATA, .text = r->trusted.data, .len = r->trusted.len
	};
	return 0;
}

static int request_once(struct requests *r, const struct request_of *of, const char *url,
	struct request_answer *ret, const char **ret_location, struct error *e)
{
	struct request_run run = { .answer = ret };
	struct corral_process *p = NULL;
	struct corral_error *error = NULL;
	struct value_item items[REQUEST_FIELDS];
	struct values v = { 0 };
	struct oauth_place to;
	int code = oauth_place_read(&to, url, "the server", e);

	if (code < 0)
		return code;
	(void)request_fill(r, of, url, items, &v);
	code = fetcher_start(r->fetcher, to.host, &v, request_on_output, &run, &p, &error);
	if (code < 0)
		(void)error_set(e, code, NULL, "corral-fetch could not be started: %s",
			error ? corral_error_message(error) : strerror(-code));
	corral_error_free(error);
	if (code < 0)
		return code;
	request_wait(&run, p);
	corral_process_free(p);
	record_reader_deinit(&run.reader);
	if (run.has_failed)
		return error_set(e, -EIO, NULL, "%.300s: %s", url, run.why.text);
	*ret_location = response_is_redirect(ret->status) ? run.location : NULL;
	return 0;
}

static bool request_may_follow(const struct request_of *of, const char *url, const char *to)
{
	struct oauth_place a, b;

	return strcmp(of->method, "GET") == 0 && oauth_place_read(&a, url, "", NULL) == 0 &&
	       oauth_place_read(&b, to, "", NULL) == 0 && oauth_place_is_same(&a, &b);
}

int request_make(struct requests *r, const struct request_of *of, struct request_answer *ret,
	struct error *e)
{
	const char *url = of->url, *location = NULL;
	auto_arena a = { 0 };
	int code = request_prepare(r, e);

	for (unsigned n = 0; code == 0; n++) {
		code = request_once(r, of, url, ret, &location, e);
		if (code < 0 || !location)
			break;
		if (n == REQUEST_REDIRECTS || !request_may_follow(of, url, location)) {
			code = error_set(e, -EACCES, NULL,
				"%.200s sends us on to %.200s: redirects of a login are followed "
				"within the same origin alone, and for no request with a body",
				url, location);
			break;
		}
		url = arena_strdup(&a, location);
		request_answer_deinit(ret);
		if (!url) {
			code = error_no_memory(e);
			break;
		}
	}
	if (code < 0)
		request_answer_deinit(ret);
	return code;
}
