/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/internal.h"

enum { LARGE = 300000, ROUNDS_MAX = 10000 };

struct fixture {
	struct stdio_copy relay;
	int in, out; /* our ends: what is written to `in` is to come out of `out` */
};

static struct fixture *open_fixture(bool with_out)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int in[2], out[2] = { -1, -1 };

	assert_non_null(f);
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	if (with_out)
		assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	f->in = in[1];
	f->out = out[0];
	f->relay.from = in[0];
	f->relay.to = out[1];
	f->relay.close_from = f->relay.close_to = true;
	return f;
}

static void close_fixture(struct fixture *f)
{
	stdio_copy_close(&f->relay);
	if (f->in >= 0)
		(void)close(f->in);
	if (f->out >= 0)
		(void)close(f->out);
	free(f);
}

/* One turn of a loop; false if there was nothing to do. */
static bool turn(struct stdio_copy *r)
{
	struct pollfd p;

	if (!stdio_copy_poll(r, &p) || poll(&p, 1, 0) <= 0)
		return false;
	stdio_copy_run(r, &p);
	return true;
}

static void test_passes_all(void **state)
{
	struct fixture *f = open_fixture(true);
	char *sent = malloc(LARGE), *got = malloc(LARGE + 1);
	size_t at = 0, n = 0;

	(void)state;
	assert_non_null(sent);
	assert_non_null(got);
	for (size_t i = 0; i < LARGE; i++)
		sent[i] = (char)(i * 7 + i / 251);
	for (int i = 0; i < ROUNDS_MAX && !f->relay.is_done; i++) {
		ssize_t w = at < LARGE ? write(f->in, sent + at, LARGE - at) : 0, r;

		at += w > 0 ? (size_t)w : 0;
		if (at == LARGE && f->in >= 0) {
			assert_int_equal(close(f->in), 0);
			f->in = -1;
		}
		while (turn(&f->relay))
			;
		while ((r = read(f->out, got + n, LARGE + 1 - n)) > 0)
			n += (size_t)r;
	}
	assert_true(f->relay.is_done);
	assert_int_equal(n, LARGE);
	assert_memory_equal(got, sent, LARGE);
	/* The end is passed on, too. */
	assert_int_equal(read(f->out, got, 1), 0);
	free(sent);
	free(got);
	close_fixture(f);
}

static void test_budget(void **state)
{
	struct fixture *f = open_fixture(true);
	struct stdio_budget budget = { .left = 5 };
	char got[16] = "";

	(void)state;
	f->relay.budget = &budget;
	assert_int_equal(write(f->in, "123", 3), 3);
	while (turn(&f->relay))
		;
	assert_int_equal(write(f->in, "45678", 5), 5);
	while (turn(&f->relay))
		;
	assert_int_equal(read(f->out, got, sizeof(got)), 5);
	assert_string_equal(got, "12345");
	assert_int_equal(budget.left, 0);
	assert_int_equal(budget.dropped, 3);
	/* It goes on reading: the writer must not stop. */
	assert_int_equal(write(f->in, "9", 1), 1);
	while (turn(&f->relay))
		;
	assert_int_equal(budget.dropped, 4);
	assert_false(f->relay.is_done);
	close_fixture(f);
}

static void test_kept(void **state)
{
	struct fixture *f = open_fixture(false);
	struct stdio_budget budget = { .left = 4 };
	auto_buffer kept = { 0 };

	(void)state;
	f->relay.budget = &budget;
	f->relay.kept = &kept;
	assert_int_equal(write(f->in, "a\0bcd", 5), 5);
	while (turn(&f->relay))
		;
	assert_int_equal(kept.len, 4);
	assert_memory_equal(kept.data, "a\0bc", 4);
	close_fixture(f);
}

static void test_reader_gone(void **state)
{
	struct fixture *f = open_fixture(true);

	(void)state;
	assert_int_equal(close(f->out), 0);
	f->out = -1;
	assert_int_equal(write(f->in, "x", 1), 1);
	for (int i = 0; i < ROUNDS_MAX && turn(&f->relay); i++)
		;
	assert_true(f->relay.is_done);
	/* And whoever writes hears of it. */
	assert_int_equal(write(f->in, "x", 1), -1);
	close_fixture(f);
}

static void test_paused(void **state)
{
	struct fixture *f = open_fixture(true);
	char got;

	(void)state;
	f->relay.is_paused = true;
	assert_int_equal(write(f->in, "x", 1), 1);
	assert_false(turn(&f->relay));
	f->relay.is_paused = false;
	assert_true(turn(&f->relay));
	/* What was taken already is passed on. */
	f->relay.is_paused = true;
	assert_true(turn(&f->relay));
	assert_int_equal(read(f->out, &got, 1), 1);
	close_fixture(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes_all),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_paused),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("run-relay", tests, NULL, NULL);
}
