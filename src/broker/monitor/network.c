/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/fetch/request.h"
#include "broker/monitor/fetcher.h"
#include "broker/monitor/fetching.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"

enum { VERSIONS_MAX = 16 };

struct network_version {
	char *url, *path, *version;
};

struct network {
	struct fetcher *fetcher;
	struct network_version versions[VERSIONS_MAX];
	size_t oldest; /* the place of the next */
};

/* What is kept */

/* The environment of whoever started the broker: no caller has a hand in it. */
static const char *network_find_program(void)
{
	const char *path = secure_getenv("CORRAL_FETCH");

	return path && *path ? path : CORRAL_FETCH_PATH;
}

static const char *network_find_authorities(void)
{
	const char *path = secure_getenv("SSL_CERT_FILE");

	return path && *path ? path : NULL;
}

static int network_make(struct monitor *m, struct error *e)
{
	const struct broker_setup *setup = monitor_setup(m);
	const struct fetcher_options o = { .program = network_find_program(),
		.authorities = network_find_authorities(),
		.warden = setup->warden,
		.ledger = m->o.ledger,
		.counts = m->ledger,
		.layers = setup->layers,
		.n_layers = setup->n_layers };
	struct network *n;
	int r;

	if (access(o.program, X_OK) < 0)
		return error_set(e, -errno, NULL, "%s: %s", o.program, strerror(errno));
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
	struct fetching *f = fetching_new(c, &sink, v[URL].text, &v[HEADERS], &v[TIMEOUT]);

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
