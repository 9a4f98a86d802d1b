/* SPDX-License-Identifier: Apache-2.0 */
/* Events: order and ids, the ring of kept ones, a link that is full, gone or never there. */
#include "daemon/supervisor/test/test-link.h"

#include <stdio.h>

#include "base/clock.h"
#include "daemon/supervisor/bus.h"
#include "test/failing.h"

FAILING_REALLOC

enum { FIRST = 1000 };

static int setup(void **state)
{
	link_setup(state);
	link_s->bus.first_id = link_s->bus.next_id = FIRST;
	return 0;
}

/* {"n": i}, the i-th of a test. */
static const char *body(size_t i)
{
	static char text[32];

	(void)snprintf(text, sizeof(text), "{\"n\": %zu}", i);
	return text;
}

static void add(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		bus_add(link_s, "finding", body(i));
}

static void expect(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		link_expect_event(FIRST + i, "finding", body(i));
	assert_null(link_receive());
}

/* A daemon that starts later has greater ids, although it knows nothing of the one before. */
static void test_begin(void **state)
{
	struct bus earlier = { 0 }, later = { 0 };
	const uint64_t before = clock_ns(CLOCK_REALTIME) / 1000;

	(void)state;
	bus_begin(&earlier);
	bus_begin(&later);
	assert_true(earlier.first_id >= before);
	assert_true(later.first_id >= earlier.next_id);
	assert_int_equal(earlier.first_id, earlier.next_id);
	assert_true(later.first_id <= clock_ns(CLOCK_REALTIME) / 1000);
}

static void test_publish(void **state)
{
	(void)state;
	bus_publish(link_s, "finding", "{}");
	assert_int_equal(link_flushed, 1);
	bus_publish(link_s, "security_status", "{\"high\": 0}");
	assert_int_equal(link_flushed, 2);
	link_expect_event(FIRST, "finding", "{}");
	link_expect_event(FIRST + 1, "security_status", "{\"high\": 0}");
	assert_null(link_receive());
}

/* bus_add() leaves the flush to its caller. */
static void test_add(void **state)
{
	(void)state;
	add(0, 3);
	assert_int_equal(link_flushed, 0);
	expect(0, 3);
}

/* What would be no line of a stream is no event, and takes no id. */
static void test_malformed(void **state)
{
	static const struct message_event bad[] = { { "", "{}" }, { "a b", "{}" },
		{ "finding\n", "{}" }, { "finding", "" }, { "finding", "{}\n{}" },
		{ "finding", "{\r}" } };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++)
		bus_publish(link_s, bad[i].type, bad[i].json);
	assert_null(link_receive());
	assert_int_equal(link_s->bus.next_id, FIRST);
	add(0, 1);
	expect(0, 1);
}

/* The bound is of the frame: the largest event goes in one packet, a larger one not at all. */
static void test_largest(void **state)
{
	char *json = malloc(MESSAGE_EVENT_MAX + 2);

	(void)state;
	assert_non_null(json);
	memset(json, 'x', MESSAGE_EVENT_MAX + 1);
	json[MESSAGE_EVENT_MAX + 1] = '\0';
	bus_add(link_s, "finding", json);
	assert_null(link_receive());
	assert_int_equal(link_s->bus.next_id, FIRST);
	json[MESSAGE_EVENT_MAX] = '\0';
	bus_add(link_s, "finding", json);
	link_expect_event(FIRST, "finding", json);
	assert_null(link_receive());
	free(json);
}

/* Without corrald-http events are kept, and a new one gets them, in order and once. */
static void test_repeat(void **state)
{
	const struct child child = link_s->http.child;

	(void)state;
	link_s->http.child.pid = 0;
	add(0, 5);
	bus_publish(link_s, "finding", body(5));
	assert_int_equal(link_flushed, 0);
	bus_repeat(link_s);
	assert_null(link_receive());

	link_s->http.child = child;
	bus_repeat(link_s);
	expect(0, 6);
	/* The one after it gets the same. */
	bus_repeat(link_s);
	expect(0, 6);
	add(6, 7);
	expect(6, 7);
}

