/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that end while no daemon runs leave their events as files (audit/missed.h). They are taken
 * into the log when the daemon starts, and when one appears: each of them once, whenever we die.
 *
 *     1. A file is renamed from ID to ID.N; N is the last record of the log at that time.
 *     2. All of its events and a record "missed/ID" are one transaction of the log, which is
 *        signed and synced.
 *     3. The file is removed.
 *
 * A file that has an N may be in the log already: if so, its record "missed/ID" is after N, and it
 * is looked for there. Nothing depends on the clock, and nothing but those few records is read.
 * Several files share a transaction. Of several daemons with one log, one at a time does this: it
 * has the lock of the folder.
 *
 * Files are read and checked to the end before anything of them is in the log. One that is not what
 * a run leaves is renamed to ID.bad, is a record and a finding, and is not opened again. In one
 * turn of the loop a bounded number of files is looked at.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/batch.h"
#include "audit/missed.h"
#include "audit/store/log.h"
#include "audit/store/store.h"
#include "base/clock.h"
#include "base/fd.h"
#include "daemon/supervisor/internal.h"

enum {
	MISSED_SETTLE_MS = 30,
	MISSED_AGAIN_MS = 1000, /* after a failure, doubled so many times */
	MISSED_FAILURES = 6,
	MISSED_TURN = 64, /* files in one turn */
	MISSED_RECORDS = AUDIT_BATCH_MAX,
	MISSED_FILE_RECORDS = AUDIT_MISSED_BYTES_MAX / 64, /* of one file: more than fit */
	MISSED_BATCH_MS = 3600 * 1000,                     /* it is committed when we say so */
	MISSED_ABANDONED_S = 3600, /* what was being written so long ago never will be complete */
};

/* What is done in one turn of the loop. */
struct missed_turn {
	struct supervisor *s;
	int folder;
	struct audit_store *store; /* NULL: not needed so far */
	char taken[MISSED_TURN][AUDIT_MISSED_NAME];
	size_t n_taken, n_records, n_refused;
	bool is_more; /* that one turn does not look at */
};

static void missed_wait(struct supervisor *s, uint64_t ms)
{
	if (loop_start(s->loop, &s->missed.timer, ms) < 0)
		journal_say(s, CONFIG_ERROR, "missed events are not looked for: out of memory");
}

/* What cannot be taken */

static void missed_forget_strange(struct missed *m)
{
	while (m->n_strange > 0)
		free(m->strange[--m->n_strange]);
}

static void missed_add_strange(struct missed *m, const char *name)
{
	if (m->n_strange < MISSED_SHOWN && (m->strange[m->n_strange] = strdup(name)))
		m->n_strange++;
}

static void missed_refuse(
	struct missed_turn *t, const struct audit_missed_name *n, const char *name, const char *why)
{
	char bad[AUDIT_MISSED_NAME], target[AUDIT_MISSED_NAME];

	(void)snprintf(bad, sizeof(bad), "%s.bad", n->id);
	(void)snprintf(target, sizeof(target), "missed/%s", n->id);
	if (renameat(t->folder, name, t->folder, bad) == 0) {
		t->n_refused++;
		name = bad;
	}
	missed_add_strange(&t->s->missed, name);
	journal_say(t->s, CONFIG_WARN, "what a run left in %s/%s cannot be used: %s",
		buffer_text(&t->s->missed.folder), name, why);
	journal_record(t->s, &(struct audit_event){ .action = AUDIT_STORE,
				     .program = "corrald",
				     .pid = (uint32_t)getpid(),
				     .target = target,
				     .decision = AUDIT_FAILED,
				     .reason = why,
				     .exact = true });
}

/* What is taken */

static int missed_find_record(void *context, const struct audit_row *row)
{
	(void)context;
	(void)row;
	return 1;
}

/* 1: the record of this file is in the log, after the number in its name. */
static int missed_is_in_log(const struct supervisor *s, const struct audit_missed_name *n)
{
	char target[AUDIT_MISSED_NAME];
	const struct audit_query q = { .from = n->number + 1,
		.session = n->id,
		.action = AUDIT_STORE,
		.decision = AUDIT_NONE,
		.target = target };
	struct audit_log *log;
	struct error e;
	int r = audit_log_open(&log, buffer_text(&s->log_path), &e);

	if (r < 0)
		return r;
	(void)snprintf(target, sizeof(target), "missed/%s", n->id);
	r = audit_log_read(log, &q, missed_find_record, NULL, &e);
	audit_log_close(log);
	return r;
}

