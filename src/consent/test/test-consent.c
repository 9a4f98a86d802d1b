/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody agreed to, against those who want a little more: another object, another actor, one
 * use more, a moment longer, by many threads at once, or from hand to hand.
 */
#include "test/unit.h"

#include "consent/consent.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "policy/test/test-property.h"

enum { NOW = 1000000, TTL = 5000, THREADS = 8 };

static const struct consent_scope write_a = { OPERATION_FS_WRITE, "/w/a", "agent", TTL, 3 };

static uint64_t ask(struct consent *c, const struct consent_scope *scope)
{
	const struct consent_question q = { .scope = *scope, .rule = "", .reason = "" };
	uint64_t id = 0;

	assert_true(consent_ask(c, &q, &id) >= 0);
	return id;
}

static uint64_t approve(struct consent *c, const struct consent_scope *scope)
{
	uint64_t id = 0;

	assert_int_equal(consent_answer(c, ask(c, scope), VERDICT_ALLOW, NULL, NOW, &id), 0);
	return id;
}

static enum consent_outcome use(
	struct consent *c, const struct consent_scope *scope, uint64_t now_ms)
{
	return consent_use(c, scope->op, scope->object, scope->actor, now_ms, NULL);
}

/* Scope */

static void test_exactly_what_was_shown(void **state)
{
	static const struct consent_scope others[] = {
		{ OPERATION_FS_READ, "/w/a", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "/w/a/", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "/w/b", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "/w/*", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "/W/A", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "", "agent", 0, 0 },
		{ OPERATION_FS_WRITE, "/w/a", "agent2", 0, 0 },
		{ OPERATION_FS_WRITE, "/w/a", "", 0, 0 },
	};
	struct consent_scope pattern = write_a;
	struct consent *c = consent_new();

	(void)state;
	(void)approve(c, &write_a);
	for (size_t i = 0; i < ROWS(others); i++)
		assert_int_equal(use(c, &others[i], NOW), CONSENT_NONE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_NONE);
	/* An object is bytes, never a pattern. */
	pattern.object = "/w/**";
	(void)approve(c, &pattern);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_NONE);
	consent_free(c);
}

static void test_time(void **state)
{
	struct consent_scope forever = write_a;
	struct consent *c = consent_new();

	(void)state;
	(void)approve(c, &write_a);
	assert_int_equal(use(c, &write_a, NOW + TTL - 1), CONSENT_USED);
	assert_int_equal(use(c, &write_a, NOW + TTL), CONSENT_NONE);
	/* An end that the clock cannot reach is no end that it has passed. */
	forever.ttl_ms = UINT64_MAX;
	forever.object = "/w/forever";
	(void)approve(c, &forever);
	assert_int_equal(use(c, &forever, UINT64_MAX - 1), CONSENT_USED);
	consent_free(c);
}

static void test_answers_only_narrow(void **state)
{
	static const struct {
		struct consent_scope scope;
		int code;
	} rows[] = {
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL, 3 }, 0 },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL, 1 }, 0 },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", 1, 3 }, 0 },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL + 1, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL, 4 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL, UINT64_MAX }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", TTL, 0 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "agent", 0, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/b", "agent", TTL, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w", "agent", TTL, 3 }, -EINVAL },
		{ { OPERATION_FS_READ, "/w/a", "agent", TTL, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "other", TTL, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, NULL, "agent", TTL, 3 }, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", NULL, TTL, 3 }, -EINVAL },
		{ { (enum operation)77, "/w/a", "agent", TTL, 3 }, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct consent *c = consent_new();
		uint64_t id = 0, q = ask(c, &write_a);
		int r = consent_answer(c, q, VERDICT_ALLOW, &rows[i].scope, NOW, &id);

		if (r != rows[i].code)
			fail_msg("row %zu: %d", i, r);
		assert_int_equal(use(c, &write_a, NOW), r ? CONSENT_NONE : CONSENT_USED);
		/* A wrong answer leaves the question where it was; a right one takes it away. */
		assert_int_equal(
			consent_answer(c, q, VERDICT_ALLOW, NULL, NOW, &id), r ? 0 : -ENOENT);
		consent_free(c);
	}
}

