/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading back: batches, numbers, heads, retention, time, and who is let in. */
#include "test/unit.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include "audit/store/head.h"
#include "audit/store/internal.h"
#include "audit/test/test-audit.h"
#include "base/array.h"

/* The linker sends questions for the time here (--wrap). */
static int64_t day_shift_s, clock_shift_ms;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	const int r = __real_clock_gettime(clock, t);

	if (clock == CLOCK_REALTIME)
		t->tv_sec += day_shift_s;
	if (clock == CLOCK_MONOTONIC)
		t->tv_sec += clock_shift_ms / 1000;
	return r;
}

static int reset_time(void **state)
{
	(void)state;
	day_shift_s = clock_shift_ms = 0;
	return 0;
}

struct seen {
	uint64_t n, first, last;
	bool exact; /* each is what bench_event() makes */
};

static int see(void *context, const struct audit_row *row)
{
	struct seen *s = context;
	char target[64];
	const struct audit_event want = bench_event(row->number, target);

	s->first = s->n++ ? s->first : row->number;
	s->last = row->number;
	s->exact = s->exact && strcmp(row->event.target, target) == 0 &&
		   row->event.time_ns == want.time_ns && row->event.action == want.action &&
		   row->event.decision == want.decision && row->event.pid == want.pid &&
		   strcmp(row->event.session, want.session) == 0;
	return 0;
}

static struct seen read_log(struct bench *b, const struct audit_query *q)
{
	struct seen s = { .exact = true };
	struct audit_log *l = NULL;
	struct error e = { 0 };

	if (audit_log_open(&l, b->path, &e) < 0 || audit_log_read(l, q, see, &s, &e) < 0)
		fail_msg("%s", e.text);
	audit_log_close(l);
	assert_true(s.exact);
	return s;
}

static const struct audit_query everything = { .action = -1, .decision = -1 };

static struct head last_head(struct bench *b)
{
	struct head h;

	assert_int_equal(head_load(&h, b->head, NULL), 0);
	return h;
}

/* With the key of the log. */
static void sign_anew(struct bench *b, struct head *h)
{
	struct key k;

	assert_int_equal(key_open(&k, b->key, NULL), 0);
	head_sign(h, &k);
	key_deinit(&k);
	assert_int_equal(head_save(h, b->head, NULL), 0);
}

static void what_goes_in_comes_out(void **state)
{
	struct bench *b = bench_new();
	struct stat st;

	(void)state;
	bench_fill(b, 1, 1000);
	assert_int_equal(read_log(b, &everything).n, 1000);
	bench_fine(b, 1000);
	assert_int_equal(last_head(b).number, 1000);
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	bench_fill(b, 1001, 500);
	bench_fill(b, 1501, 0);
	assert_int_equal(read_log(b, &everything).n, 1500);
	bench_fine(b, 1500);
	bench_free(b);
}

static void an_empty_log(void **state)
{
	struct bench *b = bench_new();
	struct audit_log *l = NULL;
	uint64_t first = 7, last = 7;

	(void)state;
	bench_fill(b, 1, 0);
	bench_fine(b, 0);
	assert_int_equal(last_head(b).number, 0);
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_range(l, &first, &last, NULL), 0);
	assert_true(first == 0 && last == 0);
	audit_log_close(l);
	bench_free(b);
}

static void batches(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;

	(void)state;
	b->options.batch = 10;
	s = bench_open(b);
	assert_int_equal(audit_store_wait_ms(s), -1);
	bench_add(s, 1, 9);
	assert_int_equal(audit_store_committed(s), 0);
	assert_int_equal(read_log(b, &everything).n, 0);
	assert_true(audit_store_wait_ms(s) > 0);
	bench_add(s, 10, 1);
	assert_int_equal(audit_store_committed(s), 10);
	assert_int_equal(read_log(b, &everything).n, 10);
	bench_add(s, 11, 3);
	assert_int_equal(audit_store_tick(s, NULL), 0);
	assert_int_equal(audit_store_committed(s), 10);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	assert_int_equal(audit_store_committed(s), 13);
	bench_close(s);
	bench_fine(b, 13);
	bench_free(b);
}

