/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public face of the trail (audit/trail.h): words instead of numbers, structs that may grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/export/export.h"
#include "audit/store/log.h"
#include "audit/store/verify.h"
#include "base/words.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "codec/encoding.h"
#include "host/account.h"
#include "host/links.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"

enum { SESSION_BYTES = 8 };

static int open_trail(struct corral_audit *a, const struct corral_audit_options *o, struct error *e)
{
	char user[ACCOUNT_NAME_BYTES], session[2 * SESSION_BYTES + 1];
	uint8_t bytes[SESSION_BYTES];
	const struct audit_store_options store = { .path = o->path,
		.key_path = o->key_path,
		.head_path = o->head_path,
		.sync = o->full_sync ? AUDIT_SYNC_FULL : AUDIT_SYNC_NORMAL,
		.keep_records = o->keep_records,
		.keep_seconds = o->keep_seconds };
	const struct audit_trail_options trail = { .ring_bytes = o->ring_bytes,
		.store = o->path ? &store : NULL,
		.session = o->session ? o->session : session,
		.user = o->user ? o->user : user,
		.sandbox = o->sandbox };

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "libsodium could not be initialized");
	if (account_name("/etc/passwd", geteuid(), user) < 0)
		return error_no_memory(e);
	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), session);
	crypto_shorthash_keygen(a->key);
	return audit_trail_new(&a->trail, &trail, e);
}
_Static_assert((int)LIB_AUDIT_KEY_BYTES == crypto_shorthash_KEYBYTES, "the key of the hash");

int lib_audit_new_told(
	struct corral_audit **ret, const struct audit_trail_options *from, struct error *e)
{
	struct audit_trail_options o = *from;
	struct corral_audit *a = calloc(1, sizeof(*a));
	char user[ACCOUNT_NAME_BYTES];
	int r = a ? account_name("/etc/passwd", geteuid(), user) : -ENOMEM;

	if (r == 0) {
		o.user = user;
		crypto_shorthash_keygen(a->key);
		r = audit_trail_new(&a->trail, &o, e);
	}
	if (r < 0)
		free(a);
	else
		*ret = a;
	return r;
}

static int audit_add_link(void *data, const char *link, const char *target)
{
	struct corral_audit *a = data;

	(void)target;
	buffer_add(&a->links, link, strlen(link) + 1);
	return a->links.failed ? -ENOMEM : 0;
}

/* The links on the way to a file that is there. */
static int audit_find_links(struct corral_audit *a, const char *name)
{
	char cwd[PATH_BYTES], path[2 * PATH_BYTES], end[PATH_BYTES];

	if (name[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return -errno;
	(void)snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : cwd,
		name[0] == '/' ? "" : "/", name);
	return links_walk(path, audit_add_link, a, end);
}

/* They are there now. */
static int find_log_files(
	struct corral_audit *a, const struct corral_audit_options *o, struct error *e)
{
	const struct {
		const char *name;
		char **real;
	} files[] = {
		{ o->path, &a->log },
		{ o->path ? o->key_path : NULL, &a->signing_key },
		{ o->path ? o->head_path : NULL, &a->head },
	};
	int r;

	for (size_t i = 0; i < ROWS(files); i++) {
		if (!files[i].name)
			continue;
		*files[i].real = realpath(files[i].name, NULL);
		if (!*files[i].real)
			return error_set(e, -errno, NULL, "%s: %s", files[i].name, strerror(errno));
		r = audit_find_links(a, files[i].name);
		if (r < 0)
			return error_set(e, r, NULL, "%s: %s", files[i].name, strerror(-r));
	}
	return 0;
}

int corral_audit_new(
	struct corral_audit **ret, const struct corral_audit_options *from, struct corral_error **e)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *a = calloc(1, sizeof(*a));
	struct error error = { 0 };
	int r = a ? handles_read_options(&o, sizeof(o), from, "corral_audit_options",
			    "CORRAL_AUDIT_OPTIONS", &error)
		  : -ENOMEM;

	if (r == 0)
		r = open_trail(a, &o, &error);
	if (r == 0)
		r = find_log_files(a, &o, &error);
	if (r < 0) {
		(void)corral_audit_free(a, NULL);
		return handles_error(e, &error, r);
	}
	*ret = a;
	return 0;
}

