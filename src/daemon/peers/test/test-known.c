/* SPDX-License-Identifier: Apache-2.0 */
/* What the log has of a session, read from a real log that a real trail writes. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/test/test-audit.h"
#include "daemon/peers/known.h"
#include "daemon/supervisor/supervisor.h"
#include "test/failing.h"

enum { MOST = 4096 /* that are remembered */ };

#define OURS "0123456789abcdef"
#define OTHER "fedcba9876543210"

FAILING_REALLOC

/* Another process has the log, which the store says after its patience. */
static int flush_error;

int __real_audit_trail_try_flush(struct audit_trail *t, struct error *e);
int __wrap_audit_trail_try_flush(struct audit_trail *t, struct error *e);
int __wrap_audit_trail_try_flush(struct audit_trail *t, struct error *e)
{
	return flush_error ? flush_error : __real_audit_trail_try_flush(t, e);
}

struct world {
	struct supervisor s;
	struct bench *bench;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct audit_trail_options o = { .session = OTHER, .user = "0", .sandbox = "box" };

	if (!w)
		return -1;
	w->bench = bench_new();
	w->bench->options.batch = 512;
	o.store = &w->bench->options;
	buffer_adds(&w->s.journal.path, w->bench->path);
	flush_error = 0;
	*state = w;
	return audit_trail_new(&w->s.journal.trail, &o, NULL);
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)failing_stop();
	assert_int_equal(audit_trail_close(w->s.journal.trail, NULL), 0);
	buffer_deinit(&w->s.journal.path);
	bench_free(w->bench);
	free(w);
	return 0;
}

static struct audit_event event(const char *session, uint64_t n)
{
	return (struct audit_event){ .time_ns = 1000 + n,
		.sequence = n,
		.session = session,
		.action = AUDIT_FS_READ,
		.target = "/x" };
}

static void add(struct world *w, const char *session, uint64_t n)
{
	const struct audit_event e = event(session, n);

	assert_int_not_equal(audit_trail_add(w->s.journal.trail, &e), 0);
}

static bool take(struct known *k, uint64_t n)
{
	const struct audit_event e = event(OURS, n);

	return known_take(k, &e);
}

/* What was added and is not committed yet is found, too; each once, in any order. */
static void test_found_once(void **state)
{
	struct world *w = *state;
	auto_known k = { 0 };

	for (uint64_t i = 1; i <= 5; i++)
		add(w, OURS, i);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_int_equal(k.n, 5);
	assert_true(take(&k, 3));
	assert_false(take(&k, 3));
	assert_true(take(&k, 5));
	assert_true(take(&k, 1));
	assert_true(take(&k, 4));
	assert_true(take(&k, 2));
	assert_int_equal(k.n, 0);
	assert_false(take(&k, 2));
}

/* Number, time and action together say which event it is. */
static void test_identity(void **state)
{
	struct world *w = *state;
	struct audit_event e = event(OURS, 1);
	auto_known k = { 0 };

	add(w, OURS, 1);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	e.sequence = 2;
	assert_false(known_take(&k, &e));
	e = event(OURS, 1);
	e.time_ns++;
	assert_false(known_take(&k, &e));
	e = event(OURS, 1);
	e.action = AUDIT_FS_WRITE;
	assert_false(known_take(&k, &e));
	e = event(OURS, 1);
	e.target = "/other";
	assert_true(known_take(&k, &e));
}

/* The same event twice in the log is two events. */
static void test_twice(void **state)
{
	struct world *w = *state;
	auto_known k = { 0 };

	add(w, OURS, 1);
	add(w, OURS, 1);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_true(take(&k, 1));
	assert_true(take(&k, 1));
	assert_false(take(&k, 1));
}

/* Events of other sessions are none of this one. */
static void test_other_session(void **state)
{
	struct world *w = *state;
	auto_known k = { 0 }, none = { 0 };

	add(w, OTHER, 1);
	add(w, OURS, 2);
	add(w, OTHER, 3);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_int_equal(k.n, 1);
	assert_false(take(&k, 1));
	assert_true(take(&k, 2));
	assert_int_equal(known_read(&w->s, "0000000000000000", 0, &none), 0);
	assert_int_equal(none.n, 0);
	assert_null(none.events);
}