static void time_ends_a_batch(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;

	(void)state;
	b->options.batch_ms = 5000;
	b->options.sign_seconds = 100;
	s = bench_open(b);
	bench_add(s, 1, 2);
	clock_shift_ms += 6000;
	assert_int_equal(audit_store_wait_ms(s), 0);
	assert_int_equal(audit_store_tick(s, NULL), 0);
	assert_int_equal(audit_store_committed(s), 2);
	/* Adding looks at the clock, too. */
	bench_add(s, 3, 1);
	clock_shift_ms += 6000;
	bench_add(s, 4, 1);
	assert_int_equal(audit_store_committed(s), 4);
	/* And a head is due some time later, even if nothing more comes. */
	assert_int_equal(last_head(b).number, 0);
	assert_true(audit_store_wait_ms(s) > 0);
	clock_shift_ms += 100 * 1000;
	assert_int_equal(audit_store_wait_ms(s), 0);
	assert_int_equal(audit_store_tick(s, NULL), 0);
	assert_int_equal(last_head(b).number, 4);
	assert_int_equal(audit_store_wait_ms(s), -1);
	bench_close(s);
	bench_fine(b, 4);
	bench_free(b);
}

static void heads_by_number(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;

	(void)state;
	b->options.batch = 7;
	b->options.sign_records = 20;
	s = bench_open(b);
	bench_add(s, 1, 20);
	assert_int_equal(last_head(b).number, 0);
	bench_add(s, 21, 1);
	assert_int_equal(last_head(b).number, 21);
	bench_add(s, 22, 5);
	assert_int_equal(audit_store_sign(s, NULL), 0);
	assert_int_equal(last_head(b).number, 26);
	bench_fine(b, 26);
	bench_close(s);
	bench_free(b);
}

static int count(void *context, const struct audit_row *row)
{
	(void)row;
	return ++*(int *)context == 3 ? 42 : 0;
}

static void queries(void **state)
{
	static const struct {
		struct audit_query q;
		uint64_t n, first, last;
	} cases[] = {
		{ { .action = -1, .decision = -1 }, 100, 1, 100 },
		{ { .action = -1, .decision = -1, .newest_first = true }, 100, 100, 1 },
		{ { .action = -1, .decision = -1, .from = 10, .to = 20 }, 11, 10, 20 },
		{ { .action = -1, .decision = -1, .from = 95 }, 6, 95, 100 },
		{ { .action = -1, .decision = -1, .from = 200 }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .from = UINT64_MAX }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .to = UINT64_MAX }, 100, 1, 100 },
		{ { .action = -1, .decision = -1, .limit = 5 }, 5, 1, 5 },
		{ { .action = -1, .decision = -1, .limit = 5, .newest_first = true }, 5, 100, 96 },
		{ { .action = AUDIT_NET_CONNECT, .decision = -1 }, 33, 3, 99 },
		{ { .action = -1, .decision = AUDIT_DENIED }, 20, 5, 100 },
		{ { .action = AUDIT_NET_CONNECT, .decision = AUDIT_DENIED }, 6, 15, 90 },
		{ { .action = AUDIT_EXEC, .decision = -1 }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .session = "odd" }, 50, 1, 99 },
		{ { .action = -1, .decision = -1, .session = "od" }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .session = "' OR 1=1 --" }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .session = "odd", .limit = 2 }, 2, 1, 3 },
		{ { .action = -1,
			  .decision = -1,
			  .since_ns = UINT64_C(1700000000000000090),
			  .until_ns = UINT64_C(1700000000000000095) },
			6, 90, 95 },
		{ { .action = -1, .decision = -1, .target = "/srv/file-1?" }, 10, 10, 19 },
		{ { .action = -1, .decision = -1, .target = "/srv/**" }, 100, 1, 100 },
		{ { .action = -1, .decision = -1, .target = "/*" }, 0, 0, 0 },
		{ { .action = -1, .decision = -1, .target = "/srv/{file-3,file-7}" }, 2, 3, 7 },
		{ { .action = -1, .decision = -1, .target = "*file-2*" }, 11, 2, 29 },
		{ { .action = -1, .decision = -1, .target = "*" }, 100, 1, 100 },
		{ { .action = -1, .decision = -1, .target = "file-2" }, 0, 0, 0 },
	};
	struct bench *b = bench_new();
	struct audit_query bad = { .action = -1, .decision = -1, .target = "/[" };
	struct audit_log *l = NULL;
	struct error e = { 0 };
	int rows = 0;

	(void)state;
	bench_fill(b, 1, 100);
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct seen s = read_log(b, &cases[i].q);

		if (s.n != cases[i].n || s.first != cases[i].first || s.last != cases[i].last)
			fail_msg("case %zu: %d rows, %d to %d", i, (int)s.n, (int)s.first,
				(int)s.last);
	}
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_read(l, &bad, count, &rows, &e), -EINVAL);
	assert_true(e.text[0]);
	/* What the caller returns ends it. */
	assert_int_equal(audit_log_read(l, &everything, count, &rows, NULL), 42);
	assert_int_equal(rows, 3);
	audit_log_close(l);
	bench_free(b);
}

