/* SPDX-License-Identifier: Apache-2.0 */
/* What the injector asks about requests, of a relay that answers, answers late, or has no room. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "inject/inspection.h"
#include "wire/frame.h"
#include "wire/lend.h"

enum { CONNECTION = 7, MANY = 200 };

struct world {
	struct loop *loop;
	struct inspection inspection;
	struct frame frame;
	int pair[2];
	unsigned answered;
};

static struct world w;

static const struct http_request get = {
	.method = "GET", .host = "a.com", .path = "/x", .upgrade_to = "", .query = "q=1"
};

static void world_on_answered(struct inspection_ask *a)
{
	(void)a;
	w.answered++;
}

static struct inspection_ask world_ask(uint64_t connection)
{
	return (struct inspection_ask){
		.all = &w.inspection, .connection = connection, .answered = world_on_answered
	};
}

static int setup(void **state)
{
	(void)state;
	w = (struct world){ 0 };
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(frame_pair(w.pair), 0);
	inspection_init(&w.inspection, w.loop, w.pair[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_stop(w.loop, &w.inspection.again);
	loop_free(w.loop);
	fd_close(&w.pair[0]);
	fd_close(&w.pair[1]);
	frame_deinit(&w.frame);
	return 0;
}

/* What the relay was asked last. */
static struct lend_request world_hear(uint64_t connection)
{
	struct lend_request r;

	assert_int_equal(frame_receive_now(w.pair[1], &w.frame), 1);
	assert_int_equal(w.frame.type, FRAME_LEND_ASK);
	assert_int_equal(w.frame.id, connection);
	assert_int_equal(lend_request_decode(&r, w.frame.body, w.frame.len), 0);
	return r;
}

static void world_answer(uint64_t connection, uint64_t number, const char *why)
{
	const struct lend_answer a = { number, !*why, why };
	auto_buffer body = { 0 };

	assert_int_equal(lend_answer_encode(&a, &body), 0);
	assert_int_equal(inspection_take_answer(&w.inspection, connection, body.data, body.len), 0);
}

static void test_allowed(void **state)
{
	struct inspection_ask a = world_ask(CONNECTION);
	struct lend_request r;

	(void)state;
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	r = world_hear(CONNECTION);
	assert_string_equal(r.method, "GET");
	assert_string_equal(r.path, "/x");
	assert_string_equal(r.query, "q=1");
	/* Once, however often it is looked at. */
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	assert_int_equal(frame_receive_now(w.pair[1], &w.frame), -EAGAIN);
	world_answer(CONNECTION, r.number, "");
	assert_int_equal(w.answered, 1);
	assert_int_equal(inspection_judge(&a, &get), 0);
	/* The next one is another one. */
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	assert_int_not_equal(world_hear(CONNECTION).number, r.number);
	inspection_leave(&a);
}

static void test_denied(void **state)
{
	struct inspection_ask a = world_ask(CONNECTION);

	(void)state;
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	world_answer(CONNECTION, world_hear(CONNECTION).number, "no");
	assert_int_equal(inspection_judge(&a, &get), -EACCES);
	assert_string_equal(inspection_why(&a), "no");
	inspection_leave(&a);
}

/* Of another connection, of another request, of one that has gone, and what is no answer. */
static void test_strange_answers(void **state)
{
	struct inspection_ask a = world_ask(CONNECTION), b = world_ask(CONNECTION + 1);
	uint64_t number, other;

	(void)state;
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	assert_int_equal(inspection_judge(&b, &get), HTTP_HOLD);
	number = world_hear(CONNECTION).number;
	other = world_hear(CONNECTION + 1).number;
	world_answer(CONNECTION + 1, number, "");
	world_answer(CONNECTION, other, "");
	world_answer(CONNECTION, number + 100, "");
	assert_int_equal(inspection_take_answer(&w.inspection, CONNECTION, "x", 1), -EPROTO);
	assert_int_equal(w.answered, 0);
	assert_int_equal(inspection_judge(&a, &get), HTTP_HOLD);
	inspection_leave(&a);
	world_answer(CONNECTION, number, "");
	assert_int_equal(w.answered, 0);
	world_answer(CONNECTION + 1, other, "");
	assert_int_equal(inspection_judge(&b, &get), 0);
	inspection_leave(&b);
}

/* What cannot be shown as what it is, is never sent. */
static void test_unshown(void **state)
{
	static char path[LEND_PATH_MAX + 3], query[2 * LEND_QUERY_MAX];
	struct inspection_ask a = world_ask(CONNECTION), b = a, c = a;
	struct http_request r = get;

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	r.path = path;
	assert_int_equal(inspection_judge(&a, &r), -EACCES);
	r.path = "/a\nb";
	assert_int_equal(inspection_judge(&b, &r), -EACCES);
	assert_int_equal(frame_receive_now(w.pair[1], &w.frame), -EAGAIN);
	/* Of a query no more than is ever shown. */
	memset(query, 'q', sizeof(query) - 1);
	r = get;
	r.query = query;
	assert_int_equal(inspection_judge(&c, &r), HTTP_HOLD);
	assert_int_equal(strlen(world_hear(CONNECTION).query), LEND_QUERY_MAX);
	inspection_leave(&a);
	inspection_leave(&b);
	inspection_leave(&c);
}

static struct inspection_ask many[MANY];

static void world_on_room(struct inspection_ask *a)
{
	(void)inspection_judge(a, &get);
}

/* A relay that does not read for a while gets each request once it does. */
static void test_no_room(void **state)
{
	const int small = 4096;
	unsigned heard = 0;

	(void)state;
	assert_int_equal(setsockopt(w.pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	for (size_t i = 0; i < MANY; i++) {
		many[i] = world_ask(i + 1);
		many[i].answered = world_on_room;
		assert_int_equal(inspection_judge(&many[i], &get), HTTP_HOLD);
	}
	while (heard < MANY) {
		int r = frame_receive_now(w.pair[1], &w.frame);

		if (r == -EAGAIN)
			assert_true(loop_turn(w.loop, -1) >= 0);
		heard += r == 1;
	}
	assert_int_equal(frame_receive_now(w.pair[1], &w.frame), -EAGAIN);
	for (size_t i = 0; i < MANY; i++)
		inspection_leave(&many[i]);
}

static void test_no_relay(void **state)
{
	struct inspection_ask a = world_ask(CONNECTION);

	(void)state;
	fd_close(&w.pair[1]);
	assert_int_equal(inspection_judge(&a, &get), -EACCES);
	inspection_leave(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strange_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unshown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_relay, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
