/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that end while no daemon runs, or before it acknowledged their events, leave these as files
 * (audit/missed.h). They are taken into the log when the daemon starts, and when one appears: each
 * event once, whenever we die.
 *
 *     1. A file is renamed from ID to ID.N; N is the last record of the log at that time.
 *     2. Those of its events that the log has not, and a record "missed/ID", are one transaction of
 *        the log, which is signed and synced.
 *     3. The file is removed.
 *
 * Events of a file that has an N may be in the log already: if so, they are behind N, and are
 * looked for there (known.c). Nothing depends on the clock, and nothing but those few records is
 * read. Several files share a transaction.
 *
 * A run that sent all of its file says so (JOIN_LEFT): the file is removed when the events are
 * committed, and is not read. Until a connection is over, what its run left is not touched: events
 * may be under way in it.
 *
 * Of several daemons with one log, one at a time does this: it has the lock of the folder. What
 * another one received and has not committed cannot be known: files with an N wait until it has
 * ended, which the lock of the log's folder says.
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
#include "base/formats.h"
#include "daemon/peers/known.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"

enum {
	MISSED_SETTLE_MS = 30,
	MISSED_AGAIN_MS = 1000, /* after a failure, doubled so many times */
	MISSED_FAILURES = 6,
	MISSED_BUSY = 3, /* the same if another process has the log: that mostly ends soon */
	MISSED_PRESENCE_MS = 1000,
	MISSED_TURN = 64, /* files in one turn */
	MISSED_RECORDS = AUDIT_BATCH_MAX,
	MISSED_FILE_RECORDS = AUDIT_MISSED_BYTES_MAX / 64, /* of one file: more than fit */
	MISSED_BATCH_MS = 3600 * 1000,                     /* it is committed when we say so */
	MISSED_PATIENCE_MS = 50,   /* for others who have the log: the loop waits meanwhile */
	MISSED_NOTED_MS = 5000,    /* the same, once a file may have an N */
	MISSED_ABANDONED_S = 3600, /* what was being written so long ago never will be complete */
};

/* What is done in one turn of the loop. */
struct missed_turn {
	struct supervisor *s;
	int folder;
	struct audit_store *store; /* NULL: not needed so far */
	bool is_alone;             /* no other daemon has the log */
	char taken[MISSED_TURN][AUDIT_MISSED_NAME];
	size_t n_taken, n_records, n_refused;
	bool is_more;    /* that one turn does not look at */
	bool is_waiting; /* for another daemon to end */
};