/* Two in one process are as two processes: each goes on where the other ended. */
static void writers_by_turns(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *first = bench_open(b), *second = bench_open(b);

	(void)state;
	bench_add(first, 1, 5);
	assert_int_equal(audit_store_commit(first, NULL), 0);
	bench_add(second, 6, 5);
	assert_int_equal(audit_store_commit(second, NULL), 0);
	assert_int_equal(audit_store_committed(second), 10);
	/* Who waits in the queue gets the numbers that are free when it commits. */
	bench_add(second, 14, 2);
	bench_add(first, 11, 3);
	assert_int_equal(audit_store_sign(first, NULL), 0);
	assert_int_equal(last_head(b).number, 13);
	assert_int_equal(audit_store_commit(second, NULL), 0);
	assert_int_equal(audit_store_committed(second), 15);
	bench_fine(b, 15);
	/* The head that one signed is the other's, too. */
	assert_int_equal(audit_store_sign(second, NULL), 0);
	assert_int_equal(last_head(b).number, 15);
	bench_close(first);
	assert_int_equal(last_head(b).number, 15);
	bench_add(second, 16, 1);
	bench_close(second);
	assert_int_equal(last_head(b).number, 16);
	assert_int_equal(read_log(b, &everything).n, 16);
	bench_fine(b, 16);
	bench_free(b);
}

/* One that writes seldom finds its last record gone by retention. */
static void a_writer_that_slept(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *sleeper, *other;

	(void)state;
	b->options.keep_records = 10;
	sleeper = bench_open(b);
	bench_add(sleeper, 1, 2);
	assert_int_equal(audit_store_commit(sleeper, NULL), 0);
	other = bench_open(b);
	for (uint64_t i = 0; i < 10; i++) {
		bench_add(other, 3 + 5 * i, 5);
		assert_int_equal(audit_store_sign(other, NULL), 0);
	}
	assert_true(last_head(b).removed > 2);
	bench_add(sleeper, 53, 1);
	bench_close(sleeper);
	assert_int_equal(audit_store_committed(other), 52);
	bench_add(other, 54, 1);
	bench_close(other);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	assert_int_equal(bench_verify(b).last, 54);
	bench_free(b);
}

