/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to a sandbox and the answers of the API that come of them. Loop, sockets and frames are
 * real: the test is the holder of the sandbox at one end, and corrald-http at the other. The clock
 * is the test's.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "daemon/api/api.h"
#include "daemon/peers/orders.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/supervisor.h"
#include "test/failing.h"
#include "wire/question.h"

FAILING_CALLOC
FAILING_AS(-ENOMEM, int, loop_start, (struct loop * l, struct timer *t, uint64_t ms), l, t, ms)

static uint64_t now_ms;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ .tv_sec = (time_t)(now_ms / 1000),
		.tv_nsec = (long)(now_ms % 1000) * 1000000 };
	return 0;
}

/* What is recorded of a call, and that what waits for corrald-http is sent. */
static size_t n_answered, n_flushed;

void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason);
void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason)
{
	(void)s;
	(void)id;
	(void)status;
	(void)reason;
	n_answered++;
}

void __wrap_http_link_flush(struct supervisor *s);
void __wrap_http_link_flush(struct supervisor *s)
{
	outbox_flush(&s->http.out);
	n_flushed++;
}

/* Two sandboxes: their holders, and corrald-http, are at the other ends. */
struct world {
	struct supervisor s;
	struct sandbox a, b;
	int holder_a, holder_b, http;
};

static int pair(int *ret_ours, int *ret_theirs)
{
	int fds[2];

	if (frame_pair(fds) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	*ret_ours = fds[0];
	*ret_theirs = fds[1];
	return 0;
}

static int setup(void **state)
{
	struct world *w = __real_calloc(1, sizeof(*w));

	now_ms = 1000000;
	if (!w || loop_new(&w->s.loop) < 0)
		return -1;
	w->a = (struct sandbox){ .s = &w->s, .who = { .id = "aaaaaaaa" } };
	w->b = (struct sandbox){ .s = &w->s, .who = { .id = "bbbbbbbb" } };
	w->s.http.child.pid = 1;
	w->s.http.n_started = 1;
	n_answered = n_flushed = 0;
	*state = w;
	return pair(&w->a.watcher.fd, &w->holder_a) < 0 ||
			       pair(&w->b.watcher.fd, &w->holder_b) < 0 ||
			       pair(&w->s.http.out.socket, &w->http) < 0
		       ? -1
		       : 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)failing_stop();
	orders_drop(&w->s, NULL);
	for (size_t i = 0; i < ORDERS_MAX; i++)
		assert_null(w->s.peers.orders[i]);
	outbox_deinit(&w->s.http.out);
	fd_close(&w->a.watcher.fd);
	fd_close(&w->b.watcher.fd);
	fd_close(&w->s.http.out.socket);
	fd_close(&w->holder_a);
	fd_close(&w->holder_b);
	fd_close(&w->http);
	loop_free(w->s.loop);
	free(w);
	return 0;
}

static void order(struct sandbox *b, uint64_t call, const char *done)
{
	auto_buffer body = { 0 };

	buffer_adds(&body, "what to do");
	orders_send(b, &(struct order_request){
			       .type = FRAME_GRANT, .body = &body, .call = call, .done = done });
}

/* What the holder got; its id. */
static uint64_t ordered(int holder)
{
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(holder, &f), 1);
	assert_int_equal(f.type, FRAME_GRANT);
	assert_int_equal(f.len, strlen("what to do"));
	assert_memory_equal(f.body, "what to do", f.len);
	return f.id;
}

static void nothing_ordered(int holder)
{
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(holder, &f), -EAGAIN);
}

static int reply(struct sandbox *b, uint64_t id, const struct join_reply *r)
{
	auto_buffer body = { 0 };

	assert_int_equal(join_reply_encode(r, &body), 0);
	return orders_on_reply(b,
		&(struct frame){
			.type = FRAME_JOIN_REPLY, .id = id, .body = body.data, .len = body.len });
}

static int reply_made(struct sandbox *b, uint64_t id, uint64_t made)
{
	return reply(b, id, &(struct join_reply){ .made = made, .text = "" });
}

static void answered(struct world *w, uint64_t call, unsigned status, const char *json)
{
	struct message_answer a;
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(w->http, &f), 1);
	assert_int_equal(f.type, FRAME_API_ANSWER);
	assert_int_equal(f.id, call);
	assert_int_equal(message_answer_decode(&a, f.body, f.len), 0);
	assert_int_equal(a.status, status);
	assert_int_equal(a.len, strlen(json));
	assert_memory_equal(a.json, json, a.len);
}

static void not_answered(struct world *w)
{
	auto_frame f = { 0 };

	outbox_flush(&w->s.http.out);
	assert_int_equal(frame_receive(w->http, &f), -EAGAIN);
}

