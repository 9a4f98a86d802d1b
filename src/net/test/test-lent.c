/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/lent.h"
#include "wire/frame.h"
#include "wire/lend.h"

enum { BURST = 300 };

/* More than a socket has room for, before the injector looks: all arrive, each with its own. */
static void test_burst(void **state)
{
	static const char *const hosts[] = { "a.example:443" };
	static int streams[BURST];
	static struct frame f;
	const struct lend_open open = { .host = hosts[0] };
	struct net_lent lent = { .hosts = hosts, .n = 1 };
	struct lent_queue q;
	struct loop *loop;
	const int small = 4096;
	size_t got = 0;
	int pair[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(frame_pair(pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	lent.socket = pair[0];
	assert_int_equal(lent_queue_init(&q, &lent, loop, NULL, NULL), 0);
	for (int i = 0; i < BURST; i++) {
		int outer[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, outer), 0);
		assert_int_equal(write(outer[1], &i, sizeof(i)), sizeof(i));
		streams[i] = outer[0];
		assert_int_equal(lent_open(&q, 0, &open, &streams[i]), 0);
		fd_close(&outer[1]);
	}
	assert_true(q.n > 0);
	while (got < BURST) {
		int r = frame_receive_now(pair[1], &f), number = -1;

		if (r == -EAGAIN) {
			assert_true(loop_turn(loop, -1) >= 0);
			continue;
		}
		assert_int_equal(r, 1);
		assert_int_equal(f.type, FRAME_LEND_OPEN);
		assert_int_equal(read(f.fds[1], &number, sizeof(number)), sizeof(number));
		assert_int_equal(number, got);
		/* The stream to it is the one that the relay keeps. */
		assert_int_equal(write(f.fds[0], "x", 1), 1);
		assert_int_equal(read(streams[got], &number, 1), 1);
		fd_close(&streams[got]);
		got++;
	}
	assert_int_equal(q.n, 0);
	lent_queue_deinit(&q);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	frame_deinit(&f);
	loop_free(loop);
}

/* What cannot be handed over ends, and so do those that wait when the relay does. */
static void test_ends(void **state)
{
	static const char *const hosts[] = { "a.example:443" };
	const struct lend_open open = { .host = hosts[0] };
	struct net_lent lent = { .hosts = hosts, .n = 1 };
	const int small = 4096;
	struct lent_queue q;
	struct loop *loop;
	int pair[2], last = -1;
	char byte;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(frame_pair(pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	lent.socket = pair[0];
	assert_int_equal(lent_queue_init(&q, &lent, loop, NULL, NULL), 0);
	while (q.n < 2) {
		int outer[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, outer), 0);
		fd_close(&outer[1]);
		fd_close(&last);
		last = outer[0];
		assert_int_equal(lent_open(&q, 0, &open, &last), 0);
	}
	fd_close(&pair[1]);
	while (q.n > 0)
		assert_true(loop_turn(loop, -1) >= 0);
	assert_int_equal(recv(last, &byte, 1, 0), 0);
	fd_close(&last);
	lent_queue_deinit(&q);
	fd_close(&pair[0]);
	loop_free(loop);
}

static void test_programs(void **state)
{
	static const char *const hosts[] = { "a.example:443", "b.example:443" };
	static const bool by_program[] = { false, true };
	struct net_lent lent = { .hosts = hosts, .by_program = by_program, .n = 2 };
	struct net_lent any = { .hosts = hosts, .n = 2 };
	struct lent_queue q, all;
	struct loop *loop;
	int a[2], b[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(frame_pair(a), 0);
	assert_int_equal(frame_pair(b), 0);
	lent.socket = a[0];
	any.socket = b[0];
	assert_int_equal(lent_queue_init(&q, &lent, loop, NULL, NULL), 0);
	assert_int_equal(lent_queue_init(&all, &any, loop, NULL, NULL), 0);
	assert_true(lent_has(&lent, hosts[0]) && lent_needs_program(&q, hosts[1]));
	assert_false(lent_needs_program(&q, hosts[0]) || lent_needs_program(&all, hosts[1]) ||
		     lent_needs_program(&q, "c.example:443"));
	/* The vault grants a secret to programs since. */
	assert_int_equal(
		frame_send(b[1], FRAME_LEND_PROGRAM, 0, hosts[0], strlen(hosts[0]) + 1, NULL, 0),
		0);
	while (!lent_needs_program(&all, hosts[0]))
		assert_true(loop_turn(loop, -1) >= 0);
	assert_false(lent_needs_program(&all, hosts[1]));
	lent_queue_deinit(&q);
	lent_queue_deinit(&all);
	for (int i = 0; i < 2; i++) {
		fd_close(&a[i]);
		fd_close(&b[i]);
	}
	loop_free(loop);
}

/* Whoever breaks a rule is not heard any more: a host that was not lent, no text, an ask where
 * nothing is inspected. */
static void test_rules(void **state)
{
	static const char *const hosts[] = { "a.example:443" };
	static const struct {
		enum frame_type type;
		const char *body;
		size_t len;
	} rows[] = {
		{ FRAME_LEND_PROGRAM, "b.example:443", 14 },
		{ FRAME_LEND_PROGRAM, "a.example:443", 13 },
		{ FRAME_LEND_PROGRAM, "a.example:443\0x", 16 },
		{ FRAME_LEND_PROGRAM, "", 0 },
		{ FRAME_LEND_ASK, "", 0 },
		{ FRAME_LEND_OPEN, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_lent lent = { .hosts = hosts, .n = 1 };
		struct lent_queue q;
		struct loop *loop;
		int pair[2];

		assert_int_equal(loop_new(&loop), 0);
		assert_int_equal(frame_pair(pair), 0);
		lent.socket = pair[0];
		assert_int_equal(lent_queue_init(&q, &lent, loop, NULL, NULL), 0);
		assert_int_equal(
			frame_send(pair[1], rows[i].type, 0, rows[i].body, rows[i].len, NULL, 0),
			0);
		while (q.is_heard)
			assert_true(loop_turn(loop, -1) >= 0);
		assert_false(lent_needs_program(&q, hosts[0]));
		lent_queue_deinit(&q);
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		loop_free(loop);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
