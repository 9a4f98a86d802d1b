/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/buffer.h"
#include "broker/program/telling.h"
#include "wire/frame.h"

static struct telling telling;
static int holder;

static int set_up(void **state)
{
	int pair[2];

	(void)state;
	if (frame_pair(pair) < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	telling = (struct telling){
		.socket = pair[0], .wake = -1, .lock = PTHREAD_MUTEX_INITIALIZER
	};
	holder = pair[1];
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(telling.socket);
	return close(holder);
}

static const struct audit_event event = { .time_ns = 1,
	.sequence = 7,
	.session = "session",
	.user = "user",
	.sandbox = "sandbox",
	.program = "broker",
	.action = AUDIT_FS_READ,
	.target = "/etc/shadow",
	.decision = AUDIT_DENIED,
	.rule = "",
	.reason = "",
	.count = 1 };

/* Reads all frames; how many events, and how many are said to be missing. */
static void hear(uint64_t *events, uint64_t *missing)
{
	auto_frame f = { 0 };
	struct audit_event e;

	while (frame_receive(holder, &f) == 1) {
		assert_int_equal(f.type, FRAME_EVENT);
		*missing += f.id;
		if (f.len == 0)
			continue;
		assert_int_equal(audit_event_decode(&e, f.body, f.len), 0);
		assert_string_equal(e.target, event.target);
		assert_int_equal(e.decision, AUDIT_DENIED);
		++*events;
	}
}

static void test_told(void **state)
{
	uint64_t events = 0, missing = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		telling_add(&telling, &event);
	telling_finish(&telling);
	hear(&events, &missing);
	assert_int_equal(events, 3);
	assert_int_equal(missing, 0);
}

/* A holder that does not read: nothing is dropped, and nothing may begin until it reads again. */
static void test_kept(void **state)
{
	enum { MANY = 5000 };
	uint64_t events = 0, missing = 0;

	(void)state;
	assert_true(telling_is_ready(&telling));
	for (int i = 0; i < MANY; i++)
		telling_add(&telling, &event);
	assert_false(telling_is_ready(&telling));
	assert_false(telling_is_ready(&telling));
	assert_false(telling_flush(&telling));
	for (int i = 0; i < MANY && !telling_flush(&telling); i++)
		hear(&events, &missing);
	assert_true(telling_is_ready(&telling));
	hear(&events, &missing);
	assert_int_equal(events, MANY);
	assert_int_equal(missing, 0);
	assert_int_equal(telling.kept, 0);
}

/* What the holder does not read until the end is counted. */
static void test_dropped_last(void **state)
{
	enum { MANY = 5000 };
	uint64_t events = 0, missing = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		telling_add(&telling, &event);
	telling_finish(&telling);
	assert_null(telling.first);
	assert_true(telling.lost > 0);
	hear(&events, &missing);
	telling_finish(&telling);
	hear(&events, &missing);
	assert_int_equal(events + missing, MANY);
	assert_true(missing > 0);
}

/* Too many of calls that had begun: the thread that tells waits for the holder. */
static void *tell_many(void *n)
{
	for (size_t i = 0; i < *(const size_t *)n; i++)
		telling_add(&telling, &event);
	return NULL;
}

static void test_bounded(void **state)
{
	auto_buffer body = { 0 };
	uint64_t events = 0, missing = 0;
	pthread_t thread;
	size_t many;

	(void)state;
	audit_event_encode(&event, &body);
	many = 2 * TELLING_KEPT_MAX / body.len;
	assert_int_equal(pthread_create(&thread, NULL, tell_many, &many), 0);
	while (events + missing < many) {
		(void)poll(&(struct pollfd){ .fd = holder, .events = POLLIN }, 1, 100);
		hear(&events, &missing);
		assert_true(telling.kept <= TELLING_KEPT_MAX);
		(void)telling_flush(&telling);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(events, many);
	assert_int_equal(missing, 0);
}

/* A holder that records nothing. */
static void test_untold(void **state)
{
	uint64_t events = 0, missing = 0;
	const int socket = telling.socket;

	(void)state;
	telling.socket = -1;
	telling_add(&telling, &event);
	telling_finish(&telling);
	telling.socket = socket;
	hear(&events, &missing);
	assert_int_equal(events + missing, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_told),
		TEST(test_kept),
		TEST(test_dropped_last),
		TEST(test_bounded),
		TEST(test_untold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