static int open_lock(struct bench *b)
{
	char lock[128];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", b->path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

/* One that has the lock and does not go on: the others wait for a while, and lose nothing. */
static void a_writer_that_was_stopped(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);
	struct error e = { 0 };
	int fd = open_lock(b);

	(void)state;
	audit_store_patience(s, 10);
	bench_add(s, 1, 5);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(audit_store_commit(s, &e), -EBUSY);
	assert_non_null(strstr(e.text, "another process"));
	assert_int_equal(audit_store_sign(s, &e), -EBUSY);
	assert_int_equal(audit_store_committed(s), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(audit_store_commit(s, &e), 0);
	bench_fine(b, 5);
	bench_close(s);
	bench_free(b);
}

static int take_number(void *context, int n, char **values, char **names)
{
	(void)names;
	assert_int_equal(n, 1);
	*(int *)context = (int)strtol(values[0], NULL, 10);
	return 0;
}

/* Somebody has the database by means of SQLite itself: who has no time does not wait for him,
 * either. */
static void others_by_other_means(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);
	sqlite3 *other = NULL;
	int ms = -1;

	(void)state;
	audit_store_patience(s, 10);
	assert_int_equal(
		sqlite3_exec(s->sql.db, "PRAGMA busy_timeout", take_number, &ms, NULL), SQLITE_OK);
	assert_int_equal(ms, 10);
	assert_int_equal(sqlite3_open(b->path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	bench_add(s, 1, 5);
	assert_int_equal(audit_store_commit(s, NULL), -EBUSY);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	bench_close(s);
	bench_fine(b, 5);
	bench_free(b);
}

/* While others write, somebody without the key does, too: nobody puts a signature under that. */
static void a_writer_sees_what_others_did(void **state)
{
	static const char *const deeds[] = {
		"UPDATE record SET hash = zeroblob(32) WHERE number = 5",
		"DELETE FROM record WHERE number = 5",
		"INSERT INTO record VALUES (6, zeroblob(100), zeroblob(32))",
		"UPDATE head SET signature = zeroblob(64) WHERE number = 3",
		"DELETE FROM head WHERE number = 3",
		"DELETE FROM head",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(deeds); i++) {
		struct bench *b = bench_new();
		struct audit_store *s = bench_open(b);
		struct error e = { 0 };
		sqlite3 *db = NULL;

		bench_add(s, 1, 3);
		assert_int_equal(audit_store_sign(s, NULL), 0);
		bench_add(s, 4, 2);
		assert_int_equal(audit_store_commit(s, NULL), 0);
		assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, deeds[i], NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(db), SQLITE_OK);
		bench_add(s, 6, 1);
		if (audit_store_sign(s, &e) != -EBADMSG)
			fail_msg("%s was not seen", deeds[i]);
		assert_true(e.text[0]);
		/* Not the second time, either. */
		assert_int_equal(audit_store_sign(s, &e), -EBADMSG);
		assert_int_equal(audit_store_close(s, &e), -EBADMSG);
		assert_true(last_head(b).number == 3);
		bench_free(b);
	}
}

/* Another one set the log back to an older state of itself, signed and all, and wrote on. */
static void a_writer_sees_an_older_log(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s, *other;
	struct error e = { 0 };
	struct head later;

	(void)state;
	bench_fill(b, 1, 5);
	s = bench_open(b);
	other = bench_open(b);
	bench_add(other, 6, 5);
	assert_int_equal(audit_store_sign(other, NULL), 0);
	later = last_head(b);
	bench_close(other);
	/* As if these were the records of yesterday, and the second file of today. */
	later.number = 12;
	sign_anew(b, &later);
	bench_add(s, 11, 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(audit_store_commit(s, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "head file"));
	}
	assert_int_equal(audit_store_close(s, NULL), -EBADMSG);
	bench_free(b);
}

/* What would be written could not be found again. */
static void a_log_that_is_moved_away(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);
	struct error e = { 0 };
	char aside[128];

	(void)state;
	bench_add(s, 1, 3);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	snprintf(aside, sizeof(aside), "%s.aside", b->path);
	assert_int_equal(rename(b->path, aside), 0);
	bench_add(s, 4, 1);
	assert_int_equal(audit_store_commit(s, &e), -ENOENT);
	assert_non_null(strstr(e.text, "moved"));
	assert_int_equal(rename(aside, b->path), 0);
	assert_int_equal(audit_store_commit(s, &e), 0);
	bench_close(s);
	bench_fine(b, 4);
	bench_free(b);
}

