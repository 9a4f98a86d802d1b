/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real sockets, of TCP over the loopback interface and of the unix kind:
 *
 *     near <-> inner  [pump]  outer <-> far
 *
 * The test is at both ends, and turns the loop itself.
 */
#include "base/array.h"
#include "net/test/test-line.h"
#include "test/fds.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { LARGE = 24 << 20, IDLE = 10000 };

static pair_maker *const makers[] = { tcp_pair, unix_pair };

struct line {
	struct pump pump;
	int near, inner, outer, far;
	int n_done, error;
	struct line *stops; /* another that is stopped when this one is done */
};

static void on_done(struct pump *p, int error)
{
	struct line *l = container_of(p, struct line, pump);

	l->n_done++;
	l->error = error;
	if (error < 0) {
		pump_reset(fd_take(&l->inner));
		pump_reset(fd_take(&l->outer));
	} else {
		fd_close(&l->inner);
		fd_close(&l->outer);
		l->inner = l->outer = -1;
	}
	if (l->stops)
		pump_stop(&l->stops->pump);
}

static void connect_line(struct line *l, pair_maker *make)
{
	int pair[2];

	assert_int_equal(make(pair), 0);
	l->near = pair[0];
	l->inner = pair[1];
	assert_int_equal(make(pair), 0);
	l->outer = pair[0];
	l->far = pair[1];
	make_nonblocking(l->near);
	make_nonblocking(l->inner);
	make_nonblocking(l->outer);
	make_nonblocking(l->far);
	l->pump.done = on_done;
}

static void start_line(struct line *l, pair_maker *make)
{
	connect_line(l, make);
	assert_int_equal(pump_start(&l->pump, room, l->inner, l->outer), 0);
}

static void hang_up(int *fd)
{
	fd_close(fd);
	*fd = -1;
}

static void end_line(struct line *l)
{
	if (l->n_done == 0)
		pump_stop(&l->pump);
	hang_up(&l->near);
	hang_up(&l->inner);
	hang_up(&l->outer);
	hang_up(&l->far);
}

static struct rlimit files;

static void allow_files(bool allowed)
{
	struct rlimit none = files;

	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, allowed ? &files : &none), 0);
}

static int setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	allow_files(true);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pump_room_new(&room, loop), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pump_room_free(room);
	loop_free(loop);
	return 0;
}

/* Few bytes. */

static void test_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };

		start_line(&l, makers[i]);
		say(l.near, "hello");
		hear(l.far, "hello");
		say(l.far, "good day");
		hear(l.near, "good day");
		assert_int_equal(l.pump.streams[PUMP_INNER].moved, 5);
		assert_int_equal(l.pump.streams[PUMP_OUTER].moved, 8);
		assert_false(is_busy());
		end_line(&l);
	}
}

/* The end of either stream is passed on, and the other goes on; then the other order. */
static void test_half_closes(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ROWS(makers); i++) {
		struct line l = { 0 };
		int *first = i % 2 ? &l.near : &l.far, *second = i % 2 ? &l.far : &l.near;

		start_line(&l, makers[i / 2]);
		say(*first, "all");
		assert_int_equal(shutdown(*first, SHUT_WR), 0);
		hear(*second, "all");
		hear(*second, "");
		assert_int_equal(settle() < 10, true);
		assert_int_equal(l.n_done, 0);
		say(*second, "later");
		hear(*first, "later");
		say(*second, "last");
		assert_int_equal(shutdown(*second, SHUT_WR), 0);
		hear(*first, "last");
		hear(*first, "");
		assert_int_equal(l.n_done, 1);
		assert_int_equal(l.error, 0);
		end_line(&l);
	}
}

static void test_closes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };

		start_line(&l, makers[i]);
		say(l.near, "bye");
		hang_up(&l.near);
		hear(l.far, "bye");
		hear(l.far, "");
		assert_true(settle() < 10);
		hang_up(&l.far);
		while (l.n_done == 0)
			turn();
		assert_int_equal(l.error, 0);
		end_line(&l);
	}
}

static void test_reset(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct line l = { 0 };

		start_line(&l, tcp_pair);
		pump_reset(fd_take(i ? &l.near : &l.far));
		hear_reset(i ? l.far : l.near);
		assert_int_equal(l.n_done, 1);
		assert_int_equal(l.error, -ECONNRESET);
		end_line(&l);
	}
}

