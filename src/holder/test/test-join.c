/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
	struct holder_join join;
};

static void stand_in_begin(struct stand_in *s)
{
	const struct join who = {
		.id = "0123456789abcdef", .name = "x", .command = "x", .folder = "/", .policy = "x"
	};

	*s = (struct stand_in){ .place = "/tmp/test-join-XXXXXX",
		.address.sun_family = AF_UNIX,
		.peer = -1,
		.join = HOLDER_JOIN_NONE };
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
	assert_int_equal(holder_join_open(&s->join), 0);
	assert_int_equal(holder_join_hello(&s->join, &who), 0);
}

static void stand_in_end(struct stand_in *s)
{
	(void)holder_join_close(&s->join, NULL);
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

static void stand_in_tell_of(
	struct stand_in *s, size_t n, enum audit_action action, enum audit_decision decision)
{
	const struct audit_event e = { .action = action,
		.decision = decision,
		.session = "0123456789abcdef",
		.user = "x",
		.sandbox = "x",
		.program = "x",
		.target = "x",
		.rule = "",
		.reason = "",
		.count = 1 };

	while (n-- > 0)
		holder_join_tell(&s->join, &e);
}

static void stand_in_tell(struct stand_in *s, size_t n)
{
	stand_in_tell_of(s, n, AUDIT_COMMAND_START, AUDIT_NONE);
}

/* The log's last number is said, and no folder. */
static void stand_in_let_in(struct stand_in *s, uint64_t number)
{
	assert_int_equal(frame_send(s->peer, FRAME_JOINED, number, NULL, 0, NULL, 0), 0);
	assert_false(holder_join_dispatch(&s->join, true));
}

static void stand_in_acknowledge(struct stand_in *s, uint64_t events, uint64_t number)
{
	assert_int_equal(
		frame_send(s->peer, FRAME_JOIN_ACK, events, &number, sizeof(number), NULL, 0), 0);
	assert_false(holder_join_dispatch(&s->join, true));
}

static void stand_in_hears_events(struct stand_in *s, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(stand_in_hear(s), FRAME_JOIN_EVENT);
	assert_int_equal(stand_in_hear(s), FRAME_NONE);
}

/* Who connects early says who it is; events follow with the loop. */
static void test_join_hello_alone(void **state)
{
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_tell(&s, 1);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_false(holder_join_dispatch(&s.join, false));
	stand_in_hears_events(&s, 1);
	stand_in_let_in(&s, 0);
	stand_in_end(&s);
}

/* A caller with a loop sends no event before JOINED. */
static void test_join_let_in(void **state)
{
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	s.join.delay_ms = 1000000;
	stand_in_tell(&s, HOLDER_JOIN_CROWDED);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_false(holder_join_dispatch(&s.join, false));
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_int_equal(holder_join_wait_ms(&s.join, -1), -1);
	stand_in_let_in(&s, 0);
	stand_in_hears_events(&s, HOLDER_JOIN_CROWDED);
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
	assert_false(holder_join_dispatch(&s.join, false));
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	stand_in_let_in(&s, 0);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_in_range(holder_join_wait_ms(&s.join, -1), 1, ages);
	assert_int_equal(holder_join_wait_ms(&s.join, 5), 5);
	s.join.since_ms = 0;
	s.join.delay_ms = 1;
	assert_int_equal(holder_join_wait_ms(&s.join, -1), 0);
	assert_false(holder_join_dispatch(&s.join, false));
	for (int i = 0; i < 2; i++)
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	assert_int_equal(holder_join_wait_ms(&s.join, -1), -1);
	s.join.delay_ms = ages;
	stand_in_tell(&s, HOLDER_JOIN_CROWDED);
	assert_false(holder_join_dispatch(&s.join, false));
	for (int i = 0; i < HOLDER_JOIN_CROWDED; i++)
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	stand_in_tell(&s, 3);
	(void)holder_join_close(&s.join, NULL);
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
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_let_in(&s, 0);
	for (int i = 0; i < 100 && !s.join.is_blocked; i++) {
		stand_in_tell(&s, HOLDER_JOIN_CROWDED);
		assert_false(holder_join_dispatch(&s.join, false));
	}
	assert_true(s.join.is_blocked);
	assert_int_equal(holder_join_wait_ms(&s.join, -1), HOLDER_JOIN_AGAIN_MS);
	while (stand_in_hear(&s) != FRAME_NONE)
		;
	assert_false(holder_join_dispatch(&s.join, false));
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
	stand_in_end(&s);
}

/* The events in the file that a run left, which goes; 0: there is none. The last of them is in
 * *ret, as long as the bytes are there. */
static int stand_in_left_as(
	struct stand_in *s, const char *name, struct buffer *bytes, struct audit_event *ret)
{
	static const char id[] = "0123456789abcdef";
	char path[128];
	auto_fd folder = -1;
	size_t at = 0;
	int n;

	(void)snprintf(path, sizeof(path), "%s/missed", s->folder);
	assert_int_equal(audit_missed_open(path, &folder), 0);
	if (audit_missed_read(folder, name, bytes) < 0)
		return 0;
	n = audit_missed_check(bytes->data, bytes->len, id);
	while (audit_missed_next(bytes->data, bytes->len, &at, ret))
		;
	assert_int_equal(unlinkat(folder, name, 0), 0);
	return n;
}

static int stand_in_left(struct stand_in *s, struct buffer *bytes, struct audit_event *ret)
{
	return stand_in_left_as(s, "0123456789abcdef", bytes, ret);
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
		{ HOLDER_JOIN_KEPT + 10, 300, 10 } };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	(void)holder_join_close(&s.join, NULL);
	assert_int_equal(unlink(s.address.sun_path), 0);
	assert_int_equal(holder_join_open(&s.join), -ENOENT);
	assert_false(s.join.is_on);
	stand_in_make_folder(&s);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_event e = { .count = 0 };
		auto_buffer bytes = { 0 };
		int n;

		assert_int_equal(holder_join_open(&s.join), 0);
		assert_false(s.join.was_there);
		assert_int_equal(holder_join_hello(&s.join, &who), 0);
		stand_in_tell(&s, rows[i].told);
		(void)holder_join_close(&s.join, NULL);
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
	assert_int_equal(holder_join_open(&s.join), 0);
	s.join.is_written = true;
	stand_in_tell(&s, 1);
	(void)holder_join_close(&s.join, NULL);
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
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_tell(&s, 3);
	(void)holder_join_close(&s.join, NULL);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(stand_in_hear(&s), FRAME_NONE);
	assert_int_equal(stand_in_left(&s, &bytes, &e), 3);
	fd_close(&s.peer);
	/* One that got two of them, acknowledged one, and was gone then. */
	assert_int_equal(holder_join_open(&s.join), 0);
	assert_true(s.join.was_there);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_let_in(&s, 3);
	stand_in_tell(&s, 2);
	assert_false(holder_join_dispatch(&s.join, true));
	stand_in_acknowledge(&s, 1, 7);
	fd_close(&s.peer);
	fd_close(&s.listener);
	stand_in_tell(&s, 1);
	assert_false(holder_join_dispatch(&s.join, true));
	(void)holder_join_close(&s.join, NULL);
	assert_int_equal(stand_in_left_as(&s, "0123456789abcdef.7", &rest, &e), 2);
	stand_in_end_with_folder(&s);
}

