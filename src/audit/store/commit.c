/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes durable, in one transaction: the records that wait, and, when it is time, the signed
 * head that covers them together with what retention takes away. So at any point at which a process
 * may end, the store is what some head and the chain behind it say.
 *
 * The second file follows the commit, never the other way round: it may be a head behind, which is
 * harmless, but must not speak of records that are not there. To hold this through a loss of power,
 * a transaction with a head is synced even where others are not.
 */
#include <errno.h>
#include <sodium.h>
#include <time.h>

#include "audit/store/heads.h"
#include "audit/store/schema.h"
#include "audit/store/internal.h"
#include "base/array.h"
#include "base/clock.h"

/* Segments that retention looks at for one head: work has a bound, and still outruns growth. */
enum { CUT_MAX = 8 };

/* A clock that was set back must neither make heads out of order nor let retention remove what is
 * young. */
static uint64_t head_time(const struct audit_store *s)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);

	return now > s->head.time_ns ? now : s->head.time_ns;
}

static int insert_queue(struct audit_store *s, struct chain *c, struct error *e)
{
	uint8_t *queue = (uint8_t *)s->queue.data;
	size_t start = 0;

	for (unsigned i = 0; i < s->queued; i++) {
		const size_t len = s->ends[i] - start;
		int r;

		chain_put_number(queue + start, c->tree.n + 1);
		chain_add(c, queue + start, len);
		sql_bind_number(s->insert, 1, c->tree.n);
		sql_bind_blob(s->insert, 2, queue + start, len);
		sql_bind_blob(s->insert, 3, c->hash.bytes, sizeof(c->hash.bytes));
		r = sql_finish(&s->sql, s->insert, e);
		if (r < 0)
			return r;
		start = s->ends[i];
	}
	return 0;
}

/* May everything up to this head go? Only what the head says under its signature counts. */
static bool may_go(const struct audit_store *s, const struct head *h, uint64_t number)
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
static int find_cut(struct audit_store *s, uint64_t number, uint64_t *ret, struct error *e)
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
		if (r < 0 || (row.head.number > *ret && !may_go(s, &row.head, number)))
			return 0;
		*ret = row.head.number > *ret ? row.head.number : *ret;
	}
	return r;
}

/* The head at the cut stays: the rest is verified from there. */
static int store_commit_cut(struct audit_store *s, uint64_t number, struct error *e)
{
	static const char *const texts[] = {
		"DELETE FROM record WHERE number <= ?1",
		"DELETE FROM head WHERE number < ?1",
	};
	int r = 0;

	for (size_t i = 0; i < ROWS(texts) && r == 0; i++) {
		auto_statement *st = NULL;

		r = sql_prepare(&s->sql, &st, texts[i], e);
		if (r < 0)
			return r;
		sql_bind_number(st, 1, number);
		r = sql_finish(&s->sql, st, e);
	}
	return r;
}

static int put_head(struct audit_store *s, const struct chain *c, struct head *h, struct error *e)
{
	uint64_t removed;
	int r = find_cut(s, c->tree.n, &removed, e);

	if (r == 0 && removed > h->removed)
		r = store_commit_cut(s, removed, e);
	if (r < 0)
		return r;
	h->number = c->tree.n;
	h->removed = removed;
	h->time_ns = head_time(s);
	h->chain = c->hash;
	h->root = merkle_root(&c->tree);
	head_sign(h, &s->key);
	return heads_put(&s->sql, h, &c->tree, e);
}

/* Nothing is open afterwards, whatever went wrong. */
static void roll_back(struct audit_store *s)
{
	if (!sqlite3_get_autocommit(s->sql.db))
		(void)sql_run(&s->sql, "ROLLBACK", NULL);
}

static int set_sync(struct audit_store *s, bool full, struct error *e)
{
	if (s->options.sync == AUDIT_SYNC_FULL)
		return 0;
	return sql_run(&s->sql, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e);
}

static int transact(struct audit_store *s, struct chain *c, struct head *h, struct error *e)
{
	int r = sql_finish(&s->sql, s->begin, e);

	if (r == 0)
		r = insert_queue(s, c, e);
	if (r == 0 && h)
		r = put_head(s, c, h, e);
	if (r == 0)
		r = sql_finish(&s->sql, s->commit, e);
	if (r < 0)
		roll_back(s);
	return r;
}

int store_write(struct audit_store *s, enum store_seal seal, struct error *e)
{
	struct chain c = s->chain;
	struct head h = s->head;
	int r = seal ? set_sync(s, true, e) : 0;

	if (r == 0)
		r = transact(s, &c, seal ? &h : NULL, e);
	if (seal) /* should this fail, commits are slower than they need to be */
		(void)set_sync(s, false, NULL);
	if (r < 0)
		return r;
	s->chain = c;
	s->queued = 0;
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
	int r = set_sync(s, true, e);

	randombytes_buf(h.log, sizeof(h.log));
	chain_begin(&c, h.log);
	if (r == 0)
		r = sql_run(&s->sql, "BEGIN IMMEDIATE", e);
	if (r == 0)
		r = schema_create(&s->sql, e);
	if (r == 0)
		r = put_head(s, &c, &h, e);
	if (r == 0)
		r = sql_run(&s->sql, "COMMIT", e);
	if (r < 0)
		roll_back(s);
	return r < 0 ? r : set_sync(s, false, e);
}