#define UNREACHABLE "{\"error\":\"the sandbox cannot be reached now; try again\"}\n"
#define TOO_MANY "{\"error\":\"too many changes are under way; try again\"}\n"
#define ENDED "{\"error\":\"the sandbox has ended\"}\n"

/* The answer is sent when the holder has replied, and not before. */
static void test_done(void **state)
{
	struct world *w = *state;
	uint64_t first, second;

	order(&w->a, 11, "revoked");
	order(&w->a, 12, NULL);
	first = ordered(w->holder_a);
	second = ordered(w->holder_a);
	nothing_ordered(w->holder_b);
	assert_int_not_equal(first, 0);
	assert_int_not_equal(first, second);
	not_answered(w);
	assert_int_equal(n_answered, 0);
	/* In the order of the replies, whichever that is. */
	assert_int_equal(reply_made(&w->a, second, 5), 0);
	answered(w, 12, 200, "{\"id\":\"aaaaaaaa.5\"}\n");
	assert_int_equal(reply_made(&w->a, first, 0), 0);
	answered(w, 11, 200, "{\"revoked\":true}\n");
	assert_int_equal(n_answered, 2);
	assert_true(n_flushed >= 2);
	/* A second reply to the same order is one to none. */
	assert_int_equal(reply_made(&w->a, first, 0), 0);
	not_answered(w);
}

/* What the holder refuses is the answer, in its words, with a status of its kind. */
static void test_refused(void **state)
{
	static const struct {
		int error;
		unsigned status;
	} rows[] = { { ENOENT, 404 }, { EINVAL, 400 }, { EPERM, 409 }, { EOPNOTSUPP, 409 },
		{ ESHUTDOWN, 409 }, { EBUSY, 429 }, { ENOSPC, 429 }, { EIO, 500 },
		{ ENOMEM, 500 } };
	struct world *w = *state;

	for (size_t i = 0; i < ROWS(rows); i++) {
		order(&w->a, i + 1, "revoked");
		assert_int_equal(
			reply(&w->a, ordered(w->holder_a),
				&(struct join_reply){ .error = rows[i].error, .text = "no \"x\"" }),
			0);
		answered(w, i + 1, rows[i].status, "{\"error\":\"no \\\"x\\\"\"}\n");
	}
}

/* Only the sandbox that has an order answers it. */
static void test_other_sandbox(void **state)
{
	struct world *w = *state;
	uint64_t id;

	order(&w->a, 1, NULL);
	id = ordered(w->holder_a);
	assert_int_equal(reply_made(&w->b, id, 7), 0);
	assert_int_equal(reply_made(&w->a, id + 1, 7), 0);
	assert_int_equal(reply_made(&w->a, 0, 7), 0);
	not_answered(w);
	assert_int_equal(reply_made(&w->a, id, 7), 0);
	answered(w, 1, 200, "{\"id\":\"aaaaaaaa.7\"}\n");
}

/* A reply that is none, or of one who did not say who it is, breaks the rules; the order stays. */
static void test_malformed(void **state)
{
	struct world *w = *state;
	struct sandbox stranger = { .s = &w->s };
	auto_buffer body = { 0 };
	struct frame f = { .type = FRAME_JOIN_REPLY };

	order(&w->a, 1, NULL);
	f.id = ordered(w->holder_a);
	assert_int_equal(reply_made(&stranger, f.id, 7), -EPROTO);
	assert_int_equal(
		join_reply_encode(&(struct join_reply){ .made = 7, .text = "" }, &body), 0);
	f.body = body.data;
	for (f.len = 0; f.len < body.len; f.len++)
		assert_int_equal(orders_on_reply(&w->a, &f), -EPROTO);
	buffer_addc(&body, 'x');
	f.body = body.data;
	f.len = body.len;
	assert_int_equal(orders_on_reply(&w->a, &f), -EPROTO);
	not_answered(w);
	f.len--;
	assert_int_equal(orders_on_reply(&w->a, &f), 0);
	answered(w, 1, 200, "{\"id\":\"aaaaaaaa.7\"}\n");
}

/* A holder that does not reply is waited for as long as ORDER_MS says, each order by itself. */
static void test_too_late(void **state)
{
	struct world *w = *state;
	uint64_t first, second;

	order(&w->a, 1, "revoked");
	first = ordered(w->holder_a);
	now_ms += ORDER_MS - 1;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
	not_answered(w);
	order(&w->a, 2, "revoked");
	second = ordered(w->holder_a);
	now_ms += 1;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
	answered(w, 1, 504, "{\"error\":\"the sandbox did not answer in time\"}\n");
	not_answered(w);
	/* The late reply is no error, and no answer. */
	assert_int_equal(reply_made(&w->a, first, 0), 0);
	not_answered(w);
	assert_int_equal(reply_made(&w->a, second, 0), 0);
	answered(w, 2, 200, "{\"revoked\":true}\n");
	now_ms += 10 * ORDER_MS;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
	not_answered(w);
}

