/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.download: the response's body becomes a file, which appears when all of it is there. What
 * an attempt that failed has received is kept beside it (corral/enclave.h). With `resume` only the
 * rest is asked for, on condition that the server has the same version still: the one that it named
 * (an entity tag, or a date), as long as this broker lives, else one that is not newer than what is
 * there. If it has another, it sends all of it, and the file begins anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "broker/fetch/request.h"
#include "broker/monitor/fetcher.h"
#include "broker/monitor/fetching.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/network.h"

enum { NOTE_MS = 200 };
enum { PARAM_URL, PARAM_SAVE_TO, PARAM_HEADERS, PARAM_RESUME, PARAM_TIMEOUT };

struct download {
	struct corral_save *save;
	const char *url; /* that the caller named */
	const char *path;
	const char *version; /* of what is received; NULL: the server names none */
	uint64_t resumed;    /* bytes that were there */
	uint64_t total;      /* UINT64_MAX: not known */
	uint64_t noted_ms;   /* when the last note was sent */
	bool is_saved;
	int code; /* of saving */
	struct corral_error *error;
};

/* The response */

/* "bytes 100-199/200" must go on where we are. */
static bool download_goes_on(const struct fetching *f, uint64_t at)
{
	const char *range = fetching_header(f, "content-range");
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "bytes %" PRIu64 "-", at);
	return range && strncasecmp(range, expected, strlen(expected)) == 0;
}

/* A weak tag stands for more than one version. */
static const char *download_version(const struct fetching *f)
{
	const char *tag = fetching_header(f, "etag");

	return tag && strncmp(tag, "W/", 2) != 0 ? tag : fetching_header(f, "last-modified");
}

static int download_refuse_save(struct fetching *f, struct download *d)
{
	return fetching_refuse(
		f, RPC_PATH, "%s", d->error ? corral_error_message(d->error) : strerror(-d->code));
}

static int download_on_head(struct fetching *f)
{
	struct download *d = f->state;
	const uint64_t have = corral_save_bytes(d->save);

	d->version = download_version(f);
	if (f->status == 206 && have > 0 && download_goes_on(f, have)) {
		d->resumed = have;
		d->total = f->length == UINT64_MAX ? UINT64_MAX : have + f->length;
		return 0;
	}
	if (f->status >= 200 && f->status < 300 && f->status != 206) {
		d->total = f->length;
		d->code = have > 0 ? corral_save_restart(d->save, &d->error) : 0;
		return d->code < 0 ? download_refuse_save(f, d) : 0;
	}
	/* It is another version, or shorter than what is there. */
	if (f->status == 206 || f->status == 412 || f->status == 416) {
		d->version = NULL;
		return fetching_refuse(f, RPC_NETWORK,
			"%.512s: the server has another version now; call once more", f->hop.url);
	}
	return fetching_refuse(f, RPC_NETWORK, "%.512s: the server answered %d %.128s", f->hop.url,
		(int)f->status, f->status_text.text);
}

static void download_note(struct fetching *f, struct download *d)
{
	enum { RECEIVED, TOTAL };
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	struct values v = { 0 };

	if (now - d->noted_ms < NOTE_MS)
		return;
	d->noted_ms = now;
	v.v[RECEIVED] = value_number(SCHEMA_NUMBER, corral_save_bytes(d->save));
	if (d->total != UINT64_MAX)
		v.v[TOTAL] = value_number(SCHEMA_NUMBER, d->total);
	/* One that has no room is left out: the next says more. */
	(void)monitor_note(f->call, &v);
}

static int download_on_body(struct fetching *f, const char *data, size_t len)
{
	struct download *d = f->state;

	d->code = corral_save_write(d->save, data, len, &d->error);
	if (d->code < 0)
		return download_refuse_save(f, d);
	download_note(f, d);
	return 0;
}

/* Its end */

static void download_commit(struct monitor_call *c)
{
	struct fetching *f = c->state;
	struct download *d = f->state;

	d->code = corral_save_commit(d->save, &d->error);
}

static void download_committed(struct monitor_call *c)
{
	enum { PATH, SIZE, STATUS, RESUMED };
	struct fetching *f = c->state;
	struct download *d = f->state;
	struct corral_error *e = d->error;
	const int code = d->code;
	struct values v = { 0 };

	v.v[PATH] = (struct value){ .type = SCHEMA_PATH, .text = d->path, .len = strlen(d->path) };
	v.v[SIZE] = value_number(SCHEMA_NUMBER, corral_save_bytes(d->save));
	v.v[STATUS] = value_number(SCHEMA_NUMBER, f->status);
	v.v[RESUMED] = value_number(SCHEMA_NUMBER, d->resumed);
	d->error = NULL;
	d->is_saved = true;
	fetching_free(f);
	if (code == 0)
		monitor_answer(c, &v);
	else
		monitor_fail(c, RPC_PATH, code, e);
}

