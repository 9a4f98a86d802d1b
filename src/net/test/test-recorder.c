/* SPDX-License-Identifier: Apache-2.0 */
/* A real socket pair; the other end is read by the test, which adds up what it received. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/internal.h"
#include "net/recorder.h"
#include "wire/frame.h"

struct side {
	struct loop *loop;
	struct recorder *recorder;
	int ends[2]; /* the recorder's, the reader's */
	/* what was read */
	uint64_t frames, count, sent, received, rests;
	struct record last;
	char target[RECORD_TABLE_TEXT], address[64], program[64];
};

static void make(struct side *s)
{
	*s = (struct side){ 0 };
	assert_int_equal(frame_pair(s->ends), 0);
	assert_int_equal(fcntl(s->ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(loop_new(&s->loop), 0);
	assert_int_equal(recorder_new(&s->recorder, s->loop, s->ends[0]), 0);
}

static void end(struct side *s)
{
	recorder_free(s->recorder);
	loop_free(s->loop);
	fd_close(&s->ends[0]);
	fd_close(&s->ends[1]);
}

static void take_in(struct side *s, const struct frame *f)
{
	struct record r;

	assert_int_equal(f->type, FRAME_RECORD);
	assert_int_equal(record_decode(&r, f->body, f->len), 0);
	s->frames++;
	s->count += r.count;
	s->sent += r.sent;
	s->received += r.received;
	s->rests += strcmp(r.target, "*") == 0;
	s->last = r;
	(void)snprintf(s->target, sizeof(s->target), "%s", r.target);
	(void)snprintf(s->address, sizeof(s->address), "%s", r.address);
	(void)snprintf(s->program, sizeof(s->program), "%s", r.program);
}

/* All that is there by now. */
static void read_all(struct side *s)
{
	static struct frame f;
	int r;

	while ((r = frame_receive(s->ends[1], &f)) == 1)
		take_in(s, &f);
	assert_int_equal(r, -EAGAIN);
	frame_deinit(&f);
}

/* Turns the loop until that many were counted. */
static void read_until(struct side *s, uint64_t count)
{
	for (read_all(s); s->count < count; read_all(s))
		assert_int_equal(loop_turn(s->loop, -1), 0);
	assert_int_equal(s->count, count);
}

static struct record record_of(enum record_kind kind, const char *target)
{
	return (struct record){ .kind = kind,
		.target = target,
		.name = "",
		.address = "192.0.2.1",
		.rule = "",
		.reason = kind == RECORD_CLOSED ? "" : "not granted",
		.remedy = "grant it",
		.pid = 7,
		.program = "curl" };
}

static void add(struct side *s, enum record_kind kind, const char *target)
{
	struct record r = record_of(kind, target);

	recorder_add(s->recorder, &r);
}

/* Asks for the rest, and reads until the answer. */
static void settle(struct side *s, uint64_t id)
{
	static struct frame f;
	int r;

	recorder_settle(s->recorder, id);
	for (;;) {
		r = frame_receive(s->ends[1], &f);
		if (r == 1 && f.type == FRAME_SETTLE)
			break;
		if (r == 1)
			take_in(s, &f);
		else
			assert_int_equal(loop_turn(s->loop, -1), 0);
	}
	assert_int_equal(f.id, id);
	assert_int_equal(f.len, 0);
	frame_deinit(&f);
}

/* What was only counted comes before the answer; after it the same is reported at once again. */
static void test_settle(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	settle(&s, 1);
	assert_int_equal(s.frames, 0);
	for (uint64_t i = 0; i < 20; i++) {
		add(&s, RECORD_DENIED, "a.example:443");
		read_all(&s);
		assert_int_equal(s.frames, 2 * i + 1);
		add(&s, RECORD_DENIED, "a.example:443");
		add(&s, RECORD_DENIED, "a.example:443");
		read_all(&s);
		assert_int_equal(s.frames, 2 * i + 1);
		settle(&s, 2 + i);
		assert_int_equal(s.frames, 2 * i + 2);
		assert_int_equal(s.count, 3 * i + 3);
	}
	end(&s);
}

/* A reader that is slow gets the answer after everything else, too. */
static void test_settle_slowly(void **state)
{
	enum { MANY = 5000 };
	struct side s;

	(void)state;
	make(&s);
	for (unsigned i = 0; i < MANY; i++) {
		char target[32];

		(void)snprintf(target, sizeof(target), "h%u.example:443", i);
		add(&s, RECORD_DENIED, target);
	}
	settle(&s, 7);
	assert_int_equal(s.count, MANY);
	end(&s);
}

static void test_at_once(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	add(&s, RECORD_DENIED, "a.example:443");
	read_all(&s);
	assert_int_equal(s.frames, 1);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.target, "a.example:443");
	assert_string_equal(s.address, "192.0.2.1");
	assert_string_equal(s.program, "curl");
	assert_int_equal(s.last.pid, 7);
	add(&s, RECORD_FAILED, "a.example:443");
	add(&s, RECORD_DENIED, "b.example:443");
	read_all(&s);
	assert_int_equal(s.frames, 3);
	end(&s);
}

static void test_same_again(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	for (int i = 0; i < 100000; i++)
		add(&s, RECORD_DENIED, "a.example:443");
	read_all(&s);
	assert_int_equal(s.frames, 1);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 2);
	assert_int_equal(s.last.count, 99999);
	/* Nothing is left to tell. */
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 2);
	end(&s);
}