static int missed_open_store(struct missed_turn *t)
{
	const struct audit_store_options o = { .path = buffer_text(&t->s->log_path),
		.batch = MISSED_RECORDS,
		.batch_ms = MISSED_BATCH_MS };
	struct error e;
	int r = t->store ? 0 : audit_store_open(&t->store, &o, &e);

	if (r < 0)
		journal_say(t->s, CONFIG_WARN, "missed events wait: %s", e.text);
	return r;
}

/* Its events, and after them the record that says where they are from. */
static int missed_add(struct missed_turn *t, const struct audit_missed_name *n,
	const struct buffer *bytes, int count)
{
	char target[AUDIT_MISSED_NAME];
	struct audit_event e = { 0 };
	size_t at = 0;
	int r = 0;

	while (r == 0 && audit_missed_next(bytes->data, bytes->len, &at, &e))
		r = audit_store_add(t->store, &e);
	(void)snprintf(target, sizeof(target), "missed/%s", n->id);
	if (r == 0)
		r = audit_store_add(t->store,
			&(struct audit_event){ .time_ns = clock_ns(CLOCK_REALTIME),
				.sequence = e.sequence + 1,
				.session = n->id,
				.user = e.user,
				.sandbox = e.sandbox,
				.program = "corrald",
				.pid = (uint32_t)getpid(),
				.action = AUDIT_STORE,
				.target = target,
				.reason = "events before this one were left by a run that reached "
					  "no daemon",
				.exact = true,
				.count = (uint64_t)count });
	t->n_records += (size_t)count + 1;
	return r;
}

/* The name with the log's last number; one that it had must have been a number of this log. */
static int missed_note(
	struct missed_turn *t, const struct audit_missed_name *n, const char *name, char *ret)
{
	const uint64_t last = audit_store_committed(t->store);

	(void)snprintf(ret, AUDIT_MISSED_NAME, "%s.%" PRIu64, n->id,
		n->is_noted && n->number <= last ? n->number : last);
	if (strcmp(ret, name) == 0)
		return 0;
	return renameat(t->folder, name, t->folder, ret) < 0 ? -errno : 0;
}

