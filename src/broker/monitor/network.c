/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/fetch/request.h"
#include "broker/monitor/fetcher.h"
#include "broker/monitor/fetching.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"

enum {
	VERSIONS_MAX = 16,
	FETCHINGS_MAX = 64, /* at once: each has a process, and its response is kept in memory */
};

struct network_version {
	char *url, *path, *version;
};

struct network {
	struct fetcher *fetcher;
	struct network_version versions[VERSIONS_MAX];
	size_t oldest; /* the place of the next */
};

/* What is kept */

static int network_make(struct monitor *m, struct error *e)
{
	const struct broker_setup *setup = monitor_setup(m);
	struct fetcher_options o = { .warden = setup->warden,
		.ledger = m->o.ledger,
		.counts = m->ledger,
		.layers = setup->layers,
		.n_layers = setup->n_layers };
	struct network *n;
	int r = fetcher_find(&o, e);

	if (r < 0)
		return r;
	n = calloc(1, sizeof(*n));
	r = n ? fetcher_new(&n->fetcher, &o, e) : -ENOMEM;
	if (r < 0)
		free(n);
	else
		m->network = n;
	return r;
}

bool network_is_ready(struct monitor_call *c)
{
	struct error e = { 0 };
	struct rpc_refusal why = { .class = RPC_SERVICE,
		.hint = "corral-fetch comes with Corral where libcurl is there when it is built" };

	if (c->monitor->network || network_make(c->monitor, &e) == 0)
		return true;
	why.message = arena_printf(&c->arena, "this broker cannot fetch: %s", e.text);
	if (!why.message)
		why.message = "this broker cannot fetch";
	monitor_refuse(c, &why);
	return false;
}

struct fetcher *network_fetcher(struct monitor *m)
{
	return m->network->fetcher;
}

/* Versions */

static void network_version_deinit(struct network_version *v)
{
	free(v->url);
	free(v->path);
	free(v->version);
	*v = (struct network_version){ 0 };
}

static struct network_version *network_find_version(
	const struct monitor *m, const char *url, const char *path)
{
	for (size_t i = 0; i < VERSIONS_MAX; i++) {
		struct network_version *v = &m->network->versions[i];

		if (v->url && strcmp(v->url, url) == 0 && strcmp(v->path, path) == 0)
			return v;
	}
	return NULL;
}

void network_keep_version(struct monitor *m, const char *url, const char *path, const char *version)
{
	struct network *n = m->network;
	struct network_version *v = network_find_version(m, url, path);
	struct network_version next = { 0 };

	if (version)
		next = (struct network_version){ strdup(url), strdup(path), strdup(version) };
	/* Then it is not known. */
	if (!next.url || !next.path || !next.version)
		network_version_deinit(&next);
	if (!v && next.url)
		v = &n->versions[n->oldest++ % VERSIONS_MAX];
	if (!v)
		return;
	network_version_deinit(v);
	*v = next;
}

const char *network_version(const struct monitor *m, const char *url, const char *path)
{
	const struct network_version *v = network_find_version(m, url, path);

	return v ? v->version : NULL;
}

void network_free(struct network *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < VERSIONS_MAX; i++)
		network_version_deinit(&n->versions[i]);
	fetcher_free(n->fetcher);
	free(n);
}

/* Requests of calls */

static void network_cancel(struct monitor_call *c)
{
	fetching_free(c->state);
}

static void network_work(struct monitor_call *c)
{
	struct fetching *f = c->state;

	f->work(f);
}

static void network_done(struct monitor_call *c)
{
	struct fetching *f = c->state;

	f->done(f);
}

static int network_run(
	struct fetching *f, void (*work)(struct fetching *f), void (*done)(struct fetching *f))
{
	f->work = work;
	f->done = done;
	return monitor_work(f->call, network_work, network_done);
}

static void network_freed(void *context)
{
	struct monitor_call *c = context;

	c->cancel = NULL;
	c->state = NULL;
}

static void network_refused(void *context, const struct rpc_refusal *why)
{
	monitor_refuse(context, why);
}

static void network_failed(void *context, int code, struct corral_error *e)
{
	monitor_fail(context, RPC_NETWORK, code, e);
}

struct fetching *network_fetching(struct monitor_call *c, const struct fetching_sink *sink,
	const char *url, const struct value *headers, const struct value *timeout)
{
	static const struct rpc_refusal crowded = { .class = RPC_RATE,
		.message = "too many requests of this broker are under way" };
	struct fetching_owner o = { .loop = monitor_loop(c->monitor),
		.arena = &c->arena,
		.enclave = monitor_enclave(c->monitor),
		.by = &c->by,
		.run = network_run,
		.freed = network_freed,
		.refuse = network_refused,
		.fail = network_failed,
		.context = c };
	struct fetching *f;

	if (!monitor_has_room(c, network_cancel, FETCHINGS_MAX)) {
		monitor_refuse(c, &crowded);
		return NULL;
	}
	if (!network_is_ready(c))
		return NULL;
	o.fetcher = network_fetcher(c->monitor);
	f = fetching_new(&o, sink, url, headers, timeout);
	if (!f)
		return NULL;
	f->call = c;
	c->state = f;
	c->cancel = network_cancel;
	return f;
}

/* network.http */

static int network_on_body(struct fetching *f, const char *data, size_t len)
{
	struct buffer *body = f->state;

	buffer_add(body, data, len);
	return body->failed ? -ENOMEM : 0;
}

static void network_on_end(struct fetching *f)
{
	enum { STATUS, STATUS_TEXT, HEADERS, BODY, ENCODING, URL };
	struct buffer *body = f->state;
	struct monitor_call *c = f->call;
	struct buffer taken = *body;
	struct values v = { 0 };

	*body = (struct buffer){ 0 };
	v.v[STATUS] = value_number(SCHEMA_NUMBER, f->status);
	v.v[STATUS_TEXT] = f->status_text;
	v.v[HEADERS] = f->headers;
	v.v[BODY] = (struct value){
		.type = SCHEMA_DATA, .text = buffer_text(&taken), .len = taken.len
	};
	v.v[URL] = value_text(f->hop.url, strlen(f->hop.url));
	fetching_free(f);
	monitor_answer(c, &v);
	buffer_deinit(&taken);
}

static void network_leave(struct fetching *f)
{
	buffer_deinit(f->state);
}

void network_http(struct monitor_call *c)
{
	enum { URL, METHOD, HEADERS, BODY, ENCODING, TIMEOUT, FOLLOW };
	static const struct fetching_sink sink = {
		.body = network_on_body, .end = network_on_end, .leave = network_leave
	};
	const struct value *v = c->call.params.v;
	struct fetching *f = network_fetching(c, &sink, v[URL].text, &v[HEADERS], &v[TIMEOUT]);

	if (!f)
		return;
	f->state = arena_calloc(&c->arena, 1, sizeof(struct buffer));
	if (!f->state) {
		fetching_fail(f, RPC_INTERNAL, "out of memory");
		return;
	}
	f->flags = FETCH_DECODES;
	if (v[FOLLOW].type == SCHEMA_NONE || v[FOLLOW].number)
		f->flags |= FETCH_STOPS_AT_REDIRECT;
	if (v[METHOD].type != SCHEMA_NONE)
		f->hop.method = c->call.method->params[METHOD].words[v[METHOD].number];
	f->body = v[BODY];
	f->hop.has_body = v[BODY].type != SCHEMA_NONE;
	f->max_bytes = METHOD_DATA_MAX;
	fetching_start(f);
}

void network_download(struct monitor_call *c)
{
	download_run(c);
}
