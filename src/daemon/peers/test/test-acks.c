/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements of events: a real trail writes a real log, the test is the holder of each
 * sandbox at the other end of a real socket, and commits when it wants to. The folder of missed
 * events is replaced: its calls are counted.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/test/test-audit.h"
#include "base/fd.h"
#include "daemon/peers/acks.h"
#include "daemon/peers/known.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/peers/test/test-journal.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

enum { AGAIN_MAX = 4096 /* events after which nothing comes again */ };

#define ID_A "0123456789abcdef"
#define ID_B "fedcba9876543210"

/* Other parts */

static struct {
	size_t left, looked, prepared, doubted, settled, dropped, said;
	char left_id[64];
	uint64_t left_number, left_last, committed, lost;
	int known_error;
} calls;

void __wrap_missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last);
void __wrap_missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last)
{
	(void)s;
	calls.left++;
	(void)snprintf(calls.left_id, sizeof(calls.left_id), "%s", id);
	calls.left_number = number;
	calls.left_last = last;
}

void __wrap_missed_look_soon(struct supervisor *s);
void __wrap_missed_look_soon(struct supervisor *s)
{
	(void)s;
	calls.looked++;
}

void __wrap_missed_prepare(struct supervisor *s);
void __wrap_missed_prepare(struct supervisor *s)
{
	(void)s;
	calls.prepared++;
}

void __wrap_missed_doubt(struct supervisor *s);
void __wrap_missed_doubt(struct supervisor *s)
{
	(void)s;
	calls.doubted++;
}

void __wrap_missed_settle(struct supervisor *s, uint64_t committed);
void __wrap_missed_settle(struct supervisor *s, uint64_t committed)
{
	(void)s;
	calls.settled++;
	calls.committed = committed;
}

void __wrap_sandboxes_drop(struct sandbox *b);
void __wrap_sandboxes_drop(struct sandbox *b)
{
	link_remove(&b->link);
	calls.dropped++;
}

static void journal_heard(const char *line)
{
	(void)line;
	calls.said++;
}

int __real_known_read(
	struct supervisor *s, const char *session, uint64_t number, struct known *ret);
int __wrap_known_read(
	struct supervisor *s, const char *session, uint64_t number, struct known *ret);
int __wrap_known_read(struct supervisor *s, const char *session, uint64_t number, struct known *ret)
{
	return calls.known_error ? calls.known_error : __real_known_read(s, session, number, ret);
}

uint64_t __wrap_audit_trail_lost(struct audit_trail *t);
uint64_t __wrap_audit_trail_lost(struct audit_trail *t)
{
	(void)t;
	return calls.lost;
}

/* Two sandboxes */

struct world {
	struct supervisor s;
	struct sandbox a, b;
	int holder_a, holder_b;
	struct bench *bench;
};

