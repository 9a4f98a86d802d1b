/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and heads are read side by side, each in the order of their numbers, in one transaction.
 * A record is judged first by its place (is there a gap?), then by the number it claims (was it
 * moved?), then by its hash. A head is judged when its record was. Whoever changes a record and
 * makes all hashes after it anew gets past the records, but not past the next head; then it is
 * only known between which heads it was.
 *
 * The head in the second file is one more head: read before the transaction begins, so that a
 * writer at work cannot make it look later than the log.
 */
#include "audit/store/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit/store/internal.h"
#include "base/array.h"

/* What comes next in the table of heads. */
struct next_head {
	sqlite3_stmt *st;
	struct heads_row row;
	bool there;
};

struct verify {
	struct audit_log *log;
	struct audit_verdict *verdict;
	struct error *error;
	struct key_public key;
	struct head second, last; /* of the second file; of the table */
	bool has_second;
	struct next_head next;
	struct chain chain;
	uint64_t good; /* the last head that was found right */
};

const char *audit_fault_name(enum audit_fault f)
{
	static const char *const names[] = { [AUDIT_FINE] = "fine",
		[AUDIT_CHANGED] = "changed",
		[AUDIT_REMOVED] = "removed",
		[AUDIT_REORDERED] = "reordered",
		[AUDIT_TRUNCATED] = "truncated",
		[AUDIT_UNSIGNED] = "unsigned",
		[AUDIT_HEADLESS] = "headless",
		[AUDIT_UNREADABLE] = "unreadable" };

	_Static_assert(ROWS(names) == AUDIT_FAULT_COUNT, "each has a name");
	return (unsigned)f < AUDIT_FAULT_COUNT ? names[f] : "unknown";
}

/* A positive outcome, for all functions here: the verdict is there, nothing more is to be done. */
enum { DONE = 1 };

static int __attribute__((format(printf, 4, 5)))
verify_found(struct verify *v, enum audit_fault fault, uint64_t number, const char *format, ...)
{
	va_list args;

	v->verdict->fault = fault;
	v->verdict->number = number;
	va_start(args, format);
	(void)vsnprintf(v->verdict->text, sizeof(v->verdict->text), format, args);
	va_end(args);
	return DONE;
}

static int verify_found_no_head(struct verify *v, uint64_t number)
{
	return verify_found(v, AUDIT_HEADLESS, number,
		"the signed head at record %" PRIu64 " is missing", number);
}

static int verify_check_signature(struct verify *v, const struct head *h, const char *where)
{
	const int r = head_check(h, &v->key);
	const char *fault;

	if (r == -EKEYREJECTED)
		fault = "was signed with another key";
	else if (r < 0)
		fault = "was changed after it was signed";
	else if (memcmp(h->log, v->last.log, sizeof(h->log)) != 0)
		fault = "belongs to another log";
	else
		return 0;
	return verify_found(v, AUDIT_UNSIGNED, h->number, "the head at record %" PRIu64 "%s %s",
		h->number, where, fault);
}

/* What SQLite itself finds wrong is a finding; that it cannot work (memory, I/O) is an error. */
static int verify_found_damage(struct verify *v, int r)
{
	const uint64_t number = v->chain.tree.n + 1;

	if (r != -EBADMSG)
		return r;
	return verify_found(v, AUDIT_UNREADABLE, number,
		"the file is damaged: record %" PRIu64 " and later ones cannot be read", number);
}

/* Moves on in the table of heads. */
static int verify_load_next(struct verify *v)
{
	int r = sql_step(&v->log->sql, v->next.st, v->error);

	v->next.there = r > 0;
	if (r <= 0)
		return verify_found_damage(v, r);
	if (heads_read(v->next.st, &v->next.row) == 0)
		return 0;
	return verify_found(v, AUDIT_UNSIGNED, sql_number(v->next.st, 0),
		"the head at record %lld was changed after it was signed",
		(long long)sqlite3_column_int64(v->next.st, 0));
}

/* The hashes at a head's record, as computed, against what was signed. */
static int verify_check_hashes(struct verify *v, const struct head *h)
{
	if (chain_is_at(&v->chain, &h->chain, &h->root))
		return 0;
	return verify_found(v, AUDIT_CHANGED, v->good + 1,
		"at least one of the records %" PRIu64 " to %" PRIu64
		" was changed, and later hashes were recomputed",
		v->good + 1, h->number);
}

