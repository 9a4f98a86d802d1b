/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/explain/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/explain/internal.h"
#include "cli/run/run.h"
#include "codec/json-writer.h"
#include "codec/json.h"

enum { REPORT_BYTES_MAX = NODE_INPUT_MAX };

/* Writing: in the process of the run */

static void report_put_one(const struct run *r, const struct denial *d, struct json_writer *w)
{
	const enum denial_state state = run_explain_state(r, d);
	auto_buffer visible = { 0 };
	auto_words words = { 0 };

	/* What no policy can name is only shown, so its bytes need not be exact. */
	if (state == DENIAL_UNNAMED)
		buffer_add_visible(&visible, d->path, strlen(d->path));
	else
		buffer_adds(&visible, d->path);
	run_explain_words(r, d, &words);
	json_open_map(w, NULL);
	json_put_number(w, "kind", d->kind);
	json_put_number(w, "state", state);
	json_put_buffer(w, "path", &visible);
	visible.len = 0;
	buffer_add_visible(&visible, d->program, strlen(d->program));
	json_put_buffer(w, "program", &visible);
	json_put_buffer(w, "reason", &words.reason);
	json_put_flag(w, "folder", d->is_folder);
	json_put_flag(w, "look", d->is_look);
	json_put_flag(w, "quiet", d->is_quiet);
	json_put_flag(w, "exact", d->is_exact);
	json_put_count(w, "count", d->count);
	json_put_count(w, "last", d->last);
	json_close(w);
}

static void report_put_hosts(const struct run *r, struct json_writer *w)
{
	json_open_list(w, "allowed");
	for (size_t i = 0; i < r->network.n; i++)
		if (r->network.items[i].kind == RECORD_CLOSED)
			json_put_text(w, NULL, r->network.items[i].target);
	json_close(w);
}

int explain_report_write(const struct run *r, int status, int fd)
{
	auto_arena arena = { 0 };
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };
	struct denials all = { 0 };
	int err = 0;

	json_open_map(&w, NULL);
	json_put_number(&w, "status", status);
	json_put_flag(&w, "watched", r->explain && r->options.explain);
	report_put_hosts(r, &w);
	json_open_list(&w, "seen");
	if (r->explain && r->plan)
		err = run_explain_copy(r, run_explain_denials(r), &arena, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!all.items[i].is_moot)
			report_put_one(r, &all.items[i], &w);
	json_close(&w);
	json_put_count(&w, "missed", r->explain ? run_explain_missed(r) : 0);
	json_close(&w);
	if (err == 0)
		err = json_end(&w);
	if (err < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err < 0 ? err : -errno;
	return file_write_all(fd, buffer_text(&out), out.len);
}

/* Reading: in the one that waited for it */

static bool report_flag(const struct node *map, const char *key)
{
	const struct node *n = node_get(map, key);
	bool value = false;

	return n && node_boolean(n, &value) == 0 && value;
}

static int64_t report_number(const struct node *map, const char *key)
{
	const struct node *n = node_get(map, key);
	int64_t value = 0;

	return n && node_integer(n, &value) == 0 ? value : 0;
}

static int report_read_one(struct explain_report *ret, struct arena *a, const struct node *n)
{
	const int64_t kind = report_number(n, "kind"), state = report_number(n, "state");
	struct denial d = {
		.kind = (enum denial_kind)kind,
		.state = (enum denial_state)state,
		.is_folder = report_flag(n, "folder"),
		.is_look = report_flag(n, "look"),
		.is_quiet = report_flag(n, "quiet"),
		.is_exact = report_flag(n, "exact"),
		.path = arena_strdup(a, node_get_text(n, "path")),
		.program = arena_strdup(a, node_get_text(n, "program")),
		.said = arena_strdup(a, node_get_text(n, "reason")),
		.count = (uint64_t)report_number(n, "count"),
		.last = (uint64_t)report_number(n, "last"),
	};

	if (kind < 0 || kind > DENIAL_SANDBOX || state < 0 || state >= DENIAL_STATES)
		return -EBADMSG;
	if (!d.path || !d.program || !d.said)
		return -ENOMEM;
	d.is_fixed = d.state != DENIAL_OPEN;
	return ARENA_PUSH(a, ret->seen.items, ret->seen.n, ret->seen.cap, d);
}

int explain_report_read(struct explain_report *ret, struct arena *a, int fd, struct error *e)
{
	auto_document doc = { 0 };
	auto_buffer text = { 0 };
	struct explain_report report = { 0 };
	const struct node *list;
	int r = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(e, -errno, NULL, "cannot read what the run reported");
	r = file_read_fd(fd, REPORT_BYTES_MAX, &text);
	if (r == 0 && text.len == 0)
		return error_set(e, -ENODATA, NULL, "the run ended before it could report");
	if (r == 0)
		r = json_read(&doc, "report", buffer_text(&text), text.len, e);
	if (r < 0)
		return error_set(e, r, NULL, "cannot read what the run reported");
	report.status = (int)report_number(doc.root, "status");
	report.is_watched = report_flag(doc.root, "watched");
	report.missed = (uint64_t)report_number(doc.root, "missed");
	list = node_get(doc.root, "allowed");
	for (const struct node *n = list ? list->first : NULL; r == 0 && n; n = n->next) {
		const char *host = arena_strdup(a, node_text(n) ? node_text(n) : "");

		r = host ? ARENA_PUSH(a, report.allowed, report.n_allowed, report.cap_allowed, host)
			 : -ENOMEM;
	}
	list = node_get(doc.root, "seen");
	for (const struct node *n = list ? list->first : NULL; r == 0 && n; n = n->next)
		r = report_read_one(&report, a, n);
	if (r < 0)
		return error_set(e, r, NULL, "cannot read what the run reported");
	*ret = report;
	return 0;
}
