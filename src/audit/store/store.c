/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, closing, the queue in front of the commits, and the commits. Which number a record gets
 * is not known before it is committed, because others write, too: the queue has room for it.
 *
 * What becomes durable, in one transaction: the records that wait, and, when it is time, the signed
 * head that covers them together with what retention takes away. So at any point at which a process
 * may end, the store is what some head and the chain behind it say.
 *
 * The second file follows the commit, never the other way round: it may be a head after, which is
 * harmless, but must not speak of records that are not there. To hold this through a loss of power,
 * a transaction with a head is synced even where others are not.
 *
 * Several processes write to a log, one at a time: each takes the lock for one commit, with the
 * head that goes into the second file, and for opening and closing. It is flock() on a file of its
 * own (".lock"), which the kernel lets go of however a process ends. Not on the database, because
 * closing any descriptor of it would drop the locks that SQLite holds there; not on the file of the
 * head, which is replaced. Should two writers meet all the same (a lock file that was removed), the
 * numbers of records are a primary key: the second fails, the chain does not fork.
 *
 * There is no flock() that waits for a bounded time, so it is tried again and again: a commit takes
 * less than a millisecond, unless the disk has to be waited for. A process that was stopped while
 * it had the lock must not stop the others for ever.
 */
#include "audit/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/store/internal.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

enum {
	CUT_MAX = 8, /* segments that go with one head: a bound for the work that outruns growth */
	DEFAULT_SIGN_RECORDS = 16384,
	DEFAULT_SIGN_SECONDS = 10,
	PATIENCE_MS = 5000,
};

/* -EBUSY: others have it for longer than this one waits. */
static int store_lock(struct audit_store *s, struct error *e)
{
	struct audit_pause pause = { .most_ms = s->patience_ms };

	while (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(e, -errno, NULL, "%s.lock: %s", s->path, strerror(errno));
		if (audit_pause(&pause))
			continue;
		(void)error_set(
			e, -EBUSY, NULL, "%s: the log is locked by another process", s->path);
		error_hint(
			e, "find the process with `fuser %s.lock`; it may be suspended", s->path);
		return -EBUSY;
	}
	return 0;
}

static void store_unlock(struct audit_store *s)
{
	(void)flock(s->lock, LOCK_UN);
}

/* Whoever has the database without our lock (a shell of SQLite) is not waited for longer. */
void audit_store_patience(struct audit_store *s, unsigned ms)
{
	s->patience_ms = ms;
	sql_patience(&s->sql, ms);
}

static int store_insert_queue(struct audit_store *s, struct chain *c, struct error *e)
{
	sqlite3_stmt *insert = s->statements[STORE_INSERT];
	uint8_t *queue = (uint8_t *)s->queue.data;
	size_t start = 0;

	for (unsigned i = 0; i < s->queued; i++) {
		const size_t len = s->ends[i] - start;
		int r;

		chain_put_number(queue + start, c->tree.n + 1);
		chain_add(c, queue + start, len);
		sql_bind_number(insert, 1, c->tree.n);
		sql_bind_blob(insert, 2, queue + start, len);
		sql_bind_blob(insert, 3, c->hash.bytes, sizeof(c->hash.bytes));
		r = sql_finish(&s->sql, insert, e);
		if (r < 0)
			return r;
		start = s->ends[i];
	}
	return 0;
}

/* May everything up to this head go? Only what the head says under its signature counts. */
static bool store_may_go(const struct audit_store *s, const struct head *h, uint64_t number)
{
	const struct audit_store_options *o = &s->options;
	const uint64_t now = clock_ns(CLOCK_REALTIME);

	if (head_check(h, &s->key.public) < 0)
		return false;
	if (o->keep_records && number - h->number >= o->keep_records)
		return true;
	return o->keep_seconds && now > h->time_ns &&
	       (now - h->time_ns) / UINT64_C(1000000000) >= o->keep_seconds;
}

/* The number up to which retention removes records: that of a head. */
static int store_find_cut(struct audit_store *s, uint64_t number, uint64_t *ret, struct error *e)
{
	auto_statement *st = NULL;
	struct heads_row row;
	unsigned n = 0;
	int r;

	*ret = s->head.removed;
	if (!s->options.keep_records && !s->options.keep_seconds)
		return 0;
	r = heads_all(&s->sql, &st, e);
	while (r == 0 && n++ <= CUT_MAX) {
		r = sql_step(&s->sql, st, e);
		if (r <= 0)
			return r;
		r = heads_read(st, &row);
		if (r < 0 || (row.head.number > *ret && !store_may_go(s, &row.head, number)))
			return 0;
		*ret = row.head.number > *ret ? row.head.number : *ret;
	}
	return r;
}