/* All heads that speak of the record that was just read. */
static int verify_check_heads(struct verify *v)
{
	const uint64_t number = v->chain.tree.n;
	int r = 0;

	if (v->next.there && v->next.row.head.number == number) {
		r = verify_check_signature(v, &v->next.row.head, "");
		if (r == 0)
			r = verify_check_hashes(v, &v->next.row.head);
		if (r == 0) {
			v->good = number;
			r = verify_load_next(v);
		}
		/* One that comes too late would never be looked at, and keep the others from it:
		 * SQLite gives the rows of a page that was edited as they stand. */
		if (r == 0 && v->next.there && v->next.row.head.number <= number)
			r = verify_found(v, AUDIT_UNSIGNED, v->next.row.head.number,
				"the head at record %" PRIu64 " is not in its place",
				v->next.row.head.number);
	}
	if (r == 0 && v->has_second && v->second.number == number)
		r = verify_check_hashes(v, &v->second);
	return r;
}

static int verify_found_moved(struct verify *v, sqlite3_stmt *st, uint64_t number, uint64_t claim)
{
	struct log_record next;
	int r = claim > number ? sql_step(&v->log->sql, st, NULL) : -EINVAL;

	/* The next row claims the number after that one: all were moved up by a removal. */
	if (r == 0 ||
		(r > 0 && log_record_read(st, &next) == 0 && log_record_claim(&next) == claim + 1))
		return verify_found(v, AUDIT_REMOVED, number,
			"record %" PRIu64
			" is missing: later ones were renumbered to close the gap",
			number);
	return verify_found(v, AUDIT_REORDERED, number,
		"record %" PRIu64 " was replaced by record %" PRIu64, number, claim);
}

static int verify_check_record(struct verify *v, sqlite3_stmt *st)
{
	const uint64_t expected = v->chain.tree.n + 1;
	struct log_record record;
	struct audit_event event;
	const int r = log_record_read(st, &record);

	if (record.number < expected)
		return verify_found(v, AUDIT_CHANGED, record.number,
			"record %" PRIu64 " is before the beginning of the log", record.number);
	if (record.number > expected)
		return verify_found(
			v, AUDIT_REMOVED, expected, "record %" PRIu64 " is missing", expected);
	if (r < 0)
		return verify_found(
			v, AUDIT_CHANGED, expected, "record %" PRIu64 " cannot be read", expected);
	chain_add(&v->chain, record.data, record.len);
	/* A whole record that says that it is another than the one that belongs here. */
	if (log_record_claim(&record) != expected && log_record_decode(&record, &event) == 0)
		return verify_found_moved(v, st, expected, log_record_claim(&record));
	if (log_record_claim(&record) != expected || !merkle_equal(&record.hash, &v->chain.hash))
		return verify_found(v, AUDIT_CHANGED, expected,
			"record %" PRIu64 " does not match its hash", expected);
	v->verdict->records++;
	return verify_check_heads(v);
}

static int verify_check_records(struct verify *v)
{
	auto_statement *st = NULL;
	int r = sql_prepare(&v->log->sql, &st, LOG_RECORDS "ORDER BY number", v->error);

	while (r == 0) {
		r = sql_step(&v->log->sql, st, v->error);
		if (r <= 0)
			return verify_found_damage(v, r);
		r = verify_check_record(v, st);
	}
	return r;
}

/* The last head first: it says where the log begins, and which log it is. */
static int verify_read_last(struct verify *v)
{
	struct heads_row row;
	int r = heads_get(&v->log->sql, HEADS_LAST, &row, v->error);

	if (r == -ENOENT)
		return verify_found_no_head(v, 0);
	if (r == -EBADMSG)
		return verify_found(
			v, AUDIT_UNSIGNED, 0, "the last head was changed after it was signed");
	if (r < 0)
		return r;
	v->last = row.head;
	r = verify_check_signature(v, &v->last, "");
	v->verdict->signed_up_to = r == 0 ? v->last.number : 0;
	v->verdict->removed = r == 0 ? v->last.removed : 0;
	return r;
}

static int verify_check_beginning(struct verify *v)
{
	int r = heads_all(&v->log->sql, &v->next.st, v->error);

	if (r == 0)
		r = verify_load_next(v);
	if (r)
		return r;
	if (!v->next.there || v->next.row.head.number > v->last.removed)
		return verify_found_no_head(v, v->last.removed);
	if (v->next.row.head.number < v->last.removed)
		return verify_found(v, AUDIT_REMOVED, v->next.row.head.number + 1,
			"the log does not begin where its last head says");
	v->chain = v->next.row.chain;
	v->good = v->chain.tree.n;
	return verify_check_heads(v);
}