static void readers_beside_a_writer(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);

	(void)state;
	b->options.batch = 1;
	for (uint64_t i = 1; i <= 50; i++) {
		bench_add(s, i, 1);
		assert_int_equal(audit_store_commit(s, NULL), 0);
		if (i % 10 == 0)
			assert_int_equal(audit_store_sign(s, NULL), 0);
		bench_fine(b, i);
		assert_int_equal(bench_verify(b).signed_up_to, i / 10 * 10);
	}
	bench_close(s);
	bench_free(b);
}

/* Another user, without a right to write in the folder: SQLite's own files cannot be made. */
static void reading_where_nothing_can_be_written(void **state)
{
	struct bench *b = bench_new();
	pid_t child;
	int status;

	(void)state;
	bench_fill(b, 1, 10);
	assert_int_equal(chmod(b->path, 0644), 0);
	assert_int_equal(chmod(b->folder, 0555), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		bench_fine(b, 10);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(b->folder, 0755), 0);
	bench_free(b);
}

static void retention_by_number(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;
	struct audit_verdict v;

	(void)state;
	b->options.sign_records = 50;
	b->options.batch = 25;
	b->options.keep_records = 120;
	s = bench_open(b);
	for (uint64_t i = 0; i < 20; i++) {
		bench_add(s, 1 + i * 50, 50);
		v = bench_verify(b);
		if (v.fault != AUDIT_FINE)
			fail_msg("%s", v.text);
		assert_true(v.records >= 120 || v.records == v.last);
		assert_true(v.records <= 170);
	}
	bench_close(s);
	v = bench_verify(b);
	assert_int_equal(v.removed, 850);
	assert_int_equal(v.first, 851);
	assert_int_equal(v.last, 1000);
	/* What is left is what was there; and the log goes on. */
	assert_int_equal(read_log(b, &everything).n, 150);
	b->options.keep_records = 0;
	bench_fill(b, 1001, 100);
	bench_fine(b, 250);
	assert_int_equal(last_head(b).removed, 850);
	bench_free(b);
}

static void retention_by_age(void **state)
{
	struct bench *b = bench_new();
	struct audit_verdict v;

	(void)state;
	b->options.keep_seconds = 1000;
	bench_fill(b, 1, 30);
	day_shift_s += 600;
	bench_fill(b, 31, 30);
	bench_fine(b, 60);
	day_shift_s += 600;
	bench_fill(b, 61, 30);
	v = bench_verify(b);
	assert_int_equal(v.removed, 30);
	assert_int_equal(v.records, 60);
	/* Without anything new, too, down to nothing. */
	day_shift_s += 5000;
	bench_fill(b, 91, 0);
	bench_fine(b, 0);
	assert_int_equal(last_head(b).removed, 90);
	bench_fill(b, 91, 3);
	bench_fine(b, 3);
	bench_free(b);
}

/* A clock that goes back neither breaks the chain nor makes young records old. */
static void the_clock_goes_back(void **state)
{
	struct bench *b = bench_new();
	uint64_t before;

	(void)state;
	b->options.keep_seconds = 1000;
	bench_fill(b, 1, 10);
	before = last_head(b).time_ns;
	day_shift_s = -500000;
	bench_fill(b, 11, 10);
	assert_true(last_head(b).time_ns == before);
	day_shift_s = -400000;
	bench_fill(b, 21, 10);
	bench_fine(b, 30);
	day_shift_s = 10;
	bench_fill(b, 31, 10);
	assert_true(last_head(b).time_ns > before);
	bench_fine(b, 40);
	bench_free(b);
}