/* A server may answer before it read everything, and close, which is a reset to the client. */
static void test_last_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };

		start_line(&l, makers[i]);
		say(l.near, "a long request");
		hear(l.far, "a long");
		say(l.far, "no");
		hang_up(&l.far);
		say(l.near, "that goes on");
		hear(l.near, "no");
		while (l.n_done == 0)
			turn();
		assert_true(l.error == -ECONNRESET || l.error == -EPIPE);
		if (makers[i] == tcp_pair)
			hear_reset(l.near);
		end_line(&l);
	}
}

/* Nobody is there for what is on its way any more. */
static void test_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };

		start_line(&l, makers[i]);
		hang_up(&l.near);
		settle();
		hear(l.far, "");
		assert_int_equal(l.n_done, 0);
		for (int k = 0; l.n_done == 0 && k < TURNS_MAX; k++) {
			(void)send(l.far, "more", 4, MSG_NOSIGNAL);
			turn();
		}
		assert_int_equal(l.n_done, 1);
		assert_true(l.error < 0);
		end_line(&l);
	}
}

/* Many bytes: each is a function of its place and direction. */

static uint8_t byte_at(int seed, uint64_t i)
{
	uint64_t x = (i / 8 + 1) * (0x9e3779b97f4a7c15 + (uint64_t)seed * 2);

	return (uint8_t)(x >> 24 ^ (i % 8) * 29);
}

struct flood {
	int seed, from, to;
	uint64_t size, sent, received;
	bool ended;
};

static bool push(struct flood *f)
{
	static uint8_t data[96 << 10];
	size_t n = 1 + (size_t)(f->sent * 7919 % sizeof(data));
	ssize_t r;

	if (f->ended)
		return false;
	if (f->sent == f->size) {
		assert_int_equal(shutdown(f->from, SHUT_WR), 0);
		return f->ended = true;
	}
	if (n > f->size - f->sent)
		n = (size_t)(f->size - f->sent);
	for (size_t i = 0; i < n; i++)
		data[i] = byte_at(f->seed, f->sent + i);
	r = send(f->from, data, n, MSG_NOSIGNAL);
	if (r < 0)
		assert_int_equal(errno, EAGAIN);
	else
		f->sent += (uint64_t)r;
	return r > 0;
}

static bool pull(struct flood *f, size_t max)
{
	static uint8_t data[256 << 10];
	ssize_t r = recv(f->to, data, max < sizeof(data) ? max : sizeof(data), MSG_DONTWAIT);

	for (ssize_t i = 0; i < r; i++)
		if (data[i] != byte_at(f->seed, f->received + (uint64_t)i))
			fail_msg("byte %ju is wrong", (uintmax_t)f->received + (uintmax_t)i);
	if (r > 0)
		f->received += (uint64_t)r;
	return r > 0;
}

static void flood(struct flood *floods, size_t n)
{
	for (bool left = true; left;) {
		left = false;
		for (size_t i = 0; i < n; i++) {
			(void)push(&floods[i]);
			(void)pull(&floods[i], 1 + (size_t)(floods[i].received * 131 % 200000));
			left = left || floods[i].received < floods[i].size;
		}
		assert_int_equal(loop_turn(loop, 0), 0);
	}
}

static void test_floods(void **state)
{
	size_t before = count_fds();

	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };
		struct flood both[2] = { { .seed = 1, .size = LARGE },
			{ .seed = 2, .size = LARGE } };

		start_line(&l, makers[i]);
		both[0].from = both[1].to = l.near;
		both[1].from = both[0].to = l.far;
		flood(both, 2);
		hear(l.near, "");
		hear(l.far, "");
		while (l.n_done == 0)
			turn();
		assert_int_equal(l.error, 0);
		assert_int_equal(l.pump.streams[0].moved, LARGE);
		assert_int_equal(l.pump.streams[1].moved, LARGE);
		end_line(&l);
		/* Both pipes are kept for the next one. */
		assert_true(count_fds() <= before + 4);
	}
}

