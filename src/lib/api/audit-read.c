/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in memory, for the host: one by one, or as a file. A file is written beside its place and
 * gets its name when it is whole; nothing larger than a few rows is ever held for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/export/export.h"
#include "audit/store/log.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"

enum { CHUNK = 64 << 10 };

struct visit {
	corral_audit_visit *call;
	void *context;
};

typedef int visit_row(void *context, const struct audit_event *e, uint64_t number);

/* How many are not in memory any more. */
static uint64_t count_gone(struct audit_ring *ring, void *buffer)
{
	struct audit_reader probe = { 0 };
	struct audit_event e;

	(void)audit_ring_read(ring, &probe, &e, buffer);
	return probe.lost;
}

/* What was in the ring when it began; whoever adds meanwhile does not make it longer. */
static long visit_ring(
	struct audit_ring *ring, uint64_t limit, visit_row *call, void *context, uint64_t *ret_lost)
{
	const uint64_t count = audit_ring_count(ring);
	struct audit_reader reader = { .next = limit && count > limit ? count - limit + 1 : 0 };
	char buffer[AUDIT_EVENT_MAX];
	uint64_t gone = reader.next ? count_gone(ring, buffer) : 0;
	struct audit_event e;
	long n = 0;

	while (reader.next <= count && n < LONG_MAX &&
		audit_ring_read(ring, &reader, &e, buffer) == 1) {
		if (reader.next - 1 > count)
			break;
		n++;
		if (call(context, &e, reader.next - 1) != 0)
			break;
	}
	if (ret_lost)
		*ret_lost = gone + reader.lost;
	return n;
}

static int api_audit_read_show(void *context, const struct audit_event *e, uint64_t number)
{
	const struct visit *v = context;
	const struct corral_audit_event event = lib_audit_show(e, number);

	return v->call(v->context, &event);
}

long corral_audit_latest(struct corral_audit *a, size_t limit, corral_audit_visit *visit,
	void *context, uint64_t *ret_lost)
{
	struct visit v = { .call = visit, .context = context };

	return visit_ring(audit_trail_ring(a->trail), limit, api_audit_read_show, &v, ret_lost);
}

/* A file that is being written. */
struct writer {
	int fd;
	enum audit_format format;
	bool is_array, has_rows;
	struct buffer rows;
	int result;
};

static void api_audit_read_drain(struct writer *w)
{
	const char *p = buffer_text(&w->rows);
	size_t left = w->rows.len;

	if (w->result == 0 && w->rows.failed)
		w->result = -ENOMEM;
	while (w->result == 0 && left > 0) {
		ssize_t n = write(w->fd, p, left);

		if (n < 0 && errno != EINTR)
			w->result = -errno;
		p += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
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
		api_audit_read_drain(w);
	return w->result;
}

static void put_all(struct corral_audit *a, struct writer *w)
{
	buffer_adds(&w->rows, w->is_array ? "[\n" : audit_export_head(w->format));
	(void)visit_ring(audit_trail_ring(a->trail), 0, put_row, w, NULL);
	buffer_adds(&w->rows, w->is_array ? "]\n" : "");
	api_audit_read_drain(w);
	if (w->result == 0 && fsync(w->fd) < 0)
		w->result = -errno;
	buffer_deinit(&w->rows);
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
	put_all(a, w);
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
	const int parsed = is_array ? AUDIT_JSONL : audit_format_parse(format);
	struct writer w = { .format = (enum audit_format)parsed, .is_array = is_array };
	struct error error = { 0 };
	int r = parsed;

	if (parsed < 0)
		(void)error_set(&error, r, NULL,
			"there is no format %s; there are json, jsonl, ocsf, cef and csv", format);
	else
		r = write_file(a, &w, path);
	if (parsed >= 0 && r < 0)
		(void)error_set(&error, r, NULL, "%s: %s", path, strerror(-r));
	return r < 0 ? handles_error(e, &error, r) : 0;
}
