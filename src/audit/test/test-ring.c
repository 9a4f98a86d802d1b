/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event of these tests can be checked by itself: its texts follow from its user (a writer's
 * number) and its sequence, so one that is made of two is found out.
 */
#include "test/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/ring.h"

enum {
	SLOTS = AUDIT_RING_LEAST / 512,
	WRITERS = 3,
	READERS = 2,
	EVENTS = 20000, /* of each writer */
	TARGET_MAX = 6000,
};

size_t __real_audit_event_pack(const struct audit_event *e, void *out, size_t room);
size_t __wrap_audit_event_pack(const struct audit_event *e, void *out, size_t room);

/* What a writer does in the middle of an event that is too long for its slot. */
static void (*in_the_middle)(void);

size_t __wrap_audit_event_pack(const struct audit_event *e, void *out, size_t room)
{
	if (room < AUDIT_EVENT_MAX && in_the_middle) {
		void (*call)(void) = in_the_middle;

		in_the_middle = NULL;
		call();
	}
	return __real_audit_event_pack(e, out, room);
}

/* Most are short, one of sixteen does not fit a slot, some are longer than a text may be. */
static size_t length_of(uint64_t seed)
{
	uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u;

	mixed ^= mixed >> 29;
	return mixed % 16 ? mixed % 200 : mixed / 16 % TARGET_MAX;
}

struct sample {
	struct audit_event event;
	char user[16], target[TARGET_MAX + 1], reason[32];
};

static const struct audit_event *make(struct sample *s, unsigned writer, uint64_t sequence)
{
	uint64_t seed = sequence * 8 + writer;
	size_t len = length_of(seed);

	for (size_t i = 0; i < len; i++)
		s->target[i] = (char)('a' + (seed + i * 7) % 26);
	s->target[len] = '\0';
	(void)snprintf(s->user, sizeof(s->user), "%u", writer);
	(void)snprintf(s->reason, sizeof(s->reason), "%llu", (unsigned long long)seed);
	s->event = (struct audit_event){ .sequence = sequence,
		.time_ns = seed,
		.session = "session",
		.user = s->user,
		.sandbox = "",
		.program = "/bin/true",
		.action = AUDIT_EXEC,
		.target = s->target,
		.decision = AUDIT_ALLOWED,
		.rule = "",
		.reason = s->reason,
		.cost_ns = ~seed,
		.count = 1 };
	return &s->event;
}

static bool is_cut(const char *text)
{
	size_t len = strlen(text);

	return len >= strlen("…") && strcmp(text + len - strlen("…"), "…") == 0;
}

/* Exactly what make() makes, or its beginning. */
static bool is_whole(const struct audit_event *e)
{
	struct sample want;
	size_t len = strlen(e->target);

	(void)make(&want, (unsigned)strtoul(e->user, NULL, 10), e->sequence);
	if (is_cut(e->target) && strlen(want.target) > 300)
		len -= strlen("…");
	else if (len != strlen(want.target))
		return false;
	return e->time_ns == want.event.time_ns && e->cost_ns == want.event.cost_ns &&
	       strcmp(e->reason, want.reason) == 0 && strcmp(e->session, "session") == 0 &&
	       strcmp(e->program, "/bin/true") == 0 && strncmp(e->target, want.target, len) == 0;
}

static struct audit_ring *new_ring(size_t bytes)
{
	struct audit_ring *r = NULL;

	assert_int_equal(audit_ring_new(&r, bytes), 0);
	return r;
}

static void add(struct audit_ring *r, uint64_t sequence)
{
	struct sample s;

	assert_true(audit_ring_add(r, make(&s, 0, sequence)) > 0);
}

static char buffer[AUDIT_EVENT_MAX];

static void test_in_order(void **state)
{
	struct audit_ring *r = new_ring(1);
	struct audit_reader reader = { 0 };
	struct audit_event e;

	(void)state;
	assert_int_equal(audit_ring_read(r, &reader, &e, buffer), 0);
	for (uint64_t n = 1; n <= SLOTS; n++) {
		struct sample s;

		assert_int_equal(audit_ring_add(r, make(&s, 0, n)), n);
		assert_int_equal(audit_ring_count(r), n);
	}
	for (uint64_t n = 1; n <= SLOTS; n++) {
		assert_int_equal(audit_ring_read(r, &reader, &e, buffer), 1);
		assert_int_equal(e.sequence, n);
		assert_int_equal(reader.next, n + 1);
		assert_true(is_whole(&e));
	}
	assert_int_equal(audit_ring_read(r, &reader, &e, buffer), 0);
	assert_int_equal(reader.lost, 0);
	audit_ring_free(r);
}

