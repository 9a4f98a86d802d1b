/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes durable, in one transaction: the records that wait, and, when it is time, the signed
 * head that covers them together with what retention takes away. So at any point at which a process
 * may end, the store is what some head and the chain behind it say.
 *
 * The second file follows the commit, never the other way round: it may be a head behind, which is
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
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "audit/store/internal.h"
#include "base/array.h"
#include "base/clock.h"

/* Segments that retention looks at for one head: work has a bound, and still outruns growth. */
enum { CUT_MAX = 8 };

int store_lock_open(struct audit_store *s, struct error *e)
{
	auto_buffer name = { 0 };

	buffer_printf(&name, "%s.lock", s->path);
	if (name.failed)
		return error_no_memory(e);
	s->lock = open(name.data, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return error_set(e, -errno, NULL, "%s: %s", name.data, strerror(errno));
	return 0;
}

int store_lock(struct audit_store *s, struct error *e)
{
	struct audit_pause pause = { .most_ms = s->patience_ms };

	while (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(e, -errno, NULL, "%s.lock: %s", s->path, strerror(errno));
		if (audit_pause(&pause))
			continue;
		(void)error_set(e, -EBUSY, NULL,
			"%s: another process has this log and does not let go", s->path);
		error_hint(e, "one that was stopped, perhaps: `fuser %s.lock` says which", s->path);
		return -EBUSY;
	}
	return 0;
}

void store_unlock(struct audit_store *s)
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

/* The head at the cut stays: the rest is verified from there. */
static int store_cut(struct audit_store *s, uint64_t number, struct error *e)
{
	static const char *const texts[] = {
		"DELETE FROM record WHERE number <= ?1",
		"DELETE FROM head WHERE number < ?1",
	};
	int r = 0;

	for (size_t i = 0; i < ROWS(texts) && r == 0; i++) {
		auto_statement *st = NULL;

		r = sql_prepare_for(&s->sql, &st, texts[i], number, e);
		if (r == 0)
			r = sql_finish(&s->sql, st, e);
	}
	return r;
}

static int store_put_head(
	struct audit_store *s, const struct chain *c, struct head *h, struct error *e)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	uint64_t removed;
	int r = store_find_cut(s, c->tree.n, &removed, e);

	if (r == 0 && removed > h->removed)
		r = store_cut(s, removed, e);
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

static int store_set_sync(struct audit_store *s, bool full, struct error *e)
{
	if (s->options.sync == AUDIT_SYNC_FULL)
		return 0;
	return sql_run(&s->sql, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e);
}

static int store_transact(struct audit_store *s, struct chain *c, struct head *h, struct error *e)
{
	int r = sql_finish(&s->sql, s->statements[STORE_BEGIN], e);

	if (r == 0)
		r = store_insert_queue(s, c, e);
	if (r == 0 && h)
		r = store_put_head(s, c, h, e);
	if (r == 0)
		r = sql_finish(&s->sql, s->statements[STORE_COMMIT], e);
	if (r < 0)
		store_roll_back(s);
	return r;
}

int store_write(struct audit_store *s, enum store_seal seal, struct error *e)
{
	struct chain c = s->chain;
	struct head h = s->head;
	int r = seal ? store_set_sync(s, true, e) : 0;

	if (r == 0)
		r = store_transact(s, &c, seal ? &h : NULL, e);
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

int store_save_head(struct audit_store *s, struct error *e)
{
	int r = s->head_saved ? 0 : head_save(&s->head, s->head_path, e);

	s->head_saved = r == 0;
	return r;
}

int store_create(struct audit_store *s, struct error *e)
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
