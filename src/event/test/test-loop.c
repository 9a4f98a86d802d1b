/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "event/loop.h"
#include "test/failing.h"
#include "test/sleeping.h"

static struct loop *l;

FAILING_REALLOCARRAY

static int setup(void **state)
{
	(void)state;
	return loop_new(&l);
}

static int teardown(void **state)
{
	(void)state;
	loop_free(l);
	l = NULL;
	return 0;
}

/* Timers. */

enum { TIMERS = 300, STEPS = 3000 };

struct alarm {
	struct timer timer;
	bool set;         /* what the test believes */
	unsigned expired; /* how often it was called */
};

static struct alarm alarms[TIMERS];
static uint64_t last_due;
static unsigned random_state = 1;

static unsigned draw(unsigned below)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 16) % below;
}

static void alarm_expired(struct timer *t)
{
	struct alarm *a = container_of(t, struct alarm, timer);

	assert_true(a->set);
	assert_int_equal(t->place, 0);
	assert_true(t->due_ms >= last_due);
	assert_true(t->due_ms <= loop_now(l));
	last_due = t->due_ms;
	a->set = false;
	a->expired++;
}

static void step(void)
{
	struct alarm *a = &alarms[draw(TIMERS)];

	if (draw(3) == 0) {
		loop_stop(l, &a->timer);
		a->set = false;
		assert_int_equal(a->timer.place, 0);
	} else {
		assert_int_equal(loop_start(l, &a->timer, draw(20)), 0);
		a->set = true;
	}
}

/* Whatever was set, set anew and stopped: those that are set expire in order, once; no other does.
 */
static void test_timers_in_order(void **state)
{
	unsigned set = 0, expired = 0;

	(void)state;
	memset(alarms, 0, sizeof(alarms));
	for (size_t i = 0; i < TIMERS; i++)
		alarms[i].timer.expired = alarm_expired;
	for (int round = 0; round < 4; round++) {
		last_due = 0;
		for (int i = 0; i < STEPS; i++)
			step();
		for (size_t i = 0; i < TIMERS; i++)
			set += alarms[i].set;
		for (bool left = true; left;) {
			assert_int_equal(loop_turn(l, -1), 0);
			left = false;
			for (size_t i = 0; i < TIMERS; i++)
				left = left || alarms[i].set;
		}
	}
	for (size_t i = 0; i < TIMERS; i++)
		expired += alarms[i].expired;
	assert_true(set > 0);
	assert_int_equal(expired, set);
	assert_int_equal(loop_turn(l, 0), 0);
}

struct again {
	struct timer timer;
	unsigned expired;
};

static void again_expired(struct timer *t)
{
	struct again *a = container_of(t, struct again, timer);

	a->expired++;
	assert_int_equal(loop_start(l, t, 0), 0);
}

/* A timer that sets itself anew at once does not keep the loop from turning. */
static void test_rearmed(void **state)
{
	struct again a = { .timer.expired = again_expired };

	(void)state;
	assert_int_equal(loop_start(l, &a.timer, 0), 0);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(loop_turn(l, -1), 0);
		assert_int_equal(a.expired, i);
	}
	loop_stop(l, &a.timer);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.expired, 5);
}

/* The same with others in the heap that are not due yet: at most once for each of them. */
static void test_rearmed_among_others(void **state)
{
	struct again a = { .timer.expired = again_expired };
	struct alarm late[8] = { 0 };

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(loop_start(l, &late[i].timer, 3600 * 1000), 0);
	assert_int_equal(loop_start(l, &a.timer, 0), 0);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(loop_turn(l, -1), 0);
		assert_in_range(a.expired, i, 9 * i);
	}
	loop_stop(l, &a.timer);
	for (size_t i = 0; i < 8; i++)
		loop_stop(l, &late[i].timer);
}

static struct alarm victims[2];

static void stops_the_other(struct timer *t)
{
	struct alarm *a = container_of(t, struct alarm, timer);

	a->expired++;
	loop_stop(l, &victims[a == &victims[0] ? 1 : 0].timer);
}