static void events_that_are_none(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);
	char target[64];
	struct audit_event v = bench_event(1, target);
	char *huge = malloc(100000);

	(void)state;
	assert_non_null(huge);
	memset(huge, 'x', 99999);
	huge[99999] = '\0';
	v.action = AUDIT_ACTION_COUNT;
	assert_int_equal(audit_store_add(s, &v), -EINVAL);
	v.action = AUDIT_EXEC;
	v.decision = AUDIT_DECISION_COUNT;
	assert_int_equal(audit_store_add(s, &v), -EINVAL);
	v.decision = AUDIT_DENIED;
	v.target = v.reason = v.rule = v.program = v.session = v.user = v.sandbox = huge;
	assert_int_equal(audit_store_add(s, &v), 0);
	bench_add(s, 2, 1);
	bench_close(s);
	bench_fine(b, 2);
	free(huge);
	bench_free(b);
}

static void expect_refusal(struct bench *b, const char *word)
{
	struct audit_store *s = NULL;
	struct error e = { 0 };

	assert_int_equal(audit_store_open(&s, &b->options, &e), -EBADMSG);
	if (!strstr(e.text, word))
		fail_msg("\"%s\" is not in: %s", word, e.text);
}

/* A writer does not put its signature under what somebody else did. */
static void a_writer_refuses(void **state)
{
	struct bench *b = bench_new();
	char old[128], kept[128];
	struct stat st;

	(void)state;
	snprintf(old, sizeof(old), "%s/old", b->folder);
	snprintf(kept, sizeof(kept), "%s/kept", b->folder);
	bench_fill(b, 1, 10);
	bench_copy(b->path, old);
	bench_fill(b, 11, 10);
	bench_copy(b->path, kept);
	/* set back to an older state of itself, signed and all */
	bench_copy(old, b->path);
	expect_refusal(b, "head file");
	/* gone */
	assert_int_equal(unlink(b->path), 0);
	expect_refusal(b, "contains the head of a log");
	/* no second file */
	bench_copy(kept, b->path);
	bench_copy(b->head, old);
	assert_int_equal(unlink(b->head), 0);
	expect_refusal(b, "head file does not exist");
	assert_int_equal(file_replace(b->head, "{}", 2, 0644), 0);
	expect_refusal(b, "not a signed head");
	bench_copy(old, b->head);
	/* another key */
	assert_int_equal(unlink(b->key), 0);
	assert_int_equal(unlink(b->public), 0);
	expect_refusal(b, "another key");
	/* no database, no log */
	assert_int_equal(file_replace(b->path, "hello hello hello", 17, 0600), 0);
	expect_refusal(b, "");
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_size, 17);
	bench_free(b);
}

/* What SQLite cannot read is named as that, with what to do; and that helps. */
static void a_damaged_log_names_its_remedy(void **state)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".head" };
	struct bench *b = bench_new();
	struct audit_store *s = NULL;
	struct error e = { 0 };
	auto_buffer file = { 0 };
	char from[160], to[160];

	(void)state;
	bench_fill(b, 1, 10);
	assert_int_equal(file_read(b->path, 1 << 24, &file), 0);
	/* The page behind the first, which is the first table's. */
	assert_true(file.len >= 8192);
	memset(file.data + 4096, 0xa5, 4096);
	assert_int_equal(file_replace(b->path, file.data, file.len, 0600), 0);
	assert_int_equal(audit_store_open(&s, &b->options, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "the log is damaged"));
	for (size_t i = 0; i < ROWS(suffixes); i++) {
		assert_non_null(strstr(e.hint, suffixes[i]));
		snprintf(from, sizeof(from), "%s%s", b->path, suffixes[i]);
		snprintf(to, sizeof(to), "%s/moved%s", b->folder, suffixes[i]);
		assert_true(rename(from, to) == 0 || errno == ENOENT);
	}
	bench_fill(b, 1, 10);
	bench_fine(b, 10);
	bench_free(b);
}

