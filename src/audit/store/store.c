/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, closing, and the queue in front of the commits. Which number a record gets is not known
 * before it is committed, because others write, too: the queue has room for it.
 */
#include "audit/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/store/internal.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

enum { DEFAULT_SIGN_RECORDS = 16384, DEFAULT_SIGN_SECONDS = 10, PATIENCE_MS = 5000 };

/* name, or path with something behind it; NULL: out of memory */
static char *store_name_or(const char *name, const char *path, const char *suffix)
{
	struct buffer b = { 0 };

	buffer_adds(&b, name ? name : path);
	buffer_adds(&b, name ? "" : suffix);
	return buffer_take(&b);
}

/* An empty file for SQLite to fill: its own would be readable by others. */
static int store_make_file(struct audit_store *s, struct error *e)
{
	auto_fd fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0)
		return 0;
	if (errno != EEXIST || lstat(s->path, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", s->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, NULL, "%s: a log must be a plain file", s->path);
	return 0;
}

static int store_prepare(struct audit_store *s, struct error *e)
{
	static const char *const texts[STORE_STATEMENTS] = {
		[STORE_BEGIN] = "BEGIN IMMEDIATE",
		[STORE_INSERT] = "INSERT INTO record VALUES (?1, ?2, ?3)",
		[STORE_COMMIT] = "COMMIT",
		[STORE_VERSION] = "PRAGMA data_version",
	};
	int r = 0;

	for (size_t i = 0; i < STORE_STATEMENTS && r == 0; i++)
		r = sql_prepare(&s->sql, &s->statements[i], texts[i], e);
	return r;
}

static int store_begin_or_resume(struct audit_store *s, struct error *e)
{
	int r = schema_check(&s->sql, e);

	if (r < 0)
		return r;
	if (r > 0 && access(s->head_path, F_OK) == 0) {
		(void)error_set(e, -EBADMSG, NULL, "%s: it is empty, but %s has the head of a log",
			s->path, s->head_path);
		error_hint(e, "if you moved the log away, move that file with it");
		return -EBADMSG;
	}
	if (r > 0)
		r = store_create(s, e);
	/* Its tables must be there before statements can speak of them. */
	if (r == 0)
		r = store_prepare(s, e);
	if (r == 0)
		r = store_begin(s, e);
	return r == 0 ? store_save_head(s, e) : r;
}

static int store_open_file(struct audit_store *s, struct error *e)
{
	const char *sync = s->options.sync == AUDIT_SYNC_FULL ? "PRAGMA synchronous=FULL"
							      : "PRAGMA synchronous=NORMAL";
	int r = store_make_file(s, e);

	if (r == 0)
		r = sql_open(&s->sql, s->path, SQL_WRITE, e);
	if (r < 0)
		return r;
	/* What SQLite answers is the mode that it has in the end. */
	r = sql_answers(&s->sql, "PRAGMA journal_mode=WAL", "wal", e);
	if (r == 0)
		return error_set(e, -EOPNOTSUPP, NULL,
			"%s: this file system has no shared memory for a write-ahead log", s->path);
	if (r > 0)
		r = sql_run(&s->sql, sync, e);
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

/* Others may be at it, too, the first time as well. */
static int store_open_locked(
	struct audit_store *s, const struct audit_store_options *o, struct error *e)
{
	char *key = store_name_or(o->key_path, o->path, ".key");
	int r = key ? store_lock_open(s, e) : error_no_memory(e);

	if (r == 0)
		r = store_lock(s, e);
	if (r == 0) {
		r = key_open(&s->key, key, e);
		if (r == 0)
			r = store_open_file(s, e);
		store_unlock(s);
	}
	free(key);
	return r;
}

int audit_store_open(struct audit_store **ret, const struct audit_store_options *o, struct error *e)
{
	struct audit_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_no_memory(e);
	s->lock = -1;
	s->patience_ms = PATIENCE_MS;
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

/* Puts a record behind those that wait; the queue is as before if it fails. */
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
