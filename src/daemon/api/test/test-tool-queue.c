/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for a place to run: order, the turn between the two lines, both bounds, time, and
 * all the ways in which a call leaves a line with exactly one answer.
 */
#include "daemon/supervisor/test/test-link.h"

#include <stdio.h>

#include "daemon/api/api.h"
#include "daemon/api/tool-queue.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/test/test-clock.h"
#include "test/failing.h"

FAILING_MALLOC
FAILING_CALLOC
FAILING_REALLOCARRAY

/* How a call ended. */
struct queue_end {
	uint64_t id;
	unsigned status;
};

/* Places that are free, what ran, what was answered, what was refused. */
static size_t n_free;
static uint64_t ran[2 * TOOL_LINE_MAX];
static size_t n_ran;
static struct queue_end ended[2 * TOOL_LINE_MAX];
static size_t n_ended;
static int start_fails;
/* What a call that runs was given. */
static char last_argv[256], last_input[64], last_record[64], last_subject[64];

static void copy(char to[static 64], const char *text)
{
	(void)snprintf(to, 64, "%s", text ? text : "(null)");
}

int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r);
int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r)
{
	size_t at = 0;

	assert_ptr_equal(s, link_s);
	if (start_fails)
		return start_fails;
	if (n_free == 0)
		return -EBUSY;
	n_free--;
	ran[n_ran++] = r->id;
	last_argv[0] = '\0';
	for (size_t i = 0; r->argv[i]; i++)
		at += (size_t)snprintf(last_argv + at, sizeof(last_argv) - at, "%s|", r->argv[i]);
	copy(last_input, r->input);
	copy(last_record, r->record);
	copy(last_subject, r->subject);
	return 0;
}

static void end(uint64_t id, unsigned status)
{
	ended[n_ended++] = (struct queue_end){ id, status };
}

void __wrap_tool_refuse(struct supervisor *s, uint64_t id, int error);
void __wrap_tool_refuse(struct supervisor *s, uint64_t id, int error)
{
	assert_ptr_equal(s, link_s);
	assert_int_equal(error, start_fails);
	end(id, 500);
}

void __wrap_api_fail(struct supervisor *s, uint64_t id, unsigned status, const char *text);
void __wrap_api_fail(struct supervisor *s, uint64_t id, unsigned status, const char *text)
{
	assert_ptr_equal(s, link_s);
	assert_true(strlen(text) > 0);
	end(id, status);
}

void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason);
void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason)
{
	assert_ptr_equal(s, link_s);
	assert_non_null(strstr(reason, "before the call was carried out"));
	end(id, status);
}

static int setup(void **state)
{
	link_setup(state);
	tool_queue_open(link_s);
	n_free = n_ran = n_ended = 0;
	start_fails = 0;
	return 0;
}

static void expect_empty(void)
{
	for (size_t i = 0; i < TOOL_LINES; i++) {
		const struct tool_line *l = &link_s->api.tool_queue.lines[i];

		assert_int_equal(l->n, 0);
		assert_int_equal(l->bytes, 0);
		assert_ptr_equal(l->waiting.next, &l->waiting);
	}
}

static int teardown(void **state)
{
	tool_queue_clear(link_s);
	expect_empty();
	/* No timer of a call is left. */
	n_ended = 0;
	clock_pass(link_s->loop, 2 * TOOL_WAIT_MS);
	assert_int_equal(n_ended, 0);
	return link_teardown(state);
}

static int add(uint64_t id, bool by_unix)
{
	const char *const argv[] = { "policy", "list", NULL };

	return tool_queue_add(link_s, by_unix, &(struct tool_request){ .argv = argv, .id = id });
}

static void serve(size_t places)
{
	n_free = places;
	tool_queue_serve(link_s);
}

static void expect_ran(const uint64_t *ids, size_t n)
{
	assert_int_equal(n_ran, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ran[i], ids[i]);
}

static void test_order(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(add(i, false), 0);
	serve(0);
	assert_int_equal(n_ran, 0);
	serve(2);
	expect_ran((uint64_t[]){ 1, 2 }, 2);
	serve(9);
	expect_ran((uint64_t[]){ 1, 2, 3, 4, 5 }, 5);
	assert_int_equal(n_free, 6);
	expect_empty();
	/* With nothing to do it does nothing. */
	serve(9);
	assert_int_equal(n_ran, 5);
	assert_int_equal(n_ended, 0);
}