/* Who does not read stops who writes; nothing is read any more, and the loop sleeps. */
static void test_slow_reader(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };
		struct flood f = { .seed = 3, .size = LARGE };
		uint64_t sent;

		start_line(&l, makers[i]);
		f.from = l.near;
		f.to = l.far;
		for (int quiet = 0; quiet < 3;) {
			quiet = push(&f) ? 0 : quiet + 1;
			settle();
		}
		sent = f.sent;
		assert_true(sent < LARGE);
		assert_true(
			l.pump.streams[PUMP_INNER].in_pipe + l.pump.streams[PUMP_INNER].n_kept <=
			256 << 10);
		settle();
		/* The other direction is free. */
		say(l.far, "patience");
		hear(l.near, "patience");
		flood(&f, 1);
		hear(l.far, "");
		end_line(&l);
	}
}

/* More is left to be read than one turn takes, when epoll tells nothing but that. */
static void test_hung_up_with_much_left(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };
		struct flood f = { .seed = 4, .size = 64 << 20 };

		start_line(&l, makers[i]);
		say(l.near, "everything, please");
		assert_int_equal(shutdown(l.near, SHUT_WR), 0);
		hear(l.far, "everything, please");
		hear(l.far, "");
		f.from = l.far;
		f.to = l.near;
		while (push(&f))
			;
		f.size = f.sent;
		f.ended = true;
		hang_up(&l.far);
		/* Nothing is taken: the loop sleeps, although one side has hung up. */
		settle();
		while (f.received < f.size)
			if (!pull(&f, 10000))
				turn();
		hear(l.near, "");
		while (l.n_done == 0)
			turn();
		assert_int_equal(l.error, 0);
		end_line(&l);
	}
}

/* The same, but the one who would take it is gone, too. */
static void test_both_hung_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };
		struct flood f = { .seed = 5, .size = LARGE };

		start_line(&l, makers[i]);
		f.from = l.far;
		f.to = l.near;
		for (int quiet = 0; quiet < 3;) {
			quiet = push(&f) ? 0 : quiet + 1;
			settle();
		}
		hang_up(&l.far);
		settle();
		hang_up(&l.near);
		while (l.n_done == 0)
			turn();
		assert_true(l.error < 0);
		end_line(&l);
	}
}

/* No pipe can be had: then everything is copied. */
static void test_no_pipes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(makers); i++) {
		struct line l = { 0 };
		struct flood f = { .seed = 6, .size = LARGE };

		start_line(&l, makers[i]);
		f.from = l.near;
		f.to = l.far;
		allow_files(false);
		flood(&f, 1);
		allow_files(true);
		assert_int_equal(l.pump.streams[PUMP_INNER].moved, LARGE);
		assert_int_equal(l.n_done, 0);
		end_line(&l);
	}
}

/* Everything is stuck when one side hangs up; then there is room for all that one turn moves. */
static void test_hung_up_while_stuck(void **state)
{
	struct line l = { 0 };
	struct flood f = { .seed = 7, .size = LARGE };

	(void)state;
	start_line(&l, unix_pair);
	f.from = l.far;
	f.to = l.near;
	allow_files(false);
	for (int quiet = 0; quiet < 3;) {
		quiet = push(&f) ? 0 : quiet + 1;
		settle();
	}
	f.size = f.sent;
	hang_up(&l.far);
	settle();
	while (f.received < f.size) {
		while (pull(&f, LARGE))
			;
		if (f.received < f.size)
			turn();
	}
	allow_files(true);
	hear(l.near, "");
	end_line(&l);
}

/* More pumps than the room keeps pipes, all of them stuck, and let go. */
static void test_pipes_come_back(void **state)
{
	enum { N = 40 };
	static struct line lines[N];
	size_t before = count_fds();

	(void)state;
	for (int i = 0; i < N; i++) {
		struct flood f = { .seed = i, .size = LARGE };

		lines[i] = (struct line){ 0 };
		start_line(&lines[i], unix_pair);
		f.from = lines[i].near;
		for (int quiet = 0; quiet < 3;) {
			quiet = push(&f) ? 0 : quiet + 1;
			settle();
		}
	}
	for (int i = 0; i < N; i++)
		end_line(&lines[i]);
	assert_true(count_fds() <= before + 32);
	pump_room_free(room);
	assert_int_equal(count_fds(), before);
	assert_int_equal(pump_room_new(&room, loop), 0);
}

/* The gate. */

static struct {
	int asked[2], last[2];
	int answer;
	uint64_t raise;
} gate;