/* A reader that stood still while the ring went round, and one that comes late. */
static void test_fallen_behind(void **state)
{
	struct audit_ring *r = new_ring(AUDIT_RING_LEAST);
	struct audit_reader slow = { 0 }, late = { 0 }, now;
	struct audit_event e;

	(void)state;
	for (uint64_t n = 1; n <= 10; n++)
		add(r, n);
	assert_int_equal(audit_ring_read(r, &slow, &e, buffer), 1);
	for (uint64_t n = 11; n <= 3 * SLOTS; n++)
		add(r, n);
	assert_int_equal(audit_ring_read(r, &slow, &e, buffer), 1);
	assert_int_equal(e.sequence, 2 * SLOTS + 1);
	assert_int_equal(slow.lost, 2 * SLOTS - 1);
	assert_int_equal(audit_ring_read(r, &late, &e, buffer), 1);
	assert_int_equal(late.lost, 2 * SLOTS);
	now = (struct audit_reader){ .next = audit_ring_count(r) + 1 };
	assert_int_equal(audit_ring_read(r, &now, &e, buffer), 0);
	add(r, 3 * SLOTS + 1);
	assert_int_equal(audit_ring_read(r, &now, &e, buffer), 1);
	assert_int_equal(e.sequence, 3 * SLOTS + 1);
	assert_int_equal(now.lost, 0);
	audit_ring_free(r);
}

static struct audit_event with_target(const char *target, uint64_t sequence)
{
	return (struct audit_event){ .sequence = sequence, .target = target, .rule = "rule" };
}

/* A long event is whole as long as there is room for it, then it has its texts cut. */
static void test_long(void **state)
{
	static char text[AUDIT_TEXT_MAX + 1];
	struct audit_ring *r = new_ring(AUDIT_RING_LEAST);
	struct audit_reader reader = { 0 };
	struct audit_event e;
	unsigned whole = 0;

	(void)state;
	memset(text, 'x', AUDIT_TEXT_MAX);
	for (uint64_t n = 1; n <= 20; n++) {
		struct audit_event in = with_target(text, n);

		assert_int_equal(audit_ring_add(r, &in), n);
	}
	for (uint64_t n = 1; n <= 20; n++) {
		assert_int_equal(audit_ring_read(r, &reader, &e, buffer), 1);
		assert_int_equal(e.sequence, n);
		assert_string_equal(e.rule, "rule");
		if (is_cut(e.target)) {
			assert_int_equal(whole, 0);
			assert_in_range(strlen(e.target), 300, 500);
		} else {
			assert_string_equal(e.target, text);
			whole++;
		}
	}
	/* 64 cells, of which each takes nine. */
	assert_int_equal(whole, 7);
	audit_ring_free(r);
}

static struct audit_ring *stalled;

static void go_round(void)
{
	struct audit_reader reader = { 0 };
	struct audit_event e;

	/* The one that is being written is not there yet, and those after it wait for it. */
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 0);
	for (uint64_t n = 2; n <= SLOTS; n++)
		add(stalled, n);
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 0);
	assert_int_equal(reader.lost, 0);
	/* This one would be in its slot, and is given up. */
	add(stalled, SLOTS + 1);
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 1);
	assert_int_equal(e.sequence, 2);
	assert_int_equal(reader.lost, 1);
	add(stalled, SLOTS + 2);
}

/* A writer that is interrupted for a whole round holds up nobody, and tears nothing. */
static void test_stalled_writer(void **state)
{
	static char text[1024];
	struct audit_event in = with_target(text, 1), e;
	struct audit_reader reader = { .next = SLOTS };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	stalled = new_ring(AUDIT_RING_LEAST);
	in_the_middle = go_round;
	assert_int_equal(audit_ring_add(stalled, &in), 1);
	assert_int_equal(audit_ring_count(stalled), SLOTS + 2);
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 1);
	assert_int_equal(e.sequence, SLOTS);
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 1);
	assert_int_equal(e.sequence, SLOTS + 2);
	assert_int_equal(reader.lost, 1);
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 0);
	/* Its slot is in use again. */
	for (uint64_t n = SLOTS + 3; n <= 2 * SLOTS + 1; n++)
		add(stalled, n);
	reader = (struct audit_reader){ .next = 2 * SLOTS + 1 };
	assert_int_equal(audit_ring_read(stalled, &reader, &e, buffer), 1);
	assert_int_equal(e.sequence, 2 * SLOTS + 1);
	audit_ring_free(stalled);
}

static void test_refused(void **state)
{
	struct audit_event e = { .action = AUDIT_ACTION_COUNT };
	struct audit_ring *r = NULL;

	(void)state;
	assert_int_equal(audit_ring_new(&r, (size_t)AUDIT_RING_MOST + 1), -E2BIG);
	assert_null(r);
	r = new_ring(0);
	assert_int_equal(audit_ring_add(r, &e), 0);
	assert_int_equal(audit_ring_count(r), 0);
	audit_ring_free(r);
	audit_ring_free(NULL);
}

static struct {
	struct audit_ring *ring;
	atomic_uint writing;
} shared;

static void *write_all(void *number)
{
	struct sample s;

	for (uint64_t i = 1; i <= EVENTS; i++)
		(void)audit_ring_add(shared.ring, make(&s, *(unsigned *)number, i));
	atomic_fetch_sub(&shared.writing, 1);
	return NULL;
}