static int store_put_head(
	struct audit_store *s, const struct chain *c, struct head *h, struct error *e)
{
	/* The head at the cut stays: the rest is verified from there. */
	static const char *const cuts[] = {
		"DELETE FROM record WHERE number <= ?1",
		"DELETE FROM head WHERE number < ?1",
	};
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	uint64_t removed;
	int r = store_find_cut(s, c->tree.n, &removed, e);

	for (size_t i = 0; r == 0 && removed > h->removed && i < ROWS(cuts); i++) {
		auto_statement *st = NULL;

		r = sql_prepare_for(&s->sql, &st, cuts[i], removed, e);
		if (r == 0)
			r = sql_finish(&s->sql, st, e);
	}
	if (r < 0)
		return r;
	h->number = c->tree.n;
	h->removed = removed;
	/* A clock that was set back must neither make heads out of order nor let retention remove
	 * what is young. */
	h->time_ns = now > s->head.time_ns ? now : s->head.time_ns;
	h->chain = c->hash;
	h->root = merkle_root(&c->tree);
	head_sign(h, &s->key);
	return heads_put(&s->sql, h, &c->tree, e);
}

/* Nothing is open afterwards, whatever went wrong. */
static void store_roll_back(struct audit_store *s)
{
	if (!sqlite3_get_autocommit(s->sql.db))
		(void)sql_run(&s->sql, "ROLLBACK", NULL);
}

static const char *const store_sync[] = { "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL" };

static int store_set_sync(struct audit_store *s, bool full, struct error *e)
{
	if (s->options.sync == AUDIT_SYNC_FULL)
		return 0;
	return sql_run(&s->sql, store_sync[full], e);
}

enum store_seal { STORE_PLAIN, STORE_SEALED };

/* With the lock: what waits, and a head if asked for. Nothing has changed if it fails. */
static int store_write(struct audit_store *s, enum store_seal seal, struct error *e)
{
	struct chain c = s->chain;
	struct head h = s->head;
	int r = seal ? store_set_sync(s, true, e) : 0;

	if (r == 0) {
		r = sql_finish(&s->sql, s->statements[STORE_BEGIN], e);
		if (r == 0)
			r = store_insert_queue(s, &c, e);
		if (r == 0 && seal)
			r = store_put_head(s, &c, &h, e);
		if (r == 0)
			r = sql_finish(&s->sql, s->statements[STORE_COMMIT], e);
		if (r < 0)
			store_roll_back(s);
	}
	if (seal) /* should this fail, commits are slower than they need to be */
		(void)store_set_sync(s, false, NULL);
	if (r < 0)
		return r;
	s->chain = c;
	s->queued = 0;
	atomic_store(&s->batch.since_ms, 0);
	buffer_clear(&s->queue);
	if (seal) {
		s->head = h;
		s->head_saved = false;
		s->signed_ms = clock_ms(CLOCK_MONOTONIC);
	}
	return 0;
}

/* The last head into its second file, unless it is there. */
static int store_save_head(struct audit_store *s, struct error *e)
{
	int r = s->head_saved ? 0 : head_save(&s->head, s->head_path, e);

	s->head_saved = r == 0;
	return r;
}

/* The first head, of a log without records, together with its tables. */
static int store_create(struct audit_store *s, struct error *e)
{
	struct head h = { 0 };
	struct chain c;
	int r = store_set_sync(s, true, e);

	randombytes_buf(h.log, sizeof(h.log));
	chain_begin(&c, h.log);
	if (r == 0)
		r = sql_run(&s->sql, "BEGIN IMMEDIATE", e);
	if (r == 0)
		r = schema_create(&s->sql, e);
	if (r == 0)
		r = store_put_head(s, &c, &h, e);
	if (r == 0)
		r = sql_run(&s->sql, "COMMIT", e);
	if (r < 0)
		store_roll_back(s);
	return r < 0 ? r : store_set_sync(s, false, e);
}

/* name, or path with something after it; NULL: out of memory */
static char *store_name_or(const char *name, const char *path, const char *suffix)
{
	struct buffer b = { 0 };

	buffer_adds(&b, name ? name : path);
	buffer_adds(&b, name ? "" : suffix);
	return buffer_take(&b);
}

