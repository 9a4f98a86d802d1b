/* SPDX-License-Identifier: Apache-2.0 */
/* A real socket pair: the test is the holder, which reads questions and answers them. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/asker.h"
#include "wire/frame.h"

enum { WAIT_MS = 50, LONG_MS = 60 * 1000, TURNS = 1000 };

struct client {
	struct asker_wait wait;
	unsigned n_done;
	enum asker_end how;
	char reason[512];
	struct client *leaves; /* it takes along */
};

struct scene {
	struct loop *loop;
	struct asker *asker;
	int ends[2]; /* the asker's, the holder's */
	struct frame frame;
	struct question question; /* the last one */
};

static void make(struct scene *s, uint32_t wait_ms)
{
	*s = (struct scene){ 0 };
	assert_int_equal(frame_pair(s->ends), 0);
	assert_int_equal(fcntl(s->ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(loop_new(&s->loop), 0);
	assert_int_equal(asker_new(&s->asker, s->loop, s->ends[0], wait_ms), 0);
}

static void end(struct scene *s)
{
	asker_free(s->asker);
	loop_free(s->loop);
	frame_deinit(&s->frame);
	fd_close(&s->ends[0]);
	fd_close(&s->ends[1]);
}

static void on_done(struct asker_wait *w, enum asker_end how, const struct net_judgement *j)
{
	struct client *c = container_of(w, struct client, wait);

	c->n_done++;
	c->how = how;
	(void)snprintf(c->reason, sizeof(c->reason), "%s", j->reason);
	if (c->leaves)
		asker_leave(&c->leaves->wait, QUESTION_GIVEN_UP);
}

static bool join_request(struct scene *s, struct client *c, const char *target, const char *request)
{
	struct net_judgement j = { .rule = "p.yaml:1: *:*", .reason = "rule r asks about *:*" };
	bool waits;

	*c = (struct client){ .wait = { .done = on_done,
				      .is_flow = strncmp(target, "udp://", 6) == 0 } };
	(void)snprintf(j.target, sizeof(j.target), "%s", target);
	waits = asker_join(s->asker, &c->wait, &j, request);
	(void)snprintf(c->reason, sizeof(c->reason), "%s", j.reason);
	return waits;
}

static bool join(struct scene *s, struct client *c, const char *target)
{
	return join_request(s, c, target, NULL);
}

/* FRAME_NONE: nothing was said. */
static enum frame_type hear(struct scene *s)
{
	int r = frame_receive(s->ends[1], &s->frame);

	if (r == -EAGAIN)
		return FRAME_NONE;
	assert_int_equal(r, 1);
	if (s->frame.type == FRAME_QUESTION)
		assert_int_equal(question_decode(&s->question, s->frame.body, s->frame.len), 0);
	return s->frame.type;
}

static enum question_end hear_end(struct scene *s)
{
	enum question_end how = QUESTION_END_COUNT;

	assert_int_equal(hear(s), FRAME_QUESTION_OVER);
	assert_int_equal(question_over_decode(&how, s->frame.body, s->frame.len), 0);
	return how;
}

static void answer(struct scene *s, uint64_t id, enum answer_kind kind)
{
	asker_answer(s->asker, id, &(struct answer){ .kind = kind, .pattern = "" });
}

/* One question for all that wait, and each hears the answer once. */
static void test_one_question(void **state)
{
	static const struct {
		enum answer_kind kind;
		enum asker_end how;
	} rows[] = { { ANSWER_ONCE, ASKER_AGREED }, { ANSWER_ALLOW, ASKER_GRANTED },
		{ ANSWER_DENY, ASKER_REFUSED } };
	struct client c[3], other;
	struct scene s;

	(void)state;
	make(&s, LONG_MS);
	for (size_t i = 0; i < ROWS(rows); i++) {
		uint64_t id;

		for (size_t k = 0; k < ROWS(c); k++)
			assert_true(join(&s, &c[k], "a.com:443"));
		assert_true(join(&s, &other, "a.com:80"));
		assert_int_equal(hear(&s), FRAME_QUESTION);
		id = s.frame.id;
		assert_string_equal(s.question.target, "a.com:443");
		assert_int_equal(s.question.op, OPERATION_NET_CONNECT);
		assert_int_equal(s.question.n_scopes, 1);
		assert_string_equal(s.question.scopes[0], "a.com:443");
		assert_int_equal(hear(&s), FRAME_QUESTION);
		assert_string_equal(s.question.target, "a.com:80");
		assert_int_equal(hear(&s), FRAME_NONE);
		/* A number of no question, and one that is not this. */
		answer(&s, 0, ANSWER_ONCE);
		answer(&s, id + 100, ANSWER_ONCE);
		assert_int_equal(c[0].n_done + other.n_done, 0);
		answer(&s, id, rows[i].kind);
		for (size_t k = 0; k < ROWS(c); k++) {
			assert_int_equal(c[k].n_done, 1);
			assert_int_equal(c[k].how, rows[i].how);
		}
		/* Once more, and for the port that was not meant: nothing. */
		answer(&s, id, ANSWER_ONCE);
		assert_int_equal(c[0].n_done, 1);
		assert_int_equal(other.n_done, 0);
		asker_leave(&other.wait, QUESTION_GIVEN_UP);
		assert_int_equal(hear_end(&s), QUESTION_GIVEN_UP);
		assert_int_equal(hear(&s), FRAME_NONE);
	}
	/* The last answer was no. */
	assert_false(join(&s, &c[0], "a.com:443"));
	assert_non_null(strstr(c[0].reason, "did not agree"));
	assert_int_equal(hear(&s), FRAME_NONE);
	end(&s);
}

/* Each request is a question of its own, and once is for one of them. */
static void test_requests(void **state)
{
	static const char get[] = "GET http://a.com:80/x?y=z", post[] = "POST http://a.com:80/x";
	static char long_one[NET_REQUEST_BYTES + 1];
	struct client c[3], other, connection;
	struct scene s;
	uint64_t ids[3];

	(void)state;
	make(&s, LONG_MS);
	for (size_t i = 0; i < ROWS(c); i++) {
		assert_true(join_request(&s, &c[i], "a.com:80", get));
		assert_int_equal(hear(&s), FRAME_QUESTION);
		ids[i] = s.frame.id;
		assert_string_equal(s.question.target, get);
		assert_int_equal(s.question.n_scopes, 1);
		assert_string_equal(s.question.scopes[0], "GET http://a.com:80/x");
	}
	assert_true(join_request(&s, &other, "a.com:80", post));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	assert_true(join(&s, &connection, "a.com:80"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	assert_string_equal(s.question.target, "a.com:80");
	answer(&s, ids[1], ANSWER_ONCE);
	assert_int_equal(c[1].n_done, 1);
	assert_int_equal(c[1].how, ASKER_AGREED);
	assert_int_equal(c[0].n_done + c[2].n_done + other.n_done + connection.n_done, 0);
	/* A no is for all that are the same, and is remembered. */
	answer(&s, ids[0], ANSWER_DENY);
	assert_int_equal(c[0].how, ASKER_REFUSED);
	assert_int_equal(c[2].n_done, 1);
	assert_int_equal(c[2].how, ASKER_REFUSED);
	assert_int_equal(hear_end(&s), QUESTION_ANSWERED);
	assert_int_equal(s.frame.id, ids[2]);
	assert_int_equal(other.n_done + connection.n_done, 0);
	assert_false(join_request(&s, &c[0], "a.com:80", get));
	assert_true(join_request(&s, &c[0], "a.com:80", "GET http://a.com:80/x?y=1"));
	memset(long_one, 'x', sizeof(long_one) - 1);
	assert_false(join_request(&s, &c[1], "a.com:80", long_one));
	/* A path that would be a pattern of more is agreed to once. */
	assert_int_equal(hear(&s), FRAME_QUESTION);
	assert_true(join_request(&s, &c[2], "a.com:80", "GET http://a.com:80/*"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	assert_int_equal(s.question.n_scopes, 0);
	end(&s);
}

static void test_time(void **state)
{
	struct client c[2];
	struct scene s;

	(void)state;
	make(&s, WAIT_MS);
	assert_true(join(&s, &c[0], "a.com:443"));
	assert_true(join(&s, &c[1], "a.com:443"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	for (int i = 0; i < TURNS && c[1].n_done == 0; i++)
		assert_int_equal(loop_turn(s.loop, 100), 0);
	assert_int_equal(c[0].how, ASKER_REFUSED);
	assert_int_equal(c[1].how, ASKER_REFUSED);
	assert_non_null(strstr(c[1].reason, "in time"));
	assert_int_equal(hear_end(&s), QUESTION_EXPIRED);
	/* It was no refusal: the next one asks. */
	assert_true(join(&s, &c[0], "a.com:443"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	end(&s);
}

/* A flood of names, and of connections to one. */
static void test_bounds(void **state)
{
	static struct client c[ASKER_CONNECTIONS_MAX + 1];
	char target[64];
	struct scene s;
	size_t n;

	(void)state;
	make(&s, LONG_MS);
	for (n = 0; n <= ASKER_QUESTIONS_MAX; n++) {
		(void)snprintf(target, sizeof(target), "n%zu.com:443", n);
		assert_int_equal(join(&s, &c[n], target), n < ASKER_QUESTIONS_MAX);
	}
	assert_non_null(strstr(c[n - 1].reason, "too many questions"));
	for (n = 0; n < ASKER_QUESTIONS_MAX; n++) {
		assert_int_equal(hear(&s), FRAME_QUESTION);
		asker_leave(&c[n].wait, QUESTION_GIVEN_UP);
	}
	for (n = 0; n < ASKER_QUESTIONS_MAX; n++)
		assert_int_equal(hear_end(&s), QUESTION_GIVEN_UP);
	/* Those that give up at once do not make more of them. */
	for (n = ASKER_QUESTIONS_MAX; n < ASKER_PER_MINUTE; n++) {
		assert_true(join(&s, &c[0], "a.com:443"));
		asker_leave(&c[0].wait, QUESTION_GIVEN_UP);
		assert_int_equal(hear(&s), FRAME_QUESTION);
		assert_int_equal(hear(&s), FRAME_QUESTION_OVER);
	}
	assert_false(join(&s, &c[0], "a.com:443"));
	assert_int_equal(hear(&s), FRAME_NONE);
	end(&s);
	make(&s, LONG_MS);
	for (n = 0; n <= ASKER_CONNECTIONS_MAX; n++)
		assert_int_equal(join(&s, &c[n], "a.com:443"), n < ASKER_CONNECTIONS_MAX);
	assert_non_null(strstr(c[n - 1].reason, "too many connections"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	assert_int_equal(hear(&s), FRAME_NONE);
	end(&s);
}

/* A flood of datagrams leaves half of everything to connections. */
static void test_flows(void **state)
{
	static struct client c[ASKER_CONNECTIONS_MAX + 1];
	char target[64];
	struct scene s;
	size_t n;

	(void)state;
	make(&s, LONG_MS);
	for (n = 0; n <= ASKER_FLOW_QUESTIONS_MAX; n++) {
		(void)snprintf(target, sizeof(target), "udp://n%zu.com:53", n);
		assert_int_equal(join(&s, &c[n], target), n < ASKER_FLOW_QUESTIONS_MAX);
	}
	assert_non_null(strstr(c[n - 1].reason, "too many questions"));
	assert_true(join(&s, &c[n], "a.com:443"));
	asker_leave(&c[n].wait, QUESTION_GIVEN_UP);
	/* Those that wait are still there, and one that ends makes room. */
	for (n = 0; n < ASKER_FLOW_QUESTIONS_MAX; n++) {
		assert_int_equal(hear(&s), FRAME_QUESTION);
		(void)snprintf(target, sizeof(target), "udp://n%zu.com:53", n);
		assert_string_equal(s.question.target, target);
	}
	answer(&s, s.frame.id, ANSWER_ONCE);
	assert_true(join(&s, &c[n], "udp://room.com:53"));
	for (n = ASKER_FLOW_QUESTIONS_MAX + 1; n < ASKER_FLOWS_PER_MINUTE; n++) {
		asker_leave(&c[0].wait, QUESTION_GIVEN_UP);
		assert_true(join(&s, &c[0], "udp://a.com:53"));
	}
	asker_leave(&c[0].wait, QUESTION_GIVEN_UP);
	assert_false(join(&s, &c[0], "udp://a.com:53"));
	for (n = ASKER_FLOWS_PER_MINUTE + 1; n < ASKER_PER_MINUTE; n++) {
		assert_true(join(&s, &c[0], "a.com:443"));
		asker_leave(&c[0].wait, QUESTION_GIVEN_UP);
	}
	assert_false(join(&s, &c[0], "a.com:443"));
	end(&s);
	make(&s, LONG_MS);
	for (n = 0; n <= ASKER_FLOWS_MAX; n++)
		assert_int_equal(join(&s, &c[n], "udp://a.com:53"), n < ASKER_FLOWS_MAX);
	assert_non_null(strstr(c[n - 1].reason, "too many datagrams"));
	for (; n <= ASKER_CONNECTIONS_MAX; n++)
		assert_true(join(&s, &c[n], "a.com:443"));
	assert_false(join(&s, &c[ASKER_FLOWS_MAX], "a.com:443"));
	/* Each that leaves makes room for one. */
	asker_leave(&c[0].wait, QUESTION_GIVEN_UP);
	assert_true(join(&s, &c[0], "udp://a.com:53"));
	assert_false(join(&s, &c[ASKER_FLOWS_MAX], "udp://a.com:53"));
	end(&s);
}

/* The holder does not read: nothing is lost, and a question that is over before it was asked is
 * none. */
static void test_slow_holder(void **state)
{
	struct client c, gone;
	struct scene s;
	size_t n = 0;

	(void)state;
	make(&s, LONG_MS);
	while (frame_send(s.ends[0], FRAME_RECORD, 0, NULL, 0, NULL, 0) == 0)
		n++;
	assert_true(join(&s, &c, "a.com:443"));
	assert_true(join(&s, &gone, "b.com:443"));
	asker_leave(&gone.wait, QUESTION_GIVEN_UP);
	for (; n > 0; n--)
		assert_int_equal(hear(&s), FRAME_RECORD);
	for (int i = 0; i < TURNS && hear(&s) == FRAME_NONE; i++)
		assert_int_equal(loop_turn(s.loop, 100), 0);
	assert_int_equal(s.frame.type, FRAME_QUESTION);
	assert_string_equal(s.question.target, "a.com:443");
	answer(&s, s.frame.id, ANSWER_ONCE);
	assert_int_equal(hear(&s), FRAME_NONE);
	assert_int_equal(c.n_done, 1);
	assert_int_equal(c.how, ASKER_AGREED);
	end(&s);
}

/* Who is called may end others: of the same question, and the last one of another. */
static void test_reentry(void **state)
{
	struct client a[2], b;
	struct scene s;
	uint64_t id;

	(void)state;
	make(&s, LONG_MS);
	assert_true(join(&s, &a[0], "a.com:443"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	id = s.frame.id;
	assert_true(join(&s, &a[1], "a.com:443"));
	assert_true(join(&s, &b, "b.com:443"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	a[0].leaves = &b;
	answer(&s, id, ANSWER_ONCE);
	assert_int_equal(a[0].n_done + a[1].n_done, 2);
	assert_int_equal(b.n_done, 0);
	assert_int_equal(hear_end(&s), QUESTION_GIVEN_UP);
	assert_int_equal(hear(&s), FRAME_NONE);
	assert_true(join(&s, &a[0], "a.com:443"));
	assert_true(join(&s, &a[1], "a.com:443"));
	assert_int_equal(hear(&s), FRAME_QUESTION);
	a[0].leaves = &a[1];
	answer(&s, s.frame.id, ANSWER_ONCE);
	assert_int_equal(a[0].n_done, 1);
	assert_int_equal(a[1].n_done, 0);
	assert_int_equal(hear(&s), FRAME_NONE);
	end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_question),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_slow_holder),
		cmocka_unit_test(test_reentry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
