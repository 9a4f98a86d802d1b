/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a log, and what comes after it. Ten times a second the two files that a commit
 * changes are looked at (three calls of stat); only if they changed is the log opened, read on from
 * where we were, and closed. So nothing is held in between: it works for a log that is not there
 * yet, that is put in another's place, or that a writer leaves and another takes up.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/audit/writer.h"

enum {
	LINES = 10,
	LOOK_MS = 100,
	FRESH_MS = 1000, /* two changes within a tick of the clock have the same time */
	GRACE_MS = 3000, /* a writer makes the file first, and a log of it then */
};

struct audit_follow {
	struct call *call;
	const char *path;
	const struct audit_filter *filter;
	struct audit_writer *writer;
	uint64_t lines; /* so many of those that are there already */
	/* The rest is zero at first. */
	uint64_t seen;  /* number of the last record that was looked at */
	bool has_begun; /* what comes now is new */
	bool was_there; /* a log, when we looked last */
	bool said_waiting;
	struct stat file, wal;  /* as they were then; zeroed: not there */
	uint64_t unreadable_ms; /* since when it is no log, though there is a file; 0: it is */
};

static void follow_note(const struct audit_follow *f, const char *line)
{
	auto_output o = output_for(STDERR_FILENO);
	struct error text = { 0 };

	(void)error_set(&text, 0, NULL, "%s: %s", f->path, line);
	output_note(&o);
	error_print(&text, &o.text);
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* The number of the oldest of those that are wanted. */
static int follow_keep_number(void *context, const struct audit_row *row)
{
	*(uint64_t *)context = row->number;
	return 0;
}

/* What is there now; or, if that was seen, what came since. */
static int follow_read(struct audit_follow *f, struct audit_log *l)
{
	struct audit_filter newest = *f->filter;
	struct error *e = f->call->error;
	uint64_t first, last, from = 0;
	int r = audit_log_range(l, &first, &last, e);

	if (r < 0)
		return r;
	if (f->has_begun && last < f->seen)
		follow_note(f, "the log has become shorter; run `corral audit verify`");
	newest.newest = true;
	newest.limit = f->lines;
	if (f->has_begun)
		from = last > f->seen ? f->seen + 1 : 0;
	/* Twice over the last few, instead of keeping them: they may be large. */
	else if (f->lines && last)
		r = audit_filter_read(l, &newest, 0, last, follow_keep_number, &from, e);
	if (r == 0 && from)
		r = audit_writer_copy(f->writer, l, f->filter, from, last, e);
	f->seen = last;
	return r;
}

static bool follow_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool follow_is_same_state(const struct stat *a, const struct stat *b)
{
	return follow_is_same_file(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool follow_is_fresh(const struct stat *st)
{
	const int64_t now_ms = (int64_t)clock_ms(CLOCK_REALTIME);
	const int64_t then_ms =
		(int64_t)st->st_mtim.tv_sec * 1000 + (int64_t)st->st_mtim.tv_nsec / 1000000;

	return now_ms - then_ms < FRESH_MS;
}

/* Takes down how the files are. False: as before, nothing to do. */
static bool follow_has_changed(struct audit_follow *f)
{
	struct stat file = { 0 }, wal = { 0 };
	auto_buffer name = { 0 };
	bool same;

	audit_source_name(f->path, "-wal", &name);
	if (stat(f->path, &file) < 0)
		file = (struct stat){ 0 };
	if (stat(buffer_text(&name), &wal) < 0)
		wal = (struct stat){ 0 };
	same = follow_is_same_state(&file, &f->file) && follow_is_same_state(&wal, &f->wal) &&
	       !follow_is_fresh(&file) && !follow_is_fresh(&wal) && !f->unreadable_ms;
	/* Another log in its place begins anew. */
	if (f->was_there && !follow_is_same_file(&file, &f->file)) {
		f->was_there = false;
		f->seen = 0;
	}
	f->file = file;
	f->wal = wal;
	return !same;
}

/* A file that is no log, or not now: 0 if that may change by itself. */
static int follow_judge_failure(struct audit_follow *f, int r)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (r == -ENOENT || (r == -EBADMSG && f->file.st_size == 0)) {
		f->unreadable_ms = 0;
		if (!f->said_waiting && isatty(STDERR_FILENO))
			follow_note(f, "the log has no records yet; waiting (Ctrl-C to stop)");
		f->said_waiting = true;
		return 0;
	}
	if (r != -EBUSY && r != -EBADMSG && r != -EROFS)
		return r;
	if (!f->unreadable_ms)
		f->unreadable_ms = now;
	return now - f->unreadable_ms < GRACE_MS ? 0 : r;
}

static int follow_look(struct audit_follow *f)
{
	auto_audit_log *log = NULL;
	int r;

	if (!follow_has_changed(f) && f->has_begun)
		return 0;
	/* Asked for also if it is not there: whether it is may be hidden from us. */
	r = audit_source_open(f->call, f->path, &log);
	if (r == 0 && !f->file.st_ino)
		r = -ENOENT; /* it came since: the next look has it as it is */
	if (r < 0) {
		f->has_begun = true;
		return follow_judge_failure(f, r);
	}
	f->unreadable_ms = 0;
	f->was_there = true;
	f->writer->line.columns = audit_line_for(f->writer->fd).columns;
	r = follow_read(f, log);
	f->has_begun = true;
	return r;
}

static int verb_tail_run(struct call *c)
{
	auto_audit_writer writer = { 0 };
	auto_audit_log *log = NULL;
	struct pollfd out = { .fd = STDOUT_FILENO };
	struct audit_filter filter = { 0 };
	struct audit_follow f = { .call = c, .filter = &filter, .writer = &writer, .lines = LINES };
	bool follow = false, json = false;
	const struct options_row rows[] = {
		{ { "follow", SCHEMA_FLAG, .help = "follow the log until Ctrl-C" }, 'f',
			.target = &follow },
		{ { "lines", SCHEMA_NUMBER, .max = INT64_MAX,
			  .help = "show this many of the latest records (default 10)" },
			'n', "N", .target = &f.lines },
		AUDIT_FILTER_ROWS(&filter),
		{ { "json", SCHEMA_FLAG, .help = "print JSON Lines" }, .target = &json },
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, 0, &f.path);
	if (r < 0)
		return r;
	audit_writer_init(&writer, STDOUT_FILENO, json ? AUDIT_JSONL : AUDIT_WRITER_LINES);
	/* What is there, and what comes, until nobody reads our output any more. */
	while (follow && (r = follow_look(&f)) == 0 && poll(&out, 1, LOOK_MS) <= 0)
		;
	if (follow)
		r = r == -EPIPE ? 0 : r;
	else if ((r = audit_source_open(c, f.path, &log)) == 0)
		r = follow_read(&f, log);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_tail = {
	.name = "tail",
	.synopsis = "[-f] [-n N] [OPTION]... [FILE]",
	.summary = "show the latest records, and follow the log",
	.description =
		"Shows the latest records of a log: time, decision, action, target and program; "
		"for denials also the reason. With -f it follows the log, and waits if there is "
		"none yet.",
	.examples = "corral audit tail -f\n"
		    "corral audit tail -f --decision denied\n"
		    "corral audit tail -n 50 --action net run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_tail_run,
};