static int store_begin_or_resume(struct audit_store *s, struct error *e)
{
	static const char *const texts[STORE_STATEMENTS] = {
		[STORE_BEGIN] = "BEGIN IMMEDIATE",
		[STORE_INSERT] = "INSERT INTO record VALUES (?1, ?2, ?3)",
		[STORE_COMMIT] = "COMMIT",
		[STORE_VERSION] = "PRAGMA data_version",
	};
	int r = schema_check(&s->sql, e);

	if (r < 0)
		return r;
	if (r > 0 && access(s->head_path, F_OK) == 0) {
		(void)error_set(e, -EBADMSG, NULL,
			"%s: the file is empty, but %s contains the head of a log", s->path,
			s->head_path);
		error_hint(e, "if you moved the log, move that file as well");
		return -EBADMSG;
	}
	if (r > 0)
		r = store_create(s, e);
	/* Its tables must be there before statements can speak of them. */
	for (size_t i = 0; i < STORE_STATEMENTS && r == 0; i++)
		r = sql_prepare(&s->sql, &s->statements[i], texts[i], e);
	if (r == 0)
		r = store_begin(s, e);
	return r == 0 ? store_save_head(s, e) : r;
}

static int store_open_file(struct audit_store *s, struct error *e)
{
	const bool full = s->options.sync == AUDIT_SYNC_FULL;
	/* An empty file for SQLite to fill: its own would be readable by others. */
	auto_fd fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;
	int r;

	if (fd < 0 && (errno != EEXIST || lstat(s->path, &st) < 0))
		return error_set(e, -errno, NULL, "%s: %s", s->path, strerror(errno));
	if (fd < 0 && !S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, NULL, "%s: a log must be a regular file", s->path);
	/* Before SQLite has it: to close any descriptor of a file ends the locks on it. */
	fd_close(&fd);
	r = sql_open(&s->sql, s->path, SQL_WRITE, e);
	if (r < 0)
		return r;
	sql_patience(&s->sql, s->patience_ms);
	/* What SQLite answers is the mode that it has in the end. */
	r = sql_answers(&s->sql, "PRAGMA journal_mode=WAL", "wal", e);
	if (r == 0)
		return error_set(e, -EOPNOTSUPP, NULL,
			"%s: this file system does not support the shared memory that a "
			"write-ahead log needs",
			s->path);
	if (r > 0)
		r = sql_run(&s->sql, store_sync[full], e);
	if (r == 0)
		r = sql_run(&s->sql, "PRAGMA wal_autocheckpoint=8192", e);
	return r == 0 ? store_begin_or_resume(s, e) : r;
}

static void store_free(struct audit_store *s)
{
	for (size_t i = 0; i < STORE_STATEMENTS; i++)
		(void)sqlite3_finalize(s->statements[i]);
	sql_close(&s->sql);
	/* A child of the process may have the descriptor, too, so closing it is not enough. */
	if (s->lock >= 0)
		store_unlock(s);
	fd_close(&s->lock);
	key_deinit(&s->key);
	buffer_deinit(&s->queue);
	free(s->ends);
	free(s->path);
	free(s->head_path);
	free(s);
}

/*
 * Before anything is made: what cannot be a log gets no lock and no key beside it, which for a
 * folder would lie outside of it ("/.key").
 */