/* A flood by one line costs the other at most one place. */
static void test_turns(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(add(i, false), 0);
	assert_int_equal(add(1001, true), 0);
	assert_int_equal(add(1002, true), 0);
	serve(1);
	assert_int_equal(add(1003, true), 0);
	serve(1);
	serve(1);
	serve(4);
	expect_ran((uint64_t[]){ 1, 1001, 2, 1002, 3, 1003, 4 }, 7);
	serve(1);
	assert_int_equal(ran[7], 5);
}

/* A turn that found no place is not lost. */
static void test_turn_stays(void **state)
{
	(void)state;
	assert_int_equal(add(1, false), 0);
	assert_int_equal(add(2, false), 0);
	assert_int_equal(add(3, true), 0);
	serve(1);
	serve(0);
	serve(0);
	serve(1);
	expect_ran((uint64_t[]){ 1, 3 }, 2);
}

/* What the caller gave may go: all that the call needs is a copy. */
static void test_copies(void **state)
{
	char one[] = "rule", two[] = "add", input[] = "{}", record[] = "rule.add", about[] = "r1";
	const char *argv[] = { one, two, NULL };
	struct tool_request r = {
		.argv = argv, .input = input, .record = record, .subject = about, .id = 7
	};

	(void)state;
	assert_int_equal(tool_queue_add(link_s, true, &r), 0);
	memset(one, 'x', sizeof(one) - 1);
	memset(two, 'x', sizeof(two) - 1);
	memset(input, 'x', sizeof(input) - 1);
	memset(record, 'x', sizeof(record) - 1);
	memset(about, 'x', sizeof(about) - 1);
	argv[0] = NULL;
	r = (struct tool_request){ 0 };
	serve(1);
	expect_ran((uint64_t[]){ 7 }, 1);
	assert_string_equal(last_argv, "rule|add|");
	assert_string_equal(last_input, "{}");
	assert_string_equal(last_record, "rule.add");
	assert_string_equal(last_subject, "r1");

	/* Texts that are not given stay so; there may be no words at all. */
	argv[0] = NULL;
	assert_int_equal(
		tool_queue_add(link_s, true, &(struct tool_request){ .argv = argv, .id = 8 }), 0);
	serve(1);
	assert_string_equal(last_argv, "");
	assert_string_equal(last_input, "(null)");
	assert_string_equal(last_record, "(null)");
	assert_string_equal(last_subject, "(null)");
}

/* Each line has its own bound of calls. */
static void test_full(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < TOOL_LINE_MAX; i++)
		assert_int_equal(add(i + 1, false), 0);
	assert_int_equal(add(1000, false), -EBUSY);
	assert_int_equal(link_s->api.tool_queue.lines[false].n, TOOL_LINE_MAX);
	assert_int_equal(add(1001, true), 0);
	serve(1);
	assert_int_equal(add(1002, false), 0);
	assert_int_equal(add(1003, false), -EBUSY);
	/* Whoever was refused has its answer from the caller, not from here. */
	assert_int_equal(n_ended, 0);
}

/* And one of bytes: calls with the longest input, far fewer than TOOL_LINE_MAX. */
static void test_bytes(void **state)
{
	char *input = malloc(ROUTE_POLICY_MAX + 1);
	const char *const argv[] = { NULL };
	struct tool_request r = { .argv = argv, .input = input };
	size_t n = 0;

	(void)state;
	assert_non_null(input);
	memset(input, 'x', ROUTE_POLICY_MAX);
	input[ROUTE_POLICY_MAX] = '\0';
	while (tool_queue_add(link_s, false, &r) == 0)
		n++;
	assert_int_equal(n, TOOL_LINE_BYTES / ROUTE_POLICY_MAX);
	assert_true(link_s->api.tool_queue.lines[false].bytes >= TOOL_LINE_BYTES);
	/* Short ones neither: they would go in front. */
	assert_int_equal(add(1, false), -EBUSY);
	assert_int_equal(add(2, true), 0);
	serve(1);
	assert_true(link_s->api.tool_queue.lines[false].bytes < TOOL_LINE_BYTES);
	assert_int_equal(add(3, false), 0);
	free(input);
}

