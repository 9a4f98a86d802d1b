/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/join.h"

#include <errno.h>
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

#include "audit/missed.h"
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
	assert_int_equal(setenv("XDG_STATE_HOME", s->place, 1), 0);
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

/* The events in the file that a run left, which goes; 0: there is none. The last of them is in
 * *ret, as long as the bytes are there. */
static int stand_in_left(struct stand_in *s, struct buffer *bytes, struct audit_event *ret)
{
	static const char id[] = "0123456789abcdef";
	char path[128];
	auto_fd folder = -1;
	size_t at = 0;
	int n;

	(void)snprintf(path, sizeof(path), "%s/missed", s->folder);
	assert_int_equal(audit_missed_open(path, &folder), 0);
	if (audit_missed_read(folder, id, bytes) < 0)
		return 0;
	n = audit_missed_check(bytes->data, bytes->len, id);
	while (audit_missed_next(bytes->data, bytes->len, &at, ret))
		;
	assert_int_equal(unlinkat(folder, id, 0), 0);
	return n;
}

static void stand_in_make_folder(struct stand_in *s)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/missed", s->folder);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void stand_in_end_with_folder(struct stand_in *s)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/missed", s->folder);
	assert_int_equal(rmdir(path), 0);
	stand_in_end(s);
}

/* Without a daemon: nothing where none ever was; else what happened is in a file, up to its bound.
 */
static void test_join_missed(void **state)
{
	const struct join who = {
		.id = "0123456789abcdef", .name = "x", .command = "x", .folder = "/", .policy = "x"
	};
	static const struct {
		size_t told;
		int left;      /* at least */
		uint64_t lost; /* at least */
	} rows[] = { { 0, 0, 0 }, { 1, 1, 0 }, { 100, 100, 0 },
		{ LAUNCH_JOIN_KEPT + 10, 300, 10 } };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	launch_join_close(&s.join);
	assert_int_equal(unlink(s.address.sun_path), 0);
	assert_int_equal(launch_join_open(&s.join), -ENOENT);
	assert_false(s.join.is_on);
	stand_in_make_folder(&s);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_event e = { .count = 0 };
		auto_buffer bytes = { 0 };
		int n;

		assert_int_equal(launch_join_open(&s.join), 0);
		assert_false(s.join.was_there);
		assert_int_equal(launch_join_hello(&s.join, &who), 0);
		stand_in_tell(&s, rows[i].told);
		launch_join_close(&s.join);
		n = stand_in_left(&s, &bytes, &e);
		assert_true(n >= rows[i].left);
		if (rows[i].lost) {
			assert_int_equal(e.action, AUDIT_STORE);
			assert_int_equal(e.count + (uint64_t)n - 1, rows[i].told);
			assert_true(e.count >= rows[i].lost);
		} else {
			assert_int_equal(n, rows[i].told);
		}
	}
	assert_int_equal(launch_join_open(&s.join), 0);
	s.join.is_written = true;
	stand_in_tell(&s, 1);
	launch_join_close(&s.join);
	assert_int_equal(stand_in_left(&s, &(struct buffer){ 0 }, NULL), 0);
	fd_close(&s.listener);
	s.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(s.listener, (const struct sockaddr *)&s.address, sizeof(s.address)), 0);
	stand_in_end_with_folder(&s);
}

/* A daemon that does not let us in, or has gone, did not hear what was not sent. */
static void test_join_unheard(void **state)
{
	struct audit_event e;
	auto_buffer bytes = { 0 }, rest = { 0 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	s.join.delay_ms = 1000000;
	launch_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_tell(&s, 3);
	launch_join_close(&s.join);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_int_equal(stand_in_left(&s, &bytes, &e), 3);
	fd_close(&s.peer);
	/* One that heard two of them, and was gone then. */
	assert_int_equal(launch_join_open(&s.join), 0);
	assert_true(s.join.was_there);
	launch_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(frame_send(s.peer, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	stand_in_tell(&s, 2);
	assert_false(launch_join_dispatch(&s.join, true));
	fd_close(&s.peer);
	fd_close(&s.listener);
	stand_in_tell(&s, 1);
	assert_false(launch_join_dispatch(&s.join, true));
	launch_join_close(&s.join);
	assert_int_equal(stand_in_left(&s, &rest, &e), 1);
	stand_in_end_with_folder(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join_hello_alone),
		cmocka_unit_test(test_join_delay),
		cmocka_unit_test(test_join_blocked),
		cmocka_unit_test(test_join_missed),
		cmocka_unit_test(test_join_unheard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