/* Events are kept until they are acknowledged; what is not is left in a file, and the daemon is
 * told that it has all of it. */
static void test_join_acknowledged(void **state)
{
	auto_buffer bytes = { 0 };
	struct audit_event e;
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(s.frame.id, 0);
	stand_in_let_in(&s, 41);
	stand_in_tell(&s, 5);
	assert_false(holder_join_dispatch(&s.join, false));
	stand_in_hears_events(&s, 5);
	assert_int_equal(s.join.next - s.join.first, 5);
	stand_in_acknowledge(&s, 2, 44);
	stand_in_acknowledge(&s, 4, 46);
	assert_int_equal(s.join.next - s.join.first, 1);
	(void)holder_join_close(&s.join, NULL);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN_LEFT);
	assert_int_equal(s.frame.id, 46);
	assert_int_equal(stand_in_left_as(&s, "0123456789abcdef.46", &bytes, &e), 1);
	stand_in_end_with_folder(&s);
}

/* All is acknowledged: nothing is left. */
static void test_join_all_acknowledged(void **state)
{
	auto_buffer none = { 0 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	stand_in_let_in(&s, 41);
	stand_in_tell(&s, 2);
	/* Replies are nothing to acknowledge. */
	holder_join_send(&s.join, FRAME_JOIN_REPLY, 1, &none);
	stand_in_tell(&s, 1);
	assert_false(holder_join_dispatch(&s.join, false));
	/* It comes before the end, and is read there. */
	assert_int_equal(
		frame_send(s.peer, FRAME_JOIN_ACK, 3, &(uint64_t){ 50 }, sizeof(uint64_t), NULL, 0),
		0);
	(void)holder_join_close(&s.join, NULL);
	stand_in_end_with_folder(&s);
}

/* The next daemon gets what the one before did not acknowledge, and from where on to look for it.
 */
static void test_join_again(void **state)
{
	auto_buffer bytes = { 0 };
	struct audit_event e;
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	stand_in_let_in(&s, 10);
	stand_in_tell(&s, 3);
	assert_false(holder_join_dispatch(&s.join, false));
	stand_in_hears_events(&s, 3);
	stand_in_acknowledge(&s, 1, 20);
	fd_close(&s.peer);
	assert_false(holder_join_dispatch(&s.join, true));
	stand_in_tell(&s, 1);
	s.join.tried_ms = 0;
	assert_false(holder_join_dispatch(&s.join, false));
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(s.frame.id, 20 + 1);
	/* Until it acknowledges something, the number of the first one counts. */
	stand_in_let_in(&s, 30);
	stand_in_hears_events(&s, 3);
	(void)holder_join_close(&s.join, NULL);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN_LEFT);
	assert_int_equal(s.frame.id, 20);
	assert_int_equal(stand_in_left_as(&s, "0123456789abcdef.20", &bytes, &e), 3);
	stand_in_end_with_folder(&s);
}