/* No lock and no key was made for what can be no log. */
static void expect_nothing_beside(const char *path)
{
	static const char *const suffixes[] = { ".lock", ".key", ".key.pub", ".head" };
	char name[160];

	for (size_t i = 0; i < ROWS(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		assert_int_equal(access(name, F_OK), -1);
	}
}

static void names_that_are_refused(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = NULL;
	struct audit_log *l = NULL;
	char other[128];

	(void)state;
	bench_fill(b, 1, 1);
	snprintf(other, sizeof(other), "%s/link", b->folder);
	assert_int_equal(symlink(b->path, other), 0);
	b->options.path = other;
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -EINVAL);
	expect_nothing_beside(other);
	b->options.path = b->folder;
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -EINVAL);
	expect_nothing_beside(b->folder);
	snprintf(other, sizeof(other), "%s/folder/", b->folder);
	b->options.path = other;
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -EINVAL);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -EINVAL);
	expect_nothing_beside(other);
	b->options.path = "";
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -EINVAL);
	b->options.key_path = b->key;
	b->options.path = "/nowhere/log";
	assert_int_equal(audit_store_open(&s, &b->options, NULL), -ENOENT);
	assert_int_equal(audit_log_open(&l, "/nowhere/log", NULL), -ENOENT);
	snprintf(other, sizeof(other), "%s/empty", b->folder);
	assert_int_equal(file_replace(other, "", 0, 0600), 0);
	assert_int_equal(audit_log_open(&l, other, NULL), -EBADMSG);
	assert_int_equal(audit_store_close(NULL, NULL), 0);
	assert_null(s);
	assert_null(l);
	bench_free(b);
}

static void full_sync_and_other_places(void **state)
{
	struct bench *b = bench_new();
	char head[128], key[128];
	struct audit_verdict verdict;
	struct audit_log *l = NULL;

	(void)state;
	snprintf(head, sizeof(head), "%s/elsewhere", b->folder);
	snprintf(key, sizeof(key), "%s/mykey", b->folder);
	b->options.sync = AUDIT_SYNC_FULL;
	b->options.head_path = head;
	b->options.key_path = key;
	bench_fill(b, 1, 10);
	strcat(key, ".pub");
	assert_int_equal(access(b->head, F_OK), -1);
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_verify(l, key, head, &verdict, NULL), 0);
	assert_int_equal(verdict.fault, AUDIT_FINE);
	assert_int_equal(audit_log_verify(l, key, "", &verdict, NULL), 0);
	assert_int_equal(verdict.fault, AUDIT_FINE);
	assert_int_equal(audit_log_verify(l, NULL, head, &verdict, NULL), -ENOENT);
	audit_log_close(l);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(an_empty_log),
		cmocka_unit_test(batches),
		cmocka_unit_test_setup(time_ends_a_batch, reset_time),
		cmocka_unit_test_setup(heads_by_number, reset_time),
		cmocka_unit_test(queries),
		cmocka_unit_test(writers_by_turns),
		cmocka_unit_test(a_writer_that_slept),
		cmocka_unit_test(a_writer_that_was_stopped),
		cmocka_unit_test(others_by_other_means),
		cmocka_unit_test(a_writer_sees_what_others_did),
		cmocka_unit_test(a_writer_sees_an_older_log),
		cmocka_unit_test(a_log_that_is_moved_away),
		cmocka_unit_test(readers_beside_a_writer),
		cmocka_unit_test(reading_where_nothing_can_be_written),
		cmocka_unit_test_setup(retention_by_number, reset_time),
		cmocka_unit_test_setup(retention_by_age, reset_time),
		cmocka_unit_test_setup(the_clock_goes_back, reset_time),
		cmocka_unit_test_setup(events_that_are_none, reset_time),
		cmocka_unit_test(a_writer_refuses),
		cmocka_unit_test(a_damaged_log_names_its_remedy),
		cmocka_unit_test(names_that_are_refused),
		cmocka_unit_test(full_sync_and_other_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
