/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the range of numbers is SQL's matter, as bound parameters. All other conditions are checked
 * here on the decoded event: what the hash covers is the only place where a field is kept, so a
 * filter cannot be misled by a column that somebody edited, and no index slows the writer down. It
 * costs a pass over the range, a microsecond or so for each record.
 */
#include "audit/store/log.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "audit/store/log-part.h"
#include "audit/store/schema.h"
#include "policy/match/glob.h"

int audit_log_open(struct audit_log **ret, const char *path, struct error *e)
{
	struct audit_log *l = calloc(1, sizeof(*l));
	int r;

	if (l)
		l->path = strdup(path);
	if (!l || !l->path)
		r = error_no_memory(e);
	else if (sodium_init() < 0)
		r = error_set(e, -EIO, NULL, "libsodium does not work here");
	else
		r = sql_open(&l->sql, l->path, SQL_READ, e);
	if (r == 0)
		r = schema_check(&l->sql, e);
	if (r > 0)
		r = error_set(e, -EBADMSG, NULL, "%s: it is empty, no audit log", path);
	if (r < 0)
		audit_log_close(l);
	else
		*ret = l;
	return r;
}

void audit_log_close(struct audit_log *l)
{
	if (!l)
		return;
	sql_close(&l->sql);
	free(l->path);
	free(l);
}

int log_freeze(struct audit_log *l, struct error *e)
{
	return sql_run(&l->sql, "BEGIN", e);
}

void log_thaw(struct audit_log *l)
{
	(void)sql_run(&l->sql, "ROLLBACK", NULL);
}

int log_record_read(sqlite3_stmt *st, struct log_record *ret)
{
	const uint8_t *hash;
	size_t len;

	ret->number = (uint64_t)sqlite3_column_int64(st, 0);
	ret->data = sql_blob(st, 1, LOG_RECORD_MAX, &ret->len);
	hash = sql_blob(st, 2, HASH_BYTES, &len);
	if (!ret->data || ret->len <= CHAIN_NUMBER_BYTES || !hash || len != HASH_BYTES)
		return -EBADMSG;
	memcpy(ret->hash.bytes, hash, HASH_BYTES);
	return 0;
}

static int first_number(sqlite3_stmt *st, struct sql *s, uint64_t *ret, struct error *e)
{
	int r = sql_step(s, st, e);

	if (r >= 0)
		*ret = r ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	return r < 0 ? r : 0;
}

int audit_log_range(struct audit_log *l, uint64_t *ret_first, uint64_t *ret_last, struct error *e)
{
	auto_statement *up = NULL, *down = NULL;
	uint64_t first = 0, last = 0;
	int r = sql_prepare(&l->sql, &up, "SELECT number FROM record ORDER BY number LIMIT 1", e);

	if (r == 0)
		r = sql_prepare(&l->sql, &down,
			"SELECT number FROM record ORDER BY number DESC LIMIT 1", e);
	if (r == 0)
		r = first_number(up, &l->sql, &first, e);
	if (r == 0)
		r = first_number(down, &l->sql, &last, e);
	if (r < 0)
		return r;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

/* A query made ready. */
struct filter {
	const struct audit_query *query;
	struct arena arena;
	struct glob paths; /* if the pattern is one for paths */
	bool has_paths;
};

static int filter_init(struct filter *f, const struct audit_query *q, struct error *e)
{
	*f = (struct filter){ .query = q };
	if (!q->target || q->target[0] != '/')
		return 0;
	f->has_paths = true;
	return glob_parse(&f->paths, &f->arena, q->target, NULL, e);
}

static bool target_matches(const struct filter *f, const char *target)
{
	if (!f->query->target)
		return true;
	if (f->has_paths)
		return glob_match(&f->paths, target, strlen(target));
	return sqlite3_strglob(f->query->target, target) == 0;
}

static bool matches(const struct filter *f, const struct audit_event *v)
{
	const struct audit_query *q = f->query;

	return v->time_ns >= q->since_ns && (!q->until_ns || v->time_ns <= q->until_ns) &&
	       (q->action < 0 || q->action == (int)v->action) &&
	       (q->decision < 0 || q->decision == (int)v->decision) &&
	       (!q->session || strcmp(q->session, v->session) == 0) && target_matches(f, v->target);
}

static int log_decode(struct audit_log *l, sqlite3_stmt *st, struct audit_row *ret, struct error *e)
{
	struct log_record record;
	int r = log_record_read(st, &record);

	if (r == 0)
		r = audit_event_decode(&ret->event, record.data + CHAIN_NUMBER_BYTES,
			record.len - CHAIN_NUMBER_BYTES);
	if (r < 0) {
		(void)error_set(e, r, NULL, "%s: record %llu cannot be read", l->path,
			(unsigned long long)record.number);
		return r;
	}
	ret->number = record.number;
	ret->hash = record.hash;
	return 0;
}

/* Pages that somebody edited may hold the same rows again and again, without an end. */
static int check_order(struct audit_log *l, const struct audit_query *q, uint64_t before,
	uint64_t number, struct error *e)
{
	if (q->newest_first ? number < before : number > before)
		return 0;
	return error_set(e, -EBADMSG, NULL, "%s: record %llu does not stand in its place", l->path,
		(unsigned long long)number);
}

static int visit_rows(struct audit_log *l, sqlite3_stmt *st, const struct filter *f,
	audit_log_visit *visit, void *context, struct error *e)
{
	uint64_t left = f->query->limit ? f->query->limit : UINT64_MAX, before = 0;
	bool is_first = true;
	struct audit_row row;
	int r;

	while (left && (r = sql_step(&l->sql, st, e)) != 0) {
		if (r > 0)
			r = log_decode(l, st, &row, e);
		if (r == 0 && !is_first)
			r = check_order(l, f->query, before, row.number, e);
		if (r < 0)
			return r;
		is_first = false;
		before = row.number;
		if (!matches(f, &row.event))
			continue;
		r = visit(context, &row);
		if (r)
			return r;
		left--;
	}
	return 0;
}

int audit_log_read(struct audit_log *l, const struct audit_query *q, audit_log_visit *visit,
	void *context, struct error *e)
{
	static const char *const texts[] = {
		"SELECT number, event, hash FROM record WHERE number BETWEEN ?1 AND ?2 "
		"ORDER BY number",
		"SELECT number, event, hash FROM record WHERE number BETWEEN ?1 AND ?2 "
		"ORDER BY number DESC",
	};
	auto_statement *st = NULL;
	struct filter f;
	int r = filter_init(&f, q, e);

	if (r == 0)
		r = sql_prepare(&l->sql, &st, texts[q->newest_first], e);
	if (r == 0) {
		sql_bind_number(st, 1, q->from > INT64_MAX ? INT64_MAX : q->from);
		sql_bind_number(st, 2, q->to && q->to <= INT64_MAX ? q->to : INT64_MAX);
		r = visit_rows(l, st, &f, visit, context, e);
	}
	arena_deinit(&f.arena);
	return r;
}
