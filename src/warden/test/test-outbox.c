/* SPDX-License-Identifier: Apache-2.0 */
/* A host that does not read: what is kept for it, in which order, and what is not. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warden/outbox.h"

struct fixture {
	struct outbox out;
	int host;
	struct frame frame;
};

static void open_fixture(struct fixture *f)
{
	int pair[2];

	memset(f, 0, sizeof(*f));
	assert_int_equal(frame_pair(pair), 0);
	f->out.socket = pair[0];
	f->host = pair[1];
	assert_int_equal(fcntl(f->out.socket, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(f->host, F_SETFL, O_NONBLOCK), 0);
}

/* The next frame that the host finds; FRAME_NONE: there is nothing more. */
static enum frame_type next(struct fixture *f)
{
	int r = frame_receive(f->host, &f->frame);

	if (r == 1)
		return f->frame.type;
	assert_int_equal(r, -EAGAIN);
	outbox_flush(&f->out);
	return frame_receive(f->host, &f->frame) == 1 ? f->frame.type : FRAME_NONE;
}

static void drain(struct fixture *f)
{
	while (next(f) != FRAME_NONE)
		continue;
}

static void close_fixture(struct fixture *f)
{
	drain(f);
	frame_deinit(&f->frame);
	(void)close(f->host);
	(void)close(f->out.socket);
}

/* More than the socket takes, and than may wait. */
static void offer_many(struct fixture *f)
{
	static const char body[1000] = "x";

	for (size_t i = 0; i < 100000; i++)
		outbox_offer(&f->out, FRAME_RECORD, 0, body, sizeof(body));
}

static void test_a_flood_has_a_bound(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	offer_many(&f);
	assert_int_equal(f.out.n, OUTBOX_CROWDED);
	assert_false(f.out.broken);
	close_fixture(&f);
}

static void test_others_are_not_dropped(void **state)
{
	struct fixture f;
	uint64_t seen = 0, records = 0;

	(void)state;
	open_fixture(&f);
	offer_many(&f);
	for (uint64_t id = 1; id <= 100; id++) {
		outbox_add(&f.out, FRAME_STARTED, id, NULL, 0, -1);
		offer_many(&f);
	}
	for (enum frame_type type = next(&f); type != FRAME_NONE; type = next(&f)) {
		records += type == FRAME_RECORD;
		if (type == FRAME_STARTED)
			assert_int_equal(f.frame.id, ++seen);
	}
	assert_int_equal(seen, 100);
	assert_true(records >= OUTBOX_CROWDED);
	assert_true(outbox_is_empty(&f.out));
	assert_int_equal(f.out.n, 0);
	close_fixture(&f);
}

/* Once the host has read, it hears of what is new. */
static void test_a_flood_ends(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	offer_many(&f);
	drain(&f);
	outbox_offer(&f.out, FRAME_RECORD, 0, "last", 4);
	assert_int_equal(next(&f), FRAME_RECORD);
	assert_int_equal(f.frame.len, 4);
	assert_memory_equal(f.frame.body, "last", 4);
	close_fixture(&f);
}

/* Of each kind: what was received, and what is said to be lost. */
struct tally {
	uint64_t count[4], lost[4], sent, received;
	unsigned reports;
};

static void take_record(struct tally *t, const struct frame *f)
{
	struct record r;
	char *rest;
	size_t kind;

	assert_int_equal(record_decode(&r, f->body, f->len), 0);
	kind = r.dns ? 3 : (size_t)r.kind;
	t->count[kind] += r.count;
	t->sent += r.sent;
	t->received += r.received;
	if (strcmp(r.target, "*") != 0)
		return;
	t->lost[kind] += strtoull(r.reason, &rest, 10);
	assert_string_equal(rest, " network records were lost: they were not read in time");
	t->reports++;
}

/* Each counts for two, so that what is lost can be told from what it had counted. */
static void offer_records(struct fixture *f, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const struct record r = { .kind = (enum record_kind)(i % 3),
			.dns = i % 12 == 0,
			.target = "a.example:443",
			.reason = "not granted",
			.sent = 3,
			.received = 5,
			.count = 2 };

		outbox_offer_record(&f->out, &r);
	}
}

static void drain_records(struct fixture *f, struct tally *t)
{
	for (enum frame_type type = next(f); type != FRAME_NONE; type = next(f))
		if (type == FRAME_RECORD)
			take_record(t, &f->frame);
}

static void test_what_is_dropped_is_counted(void **state)
{
	enum { MANY = 12000 };
	struct fixture f;
	struct tally t = { 0 };

	(void)state;
	open_fixture(&f);
	for (unsigned times = 1; times <= 2; times++) {
		uint64_t lost = 0;

		offer_records(&f, MANY);
		assert_int_equal(f.out.n, OUTBOX_CROWDED);
		for (size_t i = 0; i < 4; i++)
			lost += f.out.dropped[i].frames;
		assert_true(lost > MANY / 2);
		drain_records(&f, &t);
		assert_int_equal(t.reports, 4 * times);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(f.out.dropped[i].frames, 0);
			lost -= t.lost[i];
			t.lost[i] = 0;
		}
		assert_int_equal(lost, 0);
		assert_int_equal(t.count[RECORD_DENIED] + t.count[3], 2 * MANY / 3 * times);
		assert_int_equal(t.count[3], 2 * MANY / 12 * times);
		assert_int_equal(t.count[RECORD_FAILED], 2 * MANY / 3 * times);
		assert_int_equal(t.count[RECORD_CLOSED], 2 * MANY / 3 * times);
		assert_int_equal(t.sent, 3 * MANY * times);
		assert_int_equal(t.received, 5 * MANY * times);
	}
	close_fixture(&f);
}

/* Whoever reads up to a command's end knows what is missing. */
static void test_dropped_before_an_end(void **state)
{
	struct fixture f;
	struct tally t = { 0 };
	enum frame_type type;

	(void)state;
	open_fixture(&f);
	offer_records(&f, 12000);
	outbox_report_dropped(&f.out);
	outbox_add(&f.out, FRAME_EXITED, 1, NULL, 0, -1);
	assert_int_equal(f.out.n, OUTBOX_CROWDED + 4 + 1);
	for (type = next(&f); type == FRAME_RECORD; type = next(&f))
		take_record(&t, &f.frame);
	assert_int_equal(type, FRAME_EXITED);
	assert_int_equal(t.reports, 4);
	assert_int_equal(t.sent, 3 * 12000);
	/* Once. */
	assert_int_equal(next(&f), FRAME_NONE);
	outbox_report_dropped(&f.out);
	assert_int_equal(next(&f), FRAME_NONE);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flood_has_a_bound),
		cmocka_unit_test(test_others_are_not_dropped),
		cmocka_unit_test(test_a_flood_ends),
		cmocka_unit_test(test_what_is_dropped_is_counted),
		cmocka_unit_test(test_dropped_before_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
