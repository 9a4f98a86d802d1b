/* SPDX-License-Identifier: Apache-2.0 */
/* Requests inside TLS, as the injector asks about them, and what it is answered. */
#include "policy/test/test-policy.h"

#include <sys/socket.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/opened.h"
#include "wire/frame.h"
#include "wire/lend.h"

struct world {
	struct loop *loop;
	struct lent_queue queue;
	struct net_lent lent;
	struct policy *policy;
	struct net_judge judge;
	struct destination destination;
	struct opened opened;
	struct frame frame;
	int pair[2];
	bool asks;
	unsigned n_denied;
	char denied[1024];
	uint64_t asked; /* about the connection with that id */
};

static struct world w;

static void world_on_denied(struct opened *o, const struct net_judgement *j)
{
	(void)o;
	w.n_denied++;
	(void)snprintf(w.denied, sizeof(w.denied), "%s: %s", j->target, j->reason);
}

static void world_on_asked(struct lent_queue *q, uint64_t id, const struct lend_request *r)
{
	(void)q;
	w.asked = id;
	if (id == w.opened.id)
		opened_ask(&w.opened, r);
}

static void world_set(const char *yaml)
{
	policy_free(w.policy);
	w.policy = test_compile(yaml);
	judge_init(&w.judge, w.policy);
}

static int setup(void **state)
{
	(void)state;
	w = (struct world){ .destination = { .name = "a.com", .port = 443 } };
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(frame_pair(w.pair), 0);
	w.lent.socket = w.pair[0];
	assert_int_equal(lent_queue_init(&w.queue, &w.lent, w.loop, world_on_asked, NULL), 0);
	w.opened = (struct opened){ .denied = world_on_denied,
		.judge = &w.judge,
		.destination = &w.destination,
		.asks = &w.asks,
		.queue = &w.queue,
		.id = 5 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	opened_deinit(&w.opened);
	lent_queue_deinit(&w.queue);
	loop_free(w.loop);
	policy_free(w.policy);
	fd_close(&w.pair[0]);
	fd_close(&w.pair[1]);
	frame_deinit(&w.frame);
	return 0;
}

static void world_send(uint64_t id, const struct lend_request *r)
{
	auto_buffer body = { 0 };

	assert_int_equal(lend_request_encode(r, &body), 0);
	assert_int_equal(
		frame_send(w.pair[1], FRAME_LEND_ASK, id, body.data, body.len, NULL, 0), 0);
}

/* The answer to a request for a path. */
static bool world_ask(const char *method, const char *host, const char *path)
{
	static uint64_t number = 1;
	const struct lend_request r = { .number = number,
		.method = method,
		.host = host,
		.path = path,
		.query = "",
		.upgrade_to = "" };
	struct lend_answer a;

	world_send(5, &r);
	while (frame_receive_now(w.pair[1], &w.frame) == -EAGAIN)
		assert_true(loop_turn(w.loop, -1) >= 0);
	assert_int_equal(w.frame.type, FRAME_LEND_ANSWER);
	assert_int_equal(w.frame.id, 5);
	assert_int_equal(lend_answer_decode(&a, w.frame.body, w.frame.len), 0);
	assert_int_equal(a.number, number);
	number++;
	assert_int_equal(a.is_allowed, !*a.text);
	return a.is_allowed;
}

static void test_paths(void **state)
{
	static const struct {
		const char *method, *host, *path;
		bool is_allowed;
	} rows[] = {
		{ "GET", "a.com", "/v1/x", true },
		{ "GET", "a.com", "/v1/a/../b", false },
		{ "GET", "a.com", "/v1/%61", true },
		{ "GET", "a.com", "/v1/no", false },
		{ "GET", "a.com", "/v1/n%6f", false },
		{ "GET", "a.com", "/v1/./no", false },
		{ "POST", "a.com", "/v1/x", false },
		{ "GET", "b.com", "/v1/x", false },
		{ "GET", "", "/v1/x", false },
		{ "GET", "a.com", "/v2", false },
		{ "GET", "a.com", "/v1/../v2", false },
		{ "GET", "a.com", "/v1/%2e%2e/v2", false },
		{ "GET", "a.com", "/v1/..%2fv2", false },
		{ "GET", "a.com", "/v1//x", false },
		{ "GET", "a.com", "/v1/x;y", false },
		{ "GET", "a.com", "/v1/x\\y", false },
		{ "GET", "a.com", "*", false },
		{ "GET", "a.com", "", false },
	};

	(void)state;
	world_set("network: {allow: ['https://a.com/v1/**'], deny: ['https://a.com/v1/no'], "
		  "methods: [GET], inspect: ['a.com:443']}");
	for (size_t i = 0; i < ROWS(rows); i++)
		if (world_ask(rows[i].method, rows[i].host, rows[i].path) != rows[i].is_allowed)
			fail_msg("%s %s %s", rows[i].method, rows[i].host, rows[i].path);
	assert_int_equal(w.n_denied, ROWS(rows) - 2);
}

static void test_record(void **state)
{
	(void)state;
	world_set("network: {allow: ['https://a.com/v1/**'], inspect: ['a.com:443']}");
	assert_false(world_ask("DELETE", "a.com", "/v2/x"));
	assert_non_null(
		strstr(w.denied, "DELETE https://a.com:443/v2/x: nothing in network.allow"));
}

/* The policy of that moment counts. */
static void test_change(void **state)
{
	(void)state;
	world_set("network: {allow: [a.com], inspect: ['a.com:443']}");
	assert_true(world_ask("GET", "a.com", "/admin"));
	world_set("network: {allow: [a.com], deny: ['https://a.com/admin'], inspect: "
		  "['a.com:443']}");
	assert_false(world_ask("GET", "a.com", "/admin"));
	assert_true(world_ask("GET", "a.com", "/"));
	/* Also one that does not name the host any more: it stays opened. */
	world_set("network: {allow: ['https://a.com/v1/**']}");
	assert_false(world_ask("GET", "a.com", "/"));
	world_set("{}");
	assert_false(world_ask("GET", "a.com", "/v1/x"));
}

/* No user can be asked. */
static void test_ask(void **state)
{
	(void)state;
	world_set(
		"{network: {allow: [a.com], inspect: ['a.com:443']}, rules: [{id: r, action: ask, "
		"operations: [net.connect], patterns: ['https://a.com/a/**']}]}");
	assert_false(world_ask("GET", "a.com", "/a/b"));
	assert_true(world_ask("GET", "a.com", "/b"));
	assert_false(w.asks);
}

/* An injector that was taken over: what it says of other connections, and what is no ask. */
static void test_forged(void **state)
{
	const struct lend_request r = {
		.method = "GET", .host = "a.com", .path = "/", .query = "", .upgrade_to = ""
	};

	(void)state;
	world_set("network: {allow: [a.com], inspect: ['a.com:443']}");
	world_send(6, &r);
	assert_true(loop_turn(w.loop, -1) >= 0);
	assert_int_equal(w.asked, 6);
	assert_int_equal(frame_receive_now(w.pair[1], &w.frame), -EAGAIN);
	assert_int_equal(frame_send(w.pair[1], FRAME_LEND_ASK, 5, "x", 1, NULL, 0), 0);
	assert_true(loop_turn(w.loop, -1) >= 0);
	/* It is not heard any more. */
	assert_false(w.queue.is_heard);
	w.asked = 0;
	world_send(5, &r);
	assert_true(loop_turn(w.loop, 0) >= 0);
	assert_int_equal(w.asked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ask, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
