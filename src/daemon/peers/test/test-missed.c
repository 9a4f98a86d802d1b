/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that runs left, from their folder into the log: both are real, as are the loop, the trail
 * and the locks. Another daemon is another descriptor of the same folder. The clock of the loop is
 * the test's; a change of the folder is a byte in a pipe.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/missed.h"
#include "audit/test/test-audit.h"
#include "base/array.h"
#include "base/fd.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/peers/test/test-journal.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"
#include "test/failing.h"

enum {
	TURN_FILES = 64,
	SETTLE_MS = 30,
	AGAIN_MS = 1000,
	FAILURES_MAX = 6,
};

#define ID_A "0123456789abcdef"
#define ID_B "fedcba9876543210"

FAILING_CALLOC

/* Other parts */

static struct {
	uint64_t now_ms;
	size_t said, slept;
	const char *under_way; /* the id of a sandbox that is connected */
	char line[512];
	int changes[2]; /* a pipe */
	int changes_error;
} says;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (clock == CLOCK_REALTIME)
		return __real_clock_gettime(clock, ret);
	*ret = (struct timespec){ .tv_sec = (time_t)(says.now_ms / 1000),
		.tv_nsec = (long)(says.now_ms % 1000) * 1000000 };
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	says.slept++;
	return 0;
}

struct sandbox *__wrap_peers_find(const struct supervisor *s, const char *id);
struct sandbox *__wrap_peers_find(const struct supervisor *s, const char *id)
{
	static struct sandbox one;

	(void)s;
	return says.under_way && strcmp(says.under_way, id) == 0 ? &one : NULL;
}

static void journal_heard(const char *line)
{
	(void)snprintf(says.line, sizeof(says.line), "%s", line);
	says.said++;
}

int __wrap_changes_open(struct supervisor *s, struct watcher *w);
int __wrap_changes_open(struct supervisor *s, struct watcher *w)
{
	if (says.changes_error || w->fd >= 0)
		return says.changes_error;
	assert_int_equal(pipe2(says.changes, O_CLOEXEC | O_NONBLOCK), 0);
	return loop_add(s->loop, w, says.changes[0], EPOLLIN);
}

int __wrap_changes_add(
	struct supervisor *s, const struct watcher *w, const char *path, uint32_t what);
int __wrap_changes_add(
	struct supervisor *s, const struct watcher *w, const char *path, uint32_t what)
{
	(void)w;
	(void)what;
	assert_string_equal(path, buffer_text(&s->peers.missed.folder));
	return 1;
}

/* The daemon */

struct world {
	struct supervisor s;
	struct bench *bench;
	int folder;
};

static int setup_closed(void **state)
{
	struct world *w = __real_calloc(1, sizeof(*w));
	struct audit_trail_options o = { .session = "daemon", .user = "0", .sandbox = "box" };

	if (!w)
		return -1;
	memset(&says, 0, sizeof(says));
	says.now_ms = 1000000;
	says.changes[0] = says.changes[1] = -1;
	w->folder = -1;
	w->bench = bench_new();
	o.store = &w->bench->options;
	buffer_adds(&w->s.journal.path, w->bench->path);
	*state = w;
	return loop_new(&w->s.loop) < 0 ? -1 : audit_trail_new(&w->s.journal.trail, &o, NULL);
}

static int setup(void **state)
{
	struct world *w;

	if (setup_closed(state) < 0)
		return -1;
	w = *state;
	assert_int_equal(missed_open(&w->s), 0);
	return audit_missed_open(buffer_text(&w->s.peers.missed.folder), &w->folder);
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)failing_stop();
	missed_close(&w->s);
	fd_close(&says.changes[1]);
	fd_close(&w->folder);
	loop_free(w->s.loop);
	assert_int_equal(audit_trail_close(w->s.journal.trail, NULL), 0);
	buffer_deinit(&w->s.journal.path);
	bench_free(w->bench);
	free(w);
	return 0;
}

/* So much later. */
static void pass(struct world *w, uint64_t ms)
{
	says.now_ms += ms;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
}

/* A look at the folder, now. */
static void look(struct world *w)
{
	missed_look_soon(&w->s);
	pass(w, w->s.peers.missed.timer.due_ms > says.now_ms
			? w->s.peers.missed.timer.due_ms - says.now_ms
			: 0);
}

/* Runs */