static void download_on_end(struct fetching *f)
{
	struct download *d = f->state;

	if (d->total != UINT64_MAX && corral_save_bytes(d->save) != d->total)
		fetching_fail(f, RPC_NETWORK, "the response ended before all of it was there");
	else if (monitor_work(f->call, download_commit, download_committed) < 0)
		fetching_fail(f, RPC_INTERNAL, "the file could not be written");
}

/* A part that cannot be continued is not kept. */
static void download_leave(struct fetching *f)
{
	struct download *d = f->state;
	const bool is_part =
		d->save && !d->is_saved && d->version && corral_save_bytes(d->save) > 0;

	if (d->save && d->path)
		network_keep_version(
			f->call->monitor, d->url, d->path, is_part ? d->version : NULL);
	if (d->save && !is_part && !d->is_saved)
		corral_save_discard(d->save);
	corral_save_free(d->save);
	corral_error_free(d->error);
}

/* The request */

/* The rest of it, if it is the same still. */
static int download_ask_for_rest(struct fetching *f, struct download *d)
{
	struct arena *a = &f->call->arena;
	struct value_item *headers = arena_calloc(a, f->hop.n_headers + 2, sizeof(*headers));
	const char *range = arena_printf(a, "bytes=%" PRIu64 "-", corral_save_bytes(d->save));
	const char *version = network_version(f->call->monitor, d->url, d->path);
	const time_t modified = (time_t)(corral_save_modified(d->save) / 1000000000);
	char date[64];
	struct tm tm;

	if (!headers || !range || !gmtime_r(&modified, &tm))
		return -ENOMEM;
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	d->version = arena_strdup(a, version ? version : date);
	if (!d->version)
		return -ENOMEM;
	if (f->hop.n_headers)
		memcpy(headers, f->hop.headers, f->hop.n_headers * sizeof(*headers));
	headers[f->hop.n_headers++] = (struct value_item){ "Range", range };
	headers[f->hop.n_headers++] =
		(struct value_item){ version ? "If-Range" : "If-Unmodified-Since", d->version };
	f->hop.headers = headers;
	return 0;
}

static bool download_has_range(const struct value *headers)
{
	static const char *const names[] = { "range", "if-range", "if-unmodified-since" };

	for (size_t i = 0; i < headers->n; i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			if (strcasecmp(headers->items[i].key, names[k]) == 0)
				return true;
		}
	}
	return false;
}

/* Where it goes. The policy is asked here, before anything is fetched. */
static int download_open(struct fetching *f, struct download *d)
{
	struct monitor_call *c = f->call;
	const struct corral_save_options o = { .size = sizeof(o),
		.max_bytes = fetcher_max_file(network_fetcher(c->monitor)),
		.resume = d->url };
	int r = corral_enclave_fs_save(
		&d->save, monitor_enclave(c->monitor), &c->by, d->path, &o, &d->error);

	if (r < 0 || corral_save_bytes(d->save) == 0)
		return r;
	if (c->call.params.v[PARAM_RESUME].number)
		return download_ask_for_rest(f, d);
	return corral_save_restart(d->save, &d->error);
}

static void download_start(struct fetching *f, struct download *d)
{
	struct monitor_call *c = f->call;
	struct corral_error *e;
	char path[PATH_BYTES];
	int r = handlers_absolute(c, c->call.params.v[PARAM_SAVE_TO].text, path);

	d->url = f->hop.url;
	d->path = r < 0 ? NULL : arena_strdup(&c->arena, path);
	if (!d->path) {
		fetching_fail(f, RPC_PATH, "saveTo: the path cannot be used");
		return;
	}
	r = download_open(f, d);
	if (r < 0) {
		e = d->error;
		d->error = NULL;
		fetching_free(f);
		monitor_fail(c, RPC_PATH, r, e);
		return;
	}
	fetching_start(f);
}

void download_run(struct monitor_call *c)
{
	static const struct fetching_sink sink = { .head = download_on_head,
		.body = download_on_body,
		.end = download_on_end,
		.leave = download_leave };
	static const struct rpc_refusal no_range = { .class = RPC_PARAMS,
		.message = "headers: a download asks for ranges itself",
		.hint = "use resume" };
	const struct value *v = c->call.params.v;
	struct fetching *f;

	if (download_has_range(&v[PARAM_HEADERS])) {
		monitor_refuse(c, &no_range);
		return;
	}
	f = network_fetching(c, &sink, v[PARAM_URL].text, &v[PARAM_HEADERS], &v[PARAM_TIMEOUT]);
	if (!f)
		return;
	f->state = arena_calloc(&c->arena, 1, sizeof(struct download));
	if (!f->state) {
		fetching_fail(f, RPC_INTERNAL, "out of memory");
		return;
	}
	f->flags = FETCH_STOPS_AT_REDIRECT;
	f->max_bytes = fetcher_max_file(network_fetcher(c->monitor));
	download_start(f, f->state);
}