/* By the clock, without a flush. */
static void test_each_second(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	for (int i = 0; i < 10; i++)
		add(&s, RECORD_DENIED, "a.example:443");
	read_until(&s, 10);
	assert_int_equal(s.frames, 2);
	end(&s);
}

/* What is not the same for all is not told. */
static void test_blur(void **state)
{
	struct record r = record_of(RECORD_CLOSED, "a.example:443");
	struct side s;

	(void)state;
	make(&s);
	recorder_add(s.recorder, &r);
	recorder_add(s.recorder, &r);
	r.pid = 8;
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 2);
	assert_int_equal(s.last.pid, 0);
	assert_string_equal(s.address, "192.0.2.1");
	r.address = "192.0.2.2";
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.last.pid, 8);
	assert_string_equal(s.address, "");
	end(&s);
}

/* Each program has its own record; what is of none that is known counts with one of them. */
static void test_programs(void **state)
{
	struct record r = record_of(RECORD_CLOSED, "a.example:443");
	struct side s;

	(void)state;
	make(&s);
	recorder_add(s.recorder, &r);
	r.program = "wget";
	recorder_add(s.recorder, &r);
	read_all(&s);
	assert_int_equal(s.frames, 2);
	assert_string_equal(s.program, "wget");
	r.program = "";
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 3);
	assert_true(*s.program);
	/* A program that is found later is the one of what came before. */
	r.target = "b.example:443";
	recorder_add(s.recorder, &r);
	read_all(&s);
	assert_string_equal(s.program, "");
	recorder_add(s.recorder, &r);
	r.program = "wget";
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 5);
	assert_string_equal(s.program, "wget");
	assert_int_equal(s.last.count, 2);
	end(&s);
}

static void test_bytes(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	for (uint64_t i = 0; i < 100000; i++) {
		struct record r = record_of(RECORD_CLOSED, i % 2 ? "a:1" : "b:1");

		r.sent = i;
		r.received = 3;
		recorder_add(s.recorder, &r);
	}
	recorder_flush(s.recorder);
	read_all(&s);
	assert_true(s.frames <= 4);
	assert_int_equal(s.count, 100000);
	assert_int_equal(s.sent, 100000ULL * 99999 / 2);
	assert_int_equal(s.received, 300000);
	end(&s);
}

/* Sums stay at the end of what a number can say. */
static void test_most(void **state)
{
	struct record r = record_of(RECORD_CLOSED, "a:1");
	struct side s;

	(void)state;
	make(&s);
	recorder_add(s.recorder, &r);
	r.sent = r.count = UINT64_MAX - 1;
	recorder_add(s.recorder, &r);
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_true(s.last.sent == UINT64_MAX && s.last.count == UINT64_MAX);
	end(&s);
}

/* Different names without end: few frames, and the sum is right. */
static void test_flood(void **state)
{
	enum { NAMES = 300000 };
	struct side s;

	(void)state;
	make(&s);
	for (int i = 0; i < NAMES; i++) {
		char target[64];
		struct record r = record_of(RECORD_DENIED, target);

		(void)snprintf(target, sizeof(target), "n%d.example", i);
		r.dns = true;
		r.sent = 1;
		recorder_add(s.recorder, &r);
	}
	read_all(&s);
	assert_int_equal(s.frames, RECORDER_PER_SECOND);
	/* Others have a budget of their own. */
	add(&s, RECORD_DENIED, "evil.example:443");
	add(&s, RECORD_CLOSED, "good.example:443");
	read_all(&s);
	assert_int_equal(s.frames, RECORDER_PER_SECOND + 2);
	assert_string_equal(s.target, "good.example:443");
	/* More than the socket takes at once. */
	recorder_flush(s.recorder);
	read_until(&s, NAMES + 2);
	assert_int_equal(s.sent, NAMES);
	assert_true(s.rests >= 1);
	assert_true(s.frames <= RECORDER_PER_SECOND + 2 + RECORD_TABLE_MAX + s.rests);
	end(&s);
}