static void test_count_of_an_answer(void **state)
{
	struct consent_scope once = write_a;
	struct consent *c = consent_new();
	uint64_t id = 0;

	(void)state;
	once.count = 1;
	assert_int_equal(consent_answer(c, ask(c, &write_a), VERDICT_ALLOW, &once, NOW, &id), 0);
	assert_int_equal(consent_left(c, id, NOW), 1);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_NONE);
	/* Given and used in one step: as often as was said, and not once more. */
	assert_int_equal(consent_give_used(c, &write_a, NOW, &id), 0);
	assert_int_equal(consent_left(c, id, NOW), 2);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_NONE);
	once.count = 0;
	assert_int_equal(consent_give_used(c, &once, NOW, &id), -EINVAL);
	consent_free(c);
}

static void test_refusals(void **state)
{
	struct consent_scope other = write_a;
	struct consent *c = consent_new();
	uint64_t id = 0, refusal = 0;

	(void)state;
	(void)approve(c, &write_a);
	assert_int_equal(consent_answer(c, ask(c, &write_a), VERDICT_DENY, NULL, NOW, &refusal), 0);
	/* It is stronger than what was agreed to, as often as one likes, for its time. */
	for (int i = 0; i < 5; i++)
		assert_int_equal(use(c, &write_a, NOW + TTL - 1), CONSENT_REFUSED);
	other.actor = "other";
	assert_int_equal(use(c, &other, NOW), CONSENT_NONE);
	assert_int_equal(consent_hand_on(c, refusal, &other, NOW, &id), -ENOENT);
	assert_int_equal(use(c, &write_a, NOW + TTL), CONSENT_NONE);
	assert_int_equal(consent_withdraw(c, refusal), 1);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	/* "ask" is no yes. */
	assert_int_equal(consent_answer(c, ask(c, &write_a), VERDICT_ASK, NULL, NOW, &id), 0);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_REFUSED);
	consent_free(c);
}

/* Questions */

struct seen {
	uint64_t ids[CONSENT_QUESTIONS_MAX];
	size_t n, end;
	struct consent *consent;
};

static int note(void *context, const struct consent_question *q)
{
	struct seen *s = context;
	uint64_t id = 0;

	assert_string_equal(q->reason, "why");
	s->ids[s->n++] = q->id;
	/* No lock is held: answering from here must not hang. */
	if (s->consent)
		assert_int_equal(
			consent_answer(s->consent, q->id, VERDICT_DENY, NULL, NOW, &id), 0);
	return s->n == s->end;
}

static int ask_number(struct consent *c, unsigned actor, unsigned object, uint64_t *ret)
{
	char name[32], path[32];
	const struct consent_question q = {
		.scope = { OPERATION_FS_READ, path, name, TTL, 1 }, .rule = "rule", .reason = "why"
	};

	(void)snprintf(name, sizeof(name), "actor %u", actor);
	(void)snprintf(path, sizeof(path), "/%u", object);
	return consent_ask(c, &q, ret);
}

static void test_queue(void **state)
{
	struct consent *c = consent_new();
	struct seen all = { 0 }, two = { .end = 2 }, answered = { .consent = c };
	uint64_t id = 0, again = 0, last = 0;
	unsigned n = 0;

	(void)state;
	for (; n < CONSENT_QUESTIONS_PER_ACTOR; n++) {
		assert_int_equal(ask_number(c, 0, n, &id), 0);
		assert_true(id > last);
		last = id;
		/* Who asks the same again while it waits waits for the same. */
		assert_int_equal(ask_number(c, 0, n, &again), 1);
		assert_int_equal(again, id);
	}
	assert_int_equal(ask_number(c, 0, n, &id), -ENOSPC);
	for (; n < CONSENT_QUESTIONS_MAX; n++)
		assert_int_equal(ask_number(c, n / CONSENT_QUESTIONS_PER_ACTOR, n, &id), 0);
	assert_int_equal(ask_number(c, 1000, 0, &id), -ENOSPC);
	assert_int_equal(consent_questions(c, note, &all), CONSENT_QUESTIONS_MAX);
	for (size_t i = 1; i < all.n; i++)
		assert_true(all.ids[i] > all.ids[i - 1]);
	assert_int_equal(consent_questions(c, note, &two), 2);
	assert_int_equal(consent_questions(c, note, &answered), CONSENT_QUESTIONS_MAX);
	assert_int_equal(consent_questions(c, note, &all), 0);
	assert_int_equal(ask_number(c, 1000, 0, &id), 0);
	consent_free(c);
}