static void test_stopped_by_another(void **state)
{
	(void)state;
	memset(victims, 0, sizeof(victims));
	for (size_t i = 0; i < 2; i++) {
		victims[i].timer.expired = stops_the_other;
		assert_int_equal(loop_start(l, &victims[i].timer, 0), 0);
	}
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(victims[0].expired + victims[1].expired, 1);
}

static void test_no_memory(void **state)
{
	struct timer t = { .expired = again_expired };

	(void)state;
	failing_start(0);
	assert_int_equal(loop_start(l, &t, 0), -ENOMEM);
	assert_true(failing_stop());
	assert_int_equal(t.place, 0);
	loop_stop(l, &t);
	assert_int_equal(loop_turn(l, 0), 0);
}

/* Descriptors. */

struct reader {
	struct watcher watcher;
	unsigned ready;
	struct reader *removes; /* what its callback takes out of the loop, and frees its fd */
};

static void reader_ready(struct watcher *w, uint32_t events)
{
	struct reader *r = container_of(w, struct reader, watcher);

	assert_true(events & EPOLLIN);
	r->ready++;
	if (r->removes) {
		int fd = r->removes->watcher.fd;

		loop_remove(l, &r->removes->watcher);
		assert_int_equal(r->removes->watcher.fd, -1);
		fd_close(&fd);
	}
}

static int signalled(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static void test_removed_while_ready(void **state)
{
	struct reader a = { .watcher.ready = reader_ready }, b = a;

	(void)state;
	a.removes = &b;
	b.removes = &a;
	assert_int_equal(loop_add(l, &a.watcher, signalled(), EPOLLIN), 0);
	assert_int_equal(loop_add(l, &b.watcher, signalled(), EPOLLIN), 0);
	assert_int_equal(loop_turn(l, -1), 0);
	/* Both were ready; the first one called took the other out. */
	assert_int_equal(a.ready + b.ready, 1);
	(a.ready ? &a : &b)->removes = a.ready ? &a : &b;
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(a.ready + b.ready, 2);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.ready + b.ready, 2);
}

struct mortal {
	struct watcher watcher;
	int *count;
};

static void mortal_ready(struct watcher *w, uint32_t events)
{
	struct mortal *m = container_of(w, struct mortal, watcher);
	auto_fd fd = w->fd;

	(void)events;
	++*m->count;
	loop_remove(l, w);
	free(m);
}

/* More at once than are fetched at a time; each frees itself. */
static void test_frees_itself(void **state)
{
	enum { MANY = 200 };
	int count = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		struct mortal *m = calloc(1, sizeof(*m));

		assert_non_null(m);
		m->watcher.ready = mortal_ready;
		m->count = &count;
		assert_int_equal(loop_add(l, &m->watcher, signalled(), EPOLLIN), 0);
	}
	while (count < MANY)
		assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(count, MANY);
}

static void test_change(void **state)
{
	struct reader a = { .watcher.ready = reader_ready };
	auto_fd fd = signalled();

	(void)state;
	assert_int_equal(loop_add(l, &a.watcher, fd, 0), 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.ready, 0);
	assert_int_equal(loop_change(l, &a.watcher, EPOLLIN), 0);
	assert_int_equal(a.watcher.events, EPOLLIN);
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(a.ready, 2);
	assert_int_equal(loop_change(l, &a.watcher, 0), 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.ready, 2);
	loop_remove(l, &a.watcher);
	loop_remove(l, &a.watcher);
}

static void test_add_fails(void **state)
{
	struct reader a = { .watcher.ready = reader_ready };
	auto_fd file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(loop_add(l, &a.watcher, file, EPOLLIN), -EPERM);
	assert_int_equal(a.watcher.fd, -1);
	loop_remove(l, &a.watcher);
}

/* A callback that was fetched before another removed it and added it again under a new fd. */
static struct reader moved;
static int new_fd;

