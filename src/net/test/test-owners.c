/* SPDX-License-Identifier: Apache-2.0 */
/* A real socket pair: the test is the holder, which reads questions and answers them. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "net/owners.h"
#include "wire/frame.h"

enum { TURNS = 1000 };

struct client {
	struct owner_wait wait;
	unsigned n_done;
	char program[OWNER_NAME_BYTES];
};

struct scene {
	struct loop *loop;
	struct owners *owners;
	int ends[2]; /* the relay's, the holder's */
	struct frame frame;
};

static void make(struct scene *s)
{
	*s = (struct scene){ 0 };
	assert_int_equal(frame_pair(s->ends), 0);
	assert_int_equal(fcntl(s->ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(loop_new(&s->loop), 0);
	assert_int_equal(owners_new(&s->owners, s->loop, s->ends[0]), 0);
}

static void end(struct scene *s)
{
	owners_stop(s->owners);
	owners_free(s->owners);
	loop_free(s->loop);
	frame_deinit(&s->frame);
	fd_close(&s->ends[0]);
	fd_close(&s->ends[1]);
}

static void on_done(struct owner_wait *w, const char *program)
{
	struct client *c = container_of(w, struct client, wait);

	c->n_done++;
	(void)snprintf(c->program, sizeof(c->program), "%s", program);
}

static struct owner_question question(struct scene *s)
{
	struct owner_question q;

	assert_int_equal(frame_receive(s->ends[1], &s->frame), 1);
	assert_int_equal(s->frame.type, FRAME_OWNER);
	assert_int_equal(owner_question_decode(&q, s->frame.body, s->frame.len), 0);
	assert_int_equal(q.id, s->frame.id);
	return q;
}

static void test_an_answer_is_for_its_question(void **state)
{
	struct client a = { .wait.done = on_done }, b = { .wait.done = on_done };
	struct owner_question first, second;
	struct scene s;

	(void)state;
	make(&s);
	assert_true(owners_ask(s.owners, &a.wait, false, 4711));
	assert_true(owners_ask(s.owners, &b.wait, true, 4712));
	first = question(&s);
	second = question(&s);
	assert_int_equal(first.port, 4711);
	assert_int_equal(first.is_udp, 0);
	assert_int_equal(second.port, 4712);
	assert_int_equal(second.is_udp, 1);
	assert_int_equal(owners_answer(s.owners, second.id, "curl", 4), 0);
	assert_int_equal(a.n_done, 0);
	assert_string_equal(b.program, "curl");
	assert_int_equal(owners_answer(s.owners, second.id, "wget", 4), 0);
	assert_int_equal(b.n_done, 1);
	owners_leave(&a.wait);
	assert_int_equal(owners_answer(s.owners, first.id, "curl", 4), 0);
	assert_int_equal(a.n_done, 0);
	end(&s);
}

/* It is looked for whatever the second had, and nothing is found that was not said. */
static void test_a_program_of_a_connection(void **state)
{
	struct owner_program found = { 0 }, answer = {
		.found = OWNER_FOUND, .name = "curl", .text = "/usr/bin/curl"
	};
	struct client a = { .wait = { .done = on_done, .found = &found } };
	struct client named = { .wait.done = on_done };
	struct owner_question q;
	struct scene s;

	(void)state;
	make(&s);
	for (size_t i = 0; i < OWNERS_PER_SECOND; i++) {
		assert_true(owners_ask(s.owners, &named.wait, false, 1));
		owners_leave(&named.wait);
		(void)question(&s);
	}
	assert_false(owners_ask(s.owners, &named.wait, false, 1));
	assert_false(owners_ask_program(s.owners, &a.wait, 4711, 0));
	assert_false(owners_ask_program(s.owners, &a.wait, 0, 443));
	assert_true(owners_ask_program(s.owners, &a.wait, 4711, 443));
	q = question(&s);
	assert_true(q.wants_program == 1 && q.port == 4711 && q.peer_port == 443);
	/* To another question, or none. */
	answer.id = q.id + 1;
	assert_int_equal(owners_answer(s.owners, q.id, &answer, sizeof(answer)), -EPROTO);
	assert_int_equal(owners_answer(s.owners, q.id + 1, &answer, sizeof(answer)), 0);
	assert_int_equal(found.found, OWNER_NOT_FOUND);
	answer.id = q.id;
	assert_int_equal(owners_answer(s.owners, q.id, &answer, sizeof(answer)), 0);
	assert_int_equal(a.n_done, 1);
	assert_int_equal(found.found, OWNER_FOUND);
	assert_string_equal(found.text, "/usr/bin/curl");
	end(&s);
}

static void test_a_name_that_is_none_breaks_the_protocol(void **state)
{
	char longest[OWNER_NAME_BYTES];
	struct scene s;

	(void)state;
	make(&s);
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(owners_answer(s.owners, 1, longest, sizeof(longest)), -EPROTO);
	assert_int_equal(owners_answer(s.owners, 1, longest, sizeof(longest) - 1), 0);
	assert_int_equal(owners_answer(s.owners, 1, "a\033b", 3), -EPROTO);
	assert_int_equal(owners_answer(s.owners, 1, "a b", 3), -EPROTO);
	assert_int_equal(owners_answer(s.owners, 1, "", 0), 0);
	end(&s);
}

static void test_nothing_waits_for_ever(void **state)
{
	struct client a = { .wait.done = on_done };
	struct scene s;

	(void)state;
	make(&s);
	assert_true(owners_ask(s.owners, &a.wait, false, 1));
	for (int i = 0; a.n_done == 0 && i < TURNS; i++)
		assert_true(loop_turn(s.loop, OWNERS_WAIT_MS) >= 0);
	assert_int_equal(a.n_done, 1);
	assert_string_equal(a.program, "");
	end(&s);
}

static void test_a_flood_is_not_looked_for(void **state)
{
	static struct client c[OWNERS_PER_SECOND + 1];
	struct scene s;

	(void)state;
	make(&s);
	memset(c, 0, sizeof(c));
	/* The loop's clock stands still. */
	for (size_t i = 0; i < OWNERS_PER_SECOND; i++) {
		c[i].wait.done = on_done;
		assert_true(owners_ask(s.owners, &c[i].wait, false, 1));
		owners_leave(&c[i].wait);
	}
	assert_false(owners_ask(s.owners, &c[OWNERS_PER_SECOND].wait, false, 1));
	assert_false(owners_ask(s.owners, &c[0].wait, false, 0));
	end(&s);
}

static void test_the_end_answers_all(void **state)
{
	struct client a = { .wait.done = on_done };
	struct scene s;

	(void)state;
	make(&s);
	assert_true(owners_ask(s.owners, &a.wait, false, 1));
	owners_stop(s.owners);
	assert_int_equal(a.n_done, 1);
	assert_false(owners_ask(s.owners, &a.wait, false, 1));
	end(&s);
}

static void on_after(void *context)
{
	++*(int *)context;
}

static void test_a_record_waits_for_its_program(void **state)
{
	const struct record r = { .kind = RECORD_DENIED, .dns = true, .target = "a.example.com" };
	struct recorder *recorder;
	struct owner_question q;
	struct record got;
	struct scene s;
	int after = 0;

	(void)state;
	make(&s);
	assert_int_equal(recorder_new(&recorder, s.loop, s.ends[0]), 0);
	owners_record(s.owners, recorder, true, 4711, &r, on_after, &after);
	q = question(&s);
	assert_int_equal(after, 0);
	assert_int_equal(owners_answer(s.owners, q.id, "getent", 6), 0);
	assert_int_equal(after, 1);
	assert_int_equal(frame_receive(s.ends[1], &s.frame), 1);
	assert_int_equal(record_decode(&got, s.frame.body, s.frame.len), 0);
	assert_string_equal(got.program, "getent");
	/* Whoever wants all that has happened does not wait. */
	owners_record(s.owners, recorder, true, 4711, &r, on_after, &after);
	(void)question(&s);
	owners_flush(s.owners);
	assert_int_equal(after, 2);
	recorder_free(recorder);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_is_for_its_question),
		cmocka_unit_test(test_a_program_of_a_connection),
		cmocka_unit_test(test_a_name_that_is_none_breaks_the_protocol),
		cmocka_unit_test(test_nothing_waits_for_ever),
		cmocka_unit_test(test_a_flood_is_not_looked_for),
		cmocka_unit_test(test_the_end_answers_all),
		cmocka_unit_test(test_a_record_waits_for_its_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