static struct audit_event event(const char *session, uint64_t n)
{
	return (struct audit_event){ .time_ns = 1000 + n,
		.sequence = n,
		.session = session,
		.user = "7",
		.sandbox = "run",
		.action = AUDIT_FS_READ,
		.target = "/x" };
}

/* Leaves a file with events 1 to n. number: of its name; -1: none. */
static void leave(struct world *w, const char *id, int64_t number, uint64_t n)
{
	struct audit_missed_name name = { .is_noted = number >= 0,
		.number = number >= 0 ? (uint64_t)number : 0 };
	auto_buffer bytes = { 0 };

	(void)snprintf(name.id, sizeof(name.id), "%s", id);
	for (uint64_t i = 1; i <= n; i++) {
		const struct audit_event e = event(id, i);
		auto_buffer one = { 0 };

		audit_event_encode(&e, &one);
		assert_true(audit_missed_add(&bytes, one.data, one.len, 0));
	}
	assert_int_equal(audit_missed_put(w->folder, -1, &name, &bytes), 0);
}

static void write_file(struct world *w, const char *name, const char *text, mode_t mode)
{
	auto_fd fd = openat(w->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static bool has(struct world *w, const char *name)
{
	return faccessat(w->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The log */

struct found {
	size_t n;       /* events of the run */
	size_t marks;   /* records of the daemon */
	uint64_t count; /* of the last of those */
	enum audit_decision decision;
	char target[64], reason[128];
};

static int visit(void *context, const struct audit_row *row)
{
	struct found *f = context;
	const struct audit_event *e = &row->event;

	if (e->action != AUDIT_STORE) {
		f->n++;
		return 0;
	}
	f->marks++;
	f->count = e->count;
	f->decision = e->decision;
	(void)snprintf(f->target, sizeof(f->target), "%s", e->target);
	(void)snprintf(f->reason, sizeof(f->reason), "%s", e->reason);
	return 0;
}

/* What the log has of a session. */
static struct found in_log(struct world *w, const char *session)
{
	const struct audit_query q = { .session = session, .action = -1, .decision = -1 };
	struct audit_log *l = NULL;
	struct found f = { 0 };

	assert_int_equal(audit_trail_flush(w->s.journal.trail, NULL), 0);
	assert_int_equal(audit_log_open(&l, w->bench->path, NULL), 0);
	assert_int_equal(audit_log_read(l, &q, visit, &f, NULL), 0);
	audit_log_close(l);
	return f;
}

static void record(struct world *w, const char *session, uint64_t n)
{
	const struct audit_event e = event(session, n);

	assert_int_not_equal(audit_trail_add(w->s.journal.trail, &e), 0);
}

/* What a run left before the daemon started: its events, a record that says so, no file. */
static void test_taken(void **state)
{
	struct world *w = *state;
	struct found f;

	leave(w, ID_A, -1, 3);
	pass(w, 1);
	f = in_log(w, ID_A);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.marks, 1);
	assert_int_equal(f.count, 3);
	assert_string_equal(f.target, "missed/" ID_A);
	assert_false(has(w, ID_A));
	assert_false(has(w, ID_A ".0"));
	assert_int_equal(w->s.peers.missed.failures, 0);
	/* Once. */
	look(w);
	f = in_log(w, ID_A);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.marks, 1);
}

/* Of a file with a number, only what the log has not behind it. */
static void test_noted(void **state)
{
	struct world *w = *state;
	struct found f;

	record(w, ID_A, 1);
	record(w, ID_A, 2);
	leave(w, ID_A, 0, 4);
	pass(w, 1);
	f = in_log(w, ID_A);
	assert_int_equal(f.n, 4);
	assert_int_equal(f.count, 2);
	assert_false(has(w, ID_A ".0"));
	/* The log has all: the file goes, and nothing is written. */
	leave(w, ID_A, 0, 4);
	look(w);
	f = in_log(w, ID_A);
	assert_int_equal(f.n, 4);
	assert_int_equal(f.marks, 1);
	assert_false(has(w, ID_A ".0"));
	/* A number of another log, which this one replaced. */
	leave(w, ID_A, 1000, 4);
	look(w);
	assert_int_equal(in_log(w, ID_A).n, 4);
	assert_false(has(w, ID_A ".1000"));
	/* What is before the number is not compared: it was acknowledged, so these are others. */
	leave(w, ID_A, 2, 2);
	look(w);
	assert_int_equal(in_log(w, ID_A).n, 6);
}

/* The file that a daemon had noted and not removed when it was killed, before or after its commit.
 */
static void test_killed(void **state)
{
	struct world *w = *state;

	leave(w, ID_A, -1, 3);
	assert_int_equal(renameat(w->folder, ID_A, w->folder, ID_A ".0"), 0);
	pass(w, 1);
	assert_int_equal(in_log(w, ID_A).n, 3);
	leave(w, ID_A, 0, 3);
	look(w);
	assert_int_equal(in_log(w, ID_A).n, 3);
	assert_false(has(w, ID_A ".0"));
}

/* With another daemon, which may have got the events, a file with a number waits for its end. */
static void test_other_daemon(void **state)
{
	struct world *w = *state;
	auto_fd other = open(w->bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
	leave(w, ID_A, 0, 3);
	leave(w, ID_B, -1, 2);
	pass(w, 1);
	assert_true(has(w, ID_A ".0"));
	assert_int_equal(in_log(w, ID_A).n, 0);
	assert_int_equal(in_log(w, ID_B).n, 2);
	assert_true(w->s.peers.missed.is_present);
	/* It is tried again, later each time. */
	assert_int_equal(w->s.peers.missed.timer.due_ms, says.now_ms + 2 * AGAIN_MS);
	look(w);
	assert_true(has(w, ID_A ".0"));
	assert_int_equal(w->s.peers.missed.timer.due_ms, says.now_ms + 4 * AGAIN_MS);
	fd_close(&other);
	look(w);
	assert_false(has(w, ID_A ".0"));
	assert_int_equal(in_log(w, ID_A).n, 3);
	assert_int_equal(w->s.peers.missed.failures, 0);
	/* We are present for others, and not alone for ever. */
	other = open(w->bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
}

/* One daemon at a time takes files; waits grow up to a bound. */
static void test_folder_locked(void **state)
{
	struct world *w = *state;
	auto_fd other =
		open(buffer_text(&w->s.peers.missed.folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	leave(w, ID_A, -1, 1);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	pass(w, 1);
	for (unsigned i = 1; i <= FAILURES_MAX + 2; i++) {
		const unsigned n = i < FAILURES_MAX ? i : FAILURES_MAX;

		assert_true(has(w, ID_A));
		assert_int_equal(w->s.peers.missed.failures, n);
		assert_int_equal(
			w->s.peers.missed.timer.due_ms, says.now_ms + ((uint64_t)AGAIN_MS << n));
		look(w);
	}
	fd_close(&other);
	look(w);
	assert_false(has(w, ID_A));
	assert_int_equal(w->s.peers.missed.failures, 0);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
}

/* Not while its run is connected. */
static void test_connected(void **state)
{
	struct world *w = *state;

	leave(w, ID_A, 0, 1);
	leave(w, ID_B, 0, 1);
	says.under_way = ID_A;
	pass(w, 1);
	assert_true(has(w, ID_A ".0"));
	assert_false(has(w, ID_B ".0"));
	says.under_way = NULL;
	look(w);
	assert_false(has(w, ID_A ".0"));
}

/* What is no file of a run is renamed and recorded once, and never opened again. */
static void test_refused(void **state)
{
	static const struct {
		const char *text;
		mode_t mode;
		const char *reason;
	} rows[] = { { "garbage", 0600, "it is damaged" }, { "", 0600, "it is damaged" },
		{ "corral missed 1\n", 0600, "it is damaged" },
		{ "corral missed 1\n", 0644, "it is not a file of its owner alone" } };
	struct world *w = *state;
	struct found f;

	for (size_t i = 0; i < ROWS(rows); i++) {
		write_file(w, ID_A, rows[i].text, rows[i].mode);
		look(w);
		assert_false(has(w, ID_A));
		assert_true(has(w, ID_A ".bad"));
		f = in_log(w, "daemon");
		assert_int_equal(f.marks, i + 1);
		assert_int_equal(f.decision, AUDIT_FAILED);
		assert_string_equal(f.target, "missed/" ID_A);
		assert_string_equal(f.reason, rows[i].reason);
		look(w);
		assert_int_equal(w->s.peers.missed.n_strange, 1);
		assert_string_equal(w->s.peers.missed.strange[0], ID_A ".bad");
		assert_int_equal(in_log(w, "daemon").marks, i + 1);
		assert_int_equal(unlinkat(w->folder, ID_A ".bad", 0), 0);
	}
	assert_int_equal(symlinkat("../log", w->folder, ID_A), 0);
	assert_int_equal(mkfifoat(w->folder, ID_B, 0600), 0);
	look(w);
	assert_true(has(w, ID_A ".bad"));
	assert_true(has(w, ID_B ".bad"));
	assert_int_equal(access(w->bench->path, F_OK), 0);
	assert_int_equal(in_log(w, "daemon").marks, ROWS(rows) + 2);
	assert_int_equal(in_log(w, ID_A).n, 0);
}

/* Events of another session than its name says: nothing of it is taken. */
static void test_forged(void **state)
{
	struct world *w = *state;

	leave(w, ID_A, -1, 2);
	assert_int_equal(renameat(w->folder, ID_A, w->folder, ID_B), 0);
	pass(w, 1);
	assert_true(has(w, ID_B ".bad"));
	assert_int_equal(in_log(w, ID_A).n, 0);
	assert_int_equal(in_log(w, ID_B).n, 0);
}

/* A file of a newer version keeps its name for a newer daemon; a line says so once. */
static void test_newer(void **state)
{
	struct world *w = *state;
	size_t said;

	write_file(w, ID_A, "corral missed 2\nxxxx", 0600);
	pass(w, 1);
	assert_true(has(w, ID_A));
	assert_int_equal(w->s.peers.missed.n_strange, 1);
	assert_non_null(strstr(says.line, ID_A));
	said = says.said;
	look(w);
	assert_true(has(w, ID_A));
	assert_int_equal(says.said, said);
	assert_int_equal(in_log(w, "daemon").marks, 0);
}

/* Names that no run gives stay as they are, and are shown, as many as there is room for. */
static void test_strange(void **state)
{
	struct world *w = *state;
	char name[32];

	for (int i = 0; i < MISSED_SHOWN + 4; i++) {
		(void)snprintf(name, sizeof(name), "strange-%d", i);
		write_file(w, name, "x", 0600);
	}
	leave(w, ID_A, -1, 1);
	pass(w, 1);
	assert_int_equal(w->s.peers.missed.n_strange, MISSED_SHOWN);
	assert_true(has(w, "strange-0"));
	assert_int_equal(in_log(w, ID_A).n, 1);
	look(w);
	assert_int_equal(w->s.peers.missed.n_strange, MISSED_SHOWN);
}

/* What was being written an hour ago never will be complete; what is being written stays. */
static void test_abandoned(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct world *w = *state;

	write_file(w, "." ID_A, "x", 0600);
	write_file(w, "." ID_B, "x", 0600);
	assert_int_equal(utimensat(w->folder, "." ID_A, old, 0), 0);
	pass(w, 1);
	assert_false(has(w, "." ID_A));
	assert_true(has(w, "." ID_B));
}

/* In one turn so many files; the rest in the next one, at once. */
static void test_turn_bound(void **state)
{
	enum { MORE = 6 };
	struct world *w = *state;
	char id[AUDIT_MISSED_ID + 1];
	size_t left = 0;

	for (unsigned i = 0; i < TURN_FILES + MORE; i++) {
		(void)snprintf(id, sizeof(id), "%016x", i);
		leave(w, id, -1, 1);
	}
	pass(w, 1);
	for (unsigned i = 0; i < TURN_FILES + MORE; i++) {
		(void)snprintf(id, sizeof(id), "%016x", i);
		left += has(w, id);
	}
	assert_int_equal(left, MORE);
	assert_int_equal(w->s.peers.missed.timer.due_ms, says.now_ms + 1);
	pass(w, 1);
	for (unsigned i = 0; i < TURN_FILES + MORE; i++) {
		(void)snprintf(id, sizeof(id), "%016x", i);
		assert_false(has(w, id));
		assert_int_equal(in_log(w, id).n, 1);
	}
	assert_int_equal(w->s.peers.missed.timer.place, 0);
}

/* A change is looked at after a moment; those that follow meanwhile wake nobody. */
static void test_change(void **state)
{
	struct world *w = *state;

	pass(w, 1);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
	leave(w, ID_A, -1, 1);
	assert_int_equal(write(says.changes[1], "x", 1), 1);
	pass(w, 0);
	assert_int_equal(w->s.peers.missed.timer.due_ms, says.now_ms + SETTLE_MS);
	assert_int_equal(w->s.peers.missed.watcher.events, 0);
	assert_int_equal(write(says.changes[1], "x", 1), 1);
	pass(w, SETTLE_MS - 1);
	assert_true(has(w, ID_A));
	pass(w, 1);
	assert_false(has(w, ID_A));
	assert_int_equal(w->s.peers.missed.watcher.events, EPOLLIN);
	/* Both were read. */
	pass(w, 0);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
}

/* JOIN_LEFT */

/* The file of a run that sent everything goes with the commit of its events, and is not read. */
static void test_leave(void **state)
{
	struct world *w = *state;

	leave(w, ID_A, 5, 2);
	leave(w, ID_B, 6, 2);
	missed_leave(&w->s, ID_A, 5, 10);
	missed_leave(&w->s, ID_B, 6, 20);
	assert_true(w->s.peers.is_ack_due);
	pass(w, 1);
	assert_true(has(w, ID_A ".5"));
	missed_settle(&w->s, 9);
	assert_true(has(w, ID_A ".5"));
	missed_settle(&w->s, 10);
	assert_false(has(w, ID_A ".5"));
	assert_true(has(w, ID_B ".6"));
	assert_int_equal(w->s.peers.missed.n_leaving, 1);
	missed_settle(&w->s, 100);
	assert_false(has(w, ID_B ".6"));
	assert_int_equal(w->s.peers.missed.n_leaving, 0);
	assert_int_equal(in_log(w, ID_A).n + in_log(w, ID_B).n, 0);
	/* It may have gone before. */
	missed_leave(&w->s, ID_A, 5, 1);
	missed_settle(&w->s, 1);
	assert_int_equal(w->s.peers.missed.n_leaving, 0);
}

/* Events were lost on their way: the file is read. */
static void test_doubt(void **state)
{
	struct world *w = *state;

	pass(w, 1);
	leave(w, ID_A, 0, 2);
	missed_leave(&w->s, ID_A, 0, 10);
	missed_doubt(&w->s);
	missed_settle(&w->s, 10);
	assert_true(has(w, ID_A ".0"));
	pass(w, SETTLE_MS);
	assert_false(has(w, ID_A ".0"));
	assert_int_equal(in_log(w, ID_A).n, 2);
}

/* With no room for it, or an id that names no file, the folder is looked at. */
static void test_leave_bounds(void **state)
{
	struct world *w = *state;

	pass(w, 1);
	missed_leave(&w->s, "0123", 0, 1);
	missed_leave(&w->s, ID_A ID_B, 0, 1);
	missed_leave(&w->s, "../../../../etc/", 0, 1);
	missed_leave(&w->s, ID_A, UINT64_MAX, 1);
	assert_int_equal(w->s.peers.missed.n_leaving, 0);
	assert_int_not_equal(w->s.peers.missed.timer.place, 0);
	pass(w, SETTLE_MS);
	for (uint64_t i = 0; i < MISSED_LEAVING_MAX; i++)
		missed_leave(&w->s, ID_A, i, 1);
	assert_int_equal(w->s.peers.missed.n_leaving, MISSED_LEAVING_MAX);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
	missed_leave(&w->s, ID_B, 0, 1);
	assert_int_equal(w->s.peers.missed.n_leaving, MISSED_LEAVING_MAX);
	assert_int_not_equal(w->s.peers.missed.timer.place, 0);
}

/* Runs that found the folder full are counted in the log, once, whenever the record is committed.
 */
static void test_full_count(void **state)
{
	struct world *w = *state;
	struct found f;
	uint64_t committed, number;

	audit_missed_count(w->folder, 5);
	audit_missed_count(w->folder, 7);
	pass(w, 1);
	assert_false(has(w, AUDIT_MISSED_FULL));
	assert_true(has(w, AUDIT_MISSED_TAKEN));
	assert_non_null(strstr(says.line, "2 runs could not leave 12 events"));
	look(w);
	f = in_log(w, "daemon");
	assert_int_equal(f.marks, 1);
	assert_int_equal(f.count, 12);
	assert_string_equal(f.target, "missed");
	assert_int_equal(f.decision, AUDIT_FAILED);
	committed = audit_trail_committed(w->s.journal.trail, &number);
	assert_int_equal(w->s.peers.missed.full_number, committed);
	missed_settle(&w->s, committed - 1);
	assert_true(has(w, AUDIT_MISSED_TAKEN));
	missed_settle(&w->s, committed);
	assert_false(has(w, AUDIT_MISSED_TAKEN));
	assert_int_equal(w->s.peers.missed.full_number, 0);
	/* Another one begins anew. */
	audit_missed_count(w->folder, 1);
	look(w);
	f = in_log(w, "daemon");
	assert_int_equal(f.marks, 2);
	assert_int_equal(f.count, 1);
}

/* Beginning */

/* A folder that others can enter is not used: a warning, and no run is offered it. */
static void test_open_unsafe(void **state)
{
	struct world *w = *state;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/missed", w->bench->folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(missed_open(&w->s), 0);
	assert_int_equal(says.said, 1);
	assert_non_null(strstr(says.line, path));
	assert_int_equal(w->s.peers.missed.presence, -1);
	assert_int_equal(w->s.peers.missed.prepared, -1);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
	missed_prepare(&w->s);
	assert_int_equal(w->s.peers.missed.prepared, -1);
	assert_int_equal(missed_watch(&w->s), 0);
	assert_int_equal(w->s.peers.missed.watcher.fd, -1);
}

/* Another process that keeps the log's folder locked is waited for, up to a bound. */
static void test_open_locked(void **state)
{
	struct world *w = *state;
	auto_fd other = open(w->bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(missed_open(&w->s), 0);
	assert_true(says.slept > 0);
	assert_non_null(strstr(says.line, "another process has locked the folder of the log"));
	assert_true(w->s.peers.missed.is_guarded);
	assert_false(w->s.peers.missed.is_present);
	fd_close(&other);
	pass(w, 1);
	assert_true(w->s.peers.missed.is_present);
	assert_int_equal(w->s.peers.missed.failures, 0);
}

/* Failures of the beginning leave nothing behind, and close can follow each. */
static void test_open_errors(void **state)
{
	struct world *w = *state;

	failing_start(0);
	assert_int_equal(missed_open(&w->s), -ENOMEM);
	assert_true(failing_stop());
	missed_close(&w->s);
	w->s.peers.missed = (struct missed){ 0 };
	says.changes_error = -ENOMEM;
	assert_int_equal(missed_open(&w->s), -ENOMEM);
	missed_close(&w->s);
	w->s.peers.missed = (struct missed){ 0 };
	says.changes_error = 0;
	assert_int_equal(missed_open(&w->s), 0);
	assert_int_equal(says.said, 0);
}

/* Without inotify the folder is looked at when asked for. */
static void test_unwatched(void **state)
{
	struct world *w = *state;

	pass(w, 1);
	assert_int_equal(missed_watch(&w->s), 0);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
	w->s.watch.unwatched = ENOSPC;
	assert_int_equal(missed_watch(&w->s), 0);
	assert_int_not_equal(w->s.peers.missed.timer.place, 0);
}

/* The folder is removed while the daemon runs: that is not wanted any more, and no error. */
static void test_folder_gone(void **state)
{
	struct world *w = *state;

	assert_int_equal(rmdir(buffer_text(&w->s.peers.missed.folder)), 0);
	pass(w, 1);
	assert_int_equal(w->s.peers.missed.timer.place, 0);
	missed_leave(&w->s, ID_A, 1, 1);
	missed_settle(&w->s, 1);
	fd_close(&w->s.peers.missed.prepared);
	missed_prepare(&w->s);
	assert_int_equal(w->s.peers.missed.prepared, -1);
}

#define OPENED(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, setup_closed, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPENED(test_taken),
		OPENED(test_noted),
		OPENED(test_killed),
		OPENED(test_other_daemon),
		OPENED(test_folder_locked),
		OPENED(test_connected),
		OPENED(test_refused),
		OPENED(test_forged),
		OPENED(test_newer),
		OPENED(test_strange),
		OPENED(test_abandoned),
		OPENED(test_turn_bound),
		OPENED(test_change),
		OPENED(test_leave),
		OPENED(test_doubt),
		OPENED(test_leave_bounds),
		OPENED(test_full_count),
		CLOSED(test_open_unsafe),
		CLOSED(test_open_locked),
		CLOSED(test_open_errors),
		OPENED(test_unwatched),
		OPENED(test_folder_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