/* Negative: the log or the folder cannot be used now. */
static int missed_take(struct missed_turn *t, const char *name)
{
	struct audit_missed_name n;
	auto_buffer bytes = { 0 };
	int count, r;

	if (!audit_missed_parse_name(name, &n)) {
		missed_add_strange(&t->s->missed, name);
		return 0;
	}
	r = audit_missed_read(t->folder, name, &bytes);
	if (r == -ENOENT || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r == -ENOENT ? 0 : r;
	count = r < 0 ? r : audit_missed_check(bytes.data, bytes.len, n.id);
	if (count < 0) {
		missed_refuse(t, &n, name,
			r == -EPERM || r == -ELOOP || r == -ENXIO
				? "it is not a file of its owner alone"
			: r == -EFBIG ? "it is too large"
			: r < 0       ? strerror(-r)
				      : "it is damaged");
		return 0;
	}
	r = missed_open_store(t);
	if (r == 0 && n.is_noted)
		r = missed_is_in_log(t->s, &n);
	if (r > 0)
		return unlinkat(t->folder, name, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = missed_note(t, &n, name, t->taken[t->n_taken]);
	if (r == 0)
		r = missed_add(t, &n, &bytes, count);
	t->n_taken += r == 0;
	return r;
}

/* One turn */

static void missed_sweep(const struct missed_turn *t, const char *name)
{
	struct stat st;

	if (fstatat(t->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		st.st_mtime + MISSED_ABANDONED_S < (time_t)(clock_ms(CLOCK_REALTIME) / 1000))
		(void)unlinkat(t->folder, name, 0);
}

static int missed_look(struct missed_turn *t)
{
	auto_fd fd = openat(t->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return -errno;
	(void)fd_take(&fd);
	missed_forget_strange(&t->s->missed);
	while (r == 0 && !t->is_more && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		t->is_more = t->n_taken == MISSED_TURN || t->n_refused == MISSED_TURN ||
			     t->n_records + MISSED_FILE_RECORDS > MISSED_RECORDS;
		if (t->is_more)
			break;
		if (entry->d_name[0] == '.')
			missed_sweep(t, entry->d_name);
		else
			r = missed_take(t, entry->d_name);
	}
	(void)closedir(d);
	return r;
}

/* What was noted is durable before the log is, and the log before a file is removed. */
static int missed_commit(struct missed_turn *t)
{
	struct error e = { 0 };
	int r = fsync(t->folder) < 0 ? -errno : audit_store_sign(t->store, &e);

	for (size_t i = 0; r == 0 && i < t->n_taken; i++)
		(void)unlinkat(t->folder, t->taken[i], 0);
	if (r < 0)
		journal_say(t->s, CONFIG_WARN, "missed events wait: %s",
			e.text[0] ? e.text : strerror(-r));
	else
		journal_say(t->s, CONFIG_INFO,
			"%zu runs reached no daemon; the events that they left are in the log",
			t->n_taken);
	return r;
}

static int missed_turn(struct supervisor *s, bool *ret_more)
{
	struct missed_turn t = { .s = s };
	auto_fd folder = -1;
	int r = audit_missed_open(buffer_text(&s->missed.folder), &folder);

	if (r < 0)
		return r;
	if (flock(folder, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	t.folder = folder;
	r = missed_look(&t);
	if (r == 0 && t.n_taken > 0)
		r = missed_commit(&t);
	/* Should this commit what was not before, the next turn finds it there. */
	(void)audit_store_close(t.store, NULL);
	(void)flock(folder, LOCK_UN);
	*ret_more = t.is_more;
	return r;
}

static void missed_on_timer(struct timer *timer)
{
	struct supervisor *s = container_of(timer, struct supervisor, missed.timer);
	struct missed *m = &s->missed;
	bool is_more = false;
	const int r = missed_turn(s, &is_more);

	/* A full disk may be mended, and not within a second. A folder that is gone is not wanted.
	 */
	m->failures = r < 0 ? m->failures + (m->failures < MISSED_FAILURES) : 0;
	if (is_more && r == 0)
		missed_wait(s, 1);
	else if (r < 0 && r != -ENOENT && r != -EPERM)
		missed_wait(s, (uint64_t)MISSED_AGAIN_MS << m->failures);
}

static void missed_on_change(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, missed.watcher);
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	(void)events;
	while (read(w->fd, room, sizeof(room)) > 0)
		;
	/* After a failure it waits for its time. */
	if (s->missed.failures == 0)
		missed_wait(s, MISSED_SETTLE_MS);
}

int missed_open(struct supervisor *s)
{
	struct missed *m = &s->missed;
	const char *log = buffer_text(&s->log_path), *slash = strrchr(log, '/');
	auto_fd fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), folder = -1;
	const char *path;
	int r;

	m->watcher = (struct watcher){ .ready = missed_on_change, .fd = -1 };
	m->timer = (struct timer){ .expired = missed_on_timer };
	buffer_add(&m->folder, log, slash ? (size_t)(slash - log) : 0);
	buffer_adds(&m->folder, "/missed");
	if (m->folder.failed)
		return -ENOMEM;
	path = buffer_text(&m->folder);
	r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : audit_missed_open(path, &folder);
	if (r < 0) {
		journal_say(s, CONFIG_WARN,
			"events of runs without a daemon are not kept: %s must be a folder of your "
			"own that others cannot enter: %s",
			path, strerror(-r));
		return 0;
	}
	/* Without a watch, what appears later is taken at the next start. */
	if (fd >= 0 &&
		inotify_add_watch(fd, path, IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR) >=
			0 &&
		loop_add(s->loop, &m->watcher, fd, EPOLLIN) == 0)
		(void)fd_take(&fd);
	return loop_start(s->loop, &m->timer, 1);
}

void missed_close(struct supervisor *s)
{
	struct missed *m = &s->missed;
	int fd = m->watcher.fd;

	if (!m->watcher.ready)
		return;
	loop_stop(s->loop, &m->timer);
	loop_remove(s->loop, &m->watcher);
	fd_close(&fd);
	missed_forget_strange(m);
	buffer_deinit(&m->folder);
}
