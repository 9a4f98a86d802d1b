/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/audit/source.h"
#include "cli/audit/time.h"

enum {
	LOOK_MS = 100,
	FRESH_MS = 1000, /* two changes within a tick of the clock have the same time */
	GRACE_MS = 3000, /* a writer makes the file first, and a log of it then */
};

static uint64_t monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void __attribute__((format(printf, 2, 3)))
audit_follow_note(const struct audit_follow *f, const char *format, ...)
{
	auto_output o = output_for(STDERR_FILENO);
	struct error text = { 0 };
	va_list args;
	char line[128];

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	(void)error_set(&text, 0, NULL, "%s: %s", f->path, line);
	output_note(&o);
	error_print(&text, &o.text);
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* The number of the oldest of those that are wanted. */
static int keep_number(void *context, const struct audit_row *row)
{
	*(uint64_t *)context = row->number;
	return 0;
}

int audit_follow_tail(struct audit_follow *f, struct audit_log *l)
{
	struct audit_filter newest = *f->filter;
	uint64_t first, last, from = 0;
	int r = audit_log_range(l, &first, &last, f->call->error);

	if (r < 0)
		return r;
	newest.newest = true;
	newest.limit = f->lines;
	/* Twice over the last few, instead of keeping them: they may be large. */
	if (f->lines && last)
		r = audit_filter_read(l, &newest, 0, last, keep_number, &from, f->call->error);
	if (r == 0 && from)
		r = audit_writer_copy(f->writer, l, f->filter, from, last, f->call->error);
	f->seen = last;
	return r;
}

/* What came since. */
static int read_on(struct audit_follow *f, struct audit_log *l)
{
	uint64_t first, last;
	int r = audit_log_range(l, &first, &last, f->call->error);

	if (r < 0)
		return r;
	if (last < f->seen) {
		audit_follow_note(
			f, "the log has become shorter; `corral audit verify` tells more");
		f->seen = last;
	}
	if (last > f->seen)
		r = audit_writer_copy(f->writer, l, f->filter, f->seen + 1, last, f->call->error);
	f->seen = last;
	return r;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_state(const struct stat *a, const struct stat *b)
{
	return is_same_file(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_fresh(const struct stat *st)
{
	const int64_t now_ms = (int64_t)(audit_time_now() / 1000000);
	const int64_t then_ms =
		(int64_t)st->st_mtim.tv_sec * 1000 + (int64_t)st->st_mtim.tv_nsec / 1000000;

	return now_ms - then_ms < FRESH_MS;
}

/* Takes down how the files are. False: as before, nothing to do. */
static bool has_changed(struct audit_follow *f)
{
	struct stat file = { 0 }, wal = { 0 };
	auto_buffer name = { 0 };
	bool same;

	audit_source_name(f->path, "-wal", &name);
	if (stat(f->path, &file) < 0)
		file = (struct stat){ 0 };
	if (stat(buffer_text(&name), &wal) < 0)
		wal = (struct stat){ 0 };
	same = is_same_state(&file, &f->file) && is_same_state(&wal, &f->wal) && !is_fresh(&file) &&
	       !is_fresh(&wal) && !f->unreadable_ms;
	/* Another log in its place begins anew. */
	if (f->was_there && !is_same_file(&file, &f->file)) {
		f->was_there = false;
		f->seen = 0;
	}
	f->file = file;
	f->wal = wal;
	return !same;
}

static void say_waiting(struct audit_follow *f)
{
	if (!f->said_waiting && isatty(STDERR_FILENO))
		audit_follow_note(f, "there is nothing yet; waiting (Ctrl-C ends it)");
	f->said_waiting = true;
}

/* A file that is no log, or not now: 0 if that may change by itself. */
static int judge_failure(struct audit_follow *f, int r)
{
	const uint64_t now = monotonic_ms();

	if (r == -ENOENT || (r == -EBADMSG && f->file.st_size == 0)) {
		f->unreadable_ms = 0;
		say_waiting(f);
		return 0;
	}
	if (r != -EBUSY && r != -EBADMSG && r != -EROFS)
		return r;
	if (!f->unreadable_ms)
		f->unreadable_ms = now;
	return now - f->unreadable_ms < GRACE_MS ? 0 : r;
}

static int audit_follow_look(struct audit_follow *f)
{
	auto_audit_log *log = NULL;
	int r;

	if (!has_changed(f) && f->has_begun)
		return 0;
	/* Asked for also if it is not there: whether it is may be hidden from us. */
	r = audit_source_open(f->call, f->path, &log);
	if (r == 0 && !f->file.st_ino)
		r = -ENOENT; /* it came since: the next look has it as it is */
	if (r < 0) {
		f->has_begun = true;
		return judge_failure(f, r);
	}
	f->unreadable_ms = 0;
	f->was_there = true;
	f->writer->line.columns = audit_line_for(f->writer->fd).columns;
	r = f->has_begun ? read_on(f, log) : audit_follow_tail(f, log);
	f->has_begun = true;
	return r;
}

/* Until it is time to look again. 1: nobody reads us. */
static int rest(const struct audit_follow *f)
{
	struct pollfd out = { .fd = f->writer->fd };

	return poll(&out, 1, LOOK_MS) > 0;
}

int audit_follow_run(struct audit_follow *f)
{
	int r;

	do
		r = audit_follow_look(f);
	while (r == 0 && !rest(f));
	return r == -EPIPE ? 0 : r;
}
