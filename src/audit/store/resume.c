/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer goes on from the last signed head: the signature covers the chain's hash and the root,
 * the root covers the frontier. Only the records after that head are read again, at most as many
 * as lie between two heads, and usually none, because closing signs. So opening does not depend on
 * how long a log is; and a change of its end is not signed by us afterwards.
 *
 * A writer that is not alone does the same in small: before it commits, it asks SQLite whether
 * others wrote. If so, it goes on from its own last record, which must be where it was left. What
 * came after it is read and must fit, and so must the head that others signed meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "audit/store/internal.h"
#include "base/clock.h"

static int resume_refuse(struct audit_store *s, const char *why, struct error *e)
{
	(void)error_set(e, -EBADMSG, NULL, "%s: %s", s->path, why);
	error_hint(e, "run `corral audit verify` to find out what was changed; to start a new "
		      "log, move this one and its head file away");
	return -EBADMSG;
}

/* The record with this number is there, and has this hash. */
static int resume_check_hash(
	struct audit_store *s, uint64_t number, const struct hash *hash, struct error *e)
{
	auto_statement *st = NULL;
	struct log_record record;
	int r = sql_prepare_for(&s->sql, &st, LOG_RECORDS "WHERE number = ?1", number, e);

	if (r == 0)
		r = sql_step(&s->sql, st, e);
	if (r < 0)
		return r;
	if (r == 0 || log_record_read(st, &record) < 0 || !merkle_equal(&record.hash, hash))
		return resume_refuse(s, "its last records do not match the signature", e);
	return 0;
}

/* Takes the chain on to the end of the log, past a head that lies before it or on the way. */
static int resume_replay(
	struct audit_store *s, struct chain *c, const struct head *h, struct error *e)
{
	auto_statement *st = NULL;
	struct log_record record;
	int r = sql_prepare_for(
		&s->sql, &st, LOG_RECORDS "WHERE number > ?1 ORDER BY number", c->tree.n, e);

	if (r < 0)
		return r;
	for (;;) {
		if (c->tree.n == h->number && !chain_is_at(c, &h->chain, &h->root))
			return resume_refuse(s, "its last records do not match the signature", e);
		r = sql_step(&s->sql, st, e);
		if (r <= 0)
			break;
		r = log_record_read(st, &record);
		if (r == 0)
			chain_add(c, record.data, record.len);
		if (r < 0 || record.number != c->tree.n ||
			log_record_claim(&record) != record.number ||
			!merkle_equal(&record.hash, &c->hash))
			return resume_refuse(
				s, "one of its last records was changed or removed", e);
	}
	if (r == 0 && c->tree.n < h->number)
		return resume_refuse(s, "signed records are missing at its end", e);
	return r;
}

/* The head in the second file must be one of this log, and not later than its last. */
static int resume_check_second(struct audit_store *s, const struct head *second, struct error *e)
{
	struct heads_row row;
	int r;

	if (head_check(second, &s->key.public) < 0)
		return resume_refuse(s, "the head in its head file was changed", e);
	if (memcmp(second->log, s->head.log, sizeof(second->log)) != 0)
		return resume_refuse(s, "its head file belongs to another log", e);
	if (second->number > s->head.number || second->removed > s->head.removed)
		return resume_refuse(s, "it ends before the head in its head file", e);
	if (second->number < s->head.removed)
		return 0;
	r = heads_at(&s->sql, second->number, &row, e);
	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return r;
	if (r < 0 || !merkle_equal(&second->chain, &row.head.chain) ||
		!merkle_equal(&second->root, &row.head.root))
		return resume_refuse(s, "its head file belongs to another log", e);
	return 0;
}

static int resume_last_head(struct audit_store *s, struct heads_row *ret, struct error *e)
{
	int r = heads_get(&s->sql, HEADS_LAST, ret, e);

	return r == -ENOENT ? resume_refuse(s, "it has no signed head", e) : r;
}