static int on_gate(struct pump *p, enum pump_side from, bool last)
{
	gate.asked[from]++;
	gate.last[from] += last;
	if (from == PUMP_OUTER || gate.answer == 0)
		p->streams[from].allowed = from == PUMP_OUTER ? UINT64_MAX : gate.raise;
	else if (gate.answer == -EAGAIN)
		p->streams[from].waiting = true;
	return from == PUMP_OUTER ? 0 : gate.answer;
}

static void start_gated(struct line *l, int answer, uint64_t raise)
{
	memset(&gate, 0, sizeof(gate));
	gate.answer = answer;
	gate.raise = raise;
	l->pump.gate = on_gate;
	start_line(l, tcp_pair);
}

static void test_gate_counts(void **state)
{
	struct line l = { 0 };

	(void)state;
	start_gated(&l, 0, 3);
	say(l.near, "abcdefghij");
	hear(l.far, "abcdefghij");
	assert_true(gate.asked[PUMP_INNER] >= 4);
	say(l.near, "klmno");
	hear(l.far, "klmno");
	say(l.far, "answer");
	hear(l.near, "answer");
	assert_int_equal(gate.asked[PUMP_OUTER], 1);
	end_line(&l);
}

static void test_gate_waits(void **state)
{
	struct line l = { 0 };
	char byte;

	(void)state;
	start_gated(&l, -EAGAIN, 0);
	say(l.near, "held back");
	while (!l.pump.streams[PUMP_INNER].waiting)
		turn();
	assert_int_equal(gate.asked[PUMP_INNER], 1);
	assert_int_equal(recv(l.far, &byte, 1, MSG_DONTWAIT), -1);
	/* The server is heard, and more of the client wakes nobody. */
	say(l.far, "what?");
	hear(l.near, "what?");
	say(l.near, ", for long");
	settle();
	assert_int_equal(gate.asked[PUMP_INNER], 1);
	l.pump.streams[PUMP_INNER].allowed = UINT64_MAX;
	l.pump.streams[PUMP_INNER].waiting = false;
	pump_again(&l.pump);
	hear(l.far, "held back, for long");
	end_line(&l);
}

/* The client goes while it is waited for: nothing of it passes, and the pump is over. */
static void test_gate_waits_in_vain(void **state)
{
	struct line l = { 0 };
	char byte;

	(void)state;
	start_gated(&l, -EAGAIN, 0);
	say(l.near, "held back");
	while (!l.pump.streams[PUMP_INNER].waiting)
		turn();
	pump_reset(fd_take(&l.near));
	while (l.n_done == 0)
		turn();
	assert_int_equal(l.error, -ECONNRESET);
	assert_int_equal(recv(l.far, &byte, 1, 0), -1);
	end_line(&l);
}

static void test_gate_refuses(void **state)
{
	struct line l = { 0 };

	(void)state;
	start_gated(&l, -EACCES, 0);
	say(l.near, "forbidden");
	hear_reset(l.far);
	assert_int_equal(l.n_done, 1);
	assert_int_equal(l.error, -EACCES);
	hear_reset(l.near);
	end_line(&l);
}

static void test_gate_hears_of_the_end(void **state)
{
	struct line l = { 0 };

	(void)state;
	start_gated(&l, 0, 4);
	say(l.near, "tail");
	assert_int_equal(shutdown(l.near, SHUT_WR), 0);
	hear(l.far, "tail");
	hear(l.far, "");
	assert_true(gate.last[PUMP_INNER] > 0);
	end_line(&l);
}

/* The quota. */

static struct quota_account *open_account(struct quota **q, const struct policy *p)
{
	struct quota_account *a = NULL;
	char reason[256];

	assert_int_equal(quota_new(q, p, NULL), 0);
	assert_int_equal(quota_open(*q, "a.com:1", 0, &a, reason), 0);
	return a;
}

static void test_quota(void **state)
{
	auto_policy *p = test_compile("network: {allow: ['a.com'], max_bytes: 10}");

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct quota *q = NULL;
		struct line l = { 0 };

		l.pump.account = open_account(&q, p);
		start_line(&l, tcp_pair);
		say(l.near, "1234");
		hear(l.far, "1234");
		say(l.far, more ? "567890x" : "567890");
		hear(l.near, "567890");
		/* It is used up, which is no matter as long as nobody wants more. */
		while (l.n_done < more)
			turn();
		settle();
		assert_int_equal(l.n_done, more);
		if (more) {
			assert_int_equal(l.error, -EDQUOT);
		} else {
			hang_up(&l.far);
			hear(l.near, "");
			hang_up(&l.near);
			while (l.n_done == 0)
				turn();
			assert_int_equal(l.error, 0);
		}
		end_line(&l);
		quota_free(q);
	}
}