/* A run disconnects from a daemon that acknowledges unsent events, or the same events again. */
static void test_join_wrong_ack(void **state)
{
	static const struct {
		uint64_t events;
		size_t len;
	} rows[] = { { 3, sizeof(uint64_t) }, { UINT64_MAX, sizeof(uint64_t) }, { 1, 4 }, { 1, 0 },
		{ 0, sizeof(uint64_t) } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const uint64_t number = 5;
		struct stand_in s;

		stand_in_begin(&s);
		holder_join_connect(&s.join);
		stand_in_accept(&s);
		stand_in_let_in(&s, 0);
		stand_in_tell(&s, 2);
		assert_false(holder_join_dispatch(&s.join, false));
		assert_int_equal(frame_send(s.peer, FRAME_JOIN_ACK, rows[i].events, &number,
					 rows[i].len, NULL, 0),
			0);
		assert_false(holder_join_dispatch(&s.join, true));
		assert_false(s.join.is_known);
		stand_in_end(&s);
	}
}

/* More events than are kept: those that were sent are lost only if the daemon ends before JOIN_ACK.
 */
static void test_join_forgotten(void **state)
{
	struct stand_in s;

	(void)state;
	for (int is_gone = 0; is_gone < 2; is_gone++) {
		stand_in_begin(&s);
		holder_join_connect(&s.join);
		stand_in_accept(&s);
		stand_in_let_in(&s, 0);
		for (int i = 0; i < HOLDER_JOIN_KEPT / HOLDER_JOIN_CROWDED + 1; i++) {
			stand_in_tell(&s, HOLDER_JOIN_CROWDED);
			assert_false(holder_join_dispatch(&s.join, false));
			while (stand_in_hear(&s) != FRAME_NONE)
				;
		}
		assert_int_equal(holder_weights_sum(&s.join.forgotten), HOLDER_JOIN_CROWDED);
		if (is_gone) {
			fd_close(&s.peer);
			assert_false(holder_join_dispatch(&s.join, true));
			assert_int_equal(holder_weights_sum(&s.join.lost), HOLDER_JOIN_CROWDED);
		} else {
			stand_in_acknowledge(&s, HOLDER_JOIN_CROWDED + 2, 1);
			assert_int_equal(holder_weights_sum(&s.join.lost), 0);
			assert_int_equal(holder_weights_sum(&s.join.forgotten), 0);
			assert_int_equal(s.join.next - s.join.first, HOLDER_JOIN_KEPT - 2);
		}
		stand_in_end(&s);
	}
}

