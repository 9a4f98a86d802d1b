/* SPDX-License-Identifier: Apache-2.0 */
/* A host that does not read: what is kept for it, in which order, and what is not. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flood_has_a_bound),
		cmocka_unit_test(test_others_are_not_dropped),
		cmocka_unit_test(test_a_flood_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