static void test_what_cannot_be_shown(void **state)
{
	static char text[CONSENT_TEXT_MAX + 1];
	struct consent_question q = { .scope = write_a, .rule = "", .reason = "" };
	struct consent *c = consent_new();
	uint64_t id = 7;

	(void)state;
	memset(text, 'x', CONSENT_TEXT_MAX);
	q.scope.object = text;
	assert_int_equal(consent_ask(c, &q, &id), -E2BIG);
	text[CONSENT_TEXT_MAX - 1] = '\0';
	assert_int_equal(consent_ask(c, &q, &id), 0);
	text[CONSENT_TEXT_MAX - 1] = 'x';
	q.scope = write_a;
	q.scope.actor = text;
	assert_int_equal(consent_ask(c, &q, &id), -E2BIG);
	q.scope = write_a;
	q.scope.count = 0;
	assert_int_equal(consent_ask(c, &q, &id), -E2BIG);
	consent_free(c);
}

static void test_too_many_approvals(void **state)
{
	struct consent_scope scope = write_a;
	struct consent *c = consent_new();
	char object[32];
	uint64_t id = 0;

	(void)state;
	scope.object = object;
	for (int i = 0; i <= CONSENT_APPROVALS_MAX; i++) {
		(void)snprintf(object, sizeof(object), "/%d", i);
		assert_int_equal(consent_answer(c, ask(c, &scope), VERDICT_ALLOW, NULL, NOW, &id),
			i < CONSENT_APPROVALS_MAX ? 0 : -ENOSPC);
	}
	/* What is used up as it is given needs no room. */
	scope.count = 1;
	assert_int_equal(consent_give_used(c, &scope, NOW, &id), 0);
	scope.count = 2;
	assert_int_equal(consent_give_used(c, &scope, NOW, &id), -ENOSPC);
	/* Those whose time is over make room. */
	assert_int_equal(consent_answer(c, ask(c, &scope), VERDICT_ALLOW, NULL, NOW + TTL, &id), 0);
	consent_free(c);
}

/* Hand to hand */

static void test_hand_on_only_narrows(void **state)
{
	static const struct {
		struct consent_scope scope;
		uint64_t now;
		int code;
	} rows[] = {
		{ { OPERATION_FS_WRITE, "/w/a", "b", TTL, 3 }, NOW, 0 },
		{ { OPERATION_FS_WRITE, "/w/a", "b", TTL, 3 }, NOW + 1, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "b", TTL - 1, 3 }, NOW + 1, 0 },
		{ { OPERATION_FS_WRITE, "/w/a", "b", UINT64_MAX, 3 }, NOW, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "b", TTL, 4 }, NOW, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "b", TTL, 0 }, NOW, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "b", 0, 3 }, NOW, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/b", "b", TTL, 3 }, NOW, -EINVAL },
		{ { OPERATION_FS_READ, "/w/a", "b", TTL, 3 }, NOW, -EINVAL },
		{ { OPERATION_FS_WRITE, "/w/a", "b", 1, 1 }, NOW + TTL, -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct consent *c = consent_new();
		uint64_t id = 0, first = approve(c, &write_a);
		int r = consent_hand_on(c, first, &rows[i].scope, rows[i].now, &id);

		if (r != rows[i].code)
			fail_msg("row %zu: %d", i, r);
		assert_int_equal(
			use(c, &rows[i].scope, rows[i].now), r ? CONSENT_NONE : CONSENT_USED);
		consent_free(c);
	}
}