/* Who ends then leaves the rest, and says how many the daemon may not have. */
static void test_join_forgotten_at_the_end(void **state)
{
	auto_buffer bytes = { 0 };
	struct audit_event e = { 0 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_let_in(&s, 0);
	for (int i = 0; i < HOLDER_JOIN_KEPT / HOLDER_JOIN_CROWDED + 1; i++) {
		stand_in_tell(&s, HOLDER_JOIN_CROWDED);
		assert_false(holder_join_dispatch(&s.join, false));
		while (stand_in_hear(&s) != FRAME_NONE)
			;
	}
	(void)holder_join_close(&s.join, NULL);
	assert_true(stand_in_left_as(&s, "0123456789abcdef.0", &bytes, &e) > 0);
	assert_int_equal(e.action, AUDIT_STORE);
	assert_true(e.count >= HOLDER_JOIN_CROWDED);
	stand_in_end_with_folder(&s);
}

/* Events that are kept, of this decision. */
static unsigned stand_in_kept(const struct stand_in *s, enum audit_decision decision)
{
	struct audit_event e;
	unsigned n = 0;

	for (uint64_t i = s->join.first; i < s->join.next; i++) {
		const struct buffer *body = &s->join.kept[i % HOLDER_JOIN_KEPT].body;

		assert_int_equal(audit_event_decode(&e, body->data, body->len), 0);
		n += e.decision == decision;
	}
	return n;
}

/* A daemon that reads and commits nothing, as with a full disk: reads do not displace denials, and
 * acknowledgements are for what was sent, in the order of sending. */
static void test_join_denials_stay(void **state)
{
	enum { DENIALS = 3, READS = 100 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_let_in(&s, 0);
	for (int i = 0; i < 2 * HOLDER_JOIN_KEPT / READS; i++) {
		stand_in_tell_of(&s, DENIALS, AUDIT_FS_READ, AUDIT_DENIED);
		stand_in_tell_of(&s, READS, AUDIT_FS_READ, AUDIT_ALLOWED);
		assert_false(holder_join_dispatch(&s.join, false));
		while (stand_in_hear(&s) != FRAME_NONE)
			;
	}
	assert_int_equal(stand_in_kept(&s, AUDIT_DENIED), 2 * HOLDER_JOIN_KEPT / READS * DENIALS);
	assert_int_equal(s.join.forgotten.n[HOLDER_WEIGHT_READ], s.join.told - HOLDER_JOIN_KEPT);
	assert_int_equal(holder_weights_sum(&s.join.forgotten), s.join.told - HOLDER_JOIN_KEPT);
	/* The first denials, half of the reads after them, of which none is kept. */
	stand_in_acknowledge(&s, DENIALS + READS / 2, 1);
	assert_int_equal(s.join.next - s.join.first, HOLDER_JOIN_KEPT - DENIALS);
	assert_int_equal(
		holder_weights_sum(&s.join.forgotten), s.join.told - HOLDER_JOIN_KEPT - READS / 2);
	stand_in_acknowledge(&s, DENIALS + READS + 1, 2);
	assert_int_equal(s.join.next - s.join.first, HOLDER_JOIN_KEPT - DENIALS - 1);
	stand_in_acknowledge(&s, s.join.told, 3);
	assert_int_equal(s.join.first, s.join.next);
	assert_int_equal(holder_weights_sum(&s.join.forgotten), 0);
	stand_in_end(&s);
}

/* Without a daemon: all denials are in the file, and the record says what was dropped by kind. */
static void test_join_denials_are_left(void **state)
{
	enum { DENIALS = 50, WRITES = 20 };
	auto_buffer bytes = { 0 };
	struct audit_event e = { 0 };
	struct stand_in s;
	unsigned denied = 0, written = 0;
	char reason[128];
	size_t at = 0;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	stand_in_tell_of(&s, DENIALS, AUDIT_FS_READ, AUDIT_DENIED);
	stand_in_tell_of(&s, WRITES, AUDIT_FS_WRITE, AUDIT_ALLOWED);
	stand_in_tell_of(&s, 2 * HOLDER_JOIN_KEPT, AUDIT_FS_READ, AUDIT_ALLOWED);
	fd_close(&s.listener);
	(void)holder_join_close(&s.join, NULL);
	assert_true(stand_in_left(&s, &bytes, &e) > DENIALS + WRITES);
	while (audit_missed_next(bytes.data, bytes.len, &at, &e)) {
		denied += e.decision == AUDIT_DENIED;
		written += e.action == AUDIT_FS_WRITE;
	}
	assert_int_equal(denied, DENIALS);
	assert_int_equal(written, WRITES);
	assert_int_equal(e.action, AUDIT_STORE);
	(void)snprintf(reason, sizeof(reason),
		"events were dropped while the daemon was away: %d reads", (int)e.count);
	assert_string_equal(e.reason, reason);
	stand_in_end_with_folder(&s);
}

/* A file has less room than is kept: what is heavy and comes late goes before reads. */
static void test_join_late_denials_are_left(void **state)
{
	enum { DENIALS = 50 };
	auto_buffer bytes = { 0 };
	struct audit_event e = { 0 };
	struct stand_in s;
	unsigned denied = 0;
	size_t at = 0;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	stand_in_tell_of(&s, HOLDER_JOIN_KEPT - DENIALS, AUDIT_FS_READ, AUDIT_ALLOWED);
	stand_in_tell_of(&s, DENIALS, AUDIT_FS_READ, AUDIT_DENIED);
	fd_close(&s.listener);
	(void)holder_join_close(&s.join, NULL);
	assert_true(stand_in_left(&s, &bytes, &e) > DENIALS);
	while (audit_missed_next(bytes.data, bytes.len, &at, &e))
		denied += e.decision == AUDIT_DENIED;
	assert_int_equal(denied, DENIALS);
	stand_in_end_with_folder(&s);
}

/* More denials than are kept: a read that comes then is dropped itself, and counted as such. */
static void test_join_only_denials(void **state)
{
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_tell_of(&s, HOLDER_JOIN_KEPT + 2, AUDIT_FS_READ, AUDIT_DENIED);
	stand_in_tell_of(&s, 5, AUDIT_FS_READ, AUDIT_ALLOWED);
	assert_int_equal(stand_in_kept(&s, AUDIT_DENIED), HOLDER_JOIN_KEPT);
	assert_int_equal(s.join.lost.n[HOLDER_WEIGHT_HEAVY], 2);
	assert_int_equal(s.join.lost.n[HOLDER_WEIGHT_READ], 5);
	stand_in_end(&s);
}

/* A daemon that sends without end is read a part at a time, also at our end. */
static void test_join_flood(void **state)
{
	enum { FRAMES = 200 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	stand_in_let_in(&s, 0);
	for (int i = 0; i < FRAMES; i++)
		assert_int_equal(frame_send(s.peer, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), 0);
	assert_true(holder_join_dispatch(&s.join, true));
	assert_int_equal(poll(&(struct pollfd){ .fd = s.join.fd, .events = POLLIN }, 1, 0), 1);
	for (int i = 0; i < FRAMES; i++)
		(void)holder_join_dispatch(&s.join, true);
	assert_int_equal(poll(&(struct pollfd){ .fd = s.join.fd, .events = POLLIN }, 1, 0), 0);
	stand_in_end(&s);
}

/* A daemon of another version is not asked again; what it would record is left, and the user hears
 * of it. */
static void test_join_other_version(void **state)
{
	const struct {
		uint32_t magic;
		uint16_t type, protocol;
		uint64_t id;
		uint32_t len, n_fds;
		char build[5];
	} other = { 0x4c525243, FRAME_NONE, FRAME_PROTOCOL + 1, 0, 5, 0, "9.8.7" };
	auto_buffer bytes = { 0 };
	struct audit_event e;
	struct error why = { 0 };
	struct stand_in s;
	char text[64];

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	stand_in_tell(&s, 2);
	holder_join_connect(&s.join);
	stand_in_accept(&s);
	assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
	assert_int_equal(send(s.peer, &other, 29, 0), 29);
	(void)holder_join_dispatch(&s.join, true);
	assert_int_equal(s.join.fd, -1);
	(void)snprintf(text, sizeof(text), "(9.8.7) version %d", FRAME_PROTOCOL + 1);
	assert_non_null(strstr(s.join.other.text, text));
	s.join.tried_ms = 0;
	(void)holder_join_dispatch(&s.join, false);
	assert_int_equal(s.join.fd, -1);
	assert_int_equal(holder_join_close(&s.join, &why), 0);
	assert_non_null(strstr(why.text, "the daemon with pid "));
	assert_non_null(strstr(why.hint, "restart the daemon"));
	assert_int_equal(stand_in_left(&s, &bytes, &e), 2);
	stand_in_end_with_folder(&s);
}

/* A run leaves its file where its user's daemon says, which is not where it would look itself. */
static void test_join_folder(void **state)
{
	static const struct {
		bool is_absolute;
		bool is_let_in, is_there;
	} rows[] = { { true, true, true }, { false, false, false } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer bytes = { 0 };
		char path[128];
		struct audit_event e;
		struct stand_in s;

		stand_in_begin(&s);
		stand_in_make_folder(&s);
		assert_int_equal(setenv("XDG_STATE_HOME", "/nonexistent", 1), 0);
		(void)snprintf(path, sizeof(path), "%s/missed", s.folder);
		holder_join_connect(&s.join);
		stand_in_accept(&s);
		assert_int_equal(frame_send(s.peer, FRAME_JOINED, 5, path + !rows[i].is_absolute,
					 strlen(path) + rows[i].is_absolute, NULL, 0),
			0);
		assert_false(holder_join_dispatch(&s.join, true));
		assert_int_equal(s.join.is_known, rows[i].is_let_in);
		stand_in_tell(&s, 1);
		(void)holder_join_close(&s.join, NULL);
		assert_int_equal(
			stand_in_left_as(&s, "0123456789abcdef.5", &bytes, &e), rows[i].is_there);
		stand_in_end_with_folder(&s);
	}
}

/* A file that the daemon prepared is the one that is left; what is none is not used. */
static void test_join_handed_over(void **state)
{
	(void)state;
	for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
		auto_buffer bytes = { 0 };
		auto_fd folder = -1, given = -1;
		struct audit_event e;
		struct stand_in s;
		struct stat st, left;
		int pipes[2];
		char path[128], name[192];

		stand_in_begin(&s);
		stand_in_make_folder(&s);
		s.join.delay_ms = 1;
		(void)snprintf(path, sizeof(path), "%s/missed", s.folder);
		(void)snprintf(name, sizeof(name), "%s/0123456789abcdef.5", path);
		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		assert_int_equal(audit_missed_open(path, &folder), 0);
		assert_int_equal(audit_missed_prepare(folder, &given), 0);
		assert_int_equal(fstat(given, &st), 0);
		holder_join_connect(&s.join);
		stand_in_accept(&s);
		assert_int_equal(frame_send(s.peer, FRAME_JOINED, 5, path, strlen(path) + 1,
					 is_pipe ? &pipes[1] : &given, 1),
			0);
		assert_false(holder_join_dispatch(&s.join, true));
		stand_in_tell(&s, 1);
		(void)holder_join_close(&s.join, NULL);
		assert_int_equal(stat(name, &left), 0);
		assert_int_equal(left.st_ino == st.st_ino, !is_pipe);
		assert_true(stand_in_left_as(&s, "0123456789abcdef.5", &bytes, &e));
		fd_close(&pipes[0]);
		fd_close(&pipes[1]);
		stand_in_end_with_folder(&s);
	}
}

static void stand_in_touch(const char *path)
{
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

/* Who writes a log itself leaves nothing for the daemon of that log, and for others it does: the
 * folder that the daemon names counts, not the one that our environment suggests. */
static void test_join_writes_itself(void **state)
{
	(void)state;
	for (int is_daemons = 0; is_daemons < 2; is_daemons++) {
		auto_buffer bytes = { 0 };
		struct stand_in s, other;
		struct audit_event e;
		char ours[128], theirs[128], missed[128];

		stand_in_begin(&s);
		stand_in_make_folder(&s);
		other = s;
		(void)snprintf(other.folder, sizeof(other.folder), "%s/other", s.place);
		assert_int_equal(mkdir(other.folder, 0700), 0);
		stand_in_make_folder(&other);
		(void)snprintf(ours, sizeof(ours), "%s/audit.db", s.folder);
		(void)snprintf(theirs, sizeof(theirs), "%s/audit.db", other.folder);
		(void)snprintf(missed, sizeof(missed), "%s/missed", other.folder);
		stand_in_touch(ours);
		stand_in_touch(theirs);
		s.join.delay_ms = 1;
		s.join.log = is_daemons ? theirs : ours;
		holder_join_connect(&s.join);
		stand_in_accept(&s);
		assert_int_equal(
			frame_send(s.peer, FRAME_JOINED, 5, missed, strlen(missed) + 1, NULL, 0),
			0);
		assert_false(holder_join_dispatch(&s.join, true));
		assert_int_equal(s.join.is_same, is_daemons);
		assert_int_equal(stand_in_hear(&s), FRAME_JOIN);
		stand_in_tell(&s, 3);
		s.join.written = 1;
		(void)usleep(2000);
		assert_false(holder_join_dispatch(&s.join, false));
		/* The daemon of that log hears of what is in it, and that it is. */
		for (int i = 0; i < (is_daemons ? 1 : 3); i++) {
			assert_int_equal(stand_in_hear(&s), FRAME_JOIN_EVENT);
			assert_int_equal(s.frame.id, is_daemons ? JOIN_EVENT_WRITTEN : 0);
		}
		assert_int_equal(stand_in_hear(&s), FRAME_NONE);
		assert_int_equal(holder_join_wait_ms(&s.join, 123), 123);
		s.join.written = 2;
		(void)holder_join_close(&s.join, NULL);
		assert_int_equal(
			stand_in_hear(&s), is_daemons ? FRAME_JOIN_EVENT : FRAME_JOIN_LEFT);
		assert_int_equal(stand_in_hear(&s), FRAME_NONE);
		assert_int_equal(stand_in_left_as(&other, "0123456789abcdef.5", &bytes, &e),
			is_daemons ? 0 : 3);
		assert_int_equal(unlink(ours), 0);
		assert_int_equal(unlink(theirs), 0);
		assert_int_equal(rmdir(missed), 0);
		assert_int_equal(rmdir(other.folder), 0);
		stand_in_end_with_folder(&s);
	}
}

/* A run reports what it cannot write: how much, where and why. */
static void test_join_cannot_leave(void **state)
{
	struct rlimit before, none;
	struct error why = { 0 };
	struct stand_in s;

	(void)state;
	stand_in_begin(&s);
	stand_in_make_folder(&s);
	assert_int_equal(unlink(s.address.sun_path), 0);
	stand_in_tell(&s, 3);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(holder_join_close(&s.join, &why), 3);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(why.text, "3 events"));
	assert_non_null(strstr(why.text, s.folder));
	assert_non_null(strstr(why.text, strerror(EFBIG)));
	assert_int_equal(stand_in_left(&s, &(struct buffer){ 0 }, NULL), 0);
	fd_close(&s.listener);
	s.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(s.listener, (const struct sockaddr *)&s.address, sizeof(s.address)), 0);
	stand_in_end_with_folder(&s);
}

/* Others may listen in a folder that they can write to, or that is not where it seems to be. */
static void foreign_folders_are_not_joined(void **state)
{
	struct stand_in s;
	char moved[sizeof(s.folder) + 8];

	(void)state;
	stand_in_begin(&s);
	(void)snprintf(moved, sizeof(moved), "%s.real", s.folder);
	assert_true(holder_join_is_possible());
	for (size_t i = 0; i < 2; i++) {
		const mode_t modes[] = { 0770, 0702 };

		assert_int_equal(chmod(s.folder, modes[i]), 0);
		assert_false(holder_join_is_possible());
		s.join.tried_ms = 0;
		holder_join_connect(&s.join);
		assert_int_equal(s.join.fd, -1);
	}
	assert_int_equal(chmod(s.folder, 0700), 0);
	assert_int_equal(rename(s.folder, moved), 0);
	assert_int_equal(symlink(moved, s.folder), 0);
	assert_false(holder_join_is_possible());
	assert_int_equal(unlink(s.folder), 0);
	assert_int_equal(rename(moved, s.folder), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(s.folder, 65533, 65533), 0);
		assert_false(holder_join_is_possible());
		assert_int_equal(chown(s.folder, 0, 0), 0);
	}
	s.join.tried_ms = 0;
	holder_join_connect(&s.join);
	assert_true(s.join.fd >= 0);
	stand_in_end(&s);
}

