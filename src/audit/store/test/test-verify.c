/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tampering, of every kind, done to a log with SQLite itself by somebody who has no key; each must
 * be found, and the record that is named must be the right one.
 */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>
#include <sqlite3.h>

#include "audit/store/head.h"
#include "audit/test/test-audit.h"
#include "base/array.h"

/* Of each log: heads at 0, 100, 200, 300; the last 50 are chained, but not signed. */
enum { RECORDS = 350, SEGMENT = 100, SIGNED = 300 };

static sqlite3 *open_db(struct bench *b)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	return db;
}

static void run_sql(struct bench *b, const char *sql)
{
	sqlite3 *db = open_db(b);
	char *text = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
	/* A statement that changes nothing tests nothing. */
	assert_true(sqlite3_total_changes(db) > 0 || !strstr(sql, "record"));
	sqlite3_close(db);
}

/* The log of a writer that was killed: it has an end that no head covers. */
static struct bench *make_log(void)
{
	struct bench *b = bench_new();
	struct audit_store *s;
	char saved[128], copy[128], wal[128];

	b->options.batch = SEGMENT;
	b->options.sign_records = SEGMENT;
	s = bench_open(b);
	bench_add(s, 1, RECORDS);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	/* Copied as it is now, before closing signs the end. */
	snprintf(saved, sizeof(saved), "%s/saved-head", b->folder);
	snprintf(copy, sizeof(copy), "%s/copy", b->folder);
	bench_copy(b->head, saved);
	bench_copy(b->path, copy);
	snprintf(wal, sizeof(wal), "%s-wal", b->path);
	strcat(copy, "-wal");
	bench_copy(wal, copy);
	bench_close(s);
	assert_int_equal(rename(copy, wal), 0);
	copy[strlen(copy) - 4] = '\0';
	assert_int_equal(rename(copy, b->path), 0);
	assert_int_equal(rename(saved, b->head), 0);
	return b;
}

static void expect(struct bench *b, enum audit_fault fault, uint64_t number, const char *how)
{
	struct audit_verdict v = bench_verify(b);

	if (v.fault != fault || v.number != number)
		fail_msg("%s: %s at %d, not %s at %d: %s", how, audit_fault_name(v.fault),
			(int)v.number, audit_fault_name(fault), (int)number, v.text);
	assert_true(v.text[0]);
}

static void nothing_was_done(void **state)
{
	struct bench *b = make_log();
	struct audit_verdict v = bench_verify(b);

	(void)state;
	expect(b, AUDIT_FINE, 0, "nothing");
	assert_int_equal(v.records, RECORDS);
	assert_int_equal(v.first, 1);
	assert_int_equal(v.last, RECORDS);
	assert_int_equal(v.signed_up_to, SIGNED);
	assert_int_equal(v.removed, 0);
	/* The writer goes on from there. */
	bench_fill(b, RECORDS + 1, 10);
	bench_fine(b, RECORDS + 10);
	bench_free(b);
}

#define TAKE(columns, to, from)                                                              \
	"UPDATE record SET (" columns ") = (SELECT " columns " FROM t WHERE number = " #from \
	") WHERE number = " #to ";"
#define SWAP(columns, a, b)                                                       \
	"CREATE TEMP TABLE t AS SELECT * FROM record WHERE number IN (" #a "," #b \
	");" TAKE(columns, a, b) TAKE(columns, b, a)