static int store_check_name(const char *path, struct error *e)
{
	const size_t len = strlen(path);
	struct stat st;

	if (len == 0 || path[len - 1] == '/' || (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return error_set(e, -EINVAL, NULL, "%s: a log must be a regular file",
			len ? path : "(no name)");
	return 0;
}

/* Others may be at it, too, the first time as well. */
static int store_open_locked(
	struct audit_store *s, const struct audit_store_options *o, struct error *e)
{
	char *key = store_name_or(o->key_path, o->path, ".key");
	char *lock = store_name_or(NULL, s->path, ".lock");
	int r = key && lock ? store_check_name(s->path, e) : error_no_memory(e);

	if (r == 0 && lock) {
		s->lock = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
		if (s->lock < 0)
			r = error_set(e, -errno, NULL, "%s: %s", lock, strerror(errno));
	}
	if (r == 0)
		r = store_lock(s, e);
	if (r == 0) {
		r = key_open(&s->key, key, e);
		if (r == 0)
			r = store_open_file(s, e);
		store_unlock(s);
	}
	free(key);
	free(lock);
	return r;
}

int audit_store_open(struct audit_store **ret, const struct audit_store_options *o, struct error *e)
{
	struct audit_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_no_memory(e);
	s->lock = -1;
	s->patience_ms = o->patience_ms ? o->patience_ms : PATIENCE_MS;
	audit_batch_init(&s->batch, o->batch, o->batch_ms);
	s->options = *o;
	s->options.path = s->options.key_path = s->options.head_path = NULL;
	if (!o->sign_records)
		s->options.sign_records = DEFAULT_SIGN_RECORDS;
	if (!o->sign_seconds)
		s->options.sign_seconds = DEFAULT_SIGN_SECONDS;
	s->path = store_name_or(o->path, NULL, "");
	s->head_path = store_name_or(o->head_path, o->path, ".head");
	s->ends = calloc(s->batch.most, sizeof(s->ends[0]));
	if (!s->path || !s->head_path || !s->ends)
		r = error_no_memory(e);
	else
		r = store_open_locked(s, o, e);
	if (r < 0) {
		store_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Puts a record after those that wait; the queue is as before if it fails. */
static int store_enqueue(struct audit_store *s, const struct audit_event *event)
{
	const size_t before = s->queue.len;
	static const uint8_t number[CHAIN_NUMBER_BYTES];

	if ((unsigned)event->action >= AUDIT_ACTION_COUNT ||
		(unsigned)event->decision >= AUDIT_DECISION_COUNT)
		return -EINVAL;
	buffer_add(&s->queue, number, sizeof(number));
	audit_event_encode(event, &s->queue);
	if (s->queue.failed) {
		s->queue.failed = false;
		s->queue.len = before;
		return -ENOMEM;
	}
	s->ends[s->queued++] = s->queue.len;
	return 0;
}

static bool store_batch_is_due(struct audit_store *s)
{
	return audit_batch_is_due(&s->batch, s->queued, clock_ms(CLOCK_MONOTONIC));
}

int audit_store_add(struct audit_store *s, const struct audit_event *event)
{
	int r = s->queued < s->batch.most ? 0 : audit_store_commit(s, NULL);

	if (r == 0)
		r = store_enqueue(s, event);
	if (r < 0 || !store_batch_is_due(s))
		return r;
	r = audit_store_commit(s, NULL);
	if (r < 0) {
		s->queued--;
		s->queue.len = s->queued ? s->ends[s->queued - 1] : 0;
		if (!s->queued)
			atomic_store(&s->batch.since_ms, 0);
	}
	return r;
}

static bool store_head_is_due(const struct audit_store *s)
{
	const uint64_t number = s->chain.tree.n + s->queued;

	if (number == s->head.number)
		return false;
	return number - s->head.number >= s->options.sign_records ||
	       clock_ms(CLOCK_MONOTONIC) - s->signed_ms >= s->options.sign_seconds * 1000;
}

/* With the lock. Whether a head is due may have changed with what others did. */
static int store_commit(struct audit_store *s, struct error *e)
{
	int r = store_catch_up(s, e);
	const bool seal = store_head_is_due(s);

	if (r < 0 || (!seal && !s->queued))
		return r;
	r = store_write(s, seal ? STORE_SEALED : STORE_PLAIN, e);
	/* The records are safe. If the second file cannot be written now, the next head tries it
	 * again, and audit_store_sign() says so. */
	if (r == 0 && seal)
		(void)store_save_head(s, NULL);
	return r;
}

/* With the lock. */
static int store_sign(struct audit_store *s, struct error *e)
{
	const bool retains = s->options.keep_records || s->options.keep_seconds;
	int r = store_catch_up(s, e);

	/* Time alone may let old records go. */
	if (r == 0 && (s->chain.tree.n + s->queued != s->head.number || retains))
		r = store_write(s, STORE_SEALED, e);
	return r == 0 ? store_save_head(s, e) : r;
}

static int store_with_lock(
	struct audit_store *s, int (*call)(struct audit_store *, struct error *), struct error *e)
{
	int r = store_lock(s, e);

	if (r < 0)
		return r;
	r = call(s, e);
	store_unlock(s);
	return r;
}

int audit_store_commit(struct audit_store *s, struct error *e)
{
	return s->queued || store_head_is_due(s) ? store_with_lock(s, store_commit, e) : 0;
}

int audit_store_sign(struct audit_store *s, struct error *e)
{
	return store_with_lock(s, store_sign, e);
}

int audit_store_close(struct audit_store *s, struct error *e)
{
	int r;

	if (!s)
		return 0;
	r = store_lock(s, e);
	if (r == 0)
		r = store_sign(s, e);
	/* The last one takes the write-ahead log away: with the lock, if it was to be had. */
	store_free(s);
	return r;
}

int audit_store_tick(struct audit_store *s, struct error *e)
{
	return store_batch_is_due(s) || store_head_is_due(s) ? audit_store_commit(s, e) : 0;
}

int audit_store_wait_ms(struct audit_store *s)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (s->queued)
		return audit_batch_wait_ms(&s->batch, s->queued, now);
	if (s->chain.tree.n != s->head.number)
		return audit_batch_left_ms(now, s->signed_ms + s->options.sign_seconds * 1000);
	return -1;
}

uint64_t audit_store_committed(const struct audit_store *s)
{
	return s->chain.tree.n;
}