static void moves_the_other(struct watcher *w, uint32_t events)
{
	int old = moved.watcher.fd;

	(void)events;
	loop_remove(l, &moved.watcher);
	fd_close(&old);
	assert_int_equal(loop_add(l, &moved.watcher, new_fd, EPOLLIN), 0);
	loop_remove(l, w);
}

static void test_moved(void **state)
{
	auto_fd quiet = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	auto_fd first = signalled();
	struct watcher mover = { .ready = moves_the_other };

	(void)state;
	moved = (struct reader){ .watcher.ready = reader_ready };
	new_fd = quiet;
	assert_int_equal(loop_add(l, &mover, first, EPOLLIN), 0);
	assert_int_equal(loop_add(l, &moved.watcher, signalled(), EPOLLIN), 0);
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(moved.watcher.fd, quiet);
	/* Called at most once: for the old one, if that came first. Never for the new, quiet one.
	 */
	assert_true(moved.ready <= 1);
	moved.ready = 0;
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(moved.ready, 0);
	loop_remove(l, &moved.watcher);
}

/* The loop's own descriptor tells somebody else's that there is something to do. */
static void test_inside_another(void **state)
{
	struct reader a = { .watcher.ready = reader_ready };
	struct epoll_event e = { .events = EPOLLIN };
	auto_fd outer = epoll_create1(EPOLL_CLOEXEC);
	auto_fd fd = signalled();

	(void)state;
	assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, loop_fd(l), &e), 0);
	assert_int_equal(epoll_wait(outer, &e, 1, 0), 0);
	assert_int_equal(loop_add(l, &a.watcher, fd, EPOLLIN), 0);
	assert_int_equal(epoll_wait(outer, &e, 1, 0), 1);
	loop_remove(l, &a.watcher);
}

/* A watcher that stands for something that is allowed until a timer ends it. */
struct allowed {
	struct reader reader;
	struct timer ends;
};

static void allowed_ends(struct timer *t)
{
	struct allowed *a = container_of(t, struct allowed, ends);

	loop_remove(l, &a->reader.watcher);
}

static void must_not_expire(struct timer *t)
{
	(void)t;
	fail_msg("the machine slept, and a time-out counted that");
}

/* What was allowed for an hour is over after a night, before anything else happens; a time-out of
 * an hour is not. */
static void test_machine_slept(void **state)
{
	struct allowed a = { .reader.watcher.ready = reader_ready, .ends.expired = allowed_ends };
	struct timer timeout = { .expired = must_not_expire };
	auto_fd fd = signalled();

	(void)state;
	assert_int_equal(loop_add(l, &a.reader.watcher, fd, EPOLLIN), 0);
	assert_int_equal(loop_start(l, &timeout, 3600000), 0);
	assert_int_equal(loop_start_at(l, &a.ends, loop_boot_now(l) + 3600000), 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.reader.ready, 1);
	sleeping_s += 8 * 3600;
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.reader.ready, 1);
	assert_int_equal(a.reader.watcher.fd, -1);
	assert_int_equal(a.ends.place, 0);
	loop_stop(l, &timeout);
}

/* A timer may change its clock, and waits for the sooner of both. */
static void test_two_clocks(void **state)
{
	struct again one = { .timer.expired = again_expired }, other = one;

	(void)state;
	assert_int_equal(loop_start_at(l, &one.timer, loop_boot_now(l) + 3600000), 0);
	assert_int_equal(loop_start(l, &other.timer, 1), 0);
	for (int i = 0; i < 1000 && other.expired == 0; i++)
		assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(one.expired, 0);
	loop_stop(l, &other.timer);
	assert_int_equal(loop_start(l, &one.timer, 3600000), 0);
	assert_int_equal(loop_start_at(l, &one.timer, loop_boot_now(l) + 1), 0);
	for (int i = 0; i < 1000 && one.expired == 0; i++)
		assert_int_equal(loop_turn(l, -1), 0);
	assert_true(one.expired > 0);
	loop_stop(l, &one.timer);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timers_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rearmed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rearmed_among_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped_by_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed_while_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frees_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inside_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_machine_slept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_clocks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