/* So many at once, of all sandboxes; the next is refused without being sent. */
static void test_full(void **state)
{
	struct world *w = *state;
	uint64_t id = 0;

	for (uint64_t i = 1; i <= ORDERS_MAX; i++) {
		order(i % 2 ? &w->a : &w->b, i, "revoked");
		id = ordered(i % 2 ? w->holder_a : w->holder_b);
	}
	order(&w->a, 100, "revoked");
	outbox_flush(&w->s.http.out);
	answered(w, 100, 429, TOO_MANY);
	nothing_ordered(w->holder_a);
	/* The place of one that was answered. */
	assert_int_equal(reply_made(&w->b, id, 0), 0);
	answered(w, ORDERS_MAX, 200, "{\"revoked\":true}\n");
	order(&w->a, 101, "revoked");
	assert_true(ordered(w->holder_a) > id);
	not_answered(w);
}

/* The sandbox ends: its orders fail, those of others go on. */
static void test_sandbox_ends(void **state)
{
	struct world *w = *state;
	uint64_t id;

	order(&w->a, 1, "revoked");
	order(&w->b, 2, "revoked");
	order(&w->a, 3, "revoked");
	id = ordered(w->holder_b);
	orders_drop(&w->s, &w->a);
	answered(w, 1, 404, ENDED);
	answered(w, 3, 404, ENDED);
	not_answered(w);
	assert_int_equal(reply_made(&w->b, id, 0), 0);
	answered(w, 2, 200, "{\"revoked\":true}\n");
	order(&w->b, 4, "revoked");
	orders_drop(&w->s, NULL);
	answered(w, 4, 404, ENDED);
}

/* The holder has gone, or its socket is full: an error at once. */
static void test_unreachable(void **state)
{
	struct world *w = *state;
	size_t n = 0;

	fd_close(&w->holder_a);
	order(&w->a, 1, "revoked");
	answered(w, 1, 503, UNREACHABLE);
	while (frame_send(w->b.watcher.fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0) == 0)
		n++;
	assert_true(n > 0);
	order(&w->b, 2, "revoked");
	answered(w, 2, 503, UNREACHABLE);
	now_ms += 10 * ORDER_MS;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
	not_answered(w);
}

/* Another corrald-http has other calls of the same numbers: it never gets answers of them. */
static void test_other_http(void **state)
{
	struct world *w = *state;
	uint64_t id;

	for (uint64_t call = 1; call <= 4; call++)
		order(&w->a, call, "revoked");
	id = ordered(w->holder_a);
	w->s.http.n_started++;
	assert_int_equal(reply_made(&w->a, id, 0), 0);
	assert_int_equal(
		reply(&w->a, id + 1, &(struct join_reply){ .error = EPERM, .text = "" }), 0);
	now_ms += ORDER_MS;
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
	not_answered(w);
	assert_int_equal(n_answered, 0);
	order(&w->b, 1, "revoked");
	assert_int_equal(reply_made(&w->b, ordered(w->holder_b), 0), 0);
	answered(w, 1, 200, "{\"revoked\":true}\n");
	/* With none at all, nothing is kept for it. */
	order(&w->b, 2, "revoked");
	w->s.http.child.pid = 0;
	assert_int_equal(reply_made(&w->b, ordered(w->holder_b), 0), 0);
	assert_true(outbox_is_empty(&w->s.http.out));
}

/* Without memory for it, or for its time limit or its body, it is not sent, and that is said. */
static void test_memory(void **state)
{
	struct world *w = *state;
	struct buffer failed = { .failed = true };

	failing_start(0);
	order(&w->a, 1, "revoked");
	assert_true(failing_stop());
	outbox_flush(&w->s.http.out);
	answered(w, 1, 429, TOO_MANY);
	failing_start(1);
	order(&w->a, 2, "revoked");
	assert_true(failing_stop());
	answered(w, 2, 503, UNREACHABLE);
	orders_send(
		&w->a, &(struct order_request){ .type = FRAME_GRANT, .body = &failed, .call = 3 });
	answered(w, 3, 503, UNREACHABLE);
	nothing_ordered(w->holder_a);
	order(&w->a, 4, "revoked");
	assert_int_equal(reply_made(&w->a, ordered(w->holder_a), 0), 0);
	answered(w, 4, 200, "{\"revoked\":true}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_done, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_sandbox, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sandbox_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_http, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