struct found {
	uint64_t read, torn, disordered, lost;
};

/* What one writer wrote comes in the order in which it did. */
static void check(struct found *f, const struct audit_event *e, uint64_t last[WRITERS])
{
	unsigned long writer = strtoul(e->user, NULL, 10);

	f->read++;
	if (writer >= WRITERS || !is_whole(e)) {
		f->torn++;
		return;
	}
	f->disordered += e->sequence <= last[writer];
	last[writer] = e->sequence;
}

static void *read_all(void *found)
{
	struct audit_reader reader = { 0 };
	uint64_t last[WRITERS] = { 0 };
	char *own = malloc(AUDIT_EVENT_MAX);
	bool more = own != NULL;

	while (more) {
		struct audit_event e;

		/* Asked for before the last look: what was written then is seen by it. */
		more = atomic_load(&shared.writing) > 0;
		while (audit_ring_read(shared.ring, &reader, &e, own) == 1)
			check(found, &e, last);
	}
	((struct found *)found)->lost = reader.lost;
	free(own);
	return NULL;
}

static void run_threads(size_t bytes, struct found found[READERS])
{
	pthread_t writers[WRITERS], readers[READERS];
	unsigned numbers[WRITERS];

	shared.ring = new_ring(bytes);
	atomic_store(&shared.writing, WRITERS);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all, &found[i]), 0);
	for (unsigned i = 0; i < WRITERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&writers[i], NULL, write_all, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(writers[i], NULL), 0);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(audit_ring_count(shared.ring), WRITERS * EVENTS);
	audit_ring_free(shared.ring);
}

/* Small, so that it goes round all the time; and so large that nothing is lost. */
static void test_threads(void **state)
{
	(void)state;
	for (unsigned large = 0; large < 2; large++) {
		struct found found[READERS] = { 0 };

		run_threads(large ? (size_t)WRITERS * EVENTS * 512 : 1, found);
		for (unsigned i = 0; i < READERS; i++) {
			assert_int_equal(found[i].torn, 0);
			assert_int_equal(found[i].disordered, 0);
			assert_int_equal(found[i].read + found[i].lost, WRITERS * EVENTS);
			if (large)
				assert_int_equal(found[i].lost, 0);
			else
				assert_true(found[i].read >= SLOTS - WRITERS);
		}
	}
}

/* All of one length, so that a mixture of two would still be an event. */
static const struct audit_event *make_even(struct sample *s, uint64_t sequence)
{
	memset(s->target, (int)('a' + sequence % 26), 300);
	s->target[300] = '\0';
	s->event = with_target(s->target, sequence);
	s->event.cost_ns = sequence;
	return &s->event;
}

static bool is_even(const struct audit_event *e)
{
	struct sample want;

	(void)make_even(&want, e->sequence);
	return e->cost_ns == e->sequence && strcmp(e->target, want.target) == 0;
}

static void *write_even(void *unused)
{
	struct sample s;

	(void)unused;
	for (uint64_t i = 1; i <= (uint64_t)20 * EVENTS; i++)
		(void)audit_ring_add(shared.ring, make_even(&s, i));
	atomic_fetch_sub(&shared.writing, 1);
	return NULL;
}

/* A reader that always wants the oldest event, which is the next to be written over. */
static void test_at_the_edge(void **state)
{
	struct audit_event e;
	uint64_t torn = 0;
	pthread_t writer;

	(void)state;
	shared.ring = new_ring(1);
	atomic_store(&shared.writing, 1);
	assert_int_equal(pthread_create(&writer, NULL, write_even, NULL), 0);
	while (atomic_load(&shared.writing) > 0) {
		struct audit_reader reader = { 0 };

		if (audit_ring_read(shared.ring, &reader, &e, buffer) == 1)
			torn += !is_even(&e);
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(torn, 0);
	audit_ring_free(shared.ring);
}

/* How much was written since a mark, by number and by length. */
static void test_filled(void **state)
{
	struct audit_ring *ring = new_ring(1);
	struct audit_event e = { .action = AUDIT_EXEC };
	char target[4000];
	struct audit_ring_mark mark = audit_ring_mark(ring);

	(void)state;
	assert_int_equal(audit_ring_filled(ring, &mark), 0);
	for (unsigned i = 0; i < SLOTS / 2; i++)
		(void)audit_ring_add(ring, &e);
	assert_int_equal(audit_ring_filled(ring, &mark), 50);
	for (unsigned i = 0; i < 3 * SLOTS; i++)
		(void)audit_ring_add(ring, &e);
	assert_int_equal(audit_ring_filled(ring, &mark), 100);
	mark = audit_ring_mark(ring);
	memset(target, 'x', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	e.target = target;
	/* Nine cells of 64 each. */
	(void)audit_ring_add(ring, &e);
	assert_int_equal(audit_ring_filled(ring, &mark), 14);
	audit_ring_free(ring);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_fallen_behind),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_stalled_writer),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_at_the_edge),
		cmocka_unit_test(test_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