static void test_hand_on_shares_the_count(void **state)
{
	struct consent_scope b = write_a, d = write_a;
	struct consent *c = consent_new();
	uint64_t first = approve(c, &write_a), second = 0, third = 0;

	(void)state;
	b.actor = "b";
	d.actor = "d";
	d.count = 2;
	assert_int_equal(consent_hand_on(c, first, &b, NOW, &second), 0);
	assert_int_equal(consent_hand_on(c, second, &d, NOW, &third), 0);
	assert_int_equal(use(c, &d, NOW), CONSENT_USED);
	assert_int_equal(consent_left(c, first, NOW), 2);
	assert_int_equal(consent_left(c, second, NOW), 2);
	assert_int_equal(consent_left(c, third, NOW), 1);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(use(c, &b, NOW), CONSENT_USED);
	/* Three were agreed to. The others have some left, on paper. */
	assert_int_equal(use(c, &d, NOW), CONSENT_NONE);
	assert_int_equal(use(c, &b, NOW), CONSENT_NONE);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_NONE);
	consent_free(c);
}

static void test_withdraw_takes_all_back(void **state)
{
	struct consent_scope b = write_a, d = write_a;
	struct consent *c = consent_new();
	uint64_t first = approve(c, &write_a), second = 0, third = 0;

	(void)state;
	b.actor = "b";
	d.actor = "d";
	assert_int_equal(consent_hand_on(c, first, &b, NOW, &second), 0);
	assert_int_equal(consent_hand_on(c, second, &d, NOW, &third), 0);
	assert_int_equal(consent_withdraw(c, second), 2);
	assert_int_equal(use(c, &b, NOW), CONSENT_NONE);
	assert_int_equal(use(c, &d, NOW), CONSENT_NONE);
	assert_int_equal(use(c, &write_a, NOW), CONSENT_USED);
	assert_int_equal(consent_hand_on(c, second, &d, NOW, &third), -ENOENT);
	assert_int_equal(consent_withdraw(c, second), -ENOENT);
	consent_free(c);
}

static void test_hands_are_bounded(void **state)
{
	struct consent *c = consent_new();
	uint64_t id = approve(c, &write_a);
	int r = 0, n = 1;

	(void)state;
	for (; r == 0 && n < 2 * CONSENT_DEPTH_MAX; n++)
		r = consent_hand_on(c, id, &write_a, NOW, &id);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(n, CONSENT_DEPTH_MAX + 1);
	consent_free(c);
}

/* Who has one approval must not fill the list, so that nobody gets another. */
static void test_hands_do_not_fill_the_list(void **state)
{
	struct consent *c = consent_new();
	uint64_t first = approve(c, &write_a), hand = first, id = 0;
	struct consent_scope other = write_a;
	int n = 0;

	(void)state;
	/* Half of them from a second hand. */
	while (consent_hand_on(c, hand, &write_a, NOW, &id) == 0 && n < CONSENT_APPROVALS_MAX) {
		n++;
		hand = n % 2 ? id : first;
	}
	assert_int_equal(n, CONSENT_HANDS_MAX);
	assert_int_equal(consent_hand_on(c, first, &write_a, NOW, &id), -ENOSPC);
	other.object = "/other";
	other.actor = "somebody else";
	id = approve(c, &other);
	assert_int_equal(consent_hand_on(c, id, &other, NOW, &id), 0);
	consent_free(c);
}

/* Trees */

enum { NODES = 40, STEPS = 400, ROUNDS = 300 };

/* The same in plain: what each may have used, with all below it. */
struct model {
	uint64_t id[NODES], count[NODES], until[NODES], used[NODES];
	int above[NODES];
	bool gone[NODES];
	size_t n;
};

static bool is_live(const struct model *m, int i, uint64_t now)
{
	for (; i >= 0; i = m->above[i]) {
		if (m->gone[i] || now >= m->until[i] || m->used[i] >= m->count[i])
			return false;
	}
	return true;
}

static void actor_of(size_t i, char name[32])
{
	(void)snprintf(name, 32, "%zu", i);
}

