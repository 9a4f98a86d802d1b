/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that end by their own time: no order of the holder follows in any of these. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/test/test-stage.h"
#include "test/sleeping.h"

enum { HOUR_MS = 3600 * 1000, SOON_MS = 50, TURNS_MAX = 3000, TURN_MS = 20 };

static struct stage stage;
static uint64_t granted_id;
static int granted_code;
static bool is_stuck;

static void on_granted(void *context, uint64_t id, int code, const char *why)
{
	(void)context;
	(void)why;
	granted_id = id;
	granted_code = code;
}

static void on_stuck(void *context)
{
	(void)context;
	is_stuck = true;
}

static int set_up(void **state)
{
	const struct monitor_holder holder = { .granted = on_granted, .stuck = on_stuck };

	(void)state;
	stage_make(&stage, "{\"fs\":{\"read\":[\"$WORK_DIR/own\"]}}");
	monitor_on_questions(stage.monitor, &holder);
	stage_write(&stage, "a", "first");
	stage_write(&stage, "b", "second");
	granted_id = 0;
	is_stuck = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stage_remove(&stage);
	return 0;
}

static struct live_grant reads(const char *name, uint64_t ends_ms)
{
	static char paths[2][128];
	char *path = paths[name[0] == 'b'];

	(void)snprintf(path, sizeof(paths[0]), "%s", stage_path(&stage, name));
	return (struct live_grant){ .op = OPERATION_FS_READ, .ends_ms = ends_ms, .pattern = path };
}

static void await_granted(uint64_t id)
{
	for (int i = 0; i < TURNS_MAX && granted_id != id; i++)
		assert_int_equal(loop_turn(stage.loop, TURN_MS), 0);
	assert_int_equal(granted_id, id);
	assert_int_equal(granted_code, 0);
}

static void put(uint64_t id, const struct live_grant *grants, size_t n)
{
	assert_int_equal(monitor_grant(stage.monitor, id, grants, n), 0);
	await_granted(id);
}

static bool can_read(const char *name)
{
	static uint64_t id = 1000;
	struct values v = { 0 };

	v.v[0] = stage_text(SCHEMA_PATH, stage_path(&stage, name));
	stage_call(&stage, ++id, METHOD_FS_READ, 0, &v);
	assert_true(stage_hear(&stage));
	return stage.frame.type == FRAME_CALL_ANSWER;
}

static void await_end(const char *name)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		if (!can_read(name))
			return;
		assert_int_equal(loop_turn(stage.loop, TURN_MS), 0);
	}
	fail_msg("%s can be read although its grant is over", name);
}

static uint64_t now_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

static void test_ends_by_itself(void **state)
{
	struct live_grant both[] = { reads("a", now_ms() + HOUR_MS), reads("b", 0) };

	(void)state;
	assert_false(can_read("a"));
	put(1, both, ROWS(both));
	assert_true(can_read("a") && can_read("b"));
	both[0].ends_ms = now_ms() + SOON_MS;
	put(2, both, ROWS(both));
	await_end("a");
	/* The other stays, and nothing was said of the end. */
	assert_true(can_read("b"));
	assert_int_equal(granted_id, 2);
	assert_false(is_stuck);
}

/* One after the other. */
static void test_each_has_its_own_time(void **state)
{
	const struct live_grant both[] = { reads("a", now_ms() + SOON_MS),
		reads("b", now_ms() + 2 * SOON_MS) };

	(void)state;
	put(1, both, ROWS(both));
	await_end("a");
	await_end("b");
	assert_false(is_stuck);
}

/* As a broker that was started again gets it. */
static void test_over_before_it_came(void **state)
{
	const struct live_grant both[] = { reads("a", 1), reads("b", now_ms() + HOUR_MS) };

	(void)state;
	put(1, both, ROWS(both));
	assert_true(!can_read("a") && can_read("b"));
}

/* An order that comes while a grant ends is carried out after that, and is not refused: a
 * revocation that is refused would end the sandbox. */
static void test_order_meanwhile(void **state)
{
	struct live_grant a = reads("a", 0), b = reads("b", 0);
	const struct granting *g = &stage.monitor->granting;
	uint64_t id = 0, ms = SOON_MS;

	(void)state;
	/* Until it is in force before it is over. */
	do {
		a.ends_ms = now_ms() + ms;
		ms *= 2;
		put(++id, &a, 1);
	} while (now_ms() >= a.ends_ms && ms < HOUR_MS);
	for (int i = 0; i < TURNS_MAX && !(g->is_busy && g->is_own); i++)
		assert_int_equal(loop_turn(stage.loop, TURN_MS), 0);
	assert_true(g->is_busy && g->is_own);
	assert_int_equal(monitor_grant(stage.monitor, id + 1, &b, 1), 0);
	assert_int_equal(monitor_grant(stage.monitor, id + 2, &b, 1), -EBUSY);
	await_granted(id + 1);
	assert_true(!can_read("a") && can_read("b"));
	assert_false(is_stuck);
}

/* What was refused is not in force, and what was before it still ends. */
static void test_refused_order(void **state)
{
	struct live_grant a = reads("a", now_ms() + HOUR_MS);
	const struct live_grant bad = { .op = OPERATION_EXEC, .pattern = "true" };

	(void)state;
	put(1, &a, 1);
	a.ends_ms = now_ms() + SOON_MS;
	put(2, &a, 1);
	assert_int_equal(monitor_grant(stage.monitor, 3, &bad, 1), 0);
	for (int i = 0; i < TURNS_MAX && granted_id != 3; i++)
		assert_int_equal(loop_turn(stage.loop, TURN_MS), 0);
	assert_int_equal(granted_id, 3);
	assert_int_equal(granted_code, -EOPNOTSUPP);
	await_end("a");
}

/* The hour is over although no process has had it. */
static void test_machine_slept(void **state)
{
	const struct live_grant both[] = { reads("a", now_ms() + HOUR_MS), reads("b", 0) };

	(void)state;
	put(1, both, ROWS(both));
	assert_true(can_read("a") && can_read("b"));
	sleeping_s += 8 * 3600;
	await_end("a");
	assert_true(can_read("b"));
	assert_false(is_stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends_by_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_has_its_own_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_over_before_it_came, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_machine_slept, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