/* A head that is new to this writer: it has our signature, and the log begins where it says. */
static int resume_take_head(struct audit_store *s, const struct head *h, struct error *e)
{
	struct heads_row first;
	int r = head_check(h, &s->key.public);

	if (r < 0)
		return resume_refuse(s,
			r == -EKEYREJECTED ? "the last head was signed with another key"
					   : "the signature of the last head is wrong",
			e);
	r = heads_get(&s->sql, HEADS_FIRST, &first, e);
	if (r < 0 && r != -EBADMSG && r != -ENOENT)
		return r;
	if (r < 0 || first.head.number != h->removed)
		return resume_refuse(s, "its first records do not match the signature", e);
	s->head = *h;
	s->signed_ms = clock_ms(CLOCK_MONOTONIC);
	return 0;
}

/* From a chain that is known, past a head, to the end of the log. */
static int resume_from(struct audit_store *s, const struct chain *from, const struct head *h,
	bool is_new, struct error *e)
{
	struct chain c = *from;
	struct head second;
	int r = is_new ? resume_take_head(s, h, e) : 0;

	if (r == 0 && c.tree.n != h->removed)
		r = resume_check_hash(s, c.tree.n, &c.hash, e);
	if (r == 0)
		r = resume_replay(s, &c, h, e);
	if (r < 0)
		return r;
	s->chain = c;
	if (!is_new)
		return 0;
	r = head_load(&second, s->head_path, e);
	/* A log that was just made has not written it yet. */
	if (r == -ENOENT && s->chain.tree.n == 0)
		return 0;
	if (r == -ENOENT)
		return resume_refuse(s, "its head file does not exist", e);
	if (r == 0)
		r = resume_check_second(s, &second, e);
	if (r == 0)
		s->head_saved =
			second.number == s->head.number && second.removed == s->head.removed;
	return r;
}

static int resume_go_on(struct audit_store *s, struct error *e)
{
	struct heads_row last;
	bool is_new;
	int r = resume_last_head(s, &last, e);

	if (r < 0)
		return r;
	if (memcmp(last.head.log, s->head.log, sizeof(s->head.log)) != 0 ||
		last.head.number < s->head.number || last.head.removed < s->head.removed)
		return resume_refuse(s, "signed records are missing at its end", e);
	is_new = memcmp(last.head.signature, s->head.signature, sizeof(s->head.signature)) != 0;
	/* The last record that this writer knows may be gone by retention, or a head was signed
	 * before it (by one that had no lock): then the head is where to go on from. */
	if (s->chain.tree.n > last.head.removed && !(is_new && last.head.number < s->chain.tree.n))
		return resume_from(s, &s->chain, &last.head, is_new, e);
	return resume_from(s, &last.chain, &last.head, true, e);
}

static int resume_read_version(struct audit_store *s, uint64_t *ret, struct error *e)
{
	int r = sql_step(&s->sql, s->statements[STORE_VERSION], e);

	if (r > 0)
		*ret = sql_number(s->statements[STORE_VERSION], 0);
	(void)sqlite3_reset(s->statements[STORE_VERSION]);
	return r < 0 ? r : 0;
}

int store_begin(struct audit_store *s, struct error *e)
{
	struct heads_row last;
	int r = resume_read_version(s, &s->version, e);

	if (r == 0)
		r = resume_last_head(s, &last, e);
	return r == 0 ? resume_from(s, &last.chain, &last.head, true, e) : r;
}

/* What was refused once must not pass the second time, as something that is known already. */
int store_catch_up(struct audit_store *s, struct error *e)
{
	const struct chain chain = s->chain;
	const struct head head = s->head;
	uint64_t version = s->version;
	int r, moved = 0;

	/* What is written to a file that has no name any more is lost. */
	(void)sqlite3_file_control(s->sql.db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (moved)
		return error_set(e, -ENOENT, NULL,
			"%s: the file was removed or moved while it was being written", s->path);
	r = resume_read_version(s, &version, e);
	if (r < 0 || version == s->version)
		return r;
	r = resume_go_on(s, e);
	if (r < 0) {
		s->chain = chain;
		s->head = head;
		return r;
	}
	s->version = version;
	return 0;
}