static void grow(struct consent *c, struct model *m, struct random *r, uint64_t now)
{
	int above = m->n ? (int)random_pick(r, (unsigned)m->n + 1) - 1 : -1;
	struct consent_scope s = { OPERATION_EXEC, "/bin/x", NULL, 1 + random_pick(r, 60),
		1 + random_pick(r, 12) };
	char name[32];
	uint64_t id = 0;
	int code;

	if (m->n == NODES)
		return;
	actor_of(m->n, name);
	s.actor = name;
	if (above < 0)
		code = consent_answer(c, ask(c, &s), VERDICT_ALLOW, NULL, now, &id);
	else
		code = consent_hand_on(c, m->id[above], &s, now, &id);
	if (above >= 0 && code == 0) {
		assert_true(is_live(m, above, now));
		assert_true(now + s.ttl_ms <= m->until[above]);
		assert_true(s.count <= m->count[above] - m->used[above]);
	}
	if (code < 0)
		return;
	m->id[m->n] = id;
	m->count[m->n] = s.count;
	m->until[m->n] = now + s.ttl_ms;
	m->used[m->n] = 0;
	m->gone[m->n] = false;
	m->above[m->n++] = above;
}

static void spend(struct consent *c, struct model *m, struct random *r, uint64_t now)
{
	int i = (int)random_pick(r, (unsigned)m->n);
	bool live = is_live(m, i, now);
	char name[32];

	actor_of((size_t)i, name);
	assert_int_equal(consent_use(c, OPERATION_EXEC, "/bin/x", name, now, NULL),
		live ? CONSENT_USED : CONSENT_NONE);
	for (; live && i >= 0; i = m->above[i]) {
		m->used[i]++;
		assert_true(m->used[i] <= m->count[i]);
	}
}

static void test_property_no_ancestor_is_exceeded(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct random r = random_start(round);
		struct consent *c = consent_new();
		struct model m = { 0 };
		uint64_t now = NOW;

		for (int step = 0; step < STEPS; step++) {
			unsigned what = random_pick(&r, 20);
			int i;

			if (what < 5 || m.n == 0) {
				grow(c, &m, &r, now);
			} else if (what < 18) {
				spend(c, &m, &r, now);
			} else if (what == 18) {
				now += random_pick(&r, 6);
			} else {
				i = (int)random_pick(&r, (unsigned)m.n);
				(void)consent_withdraw(c, m.id[i]);
				m.gone[i] = true;
			}
		}
		consent_free(c);
	}
}

/* Threads */

enum { COUNT = 1000 };

struct race {
	struct consent *consent;
	atomic_uint used;
	atomic_uint next;
};

static void *use_all(void *data)
{
	struct race *race = data;
	char name[32];

	actor_of(atomic_fetch_add(&race->next, 1) % 4, name);
	for (int i = 0; i < COUNT; i++) {
		if (consent_use(race->consent, OPERATION_EXEC, "/bin/x", name, NOW, NULL) ==
			CONSENT_USED)
			atomic_fetch_add(&race->used, 1);
	}
	return NULL;
}

/* Eight threads want 8,000 uses, by four names: one agreed to 1,000, the rest is handed on. */
static void test_threads_use_the_count_exactly(void **state)
{
	struct consent_scope s = { OPERATION_EXEC, "/bin/x", "0", TTL, COUNT };
	struct race race = { .consent = consent_new() };
	pthread_t threads[THREADS];
	uint64_t id = approve(race.consent, &s);
	char name[32];

	(void)state;
	for (size_t i = 1; i < 4; i++) {
		actor_of(i, name);
		s.actor = name;
		assert_int_equal(consent_hand_on(race.consent, id, &s, NOW, &id), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_all, &race), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(race.used, COUNT);
	consent_free(race.consent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exactly_what_was_shown),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_answers_only_narrow),
		cmocka_unit_test(test_count_of_an_answer),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_what_cannot_be_shown),
		cmocka_unit_test(test_too_many_approvals),
		cmocka_unit_test(test_hand_on_only_narrows),
		cmocka_unit_test(test_hand_on_shares_the_count),
		cmocka_unit_test(test_withdraw_takes_all_back),
		cmocka_unit_test(test_hands_are_bounded),
		cmocka_unit_test(test_hands_do_not_fill_the_list),
		cmocka_unit_test(test_property_no_ancestor_is_exceeded),
		cmocka_unit_test(test_threads_use_the_count_exactly),
	};

	return cmocka_run_group_tests_name("consent", tests, NULL, NULL);
}