/* Nobody reads for a while: nothing is lost, and each target is told once. */
static void test_slow_reader(void **state)
{
	enum { TARGETS = 150, ROUNDS = 50 };
	int small = 4096;
	struct side s;

	(void)state;
	make(&s);
	assert_int_equal(setsockopt(s.ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < TARGETS * ROUNDS; i++) {
		char target[64];
		struct record r = record_of(RECORD_CLOSED, target);

		(void)snprintf(target, sizeof(target), "n%d.example:443", i % TARGETS);
		r.sent = 10;
		recorder_add(s.recorder, &r);
		if (i % TARGETS == 0)
			recorder_flush(s.recorder);
	}
	read_until(&s, TARGETS * ROUNDS);
	assert_int_equal(s.sent, TARGETS * ROUNDS * 10);
	assert_true(s.frames < 3 * TARGETS);
	assert_int_equal(s.rests, 0);
	end(&s);
}

/* What the socket did not take is reported at the end, while the holder reads. */
static void test_end(void **state)
{
	enum { TARGETS = 150 };
	static struct frame f;
	int small = 4096, status;
	struct side s;
	pid_t pid;

	(void)state;
	make(&s);
	assert_int_equal(setsockopt(s.ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < TARGETS; i++) {
		char target[64];

		(void)snprintf(target, sizeof(target), "n%d.example:443", i);
		add(&s, RECORD_DENIED, target);
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		recorder_free(s.recorder);
		_exit(0);
	}
	(void)close(s.ends[0]);
	assert_int_equal(fcntl(s.ends[1], F_SETFL, 0), 0);
	for (; s.count < TARGETS; take_in(&s, &f))
		assert_int_equal(frame_receive(s.ends[1], &f), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(s.frames, TARGETS);
	s.ends[0] = -1;
	(void)close(s.ends[1]);
	s.ends[1] = -1;
	end(&s);
}

static void test_reader_gone(void **state)
{
	struct side s;

	(void)state;
	make(&s);
	fd_close(&s.ends[1]);
	s.ends[1] = -1;
	for (int i = 0; i < 10; i++)
		add(&s, RECORD_DENIED, i % 2 ? "a:1" : "b:1");
	recorder_flush(s.recorder);
	assert_int_equal(loop_turn(s.loop, 0), 0);
	end(&s);
}

static void test_long_texts(void **state)
{
	static char text[5000];
	struct record r = record_of(RECORD_DENIED, text);
	struct side s;

	(void)state;
	make(&s);
	memset(text, 'x', sizeof(text) - 1);
	r.name = r.address = r.rule = r.reason = r.remedy = r.program = text;
	recorder_add(s.recorder, &r);
	recorder_add(s.recorder, &r);
	recorder_flush(s.recorder);
	read_all(&s);
	assert_int_equal(s.frames, 2);
	assert_int_equal(s.count, 2);
	assert_int_equal(strlen(s.target), RECORD_TABLE_TEXT - 1);
	end(&s);
}

static void test_blocking(void **state)
{
	struct recorder *r = NULL;
	struct loop *l;
	int ends[2];

	(void)state;
	assert_int_equal(loop_new(&l), 0);
	assert_int_equal(frame_pair(ends), 0);
	assert_int_equal(recorder_new(&r, l, ends[0]), -EINVAL);
	assert_int_equal(recorder_new(&r, l, -1), -EBADF);
	assert_null(r);
	recorder_free(NULL);
	(void)close(ends[0]);
	(void)close(ends[1]);
	loop_free(l);
}

/* The table by itself: entries come and go in every order, and the others are still found. */
static void test_table(void **state)
{
	static struct record_table t;
	struct record_entry *e;
	uint64_t seed = 1;
	bool in[RECORD_TABLE_MAX] = { false };

	(void)state;
	record_table_init(&t);
	for (int step = 0; step < 100000; step++) {
		char target[32];
		struct record r = record_of(RECORD_DENIED, target);
		size_t i;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (seed >> 33) % RECORD_TABLE_MAX;
		(void)snprintf(target, sizeof(target), "n%zu", i);
		e = record_table_find(&t, &r);
		assert_int_equal(e != NULL, in[i]);
		if (e)
			record_table_remove(&t, e);
		else
			assert_non_null(record_table_add(&t, &r));
		in[i] = !in[i];
	}
	for (size_t i = 0; i < RECORD_TABLE_MAX; i++) {
		char target[32];
		struct record r = record_of(RECORD_DENIED, target);

		(void)snprintf(target, sizeof(target), "n%zu", i);
		if (!record_table_find(&t, &r))
			assert_non_null(record_table_add(&t, &r));
	}
	/* Full. */
	e = t.lists[RECORD_BY_USE].first;
	assert_null(record_table_add(&t, &(struct record){ .target = "more",
						 .name = "",
						 .address = "",
						 .rule = "",
						 .reason = "",
						 .remedy = "",
						 .program = "" }));
	record_table_use(&t, e);
	assert_ptr_equal(t.lists[RECORD_BY_USE].last, e);
	record_table_deinit(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_settle_slowly),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_each_second),
		cmocka_unit_test(test_blur),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_blocking),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