static void test_time(void **state)
{
	(void)state;
	assert_int_equal(add(1, false), 0);
	clock_pass(link_s->loop, 1000);
	assert_int_equal(add(2, true), 0);
	clock_pass(link_s->loop, TOOL_WAIT_MS - 1001);
	assert_int_equal(n_ended, 0);
	clock_pass(link_s->loop, 1);
	assert_int_equal(n_ended, 1);
	assert_int_equal(ended[0].id, 1);
	assert_int_equal(ended[0].status, 504);
	/* The timer is no part of a call of the API: it flushes itself. */
	assert_int_equal(link_flushed, 1);
	assert_int_equal(link_s->api.tool_queue.lines[false].n, 0);
	clock_pass(link_s->loop, 1000);
	assert_int_equal(n_ended, 2);
	assert_int_equal(ended[1].id, 2);
	serve(9);
	assert_int_equal(n_ran, 0);
}

/* One that ran in time has no timer any more. */
static void test_time_of_served(void **state)
{
	(void)state;
	assert_int_equal(add(1, false), 0);
	serve(1);
	clock_pass(link_s->loop, 2 * TOOL_WAIT_MS);
	assert_int_equal(n_ended, 0);
}

static void test_leave(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(add(i, i == 2), 0);
	/* One that does not wait. */
	tool_queue_leave(link_s, 77);
	assert_int_equal(n_ended, 0);
	tool_queue_leave(link_s, 2);
	tool_queue_leave(link_s, 2);
	assert_int_equal(n_ended, 1);
	assert_int_equal(ended[0].id, 2);
	assert_int_equal(ended[0].status, 503);
	tool_queue_leave(link_s, 1);
	serve(9);
	expect_ran((uint64_t[]){ 3 }, 1);
}

/* One that cannot be started is refused, and those behind it have their turn. */
static void test_start_fails(void **state)
{
	(void)state;
	assert_int_equal(add(1, false), 0);
	assert_int_equal(add(2, true), 0);
	start_fails = -ENOMEM;
	serve(1);
	assert_int_equal(n_ran, 0);
	assert_int_equal(n_ended, 2);
	assert_int_equal(ended[0].id, 1);
	assert_int_equal(ended[1].id, 2);
	expect_empty();
}

/* corrald-http has ended: each is in the log, in the order of the lines, none runs. */
static void test_clear(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= TOOL_LINE_MAX; i++) {
		assert_int_equal(add(i, false), 0);
		assert_int_equal(add(1000 + i, true), 0);
	}
	tool_queue_clear(link_s);
	assert_int_equal(n_ended, 2 * TOOL_LINE_MAX);
	for (uint64_t i = 0; i < TOOL_LINE_MAX; i++) {
		assert_int_equal(ended[i].id, 1 + i);
		assert_int_equal(ended[TOOL_LINE_MAX + i].id, 1001 + i);
		assert_int_equal(ended[i].status, 503);
	}
	expect_empty();
	serve(9);
	assert_int_equal(n_ran, 0);
	assert_int_equal(link_flushed, 0);
}

/* A call for which there is no memory is not in the line, and costs nothing of it. */
static void test_memory(void **state)
{
	const char *const argv[] = { "a", "b", NULL };
	const struct tool_request r = {
		.argv = argv, .input = "i", .record = "r", .subject = "s", .id = 1
	};
	long n = 0;

	(void)state;
	for (;; n++) {
		int ret;

		failing_start(n);
		ret = tool_queue_add(link_s, false, &r);
		if (!failing_stop()) {
			assert_int_equal(ret, 0);
			break;
		}
		assert_int_equal(ret, -ENOMEM);
		expect_empty();
	}
	/* The call, its texts, its timer. */
	assert_true(n >= 2);
	assert_int_equal(n_ended, 0);
	serve(1);
	expect_ran((uint64_t[]){ 1 }, 1);
}

#define QUEUE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		QUEUE_TEST(test_order),
		QUEUE_TEST(test_turns),
		QUEUE_TEST(test_turn_stays),
		QUEUE_TEST(test_copies),
		QUEUE_TEST(test_full),
		QUEUE_TEST(test_bytes),
		QUEUE_TEST(test_time),
		QUEUE_TEST(test_time_of_served),
		QUEUE_TEST(test_leave),
		QUEUE_TEST(test_start_fails),
		QUEUE_TEST(test_clear),
		QUEUE_TEST(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