static void missed_wait(struct supervisor *s, uint64_t ms)
{
	if (loop_start(s->loop, &s->peers.missed.timer, ms) < 0)
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

/* One that cannot be renamed is found with each look: false if it was told. Of too many, none is.
 */
static bool missed_is_stuck_first(struct missed *m, const char *name)
{
	for (size_t i = 0; i < m->n_stuck; i++)
		if (strcmp(m->stuck[i], name) == 0)
			return false;
	if (m->n_stuck == MISSED_SHOWN)
		return false;
	(void)snprintf(
		m->stuck[m->n_stuck++], AUDIT_MISSED_NAME, "%.*s", AUDIT_MISSED_NAME - 1, name);
	return true;
}

static void missed_refuse(
	struct missed_turn *t, const struct audit_missed_name *n, const char *name, const char *why)
{
	char bad[AUDIT_MISSED_NAME], target[AUDIT_MISSED_NAME];
	bool is_first = true;

	(void)snprintf(bad, sizeof(bad), "%s.bad", n->id);
	(void)snprintf(target, sizeof(target), "missed/%s", n->id);
	if (renameat(t->folder, name, t->folder, bad) == 0) {
		t->n_refused++;
		name = bad;
	} else {
		is_first = missed_is_stuck_first(&t->s->peers.missed, name);
	}
	missed_add_strange(&t->s->peers.missed, name);
	if (!is_first)
		return;
	journal_say(t->s, CONFIG_WARN, "what a run left in %s/%s cannot be used: %s",
		buffer_text(&t->s->peers.missed.folder), name, why);
	journal_record(t->s, &(struct audit_event){ .action = AUDIT_STORE,
				     .program = "corrald",
				     .pid = (uint32_t)getpid(),
				     .target = target,
				     .decision = AUDIT_FAILED,
				     .reason = why,
				     .exact = true });
}

/* A file for a newer daemon keeps its name, so that this one takes it. */
static void missed_leave_newer(struct missed_turn *t, const char *name, uint64_t version)
{
	auto_buffer path = { 0 };
	struct error e = { 0 };

	missed_add_strange(&t->s->peers.missed, name);
	if (!missed_is_stuck_first(&t->s->peers.missed, name))
		return;
	buffer_printf(&path, "%s/%s", buffer_text(&t->s->peers.missed.folder), name);
	(void)formats_check(FORMAT_MISSED, version, buffer_text(&path), &e);
	journal_say(t->s, CONFIG_WARN, "%s; %s", e.text, e.hint);
}

/* What is taken */

static int missed_open_store(struct missed_turn *t)
{
	const struct audit_store_options o = { .path = buffer_text(&t->s->journal.path),
		.batch = MISSED_RECORDS,
		.batch_ms = MISSED_BATCH_MS,
		.patience_ms = MISSED_PATIENCE_MS };
	struct error e;
	int r = t->store ? 0 : audit_store_open(&t->store, &o, &e);

	if (r < 0)
		journal_say(t->s, CONFIG_WARN, "missed events wait: %s", e.text);
	/* What gets an N now and is not committed waits for the end of any other daemon, also of
	 * one that is just starting and has the log for that. */
	else
		audit_store_patience(t->store, MISSED_NOTED_MS);
	return r;
}

/* The name with the log's last number; one that it had must have been a number of this log. */
static int missed_note(
	struct missed_turn *t, const struct audit_missed_name *n, const char *name, char *ret)
{
	const uint64_t last = audit_store_committed(t->store);
	struct audit_missed_name noted = *n;

	noted.number = n->is_noted && n->number <= last ? n->number : last;
	noted.is_noted = true;
	if (audit_missed_print_name(&noted, ret) < 0)
		return -EOVERFLOW;
	if (strcmp(ret, name) == 0)
		return 0;
	return renameat(t->folder, name, t->folder, ret) < 0 ? -errno : 0;
}

/* The record that says where the events before it are from. */
static int missed_add_mark(struct missed_turn *t, const struct audit_missed_name *n,
	const struct audit_event *last, uint64_t count)
{
	char target[AUDIT_MISSED_NAME];

	(void)snprintf(target, sizeof(target), "missed/%s", n->id);
	return audit_store_add(t->store,
		&(struct audit_event){ .time_ns = clock_ns(CLOCK_REALTIME),
			.sequence = last->sequence + 1,
			.session = n->id,
			.user = last->user,
			.sandbox = last->sandbox,
			.program = "corrald",
			.pid = (uint32_t)getpid(),
			.action = AUDIT_STORE,
			.target = target,
			.reason = "events before this one were left by a run: no daemon had "
				  "acknowledged them",
			.exact = true,
			.count = count });
}

/* Those of its events that the log has not; it goes at once if that are none. */
static int missed_add(struct missed_turn *t, const struct audit_missed_name *n, const char *name,
	const struct buffer *bytes, struct known *known)
{
	char *noted = t->taken[t->n_taken];
	struct audit_event e = { 0 };
	uint64_t count = 0;
	size_t at = 0;
	int r = 0;

	while (r == 0 && audit_missed_next(bytes->data, bytes->len, &at, &e)) {
		if (known_take(known, &e))
			continue;
		if (count++ == 0) {
			r = missed_open_store(t);
			if (r == 0)
				r = missed_note(t, n, name, noted);
		}
		if (r == 0)
			r = audit_store_add(t->store, &e);
	}
	if (r == 0 && count == 0)
		return unlinkat(t->folder, name, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = missed_add_mark(t, n, &e, count);
	t->n_records += count + 1;
	t->n_taken += r == 0;
	return r;
}

/* Its connection is open, or its events wait for their commit. */
static bool missed_is_under_way(const struct supervisor *s, const char *id)
{
	for (size_t i = 0; i < s->peers.missed.n_leaving; i++)
		if (strncmp(s->peers.missed.leaving[i].name, id, AUDIT_MISSED_ID) == 0)
			return true;
	return peers_find(s, id);
}

/* Negative: the log or the folder cannot be used now. */
static int missed_take(struct missed_turn *t, const char *name)
{
	struct audit_missed_name n;
	auto_buffer bytes = { 0 };
	auto_known known = { 0 };
	int count, r;

	if (!audit_missed_parse_name(name, &n)) {
		missed_add_strange(&t->s->peers.missed, name);
		return 0;
	}
	if (missed_is_under_way(t->s, n.id))
		return 0;
	r = audit_missed_read(t->folder, name, &bytes);
	if (r == -ENOENT || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r == -ENOENT ? 0 : r;
	count = r < 0 ? r : audit_missed_check(bytes.data, bytes.len, n.id);
	if (r == 0 && count == -ENOTSUP) {
		missed_leave_newer(t, name, audit_missed_version(bytes.data, bytes.len));
		return 0;
	}
	if (count < 0) {
		missed_refuse(t, &n, name,
			r == -EPERM || r == -ELOOP || r == -ENXIO
				? "it is not a file of its owner alone"
			: r == -EFBIG ? "it is too large"
			: r < 0       ? strerror(-r)
				      : "it is damaged");
		return 0;
	}
	if (n.is_noted && !t->is_alone) {
		t->is_waiting = true;
		return 0;
	}
	r = n.is_noted ? known_read(t->s, n.id, n.number, &known) : 0;
	return r < 0 ? r : missed_add(t, &n, name, &bytes, &known);
}

/* One turn */

/* Nothing was added since it was counted. */
static bool missed_forget_full(struct missed *m, int folder)
{
	uint64_t runs, events;

	if (audit_missed_counted(folder, m->full_runs, &runs, &events) < 0 || runs > 0)
		return false;
	(void)unlinkat(folder, AUDIT_MISSED_TAKEN, 0);
	m->full_runs = 0;
	return true;
}

/*
 * Runs that found the folder full. It says so when it is counted. The file goes when the record is
 * committed (missed_settle): if we are killed before, the next daemon counts it. Two things can
 * still happen: it is counted twice if we are killed between commit and removal; and a run is not
 * counted that opened it before it was taken, and writes to it after we looked for the last time.
 */
static void missed_take_full(struct missed_turn *t)
{
	struct missed *m = &t->s->peers.missed;
	uint64_t runs = 0, events = 0;
	int r;

	if (m->full_number)
		return;
	r = audit_missed_take_count(t->folder);
	if (r == -EEXIST && !m->full_runs && !t->is_alone) {
		t->is_waiting = true;
		return;
	}
	if (r < 0 && r != -EEXIST && r != -ENOENT)
		missed_add_strange(m, AUDIT_MISSED_FULL);
	if (r < 0 && r != -EEXIST)
		return;
	r = audit_missed_counted(t->folder, m->full_runs, &runs, &events);
	if (r < 0)
		m->full_runs = 0;
	if (r < 0 && r != -ENOENT)
		missed_add_strange(m, AUDIT_MISSED_TAKEN);
	if (r < 0 || missed_forget_full(m, t->folder))
		return;
	journal_say(t->s, CONFIG_WARN,
		"%" PRIu64 " %s could not leave %" PRIu64 " events: %s had %d files", runs,
		runs == 1 ? "run" : "runs", events, buffer_text(&t->s->peers.missed.folder),
		AUDIT_MISSED_FILES_MAX);
	m->full_runs += runs;
	m->full_number = journal_record(
		t->s, &(struct audit_event){ .action = AUDIT_STORE,
			      .program = "corrald",
			      .pid = (uint32_t)getpid(),
			      .target = "missed",
			      .decision = AUDIT_FAILED,
			      .reason = "events were dropped: runs had left too many files",
			      .exact = true,
			      .count = events });
}

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
	missed_forget_strange(&t->s->peers.missed);
	while (r == 0 && !t->is_more && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		t->is_more = t->n_taken == MISSED_TURN || t->n_refused == MISSED_TURN ||
			     t->n_records + MISSED_FILE_RECORDS > MISSED_RECORDS;
		if (t->is_more)
			break;
		if (strcmp(entry->d_name, AUDIT_MISSED_FULL) == 0 ||
			strcmp(entry->d_name, AUDIT_MISSED_TAKEN) == 0)
			missed_take_full(t);
		else if (entry->d_name[0] == '.')
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
			"%zu %s left events that no daemon had acknowledged; they are in the log "
			"now",
			t->n_taken, t->n_taken == 1 ? "run" : "runs");
	return r;
}

/* Says to other daemons that we are there. Also after the lock was one for us alone. */
static void missed_be_present(struct missed *m)
{
	m->is_present = flock(m->presence, LOCK_SH | LOCK_NB) == 0;
}

static int missed_turn(struct supervisor *s, bool *ret_more)
{
	struct missed_turn t = { .s = s };
	struct missed *m = &s->peers.missed;
	auto_fd folder = -1;
	int r = audit_missed_open(buffer_text(&m->folder), &folder);

	if (r < 0)
		return r;
	if (flock(folder, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	t.folder = folder;
	missed_be_present(m);
	t.is_alone =
		!m->is_guarded || (m->is_present && flock(m->presence, LOCK_EX | LOCK_NB) == 0);
	r = missed_look(&t);
	if (r == 0 && t.n_taken > 0)
		r = missed_commit(&t);
	/* Should this commit what was not before, the next turn finds it there. */
	(void)audit_store_close(t.store, NULL);
	missed_be_present(m);
	(void)flock(folder, LOCK_UN);
	*ret_more = t.is_more;
	if (r == 0 && !t.is_more && (t.is_waiting || (m->is_guarded && !m->is_present)))
		r = -EAGAIN;
	return r;
}

/* Every run that ends changes the folder: what follows within a moment does not wake us. */
static void missed_on_change(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, peers.missed.watcher);

	(void)events;
	(void)loop_change(s->loop, w, 0);
	missed_look_soon(s);
}

static void missed_listen(struct supervisor *s)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct watcher *w = &s->peers.missed.watcher;

	if (w->fd < 0)
		return;
	while (read(w->fd, room, sizeof(room)) > 0)
		;
	(void)loop_change(s->loop, w, EPOLLIN);
}

static void missed_on_timer(struct timer *timer)
{
	struct supervisor *s = container_of(timer, struct supervisor, peers.missed.timer);
	struct missed *m = &s->peers.missed;
	bool is_more = false;
	unsigned most;
	int r;

	missed_listen(s);
	r = missed_turn(s, &is_more);
	/* A full disk may be mended, and not within a second. A folder that is gone is not wanted.
	 */
	most = r == -EBUSY ? MISSED_BUSY : MISSED_FAILURES;
	m->failures = r == 0 ? 0 : m->failures < most ? m->failures + 1 : most;
	if (is_more && r == 0)
		missed_wait(s, 1);
	else if (r < 0 && r != -ENOENT && r != -EPERM)
		missed_wait(s, (uint64_t)MISSED_AGAIN_MS << m->failures);
}

void missed_look_soon(struct supervisor *s)
{
	/* One that waits is not put off, since changes need not end; after a failure it waits for
	 * longer. */
	if (s->peers.missed.timer.expired && !s->peers.missed.timer.place)
		missed_wait(s, MISSED_SETTLE_MS);
}

void missed_prepare(struct supervisor *s)
{
	struct missed *m = &s->peers.missed;
	auto_fd folder = -1;

	if (m->presence >= 0 && m->prepared < 0 &&
		audit_missed_open(buffer_text(&m->folder), &folder) == 0)
		(void)audit_missed_prepare(folder, &m->prepared);
}

/* What we got */

void missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last)
{
	struct audit_missed_name n = { .is_noted = true, .number = number };
	struct missed *m = &s->peers.missed;

	if (m->n_leaving == MISSED_LEAVING_MAX ||
		snprintf(n.id, sizeof(n.id), "%s", id) != AUDIT_MISSED_ID ||
		audit_missed_print_name(&n, m->leaving[m->n_leaving].name) < 0) {
		missed_look_soon(s);
		return;
	}
	m->leaving[m->n_leaving++].last = last;
	s->peers.is_ack_due = true;
}

void missed_settle(struct supervisor *s, uint64_t committed)
{
	struct missed *m = &s->peers.missed;
	const bool is_full = m->full_number && m->full_number <= committed;
	auto_fd folder = -1;

	if ((m->n_leaving == 0 && !is_full) ||
		audit_missed_open(buffer_text(&m->folder), &folder) < 0)
		return;
	if (is_full) {
		m->full_number = 0;
		(void)missed_forget_full(m, folder);
		/* There may be more of it, or another one. */
		missed_look_soon(s);
	}
	for (size_t i = m->n_leaving; i > 0; i--) {
		if (m->leaving[i - 1].last > committed)
			continue;
		(void)unlinkat(folder, m->leaving[i - 1].name, 0);
		m->leaving[i - 1] = m->leaving[--m->n_leaving];
	}
}

void missed_doubt(struct supervisor *s)
{
	s->peers.missed.n_leaving = 0;
	s->peers.missed.full_runs = s->peers.missed.full_number = 0;
	missed_look_soon(s);
}

/* Beginning and end */

/*
 * Another daemon has it for as long as it takes files, which is waited for, but not for long: it
 * may be another process. Then our files with an N wait, and each turn tries again; until that has
 * the lock, a daemon that comes does not know of us, and may record events twice that we got and
 * have not committed. A folder that other users can open, they can lock: there nothing waits.
 */
static int missed_begin_presence(struct supervisor *s)
{
	struct audit_pause pause = { .most_ms = MISSED_PRESENCE_MS };
	struct missed *m = &s->peers.missed;
	struct stat st;

	if (fstat(m->presence, &st) < 0)
		return -errno;
	m->is_guarded = !(st.st_mode & 077);
	missed_be_present(m);
	while (m->is_guarded && !m->is_present && audit_pause(&pause))
		missed_be_present(m);
	if (m->is_guarded && !m->is_present)
		journal_say(s, CONFIG_WARN,
			"another process has locked the folder of the log, %s: some events that "
			"runs left wait for it",
			buffer_text(&s->journal.path));
	return 0;
}

int missed_watch(struct supervisor *s)
{
	struct missed *m = &s->peers.missed;
	int r = m->presence >= 0 ? changes_open(s, &m->watcher) : 0;

	if (r < 0 || m->presence < 0)
		return r;
	(void)changes_add(
		s, &m->watcher, buffer_text(&m->folder), IN_MOVED_TO | IN_CREATE | IN_DELETE);
	if (s->watch.unwatched)
		missed_look_soon(s);
	return 0;
}

int missed_open(struct supervisor *s)
{
	struct missed *m = &s->peers.missed;
	const char *log = buffer_text(&s->journal.path), *slash = strrchr(log, '/');
	auto_fd folder = -1;
	const char *path;
	int r;

	m->presence = m->prepared = -1;
	m->watcher = (struct watcher){ .ready = missed_on_change, .fd = -1 };
	m->timer = (struct timer){ .expired = missed_on_timer };
	buffer_add(&m->folder, log, slash ? (size_t)(slash - log) : 0);
	buffer_adds(&m->folder, "/missed");
	if (m->folder.failed)
		return -ENOMEM;
	path = buffer_text(&m->folder);
	m->leaving = calloc(MISSED_LEAVING_MAX, sizeof(*m->leaving));
	if (!m->leaving)
		return -ENOMEM;
	r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : audit_missed_open(path, &folder);
	if (r == 0) {
		m->presence = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = missed_begin_presence(s);
	}
	if (r < 0) {
		journal_say(s, CONFIG_WARN,
			"events of runs without a daemon are not kept: %s must be a folder of your "
			"own that others cannot enter: %s",
			path, strerror(-r));
		return 0;
	}
	missed_prepare(s);
	r = missed_watch(s);
	if (r < 0)
		return r;
	return loop_start(s->loop, &m->timer, 1);
}

void missed_close(struct supervisor *s)
{
	struct missed *m = &s->peers.missed;
	int fd = m->watcher.fd;

	if (!m->watcher.ready)
		return;
	loop_stop(s->loop, &m->timer);
	loop_remove(s->loop, &m->watcher);
	fd_close(&fd);
	fd_close(&m->presence);
	fd_close(&m->prepared);
	missed_forget_strange(m);
	free(m->leaving);
	buffer_deinit(&m->folder);
}