int corral_audit_free(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r;

	if (!a)
		return 0;
	r = audit_trail_close(a->trail, &error);
	free(a->log);
	free(a->signing_key);
	free(a->head);
	buffer_deinit(&a->links);
	free(a);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_secret(struct corral_audit *a, const char *name, const char *value)
{
	return value ? audit_trail_secret(a->trail, name, value) : -EINVAL;
}

int corral_audit_add(struct corral_audit *a, const struct corral_audit_event *from)
{
	struct corral_audit_event e;
	int action, decision, r = handles_read(&e, sizeof(e), from, from->size);

	if (r < 0)
		return r;
	action = e.action ? audit_action_parse(e.action) : -EINVAL;
	decision = e.decision ? audit_decision_parse(e.decision) : AUDIT_NONE;
	if (action < 0 || decision < 0)
		return -EINVAL;
	(void)audit_trail_add(a->trail, &(struct audit_event){ .time_ns = e.time_ns,
						.session = e.session,
						.user = e.user,
						.sandbox = e.sandbox,
						.pid = e.pid,
						.program = e.program,
						.action = (enum audit_action)action,
						.target = e.target,
						.decision = (enum audit_decision)decision,
						.rule = e.rule,
						.reason = e.reason,
						.exact = e.exact != 0,
						.cost_ns = e.cost_ns,
						.sent = e.sent,
						.received = e.received,
						.status = e.status,
						.count = e.count });
	return 0;
}

struct corral_audit_event lib_audit_show(const struct audit_event *from, uint64_t number)
{
	return (struct corral_audit_event){ .size = sizeof(struct corral_audit_event),
		.time_ns = from->time_ns,
		.number = number,
		.session = from->session,
		.user = from->user,
		.sandbox = from->sandbox,
		.program = from->program,
		.pid = from->pid,
		.action = audit_action_name(from->action),
		.target = from->target,
		.decision = audit_decision_name(from->decision),
		.rule = from->rule,
		.reason = from->reason,
		.exact = from->exact,
		.cost_ns = from->cost_ns,
		.sent = from->sent,
		.received = from->received,
		.status = from->status,
		.count = from->count };
}

int corral_audit_flush(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r = audit_trail_flush(a->trail, &error);

	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_tick(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r = audit_trail_tick(a->trail, &error);

	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_wait_ms(struct corral_audit *a)
{
	return audit_trail_wait_ms(a->trail);
}

/*
 * What is in memory, for the host: one by one, or as a file. A file is written beside its place and
 * gets its name when it is whole; nothing larger than a few rows is ever held for it.
 */

enum { CHUNK = 64 << 10 };

struct visit {
	corral_audit_visit *call;
	void *context;
};

typedef int visit_row(void *context, const struct audit_event *e, uint64_t number);

/* What was in the ring when it began; whoever adds meanwhile does not make it longer. */
static long visit_ring(
	struct audit_ring *ring, uint64_t limit, visit_row *call, void *context, uint64_t *ret_lost)
{
	const uint64_t count = audit_ring_count(ring);
	struct audit_reader reader = { .next = limit && count > limit ? count - limit + 1 : 0 };
	struct audit_reader first = { 0 }; /* knows how many are not in memory any more */
	char buffer[AUDIT_EVENT_MAX];
	struct audit_event e;
	long n = 0;

	if (reader.next)
		(void)audit_ring_read(ring, &first, &e, buffer);
	while (reader.next <= count && n < LONG_MAX &&
		audit_ring_read(ring, &reader, &e, buffer) == 1) {
		if (reader.next - 1 > count)
			break;
		n++;
		if (call(context, &e, reader.next - 1) != 0)
			break;
	}
	if (ret_lost)
		*ret_lost = first.lost + reader.lost;
	return n;
}

static int show_row(void *context, const struct audit_event *e, uint64_t number)
{
	const struct visit *v = context;
	const struct corral_audit_event event = lib_audit_show(e, number);

	return v->call(v->context, &event);
}

long corral_audit_latest(struct corral_audit *a, size_t limit, corral_audit_visit *visit,
	void *context, uint64_t *ret_lost)
{
	struct visit v = { .call = visit, .context = context };

	return visit_ring(audit_trail_ring(a->trail), limit, show_row, &v, ret_lost);
}

/* A file that is being written. */
struct writer {
	int fd;
	enum audit_format format;
	bool is_array, has_rows;
	struct buffer rows;
	int result;
};

static void drain_rows(struct writer *w)
{
	if (w->result == 0)
		w->result =
			w->rows.failed ? -ENOMEM : file_write_all(w->fd, w->rows.data, w->rows.len);
	buffer_clear(&w->rows);
}

static int put_row(void *context, const struct audit_event *e, uint64_t number)
{
	const struct audit_row row = { .number = number, .event = *e };
	struct writer *w = context;

	if (w->is_array && w->has_rows)
		buffer_addc(&w->rows, ',');
	w->has_rows = true;
	audit_export_row(w->format, &row, &w->rows);
	if (w->rows.len >= CHUNK)
		drain_rows(w);
	return w->result;
}

static int write_file(struct corral_audit *a, struct writer *w, const char *path)
{
	auto_buffer temp = { 0 };
	auto_fd fd = -1;

	buffer_printf(&temp, "%s.XXXXXX", path);
	if (temp.failed)
		return -ENOMEM;
	fd = mkostemp(temp.data, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	w->fd = fd;
	buffer_adds(&w->rows, w->is_array ? "[\n" : audit_export_head(w->format));
	(void)visit_ring(audit_trail_ring(a->trail), 0, put_row, w, NULL);
	buffer_adds(&w->rows, w->is_array ? "]\n" : "");
	drain_rows(w);
	buffer_deinit(&w->rows);
	if (w->result == 0 && fsync(fd) < 0)
		w->result = -errno;
	if (w->result == 0 && rename(temp.data, path) < 0)
		w->result = -errno;
	if (w->result < 0)
		(void)unlink(temp.data);
	return w->result;
}

int corral_audit_export(
	struct corral_audit *a, const char *format, const char *path, struct corral_error **e)
{
	const bool is_array = strcmp(format, "json") == 0;
	const int parsed =
		is_array ? AUDIT_JSONL : words_find(audit_format_names, format, strlen(format));
	struct writer w = { .format = (enum audit_format)parsed, .is_array = is_array };
	struct error error = { 0 };
	int r = -EINVAL;

	if (parsed < 0)
		(void)error_set(&error, r, NULL,
			"unknown format %s; valid formats: json, jsonl, ocsf, cef and csv", format);
	else
		r = write_file(a, &w, path);
	if (parsed >= 0 && r < 0)
		(void)error_set(&error, r, NULL, "%s: %s", path, strerror(-r));
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_verify(const char *path, const char *public_path, const char *head_path,
	struct corral_audit_verdict *ret, struct corral_error **e)
{
	struct corral_audit_verdict shown;
	struct audit_verdict v = { 0 };
	struct audit_log *log = NULL;
	struct error error = { 0 };
	const size_t size = ret->size;
	int r = size < sizeof(size) ? error_set(&error, -EINVAL, NULL,
					      "struct corral_audit_verdict has no size")
				    : audit_log_open(&log, path, &error);

	if (r == 0)
		r = audit_log_verify(log, public_path, head_path, &v, &error);
	audit_log_close(log);
	if (r < 0)
		return handles_error(e, &error, r);
	shown = (struct corral_audit_verdict){ .size = size,
		.fault = audit_fault_name(v.fault),
		.number = v.number,
		.records = v.records,
		.signed_up_to = v.signed_up_to };
	encoding_hex(v.key, sizeof(v.key), shown.key);
	(void)snprintf(shown.text, sizeof(shown.text), "%s", v.text);
	memcpy(ret, &shown, size < sizeof(shown) ? size : sizeof(shown));
	return v.fault == AUDIT_FINE;
}