static void test_repeat_nothing(void **state)
{
	(void)state;
	bus_repeat(link_s);
	assert_null(link_receive());
}

/* BUS_KEPT of them are kept: at the bound all, behind it the latest. */
static void test_kept(void **state)
{
	const struct child child = link_s->http.child;

	(void)state;
	link_s->http.child.pid = 0;
	add(0, BUS_KEPT);
	link_s->http.child = child;
	bus_repeat(link_s);
	outbox_flush(&link_s->http.out);
	for (size_t i = 0; i < BUS_KEPT; i++) {
		link_expect_event(FIRST + i, "finding", body(i));
		outbox_flush(&link_s->http.out);
	}
	assert_null(link_receive());

	link_s->http.child.pid = 0;
	add(BUS_KEPT, 3 * BUS_KEPT + 7);
	link_s->http.child = child;
	bus_repeat(link_s);
	for (size_t i = 2 * BUS_KEPT + 7; i < 3 * BUS_KEPT + 7; i++) {
		link_expect_event(FIRST + i, "finding", body(i));
		outbox_flush(&link_s->http.out);
	}
	assert_null(link_receive());
}

/* One that does not read: so many wait in the outbox, the others are dropped, which their ids show,
 * and the link is not broken by it. */
static void test_crowded(void **state)
{
	const size_t more = 40;
	size_t i = 0;

	(void)state;
	link_fill();
	add(0, OUTBOX_CROWDED + more);
	assert_int_equal(link_s->http.out.n, OUTBOX_CROWDED);
	assert_false(link_s->http.out.broken);
	assert_int_equal(link_s->bus.next_id, FIRST + OUTBOX_CROWDED + more);
	link_drain();
	while (!outbox_is_empty(&link_s->http.out)) {
		outbox_flush(&link_s->http.out);
		while (link_receive()) {
			assert_int_equal(link_frame.type, FRAME_API_EVENT);
			assert_int_equal(link_frame.id, FIRST + i++);
		}
	}
	assert_int_equal(i, OUTBOX_CROWDED);
	/* There is room again: the next one has the number behind the gap. */
	add(OUTBOX_CROWDED + more, OUTBOX_CROWDED + more + 1);
	expect(OUTBOX_CROWDED + more, OUTBOX_CROWDED + more + 1);
}

/* Its end is closed: the link breaks, events are still kept for the next one. */
static void test_peer_gone(void **state)
{
	int pair[2];

	(void)state;
	fd_close(&link_peer);
	bus_publish(link_s, "finding", body(0));
	assert_true(link_s->http.out.broken);
	/* Who holds the process learns so. */
	assert_int_equal(link_flushed, 1);

	assert_int_equal(frame_pair(pair), 0);
	assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	outbox_deinit(&link_s->http.out);
	link_s->http.out = (struct outbox){ .socket = pair[0] };
	link_peer = pair[1];
	bus_repeat(link_s);
	expect(0, 1);
	(void)close(pair[0]);
}

/* An event without memory is not made; those before and behind it are whole. */
static void test_memory(void **state)
{
	long n = 0;

	(void)state;
	for (;; n++) {
		failing_start(n);
		add(0, 1);
		if (!failing_stop())
			break;
		assert_int_equal(link_s->bus.next_id, FIRST);
		assert_null(link_receive());
	}
	assert_true(n > 0);
	expect(0, 1);
	bus_repeat(link_s);
	expect(0, 1);
}

#define BUS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, link_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUS_TEST(test_begin),
		BUS_TEST(test_publish),
		BUS_TEST(test_add),
		BUS_TEST(test_malformed),
		BUS_TEST(test_largest),
		BUS_TEST(test_repeat),
		BUS_TEST(test_repeat_nothing),
		BUS_TEST(test_kept),
		BUS_TEST(test_crowded),
		BUS_TEST(test_peer_gone),
		BUS_TEST(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
