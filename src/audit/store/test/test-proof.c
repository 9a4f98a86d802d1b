/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs: made for every record, checked without the log, and worth nothing once touched. */
#include "test/unit.h"

#include <errno.h>
#include <sqlite3.h>

#include "audit/store/proof.h"
#include "audit/test/test-audit.h"
#include "base/array.h"

enum { RECORDS = 137 };

static int prove(struct bench *b, uint64_t number, struct buffer *out)
{
	struct audit_log *l = NULL;
	int r;

	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	r = audit_log_prove(l, number, out, NULL);
	audit_log_close(l);
	return r;
}

static int check(
	struct bench *b, const struct buffer *proof, struct audit_row *row, struct buffer *texts)
{
	return audit_proof_check(proof->data, proof->len, b->public, row, texts, NULL);
}

static void check_all(struct bench *b, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++) {
		auto_buffer proof = { 0 }, texts = { 0 };
		struct audit_row row;
		char target[64];
		struct audit_event want = bench_event(i, target);

		assert_int_equal(prove(b, i, &proof), 0);
		assert_int_equal(check(b, &proof, &row, &texts), 0);
		assert_int_equal(row.number, i);
		assert_string_equal(row.event.target, want.target);
		assert_string_equal(row.event.session, want.session);
		assert_int_equal(row.event.time_ns, want.time_ns);
	}
}

static void every_record(void **state)
{
	struct bench *b = bench_new();
	auto_buffer proof = { 0 };

	(void)state;
	bench_fill(b, 1, RECORDS);
	check_all(b, 1, RECORDS);
	assert_int_equal(prove(b, 0, &proof), -ENOENT);
	assert_int_equal(prove(b, RECORDS + 1, &proof), -ENOENT);
	assert_int_equal(proof.len, 0);
	bench_free(b);
}

/* What retention has removed is proved by its frontier. */
static void after_retention(void **state)
{
	struct bench *b = bench_new();
	auto_buffer proof = { 0 };
	struct audit_verdict v;

	(void)state;
	b->options.batch = 1;
	b->options.sign_records = 13;
	b->options.keep_records = 50;
	bench_fill(b, 1, RECORDS);
	v = bench_verify(b);
	assert_true(v.removed > 60 && v.first == v.removed + 1);
	check_all(b, v.first, v.last);
	assert_int_equal(prove(b, v.removed, &proof), -ENOENT);
	bench_free(b);
}

static void not_signed_yet(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);
	auto_buffer proof = { 0 };

	(void)state;
	bench_add(s, 1, 10);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	assert_int_equal(prove(b, 5, &proof), -ENOENT);
	assert_int_equal(audit_store_sign(s, NULL), 0);
	assert_int_equal(prove(b, 5, &proof), 0);
	bench_close(s);
	bench_free(b);
}

/* Every character of the text that matters, changed: hexadecimal digits, numbers, words. */
static void touched_proofs(void **state)
{
	struct bench *b = bench_new();
	auto_buffer proof = { 0 }, texts = { 0 };
	struct audit_row row;

	(void)state;
	bench_fill(b, 1, 20);
	assert_int_equal(prove(b, 7, &proof), 0);
	for (size_t i = 0; i < proof.len; i++) {
		const char was = proof.data[i];
		/* The version of the format: a newer one is refused as such. */
		const int refused =
			was == '1' && i > 0 && proof.data[i - 1] == '-' ? -ENOTSUP : -EBADMSG;

		proof.data[i] = was == '0'   ? '1'
				: was == '9' ? '8'
				: was == 'f' ? 'e'
					     : (char)(was + 1);
		if (check(b, &proof, &row, &texts) != refused)
			fail_msg("%c for %c at %zu was not found", proof.data[i], was, i);
		proof.data[i] = was;
	}
	for (size_t len = 0; len < proof.len; len++)
		assert_int_equal(audit_proof_check(proof.data, len, b->public, &row, &texts, NULL),
			-EBADMSG);
	assert_int_equal(check(b, &proof, &row, &texts), 0);
	bench_free(b);
}

static void other_keys(void **state)
{
	struct bench *b = bench_new(), *other = bench_new();
	auto_buffer proof = { 0 }, texts = { 0 };
	struct audit_row row;

	(void)state;
	bench_fill(b, 1, 5);
	bench_fill(other, 1, 5);
	assert_int_equal(prove(b, 3, &proof), 0);
	assert_int_equal(check(other, &proof, &row, &texts), -EBADMSG);
	assert_int_equal(
		audit_proof_check(proof.data, proof.len, "/nowhere", &row, &texts, NULL), -ENOENT);
	bench_free(b);
	bench_free(other);
}

static void not_from_a_touched_log(void **state)
{
	struct bench *b = bench_new();
	auto_buffer proof = { 0 };
	sqlite3 *db;

	(void)state;
	bench_fill(b, 1, 20);
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "UPDATE record SET event = event || x'00' WHERE number = 4", NULL,
			NULL, NULL),
		SQLITE_OK);
	assert_int_equal(prove(b, 9, &proof), -EBADMSG);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM record WHERE number = 4", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(prove(b, 9, &proof), -ENOENT);
	assert_int_equal(proof.len, 0);
	sqlite3_close(db);
	bench_free(b);
}

static void no_proofs(void **state)
{
	static const char *const bad[] = { "", "{}", "[]", "17",
		"{\"format\":\"corral-audit-proof-1\"}",
		"{\"format\":\"corral-audit-proof-1\",\"number\":1,\"record\":\"0\",\"path\":[],"
		"\"head\":{}}",
		"{\"format\":\"corral-audit-proof-1\",\"number\":1,\"record\":\"00\",\"path\":[1],"
		"\"head\":{}}",
		"{\"format\":\"corral-audit-proof-1\",\"number\":1,\"record\":\"00\",\"path\":{},"
		"\"head\":[]}" };
	struct bench *b = bench_new();
	auto_buffer texts = { 0 };
	struct audit_row row;

	(void)state;
	bench_fill(b, 1, 1);
	for (size_t i = 0; i < ROWS(bad); i++)
		assert_int_equal(
			audit_proof_check(bad[i], strlen(bad[i]), b->public, &row, &texts, NULL),
			-EBADMSG);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record),
		cmocka_unit_test(after_retention),
		cmocka_unit_test(not_signed_yet),
		cmocka_unit_test(touched_proofs),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(not_from_a_touched_log),
		cmocka_unit_test(no_proofs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