static void join(struct world *w, struct sandbox *b, const char *id, int *ret_holder)
{
	int fds[2];

	assert_int_equal(frame_pair(fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	*b = (struct sandbox){ .s = &w->s,
		.who = { .id = id, .kind = JOIN_RUN },
		.peer = { .pid = getpid(), .uid = geteuid() },
		.watcher = { .fd = fds[0] } };
	*ret_holder = fds[1];
	link_append(&w->s.peers.sandboxes, &b->link);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct audit_trail_options o = { .session = "s", .user = "0", .sandbox = "box" };

	if (!w)
		return -1;
	memset(&calls, 0, sizeof(calls));
	w->bench = bench_new();
	o.store = &w->bench->options;
	buffer_adds(&w->s.journal.path, w->bench->path);
	w->s.peers.missed.presence = w->s.peers.missed.prepared = -1;
	link_init(&w->s.peers.sandboxes);
	join(w, &w->a, ID_A, &w->holder_a);
	join(w, &w->b, ID_B, &w->holder_b);
	*state = w;
	return audit_trail_new(&w->s.journal.trail, &o, NULL);
}

static int teardown(void **state)
{
	struct world *w = *state;

	known_deinit(&w->a.acks.known);
	known_deinit(&w->b.acks.known);
	fd_close(&w->a.watcher.fd);
	fd_close(&w->b.watcher.fd);
	fd_close(&w->holder_a);
	fd_close(&w->holder_b);
	fd_close(&w->s.peers.missed.presence);
	fd_close(&w->s.peers.missed.prepared);
	buffer_deinit(&w->s.peers.missed.folder);
	assert_int_equal(audit_trail_close(w->s.journal.trail, NULL), 0);
	buffer_deinit(&w->s.journal.path);
	bench_free(w->bench);
	free(w);
	return 0;
}

static struct audit_event event(const struct sandbox *b, uint64_t n)
{
	return (struct audit_event){ .time_ns = 1000 + n,
		.sequence = n,
		.session = b->who.id,
		.action = AUDIT_FS_READ,
		.target = "/x" };
}

/* An event of the sandbox, as it is received. True: the log had it. */
static bool receive(struct sandbox *b, uint64_t n)
{
	const struct audit_event e = event(b, n);

	if (acks_has(b, &e))
		return true;
	acks_note(b, audit_trail_add(b->s->journal.trail, &e));
	return false;
}

static void commit(struct world *w)
{
	assert_int_equal(audit_trail_flush(w->s.journal.trail, NULL), 0);
}

static void acknowledged(int holder, uint64_t count, uint64_t number)
{
	auto_frame f = { 0 };
	uint64_t got;

	assert_int_equal(frame_receive(holder, &f), 1);
	assert_int_equal(f.type, FRAME_JOIN_ACK);
	assert_int_equal(f.id, count);
	assert_int_equal(f.len, sizeof(got));
	memcpy(&got, f.body, sizeof(got));
	assert_int_equal(got, number);
}

static void not_acknowledged(int holder)
{
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(holder, &f), -EAGAIN);
}

/* Nothing is acknowledged before it is committed; then each connection gets one frame of its own
 * count. */
static void test_after_commit(void **state)
{
	struct world *w = *state;

	acks_turn(&w->s);
	assert_int_equal(calls.settled, 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_false(receive(&w->a, i));
	assert_false(receive(&w->b, 1));
	acks_turn(&w->s);
	not_acknowledged(w->holder_a);
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 3, 4);
	not_acknowledged(w->holder_a);
	acknowledged(w->holder_b, 1, 4);
	assert_int_equal(calls.settled, 1);
	assert_int_equal(calls.committed, w->b.acks.last);
	/* Without another commit nothing is said. */
	acks_turn(&w->s);
	assert_int_equal(calls.settled, 1);
	not_acknowledged(w->holder_a);
	/* One that sent nothing since gets nothing. */
	assert_false(receive(&w->b, 2));
	commit(w);
	acks_turn(&w->s);
	not_acknowledged(w->holder_a);
	acknowledged(w->holder_b, 2, 5);
}

/* More came since the commit: up to the mark, with the number that the log had then. */
static void test_mark(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 1; i <= 3; i++)
		assert_false(receive(&w->a, i));
	commit(w);
	assert_false(receive(&w->a, 4));
	acks_turn(&w->s);
	acknowledged(w->holder_a, 1, 0);
	/* The mark is the last one now: 4 and more are behind record 3. */
	assert_false(receive(&w->a, 5));
	commit(w);
	assert_false(receive(&w->a, 6));
	acks_turn(&w->s);
	acknowledged(w->holder_a, 4, 3);
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 6, 6);
	not_acknowledged(w->holder_a);
}

/* An event that its sender wrote to the log is acknowledged without a commit of ours. */
static void test_passed(void **state)
{
	struct world *w = *state;

	acks_pass(&w->a);
	acks_pass(&w->a);
	assert_true(w->s.peers.is_ack_due);
	acks_turn(&w->s);
	assert_false(w->s.peers.is_ack_due);
	acknowledged(w->holder_a, 2, 0);
	/* Behind one that waits it waits, too: counts are in the order of sending. */
	assert_false(receive(&w->a, 1));
	acks_pass(&w->a);
	acks_turn(&w->s);
	not_acknowledged(w->holder_a);
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 4, 1);
}

