/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "event/wait.h"

static void test_look(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(wait_for_one(fds[0], POLLIN, WAIT_NOT), 0);
	assert_int_equal(wait_for_one(fds[1], POLLOUT, WAIT_NOT), POLLOUT);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(wait_for_one(fds[0], POLLIN, WAIT_NOT), POLLIN);
	assert_int_equal(wait_for_one(fds[0], POLLIN, WAIT_FOR_EVER), POLLIN);
	fd_close(&fds[1]);
	assert_true(wait_for_one(fds[0], 0, WAIT_FOR_EVER) & POLLHUP);
	fd_close(&fds[0]);
}

/* What is ready without end must not keep a loop going after its time. */
static void test_flood_ends(void **state)
{
	const uint64_t until = wait_until(20);
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	while (wait_for_one(fds[0], POLLIN, until) > 0)
		;
	assert_true(clock_ms(CLOCK_MONOTONIC) > until);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
	(void)number;
	ticks++;
}

/* The handler returns without SA_RESTART, and poll() is never restarted. */
static void test_signals_do_not_end_it(void **state)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct sigaction act = { .sa_handler = tick }, old;
	const uint64_t until = wait_until(50);
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(wait_for_one(fds[0], POLLIN, until), 0);
	assert_true(clock_ms(CLOCK_MONOTONIC) >= until);
	while (ticks == 0)
		(void)wait_for_one(fds[0], POLLIN, wait_until(10));
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static void test_several(void **state)
{
	int fds[2];
	struct pollfd p[3] = { { .fd = -1, .events = POLLIN } };

	(void)state;
	assert_int_equal(pipe(fds), 0);
	p[1] = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	p[2] = (struct pollfd){ .fd = fds[1], .events = POLLOUT };
	assert_int_equal(wait_for(p, 3, WAIT_FOR_EVER), 1);
	assert_int_equal(p[0].revents, 0);
	assert_int_equal(p[1].revents, 0);
	assert_int_equal(p[2].revents, POLLOUT);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	/* A descriptor that is not open is an event of poll(), not an error. */
	assert_int_equal(wait_for_one(1 << 20, POLLIN, WAIT_FOR_EVER), POLLNVAL);
}

static void test_times(void **state)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	(void)state;
	assert_true(wait_until(-1) == WAIT_FOR_EVER);
	assert_true(wait_until(0) == WAIT_NOT);
	assert_true(wait_until(1000) >= now + 1000);
	/* Long past. */
	assert_int_equal(wait_for(NULL, 0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_flood_ends),
		cmocka_unit_test(test_signals_do_not_end_it),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