/* The second file may be behind the log, never before it. */
static int verify_check_second(struct verify *v)
{
	int r;

	if (!v->has_second)
		return 0;
	r = verify_check_signature(v, &v->second, " in the head file");
	if (r || v->second.removed <= v->last.removed)
		return r;
	return verify_found(v, AUDIT_TRUNCATED, v->last.number + 1,
		"the log is older than its head file: retention had removed records up to "
		"%" PRIu64,
		v->second.removed);
}

static int verify_check_end(struct verify *v)
{
	const uint64_t last = v->chain.tree.n;
	uint64_t must = v->last.number;

	if (v->has_second && v->second.number > must)
		must = v->second.number;
	if (last < must)
		return verify_found(v, AUDIT_TRUNCATED, last + 1,
			"the log ends with record %" PRIu64 ", but was signed up to %" PRIu64, last,
			must);
	/* Its hashes were compared, too. */
	return v->good < must ? verify_found_no_head(v, must) : 0;
}

/*
 * All was read from one end to the other. Who looks for numbers (every list does) goes by pages
 * that say where to find them, which no hash covers: SQLite has to say that they are right.
 */
static int verify_check_pages(struct verify *v)
{
	const int r = sql_answers(&v->log->sql, "PRAGMA quick_check(1)", "ok", v->error);

	if (r < 0)
		return verify_found_damage(v, r);
	if (r > 0)
		return 0;
	return verify_found(v, AUDIT_UNREADABLE, v->verdict->removed + 1,
		"the records match the signature, but the database index is damaged: a list may "
		"be incomplete");
}

static int verify_praise(struct verify *v)
{
	const uint64_t n = v->verdict->records, up_to = v->last.number;

	if (up_to == v->chain.tree.n)
		return verify_found(v, AUDIT_FINE, 0, "%" PRIu64 " records, all of them signed", n);
	return verify_found(v, AUDIT_FINE, 0,
		"%" PRIu64 " records; those after %" PRIu64 " are not signed yet", n, up_to);
}

/* Which file: one that was named, or beside the log. */
static const char *verify_file(
	struct verify *v, const char *name, const char *suffix, struct buffer *b)
{
	if (name)
		return name;
	buffer_printf(b, "%s%s", v->log->path, suffix);
	return buffer_text(b);
}

static int verify_load_second(struct verify *v, const char *head_path)
{
	auto_buffer name = { 0 };
	const char *path = verify_file(v, head_path, ".head", &name);
	int r;

	if (!*path)
		return 0;
	r = head_load(&v->second, path, v->error);
	v->has_second = r == 0;
	if (r == -ENOENT)
		return verify_found(v, AUDIT_HEADLESS, 0,
			"the head file does not exist, so a truncated log cannot be detected");
	if (r == -EBADMSG)
		return verify_found(v, AUDIT_UNSIGNED, 0, "the head file contains no signed head");
	return r;
}

int audit_log_verify(struct audit_log *l, const char *public_path, const char *head_path,
	struct audit_verdict *ret, struct error *e)
{
	struct audit_verdict verdict = { 0 };
	struct verify v = { .log = l, .verdict = &verdict, .error = e };
	int (*const steps[])(struct verify *) = { verify_read_last, verify_check_second,
		verify_check_beginning, verify_check_records, verify_check_end, verify_check_pages,
		verify_praise };
	auto_buffer name = { 0 };
	int r = key_public_read(&v.key, verify_file(&v, public_path, ".key.pub", &name), e);

	if (r == 0) {
		key_public_id(&v.key, verdict.key);
		r = verify_load_second(&v, head_path);
	}
	if (r == 0) {
		r = log_freeze(l, e);
		if (r < 0)
			return r;
		r = audit_log_range(l, &verdict.first, &verdict.last, e);
		if (r < 0)
			r = verify_found_damage(&v, r);
		for (size_t i = 0; i < ROWS(steps) && r == 0; i++)
			r = steps[i](&v);
		(void)sqlite3_finalize(v.next.st);
		log_thaw(l);
	}
	if (r < 0)
		return r;
	*ret = verdict;
	return 0;
}