/* A holder that does not take a frame gets the next, with all until then; no other one waits. */
static void test_full_socket(void **state)
{
	struct world *w = *state;
	auto_frame f = { 0 };

	while (frame_send(w->a.watcher.fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0) == 0)
		;
	assert_false(receive(&w->a, 1));
	assert_false(receive(&w->b, 1));
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_b, 1, 2);
	assert_int_equal(w->a.acks.told, 0);
	while (frame_receive(w->holder_a, &f) == 1)
		assert_int_equal(f.type, FRAME_JOIN_STOP);
	assert_false(receive(&w->a, 2));
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 2, 3);
	/* One that has gone is no error. */
	fd_close(&w->holder_a);
	assert_false(receive(&w->a, 3));
	commit(w);
	acks_turn(&w->s);
	assert_int_equal(w->a.acks.told, 2);
}

/* A run that comes again: what the log has is passed over, and acknowledged. Until all of it is,
 * the number stays the one that the run came with. */
static void test_again(void **state)
{
	struct world *w = *state;
	struct audit_event e;

	for (uint64_t i = 1; i <= 5; i++) {
		e = event(&w->a, i);
		assert_int_not_equal(audit_trail_add(w->s.journal.trail, &e), 0);
	}
	commit(w);
	/* Behind record 2. */
	assert_int_equal(acks_open(&w->a, ID_A, 3), 0);
	assert_int_equal(w->a.acks.known.n, 3);
	acks_turn(&w->s);
	assert_true(receive(&w->a, 3));
	acks_turn(&w->s);
	acknowledged(w->holder_a, 1, 2);
	assert_true(receive(&w->a, 4));
	assert_true(receive(&w->a, 5));
	acks_turn(&w->s);
	acknowledged(w->holder_a, 3, 5);
	/* The rest is new, also if it looks the same. */
	assert_false(receive(&w->a, 5));
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 4, 6);
}

/* The last that the log had is not acknowledged yet: the number is not raised before it is. */
static void test_doubt(void **state)
{
	struct world *w = *state;
	struct audit_event e = event(&w->a, 2);

	assert_int_not_equal(audit_trail_add(w->s.journal.trail, &e), 0);
	commit(w);
	acks_turn(&w->s);
	assert_int_equal(acks_open(&w->a, ID_A, 1), 0);
	assert_false(receive(&w->a, 1));
	assert_true(receive(&w->a, 2));
	commit(w);
	/* Behind the mark: the second is under way. */
	assert_false(receive(&w->a, 3));
	acks_turn(&w->s);
	acknowledged(w->holder_a, 1, 0);
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_a, 3, 3);
}

/* What does not come in so many events does not come: nothing is compared with it any more. */
static void test_again_bound(void **state)
{
	struct world *w = *state;
	struct audit_event e = event(&w->a, 9999);

	assert_int_not_equal(audit_trail_add(w->s.journal.trail, &e), 0);
	commit(w);
	assert_int_equal(acks_open(&w->a, ID_A, 1), 0);
	e.sequence = 1;
	for (size_t i = 1; i < AGAIN_MAX; i++)
		assert_false(acks_has(&w->a, &e));
	assert_int_equal(w->a.acks.known.n, 1);
	assert_false(acks_has(&w->a, &e));
	assert_int_equal(w->a.acks.known.n, 0);
	e.sequence = 9999;
	assert_false(acks_has(&w->a, &e));
}

/* A log that cannot be read now: the run is to come again. A new run does not need it. */
static void test_open(void **state)
{
	struct world *w = *state;

	calls.known_error = -EIO;
	assert_int_equal(acks_open(&w->a, ID_A, 0), 0);
	assert_int_equal(calls.said, 0);
	assert_int_equal(acks_open(&w->a, ID_A, 1), -EBUSY);
	assert_int_equal(calls.said, 1);
}

/* JOINED */