/* A socket that another user's process listens on, in a folder that is ours. */
static void foreign_listeners_are_not_joined(void **state)
{
	struct stand_in s;

	(void)state;
	/* Only root can listen as another user; root's run of this program has it. */
	if (geteuid() != 0)
		return;
	stand_in_begin(&s);
	/* The kernel keeps who called listen(). */
	assert_int_equal(seteuid(65533), 0);
	assert_int_equal(listen(s.listener, 1), 0);
	assert_int_equal(seteuid(0), 0);
	s.join.tried_ms = 0;
	holder_join_connect(&s.join);
	assert_int_equal(s.join.fd, -1);
	stand_in_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_folders_are_not_joined),
		cmocka_unit_test(foreign_listeners_are_not_joined),
		cmocka_unit_test(test_join_hello_alone),
		cmocka_unit_test(test_join_let_in),
		cmocka_unit_test(test_join_delay),
		cmocka_unit_test(test_join_blocked),
		cmocka_unit_test(test_join_missed),
		cmocka_unit_test(test_join_unheard),
		cmocka_unit_test(test_join_acknowledged),
		cmocka_unit_test(test_join_all_acknowledged),
		cmocka_unit_test(test_join_again),
		cmocka_unit_test(test_join_wrong_ack),
		cmocka_unit_test(test_join_forgotten),
		cmocka_unit_test(test_join_forgotten_at_the_end),
		cmocka_unit_test(test_join_denials_stay),
		cmocka_unit_test(test_join_denials_are_left),
		cmocka_unit_test(test_join_late_denials_are_left),
		cmocka_unit_test(test_join_only_denials),
		cmocka_unit_test(test_join_flood),
		cmocka_unit_test(test_join_folder),
		cmocka_unit_test(test_join_other_version),
		cmocka_unit_test(test_join_handed_over),
		cmocka_unit_test(test_join_writes_itself),
		cmocka_unit_test(test_join_cannot_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
