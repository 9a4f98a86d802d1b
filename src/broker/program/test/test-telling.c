/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
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
	telling = (struct telling){ .socket = pair[0], .lock = PTHREAD_MUTEX_INITIALIZER };
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

/* A holder that does not read: what does not fit is counted, and said with the next that does. */
static void test_dropped(void **state)
{
	enum { MANY = 5000 };
	uint64_t events = 0, missing = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		telling_add(&telling, &event);
	hear(&events, &missing);
	assert_true(events > 0 && events < MANY);
	assert_int_equal(missing, 0);
	telling_add(&telling, &event);
	hear(&events, &missing);
	assert_int_equal(events + missing, MANY + 1);
}

/* The same if nothing follows. */
static void test_dropped_last(void **state)
{
	enum { MANY = 5000 };
	uint64_t events = 0, missing = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		telling_add(&telling, &event);
	hear(&events, &missing);
	telling_finish(&telling);
	hear(&events, &missing);
	assert_int_equal(events + missing, MANY);
	assert_true(missing > 0);
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
		TEST(test_dropped),
		TEST(test_dropped_last),
		TEST(test_untold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
