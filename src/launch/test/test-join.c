/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/fd.h"

/* A daemon of whom there is nothing but the socket. */
struct stand_in {
	char place[32], folder[64];
	struct sockaddr_un address;
	int listener, peer;
	struct frame frame;
	struct launch_join join;
};

static void stand_in_begin(struct stand_in *s)
{
	const struct join who = {
		.id = "0123456789abcdef", .name = "x", .command = "x", .folder = "/", .policy = "x"
	};

	*s = (struct stand_in){ .place = "/tmp/test-join-XXXXXX",
		.address.sun_family = AF_UNIX,
		.peer = -1,
		.join = LAUNCH_JOIN_NONE };
	assert_non_null(mkdtemp(s->place));
	(void)snprintf(s->folder, sizeof(s->folder), "%s/corral", s->place);
	(void)snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s/join.sock", s->folder);
	assert_int_equal(mkdir(s->folder, 0700), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", s->place, 1), 0);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(s->listener, (const struct sockaddr *)&s->address, sizeof(s->address)), 0);
	assert_int_equal(listen(s->listener, 1), 0);
	assert_int_equal(launch_join_open(&s->join), 0);
	assert_int_equal(launch_join_hello(&s->join, &who), 0);
}

static void stand_in_end(struct stand_in *s)
{
	launch_join_close(&s->join);
	frame_deinit(&s->frame);
	fd_close(&s->peer);
	fd_close(&s->listener);
	assert_int_equal(unlink(s->address.sun_path), 0);
	assert_int_equal(rmdir(s->folder), 0);
	assert_int_equal(rmdir(s->place), 0);
}

static void stand_in_accept(struct stand_in *s)
{
	s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(s->peer >= 0);
}

/* FRAME_NONE: nothing was said. */
static enum frame_type stand_in_hear(struct stand_in *s)
{
	return frame_receive(s->peer, &s->frame) == 1 ? s->frame.type : FRAME_NONE;
}

static void stand_in_tell(struct stand_in *s, size_t n)
{
	const struct audit_event e = { .session = "0123456789abcdef",
		.user = "x",
		.sandbox = "x",
		.program = "x",
		.target = "x",
		.rule = "",
		.reason = "",
		.count = 1 };

	while (n-- > 0)
		launch_join_tell(&s->join, &e);
}

/* Who connects early says who it is, and events follow with the loop. */
static void test_join_hello_alone(void **state)
{
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_tell(&s, 1);
	launch_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_false(launch_join_dispatch(&s.join, false));
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_int_equal(frame_send(s.peer, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	stand_in_end(&s);
}

/* Events are kept for a while, so that several wake the daemon once: then, or if they are many, or
 * at the end they leave, all of them. */
static void test_join_delay(void **state)
{
	static const uint64_t ages = 1000000; /* ms */
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	s.join.delay_ms = ages;
	stand_in_tell(&s, 2);
	assert_false(launch_join_dispatch(&s.join, false));
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_in_range(launch_join_wait_ms(&s.join, -1), 1, ages);
	assert_int_equal(launch_join_wait_ms(&s.join, 5), 5);
	s.join.since_ms = 0;
	s.join.delay_ms = 1;
	assert_int_equal(launch_join_wait_ms(&s.join, -1), 0);
	assert_false(launch_join_dispatch(&s.join, false));
	for (int i = 0; i < 2; i++)
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	assert_int_equal(launch_join_wait_ms(&s.join, -1), -1);
	s.join.delay_ms = ages;
	stand_in_tell(&s, LAUNCH_JOIN_CROWDED);
	assert_false(launch_join_dispatch(&s.join, false));
	for (int i = 0; i < LAUNCH_JOIN_CROWDED; i++)
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	stand_in_tell(&s, 3);
	assert_int_equal(frame_send(s.peer, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	launch_join_close(&s.join);
	for (int i = 0; i < 3; i++)
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	stand_in_end(&s);
}

/* A daemon that does not read: what it does not take is kept, and the loop does not spin. */
static void test_join_blocked(void **state)
{
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	launch_join_connect(&s.join);
	stand_in_accept(&s);
	for (int i = 0; i < 100 && !s.join.is_blocked; i++) {
		stand_in_tell(&s, LAUNCH_JOIN_CROWDED);
		assert_false(launch_join_dispatch(&s.join, false));
	}
	assert_true(s.join.is_blocked);
	assert_int_equal(launch_join_wait_ms(&s.join, -1), LAUNCH_JOIN_AGAIN_MS);
	while (stand_in_hear(&s) != FRAME_NONE)
		;
	assert_false(launch_join_dispatch(&s.join, false));
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	assert_int_equal(frame_send(s.peer, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	stand_in_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join_hello_alone),
		cmocka_unit_test(test_join_delay),
		cmocka_unit_test(test_join_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