/* Only records behind the number are read; one beyond the log's end is of another log, so all are.
 */
static void test_from_number(void **state)
{
	struct world *w = *state;
	auto_known behind = { 0 }, at_end = { 0 }, beyond = { 0 }, most = { 0 };

	for (uint64_t i = 1; i <= 6; i++)
		add(w, OURS, i);
	assert_int_equal(known_read(&w->s, OURS, 4, &behind), 0);
	assert_int_equal(behind.n, 2);
	assert_false(take(&behind, 4));
	assert_true(take(&behind, 5));
	assert_true(take(&behind, 6));
	assert_int_equal(known_read(&w->s, OURS, 6, &at_end), 0);
	assert_int_equal(at_end.n, 0);
	assert_int_equal(known_read(&w->s, OURS, 7, &beyond), 0);
	assert_int_equal(beyond.n, 6);
	assert_int_equal(known_read(&w->s, OURS, UINT64_MAX, &most), 0);
	assert_int_equal(most.n, 6);
}

/* An empty log has nothing, whatever the number is. */
static void test_empty(void **state)
{
	struct world *w = *state;
	auto_known k = { 0 };

	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_int_equal(known_read(&w->s, OURS, 9, &k), 0);
	assert_int_equal(k.n, 0);
	assert_false(take(&k, 1));
}

/* Of more than MOST the last ones are remembered. */
static void test_many(void **state)
{
	enum { MORE = 100 };
	struct world *w = *state;
	auto_known k = { 0 };

	for (uint64_t i = 1; i <= MOST + MORE; i++)
		add(w, OURS, i);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_int_equal(k.n, MOST);
	assert_int_equal(k.cap, MOST);
	assert_false(take(&k, 1));
	assert_false(take(&k, MORE));
	assert_true(take(&k, MORE + 1));
	assert_true(take(&k, MOST));
	assert_true(take(&k, MOST + 1));
	assert_true(take(&k, MOST + MORE));
	assert_int_equal(k.n, MOST - 4);
}

/* What cannot be committed or read now is an error, and not "the log has nothing". */
static void test_errors(void **state)
{
	struct world *w = *state;
	auto_known k = { 0 };

	add(w, OURS, 1);
	flush_error = -EBUSY;
	assert_int_equal(known_read(&w->s, OURS, 0, &k), -EBUSY);
	assert_int_equal(k.n, 0);
	flush_error = 0;
	buffer_adds(&w->s.journal.path, ".gone");
	assert_int_equal(known_read(&w->s, OURS, 0, &k), -ENOENT);
	assert_int_equal(k.n, 0);
	assert_int_not_equal(access(buffer_text(&w->s.journal.path), F_OK), 0);
	buffer_clear(&w->s.journal.path);
	buffer_adds(&w->s.journal.path, w->bench->key);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), -EBADMSG);
	buffer_clear(&w->s.journal.path);
	buffer_adds(&w->s.journal.path, w->bench->path);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_int_equal(k.n, 1);
}

/* Each time that the table grows, memory can be short: an error, and what is there can be freed. */
static void test_memory(void **state)
{
	struct world *w = *state;
	long n;

	for (uint64_t i = 1; i <= 100; i++)
		add(w, OURS, i);
	assert_int_equal(audit_trail_flush(w->s.journal.trail, NULL), 0);
	for (n = 0;; n++) {
		auto_known k = { 0 };
		int r;

		failing_start(n);
		r = known_read(&w->s, OURS, 0, &k);
		if (!failing_stop()) {
			assert_int_equal(r, 0);
			assert_int_equal(k.n, 100);
			break;
		}
		assert_int_equal(r, -ENOMEM);
	}
	/* 16, 32, 64, 128. */
	assert_true(n >= 4);
}

/* Freed twice, and used again after that. */
static void test_deinit(void **state)
{
	struct world *w = *state;
	struct known k = { 0 };

	add(w, OURS, 1);
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	known_deinit(&k);
	known_deinit(&k);
	assert_false(take(&k, 1));
	assert_int_equal(known_read(&w->s, OURS, 0, &k), 0);
	assert_true(take(&k, 1));
	known_deinit(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_session, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deinit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