static void joined(int holder, uint64_t number, const char *folder, size_t n_fds)
{
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(holder, &f), 1);
	assert_int_equal(f.type, FRAME_JOINED);
	assert_int_equal(f.id, number);
	assert_int_equal(f.len, folder ? strlen(folder) + 1 : 0);
	if (folder)
		assert_memory_equal(f.body, folder, f.len);
	assert_int_equal(f.n_fds, n_fds);
}

/* The prepared file is given once: to a run of our user. */
static void test_joined(void **state)
{
	struct world *w = *state;
	struct missed *m = &w->s.peers.missed;

	acks_joined(&w->a);
	joined(w->holder_a, 0, NULL, 0);
	assert_false(receive(&w->a, 1));
	commit(w);
	m->presence = open(w->bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->prepared = open(w->bench->path, O_RDONLY | O_CLOEXEC);
	assert_true(m->presence >= 0 && m->prepared >= 0);
	buffer_adds(&m->folder, "/somewhere/missed");
	w->a.who.kind = JOIN_SESSION;
	acks_joined(&w->a);
	joined(w->holder_a, 1, "/somewhere/missed", 0);
	w->a.who.kind = JOIN_RUN;
	w->a.peer.uid++;
	acks_joined(&w->a);
	joined(w->holder_a, 1, "/somewhere/missed", 0);
	assert_true(m->prepared >= 0);
	acks_joined(&w->b);
	joined(w->holder_b, 1, "/somewhere/missed", 1);
	assert_int_equal(m->prepared, -1);
	w->a.peer.uid = geteuid();
	acks_joined(&w->a);
	joined(w->holder_a, 1, "/somewhere/missed", 0);
}

/* The end */

static void test_left(void **state)
{
	struct world *w = *state;
	struct sandbox stranger = { .s = &w->s };

	assert_int_equal(acks_on_left(&stranger, &(struct frame){ .id = 7 }), -EPROTO);
	assert_int_equal(
		acks_on_left(&w->a, &(struct frame){ .id = 7, .body = "x", .len = 1 }), -EPROTO);
	assert_false(w->a.acks.has_left);
	assert_false(receive(&w->a, 1));
	assert_int_equal(acks_on_left(&w->a, &(struct frame){ .id = 7 }), 0);
	assert_int_equal(calls.left, 0);
	acks_close(&w->a);
	assert_int_equal(calls.left, 1);
	assert_string_equal(calls.left_id, ID_A);
	assert_int_equal(calls.left_number, 7);
	assert_int_equal(calls.left_last, w->a.acks.last);
	assert_int_equal(calls.looked, 0);
	assert_int_equal(calls.prepared, 1);
	/* One that did not say so may have left a file. */
	acks_close(&w->b);
	assert_int_equal(calls.left, 1);
	assert_int_equal(calls.looked, 1);
	assert_int_equal(calls.prepared, 2);
	/* One that did not say who it is cannot have. */
	acks_close(&stranger);
	assert_int_equal(calls.looked, 1);
}

/* Events were lost: all that may have sent them send again, and files must be read. */
static void test_lost(void **state)
{
	struct world *w = *state;

	assert_false(receive(&w->b, 1));
	commit(w);
	acks_turn(&w->s);
	acknowledged(w->holder_b, 1, 1);
	assert_false(receive(&w->a, 1));
	calls.lost = 1;
	commit(w);
	acks_turn(&w->s);
	assert_int_equal(calls.dropped, 1);
	assert_ptr_equal(w->s.peers.sandboxes.next, &w->b.link);
	assert_ptr_equal(w->s.peers.sandboxes.previous, &w->b.link);
	assert_int_equal(calls.doubted, 1);
	not_acknowledged(w->holder_a);
	/* Once for each loss. */
	assert_false(receive(&w->b, 2));
	commit(w);
	acks_turn(&w->s);
	assert_int_equal(calls.dropped, 1);
	assert_int_equal(calls.doubted, 1);
	acknowledged(w->holder_b, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_after_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark, setup, teardown),
		cmocka_unit_test_setup_teardown(test_passed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_joined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
