/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer goes on from the last signed head: the signature covers the chain's hash and the root,
 * the root covers the frontier. Only the records behind that head are read again, at most as many
 * as lie between two heads, and usually none, because closing signs. So opening does not depend on
 * how long a log is; and what somebody did to its end is not signed by us afterwards.
 */
#include <errno.h>
#include <string.h>

#include "audit/heads.h"
#include "audit/log-part.h"
#include "audit/store-part.h"

static int refuse(struct audit_store *s, const char *why, struct error *e)
{
	(void)error_set(e, -EBADMSG, NULL, "%s: %s", s->path, why);
	error_hint(e, "`corral audit verify` says what was changed; to go on, move the log and its "
		      "head away");
	return -EBADMSG;
}

static int check_key(struct audit_store *s, const struct head *h, struct error *e)
{
	switch (head_check(h, &s->key.public)) {
	case 0:
		return 0;
	case -EKEYREJECTED:
		return refuse(s, "the last head was signed by another key", e);
	default:
		return refuse(s, "the signature of the last head is wrong", e);
	}
}

/* The log begins where the last head says. */
static int check_beginning(struct audit_store *s, const struct head *last, struct error *e)
{
	struct heads_row first;
	int r = heads_get(&s->sql, HEADS_FIRST, &first, e);

	if (r < 0 && r != -EBADMSG && r != -ENOENT)
		return r;
	if (r < 0 || first.head.number != last->removed)
		return refuse(s, "its beginning is not what was signed", e);
	return 0;
}

/* The record of the head is there, and is the one that was signed. */
static int check_signed_record(struct audit_store *s, const struct head *h, struct error *e)
{
	auto_statement *st = NULL;
	struct log_record record;
	int r;

	if (h->number == h->removed)
		return 0;
	r = sql_prepare(
		&s->sql, &st, "SELECT number, event, hash FROM record WHERE number = ?1", e);
	if (r < 0)
		return r;
	sql_bind_number(st, 1, h->number);
	r = sql_step(&s->sql, st, e);
	if (r < 0)
		return r;
	if (r == 0 || log_record_read(st, &record) < 0 || !merkle_equal(&record.hash, &h->chain))
		return refuse(s, "its end is not what was signed", e);
	return 0;
}

static int replay(struct audit_store *s, struct error *e)
{
	auto_statement *st = NULL;
	struct log_record record;
	int r = sql_prepare(&s->sql, &st,
		"SELECT number, event, hash FROM record WHERE number > ?1 ORDER BY number", e);

	if (r < 0)
		return r;
	sql_bind_number(st, 1, s->chain.tree.n);
	while ((r = sql_step(&s->sql, st, e)) > 0) {
		if (log_record_read(st, &record) < 0)
			return refuse(s, "a record at its end was changed", e);
		chain_add(&s->chain, record.data, record.len);
		if (record.number != s->chain.tree.n ||
			log_record_claim(&record) != record.number ||
			!merkle_equal(&record.hash, &s->chain.hash))
			return refuse(s, "a record at its end was changed or removed", e);
	}
	return r;
}

static bool is_same(const struct head *a, const struct head *b)
{
	return merkle_equal(&a->chain, &b->chain) && merkle_equal(&a->root, &b->root);
}

/* The head in the second file must be one of this log, and not later than its last. */
static int check_second(struct audit_store *s, const struct head *second, struct error *e)
{
	struct heads_row row;
	int r;

	if (head_check(second, &s->key.public) < 0)
		return refuse(s, "the head in its second file was changed", e);
	if (memcmp(second->log, s->head.log, sizeof(second->log)) != 0)
		return refuse(s, "the head in its second file is of another log", e);
	if (second->number > s->head.number || second->removed > s->head.removed)
		return refuse(s, "it ends before the head in its second file", e);
	if (second->number < s->head.removed)
		return 0;
	r = heads_at(&s->sql, second->number, &row, e);
	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return r;
	if (r < 0 || !is_same(second, &row.head))
		return refuse(s, "it is not the log of the head in its second file", e);
	return 0;
}

static int compare_second(struct audit_store *s, struct error *e)
{
	struct head second;
	int r = head_load(&second, s->head_path, e);

	/* A log that was just made has not written it yet. */
	if (r == -ENOENT && s->chain.tree.n == 0)
		return 0;
	if (r == -ENOENT)
		return refuse(s, "the second file with its last head is not there", e);
	if (r == 0)
		r = check_second(s, &second, e);
	if (r == 0)
		s->head_saved =
			second.number == s->head.number && second.removed == s->head.removed;
	return r;
}

int store_resume(struct audit_store *s, struct error *e)
{
	struct heads_row last;
	int r = heads_get(&s->sql, HEADS_LAST, &last, e);

	if (r == -ENOENT)
		return refuse(s, "it has no signed head", e);
	if (r < 0)
		return r;
	s->head = last.head;
	s->chain = last.chain;
	r = check_key(s, &last.head, e);
	if (r == 0)
		r = check_beginning(s, &last.head, e);
	if (r == 0)
		r = check_signed_record(s, &last.head, e);
	if (r == 0)
		r = replay(s, e);
	return r == 0 ? compare_second(s, e) : r;
}