static void tampering(void **state)
{
	static const struct {
		const char *sql;
		enum audit_fault fault;
		uint64_t number;
	} cases[] = {
		/* changed */
		{ "UPDATE record SET event = substr(event, 1, 20) || x'ff' || substr(event, 22) "
		  "WHERE number = 150",
			AUDIT_CHANGED, 150 },
		{ "UPDATE record SET event = event || x'00' WHERE number = 1", AUDIT_CHANGED, 1 },
		{ "UPDATE record SET event = substr(event, 1, length(event) - 1) WHERE number = "
		  "350",
			AUDIT_CHANGED, 350 },
		{ "UPDATE record SET hash = randomblob(32) WHERE number = 99", AUDIT_CHANGED, 99 },
		{ "UPDATE record SET hash = x'' WHERE number = 99", AUDIT_CHANGED, 99 },
		{ "UPDATE record SET event = 'text' WHERE number = 42", AUDIT_CHANGED, 42 },
		{ "UPDATE record SET event = 17 WHERE number = 42", AUDIT_CHANGED, 42 },
		{ "UPDATE record SET event = x'' WHERE number = 42", AUDIT_CHANGED, 42 },
		{ "UPDATE record SET event = zeroblob(500000) WHERE number = 42", AUDIT_CHANGED,
			42 },
		{ "UPDATE record SET event = randomblob(100), hash = randomblob(32) "
		  "WHERE number BETWEEN 200 AND 220",
			AUDIT_CHANGED, 200 },
		{ "UPDATE record SET event = substr(event, 1, 30) || randomblob(30) "
		  "WHERE number IN (340, 320)",
			AUDIT_CHANGED, 320 },
		/* removed */
		{ "DELETE FROM record WHERE number = 1", AUDIT_REMOVED, 1 },
		{ "DELETE FROM record WHERE number = 150", AUDIT_REMOVED, 150 },
		{ "DELETE FROM record WHERE number BETWEEN 101 AND 200", AUDIT_REMOVED, 101 },
		{ "DELETE FROM record WHERE number = 349", AUDIT_REMOVED, 349 },
		{ "UPDATE record SET number = number + 1000 WHERE number > 200", AUDIT_REMOVED,
			201 },
		/* removed, and the gap closed */
		{ "DELETE FROM record WHERE number = 150;"
		  "UPDATE record SET number = number - 1 WHERE number > 150",
			AUDIT_REMOVED, 150 },
		{ "DELETE FROM record WHERE number = 349;"
		  "UPDATE record SET number = number - 1 WHERE number > 349",
			AUDIT_REMOVED, 349 },
		/* reordered */
		{ SWAP("event, hash", 120, 121), AUDIT_REORDERED, 120 },
		{ SWAP("event, hash", 10, 310), AUDIT_REORDERED, 10 },
		{ SWAP("event", 10, 310), AUDIT_REORDERED, 10 },
		{ SWAP("event", 349, 350), AUDIT_REORDERED, 349 },
		{ "UPDATE record SET event = (SELECT event FROM record WHERE number = 5) "
		  "WHERE number = 6",
			AUDIT_REORDERED, 6 },
		/* added */
		{ "INSERT INTO record VALUES (0, randomblob(100), randomblob(32))", AUDIT_CHANGED,
			0 },
		{ "INSERT INTO record VALUES (-5, randomblob(100), randomblob(32))", AUDIT_REMOVED,
			1 },
		{ "INSERT INTO record SELECT 351, event, hash FROM record WHERE number = 350",
			AUDIT_REORDERED, 351 },
		/* cut off */
		{ "DELETE FROM record WHERE number > 299", AUDIT_TRUNCATED, 300 },
		{ "DELETE FROM record WHERE number > 100", AUDIT_TRUNCATED, 101 },
		{ "DELETE FROM record", AUDIT_TRUNCATED, 1 },
		/* cut back to an older head, cleanly: only the second file knows */
		{ "DELETE FROM record WHERE number > 200; DELETE FROM head WHERE number > 200",
			AUDIT_TRUNCATED, 201 },
		{ "DELETE FROM record; DELETE FROM head WHERE number > 0", AUDIT_TRUNCATED, 1 },
		/* made to look like retention */
		{ "DELETE FROM record WHERE number <= 100; DELETE FROM head WHERE number < 100",
			AUDIT_HEADLESS, 0 },
		{ "DELETE FROM record WHERE number <= 100", AUDIT_REMOVED, 1 },
		/* heads */
		{ "DELETE FROM head WHERE number = 300", AUDIT_HEADLESS, 300 },
		{ "DELETE FROM head WHERE number = 0", AUDIT_HEADLESS, 0 },
		{ "DELETE FROM head", AUDIT_HEADLESS, 0 },
		{ "UPDATE head SET signature = randomblob(64) WHERE number = 200", AUDIT_UNSIGNED,
			200 },
		{ "UPDATE head SET signature = x'00' WHERE number = 200", AUDIT_UNSIGNED, 200 },
		{ "UPDATE head SET head = substr(head, 1, 40) || x'07' || substr(head, 42) "
		  "WHERE number = 100",
			AUDIT_UNSIGNED, 100 },
		{ "UPDATE head SET frontier = zeroblob(length(frontier)) WHERE number = 100",
			AUDIT_UNSIGNED, 100 },
		{ "UPDATE head SET number = 150 WHERE number = 100", AUDIT_UNSIGNED, 150 },
		{ "UPDATE head SET signature = randomblob(64) WHERE number = 300", AUDIT_UNSIGNED,
			300 },
		{ "UPDATE head SET head = 'x' WHERE number = 300", AUDIT_UNSIGNED, 0 },
		{ "INSERT INTO head SELECT 400, head, signature, frontier FROM head "
		  "WHERE number = 300",
			AUDIT_UNSIGNED, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct bench *b = make_log();

		run_sql(b, cases[i].sql);
		expect(b, cases[i].fault, cases[i].number, cases[i].sql);
		bench_free(b);
	}
}

/* An enemy who knows the format: changes a record and makes all hashes after it anew. */
static void rehash(struct bench *b, uint64_t from, uint64_t to)
{
	sqlite3 *db = open_db(b);
	sqlite3_stmt *get, *put;
	struct chain c;

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT hash FROM record WHERE number = ?1", -1, &get, NULL),
		SQLITE_OK);
	sqlite3_bind_int64(get, 1, (sqlite3_int64)from - 1);
	assert_int_equal(sqlite3_step(get), SQLITE_ROW);
	memcpy(c.hash.bytes, sqlite3_column_blob(get, 0), HASH_BYTES);
	memset(&c.tree, 0, sizeof(c.tree));
	sqlite3_finalize(get);
	sqlite3_prepare_v2(db, "SELECT event FROM record WHERE number = ?1", -1, &get, NULL);
	sqlite3_prepare_v2(
		db, "UPDATE record SET event = ?2, hash = ?3 WHERE number = ?1", -1, &put, NULL);
	for (uint64_t i = from; i <= to; i++) {
		uint8_t record[1024];
		size_t len;

		sqlite3_bind_int64(get, 1, (sqlite3_int64)i);
		assert_int_equal(sqlite3_step(get), SQLITE_ROW);
		len = (size_t)sqlite3_column_bytes(get, 0);
		assert_true(len < sizeof(record));
		memcpy(record, sqlite3_column_blob(get, 0), len);
		sqlite3_reset(get);
		if (i == from)
			record[len - 1] ^= 1;
		chain_add(&c, record, len);
		sqlite3_bind_int64(put, 1, (sqlite3_int64)i);
		sqlite3_bind_blob(put, 2, record, (int)len, SQLITE_STATIC);
		sqlite3_bind_blob(put, 3, c.hash.bytes, HASH_BYTES, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(put), SQLITE_DONE);
		sqlite3_reset(put);
	}
	sqlite3_finalize(get);
	sqlite3_finalize(put);
	sqlite3_close(db);
}