/* A reset is no orderly end then, either. */
static void test_quota_and_reset(void **state)
{
	auto_policy *p = test_compile("network: {allow: ['a.com'], max_bytes: 4}");
	struct quota *q = NULL;
	struct line l = { 0 };

	(void)state;
	l.pump.account = open_account(&q, p);
	start_line(&l, tcp_pair);
	say(l.near, "1234");
	hear(l.far, "1234");
	pump_reset(fd_take(&l.far));
	hear_reset(l.near);
	assert_int_equal(l.n_done, 1);
	assert_int_equal(l.error, -ECONNRESET);
	end_line(&l);
	quota_free(q);
}

/* Ends. */

static void on_done_free(struct pump *p, int error)
{
	struct line *l = container_of(p, struct line, pump);

	(void)error;
	hang_up(&l->inner);
	hang_up(&l->outer);
	free(l);
}

static void test_freed_when_done(void **state)
{
	struct line *l = calloc(1, sizeof(*l));
	int near, far;

	(void)state;
	assert_non_null(l);
	start_line(l, tcp_pair);
	l->pump.done = on_done_free;
	near = l->near;
	far = l->far;
	say(near, "x");
	hang_up(&near);
	hang_up(&far);
	settle();
}

/* Both have events in the same batch; who is first stops the other. */
static void test_stopped_by_another(void **state)
{
	struct line a = { 0 }, b = { 0 };

	(void)state;
	start_line(&a, tcp_pair);
	start_line(&b, tcp_pair);
	a.stops = &b;
	b.stops = &a;
	pump_reset(fd_take(&a.near));
	pump_reset(fd_take(&b.near));
	turn();
	assert_false(is_busy());
	assert_int_equal(a.n_done + b.n_done, 1);
	end_line(&a);
	end_line(&b);
}

static void test_start_fails(void **state)
{
	struct line l = { 0 };
	auto_fd file = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	connect_line(&l, unix_pair);
	assert_int_equal(pump_start(&l.pump, room, l.inner, file), -EPERM);
	say(l.near, "x");
	assert_false(is_busy());
	l.n_done = 1;
	end_line(&l);
}

/* A connection that is silent costs its struct and its sockets. */
static void test_idle(void **state)
{
	size_t n = IDLE, used, fds;
	struct line *lines;

	(void)state;
	if (files.rlim_cur < 4 * n + 256)
		n = (files.rlim_cur - 256) / 4;
	lines = calloc(n, sizeof(*lines));
	assert_non_null(lines);
	assert_true(n >= 100 && sizeof(struct pump) <= 320);
	for (size_t i = 0; i < n; i++)
		start_line(&lines[i], unix_pair);
	used = mallinfo2().uordblks;
	fds = count_fds();
	for (size_t i = 0; i < n; i++)
		say(lines[i].near, "ping");
	settle();
	for (size_t i = 0; i < n; i++)
		hear(lines[i].far, "ping");
	assert_true(mallinfo2().uordblks <= used);
	assert_int_equal(count_fds(), fds);
	for (size_t i = 0; i < n; i++)
		end_line(&lines[i]);
	free(lines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_both_ways),
		TEST(test_half_closes),
		TEST(test_closes),
		TEST(test_reset),
		TEST(test_last_words),
		TEST(test_lost),
		TEST(test_floods),
		TEST(test_slow_reader),
		TEST(test_hung_up_with_much_left),
		TEST(test_both_hung_up),
		TEST(test_no_pipes),
		TEST(test_hung_up_while_stuck),
		TEST(test_pipes_come_back),
		TEST(test_gate_counts),
		TEST(test_gate_waits),
		TEST(test_gate_waits_in_vain),
		TEST(test_gate_refuses),
		TEST(test_gate_hears_of_the_end),
		TEST(test_quota),
		TEST(test_quota_and_reset),
		TEST(test_freed_when_done),
		TEST(test_stopped_by_another),
		TEST(test_start_fails),
		TEST(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
