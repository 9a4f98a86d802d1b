/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the range of numbers is SQL's matter, as bound parameters. All other conditions are checked
 * here on the decoded event: what the hash covers is the only place where a field is kept, so a
 * filter cannot be misled by a column that was edited, and no index slows the writer down. It
 * costs a pass over the range, a microsecond or so for each record.
 */
#include "audit/store/log.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "audit/store/internal.h"
#include "base/array.h"
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
		r = error_set(e, -EIO, NULL, "libsodium could not be initialized");
	else
		r = sql_open(&l->sql, l->path, SQL_READ, e);
	if (r == 0)
		r = schema_check(&l->sql, e);
	if (r > 0)
		r = error_set(e, -EBADMSG, NULL, "%s: not an audit log: the file is empty", path);
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

int log_record_read(sqlite3_stmt *st, struct log_record *ret)
{
	const uint8_t *hash;
	size_t len;

	ret->number = sql_number(st, 0);
	ret->data = sql_blob(st, 1, LOG_RECORD_MAX, &ret->len);
	hash = sql_blob(st, 2, HASH_BYTES, &len);
	if (!ret->data || ret->len <= CHAIN_NUMBER_BYTES || !hash || len != HASH_BYTES)
		return -EBADMSG;
	memcpy(ret->hash.bytes, hash, HASH_BYTES);
	return 0;
}

int log_record_decode(const struct log_record *r, struct audit_event *ret)
{
	return audit_event_decode(ret, r->data + CHAIN_NUMBER_BYTES, r->len - CHAIN_NUMBER_BYTES);
}

int audit_log_range(struct audit_log *l, uint64_t *ret_first, uint64_t *ret_last, struct error *e)
{
	static const char *const texts[] = {
		"SELECT number FROM record ORDER BY number LIMIT 1",
		"SELECT number FROM record ORDER BY number DESC LIMIT 1",
	};
	uint64_t numbers[ROWS(texts)] = { 0 };

	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_statement *st = NULL;
		int r = sql_prepare(&l->sql, &st, texts[i], e);

		if (r == 0)
			r = sql_step(&l->sql, st, e);
		if (r < 0)
			return r;
		numbers[i] = r ? sql_number(st, 0) : 0;
	}
	*ret_first = numbers[0];
	*ret_last = numbers[1];
	return 0;
}

/* A query made ready. */
struct log_filter {
	const struct audit_query *query;
	struct arena arena;
	struct glob paths; /* if the pattern is one for paths */
	bool has_paths;
};

static bool log_matches(const struct log_filter *f, const struct audit_event *v)
{
	const struct audit_query *q = f->query;

	if (v->time_ns < q->since_ns || (q->until_ns && v->time_ns > q->until_ns) ||
		(q->action >= 0 && q->action != (int)v->action) ||
		(q->decision >= 0 && q->decision != (int)v->decision) ||
		(q->session && strcmp(q->session, v->session) != 0))
		return false;
	if (f->has_paths)
		return glob_match(&f->paths, v->target, strlen(v->target));
	return !q->target || sqlite3_strglob(q->target, v->target) == 0;
}

static int log_visit_rows(struct audit_log *l, sqlite3_stmt *st, const struct log_filter *f,
	audit_log_visit *visit, void *context, struct error *e)
{
	const struct audit_query *q = f->query;
	uint64_t left = q->limit ? q->limit : UINT64_MAX;
	struct log_record record;
	struct audit_row row;
	bool is_first = true;
	int r;

	while (left && (r = sql_step(&l->sql, st, e)) != 0) {
		if (r < 0)
			return r;
		r = log_record_read(st, &record);
		if (r == 0)
			r = log_record_decode(&record, &row.event);
		if (r < 0)
			return error_set(e, r, NULL, "%s: record %llu cannot be read", l->path,
				(unsigned long long)record.number);
		/* Pages that were edited may hold the same rows again and again. */
		if (!is_first && !(q->newest_first ? record.number < row.number
						   : record.number > row.number))
			return error_set(e, -EBADMSG, NULL, "%s: record %llu is not in its place",
				l->path, (unsigned long long)record.number);
		is_first = false;
		row.number = record.number;
		row.hash = record.hash;
		if (!log_matches(f, &row.event))
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
		LOG_RECORDS "WHERE number BETWEEN ?1 AND ?2 ORDER BY number",
		LOG_RECORDS "WHERE number BETWEEN ?1 AND ?2 ORDER BY number DESC",
	};
	auto_statement *st = NULL;
	struct log_filter f = { .query = q, .has_paths = q->target && q->target[0] == '/' };
	int r = f.has_paths ? glob_parse(&f.paths, &f.arena, q->target, NULL, e) : 0;

	if (r == 0)
		r = sql_prepare(&l->sql, &st, texts[q->newest_first], e);
	if (r == 0) {
		sql_bind_number(st, 1, q->from > INT64_MAX ? INT64_MAX : q->from);
		sql_bind_number(st, 2, q->to && q->to <= INT64_MAX ? q->to : INT64_MAX);
		r = log_visit_rows(l, st, &f, visit, context, e);
	}
	arena_deinit(&f.arena);
	return r;
}