static void hashes_made_anew(void **state)
{
	static const struct {
		uint64_t from, to, number;
	} cases[] = {
		{ 150, 150, 151 },     /* one: the next does not fit */
		{ 150, 180, 181 },     /* some */
		{ 150, RECORDS, 101 }, /* all: the next head tells the segment */
		{ 299, RECORDS, 201 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct bench *b = make_log();

		rehash(b, cases[i].from, cases[i].to);
		expect(b, AUDIT_CHANGED, cases[i].number, "hashes were recomputed");
		bench_free(b);
	}
}

/* The heads that would tell are taken away: the one in the second file still does. */
static void hashes_made_anew_without_heads(void **state)
{
	struct bench *b = make_log();

	(void)state;
	rehash(b, 150, RECORDS);
	run_sql(b, "DELETE FROM head WHERE number > 100");
	expect(b, AUDIT_CHANGED, 101, "heads removed");
	bench_free(b);
}

/* What no head covers yet can be made anew by anyone who may write to the file: stated, not hidden.
 */
static void an_unsigned_end(void **state)
{
	struct bench *b = make_log();
	struct audit_verdict v;

	(void)state;
	rehash(b, 330, RECORDS);
	v = bench_verify(b);
	assert_int_equal(v.fault, AUDIT_FINE);
	assert_int_equal(v.signed_up_to, SIGNED);
	assert_non_null(strstr(v.text, "not signed yet"));
	bench_free(b);
}

static void set_back(void **state)
{
	struct bench *b = bench_new();
	char old[128];

	(void)state;
	snprintf(old, sizeof(old), "%s/old", b->folder);
	b->options.keep_records = 30;
	bench_fill(b, 1, 20);
	bench_copy(b->path, old);
	bench_fill(b, 21, 20);
	bench_fill(b, 41, 20);
	bench_fine(b, 40);
	bench_copy(old, b->path);
	expect(b, AUDIT_TRUNCATED, 21, "an old file");
	bench_free(b);
}

static void second_file(void **state)
{
	struct bench *b = make_log(), *other = make_log();
	struct head h;

	(void)state;
	assert_int_equal(head_load(&h, b->head, NULL), 0);
	h.number = 100;
	assert_int_equal(head_save(&h, b->head, NULL), 0);
	expect(b, AUDIT_UNSIGNED, 100, "edited");
	assert_int_equal(file_replace(b->head, "{}", 2, 0644), 0);
	expect(b, AUDIT_UNSIGNED, 0, "no head");
	assert_int_equal(unlink(b->head), 0);
	expect(b, AUDIT_HEADLESS, 0, "not there");
	bench_copy(other->head, b->head);
	expect(b, AUDIT_UNSIGNED, 300, "with another key");
	bench_free(b);
	bench_free(other);
}

/* Two logs with the same key do not stand in for each other. */
static void another_log_by_the_same_key(void **state)
{
	struct bench *b = bench_new(), *other = bench_new();

	(void)state;
	bench_fill(b, 1, 10);
	bench_copy(b->key, other->key);
	bench_fill(other, 1, 20);
	bench_fine(other, 20);
	bench_copy(other->path, b->path);
	expect(b, AUDIT_UNSIGNED, 10, "the other's file");
	bench_free(b);
	bench_free(other);
}

static void a_swapped_key(void **state)
{
	struct bench *b = make_log(), *other = make_log();
	uint8_t id[KEY_ID_BYTES];
	struct key_public k;

	(void)state;
	bench_copy(other->public, b->public);
	expect(b, AUDIT_UNSIGNED, SIGNED, "swapped key");
	/* Who swaps log, head and public key together is found out only by the key's id. */
	bench_copy(other->path, b->path);
	bench_copy(other->head, b->head);
	assert_int_equal(key_public_read(&k, other->public, NULL), 0);
	key_public_id(&k, id);
	assert_memory_equal(bench_verify(b).key, id, sizeof(id));
	bench_free(b);
	bench_free(other);
}

static void foreign_schemas(void **state)
{
	static const char *const texts[] = {
		"CREATE INDEX i ON record (hash)",
		"CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
		"ALTER TABLE record RENAME TO r; CREATE VIEW record AS SELECT * FROM r",
		"DROP TABLE head",
		"CREATE TABLE extra (x)",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		struct bench *b = make_log();
		struct audit_store *s = NULL;
		struct audit_log *l = NULL;
		sqlite3 *db = open_db(b);

		assert_int_equal(sqlite3_exec(db, texts[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(audit_log_open(&l, b->path, NULL), -EBADMSG);
		assert_int_equal(audit_store_open(&s, &b->options, NULL), -EBADMSG);
		bench_free(b);
	}
}

static int64_t ask(struct bench *b, const char *sql)
{
	sqlite3 *db = open_db(b);
	sqlite3_stmt *st = NULL;
	int64_t answer;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	answer = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return answer;
}

static unsigned get_short(const char *bytes)
{
	return (unsigned)(uint8_t)bytes[0] << 8 | (uint8_t)bytes[1];
}

/* The first page of a table, in the file that was read. */
static char *read_page(struct bench *b, const char *table, struct buffer *file)
{
	char sql[96];
	int64_t start;

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
	start = (ask(b, sql) - 1) * ask(b, "PRAGMA page_size");
	assert_int_equal(file_read(b->path, 1 << 20, file), 0);
	return file->data + start;
}

/*
 * By hand, in the page of a table that has only one: the row in the first place stands in the
 * second, too. SQLite itself does not look whether rows are in order.
 */
static void repeat_first(struct bench *b, const char *table)
{
	enum { LEAF = 13, COUNT = 3, PLACES = 8 };
	auto_buffer file = { 0 };
	char *page = read_page(b, table, &file);
	unsigned n;

	assert_int_equal(page[0], LEAF);
	n = get_short(page + COUNT);
	memmove(page + PLACES + 2, page + PLACES, (size_t)n * 2);
	page[COUNT + 1] = (char)(n + 1);
	assert_int_equal(file_replace(b->path, file.data, file.len, 0600), 0);
}

/* Heads that are not in order must not keep the later ones from being looked at. */
static void a_head_that_stands_twice(void **state)
{
	struct bench *b = bench_new();
	char first[128];

	(void)state;
	b->options.batch = b->options.sign_records = 5;
	snprintf(first, sizeof(first), "%s/first", b->folder);
	bench_fill(b, 1, 0);
	bench_copy(b->head, first);
	bench_fill(b, 1, 10);
	rehash(b, 3, 10);
	bench_copy(first, b->head);
	expect(b, AUDIT_CHANGED, 1, "hashes were recomputed");
	repeat_first(b, "head");
	expect(b, AUDIT_UNSIGNED, 0, "the first head twice");
	bench_free(b);
}

static int count_row(void *context, const struct audit_row *row)
{
	(void)row;
	++*(unsigned *)context;
	return 0;
}

/* A few pages that point at each other can hold more rows than anyone can read. */
static void records_that_stand_twice(void **state)
{
	struct bench *b = bench_new();
	struct audit_query q = { .action = -1, .decision = -1 };
	struct audit_log *l = NULL;
	unsigned n = 0;

	(void)state;
	bench_fill(b, 1, 5);
	repeat_first(b, "record");
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_read(l, &q, count_row, &n, NULL), -EBADMSG);
	assert_int_equal(n, 1);
	q.newest_first = true;
	assert_int_equal(audit_log_read(l, &q, count_row, &n, NULL), -EBADMSG);
	assert_int_equal(n, 1 + 5);
	audit_log_close(l);
	expect(b, AUDIT_CHANGED, 1, "the first record twice");
	bench_free(b);
}

/* A page of others says that the last one begins after all records: who looks for a number does
 * not get there, but who reads everything does. */
static void records_hidden_from_a_search(void **state)
{
	enum { INNER = 5, COUNT = 3, PLACES = 12, RECORDS_HERE = 60, NUMBER_MAX = 127 };
	struct bench *b = bench_new();
	const struct audit_query q = {
		.to = RECORDS_HERE, .action = -1, .decision = -1, .newest_first = true
	};
	struct audit_log *l = NULL;
	auto_buffer file = { 0 };
	unsigned n = 0;
	char *page, *last;

	(void)state;
	bench_fill(b, 1, RECORDS_HERE);
	page = read_page(b, "record", &file);
	assert_int_equal(page[0], INNER);
	last = page + get_short(page + PLACES + 2 * (get_short(page + COUNT) - 1));
	last[4] = NUMBER_MAX;
	assert_int_equal(file_replace(b->path, file.data, file.len, 0600), 0);
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_read(l, &q, count_row, &n, NULL), 0);
	assert_true(n < RECORDS_HERE);
	audit_log_close(l);
	expect(b, AUDIT_UNREADABLE, 1, "a search is led astray");
	bench_free(b);
}

static int sum_row(void *context, const struct audit_row *row)
{
	crypto_generichash_state *sum = context;

	crypto_generichash_update(sum, (const uint8_t *)&row->number, sizeof(row->number));
	crypto_generichash_update(
		sum, (const uint8_t *)row->event.target, strlen(row->event.target));
	crypto_generichash_update(sum, row->hash.bytes, sizeof(row->hash.bytes));
	return 0;
}

/* All that a reader gets to see, as one number; negative: it cannot be read. */
static int sum_log(struct audit_log *l, struct hash *ret)
{
	const struct audit_query all = { .action = -1, .decision = -1 };
	crypto_generichash_state sum;
	int r;

	crypto_generichash_init(&sum, NULL, 0, HASH_BYTES);
	r = audit_log_read(l, &all, sum_row, &sum, NULL);
	crypto_generichash_final(&sum, ret->bytes, HASH_BYTES);
	return r;
}

/* Bytes of the file itself, at random: a log that is called fine reads as it was written. */
static void damaged_files(void **state)
{
	struct bench *b = bench_new();
	auto_buffer file = { 0 };
	struct hash whole, now;
	struct audit_log *l = NULL;
	unsigned found = 0;

	(void)state;
	b->options.sign_records = 20;
	bench_fill(b, 1, 150);
	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(sum_log(l, &whole), 0);
	audit_log_close(l);
	assert_int_equal(file_read(b->path, 1 << 24, &file), 0);
	for (int round = 0; round < 400; round++) {
		const size_t at = randombytes_uniform((uint32_t)file.len);
		const char was = file.data[at];
		struct audit_verdict v = { 0 };

		file.data[at] ^= (char)(1 << randombytes_uniform(8));
		assert_int_equal(file_replace(b->path, file.data, file.len, 0600), 0);
		file.data[at] = was;
		l = NULL;
		if (audit_log_open(&l, b->path, NULL) < 0 ||
			audit_log_verify(l, b->public, NULL, &v, NULL) < 0 ||
			v.fault != AUDIT_FINE) {
			found++;
		} else {
			assert_int_equal(sum_log(l, &now), 0);
			assert_true(merkle_equal(&now, &whole));
		}
		audit_log_close(l);
	}
	assert_true(found > 200);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_was_done),
		cmocka_unit_test(tampering),
		cmocka_unit_test(hashes_made_anew),
		cmocka_unit_test(hashes_made_anew_without_heads),
		cmocka_unit_test(an_unsigned_end),
		cmocka_unit_test(set_back),
		cmocka_unit_test(second_file),
		cmocka_unit_test(another_log_by_the_same_key),
		cmocka_unit_test(a_swapped_key),
		cmocka_unit_test(foreign_schemas),
		cmocka_unit_test(a_head_that_stands_twice),
		cmocka_unit_test(records_that_stand_twice),
		cmocka_unit_test(records_hidden_from_a_search),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
