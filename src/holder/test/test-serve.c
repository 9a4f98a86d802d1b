/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A holder between a program, corrald and two wardens, which are all this test. The first warden is
 * forged: whatever it sends, the second one keeps its session, corrald gets its answer, and the
 * first gets nothing more.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "holder/serve.h"
#include "holder/sessions.h"
#include "policy/format/image.h"
#include "policy/format/manifest.h"
#include "test/fds.h"
#include "wire/frame.h"
#include "wire/hold.h"
#include "wire/report.h"

enum { TURNS = 8, WARDENS = 2, FORGED = 0, HONEST = 1, GRANT = 7, HEAD = 24 };

/* Seconds that have passed beside those of the clock. */
static time_t later_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	ret->tv_sec += later_s;
	return r;
}

struct stage {
	struct holder_process *holder;
	int control, theirs;
	int corrald;
	int wardens[WARDENS];
	size_t n_wardens;
	bool is_over;
	struct frame f;
	struct frame order; /* the last JOIN_REPLY */
};

static int end_of(int *ret_other)
{
	int pair[2];

	assert_int_equal(frame_pair(pair), 0);
	assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	*ret_other = pair[1];
	return pair[0];
}

static void turn(struct stage *s)
{
	for (int i = 0; i < TURNS && !s->is_over; i++)
		s->is_over = serve_turn(s->holder, 0) != 1;
}

static void tell(struct stage *s, enum frame_type type, uint64_t id, const struct buffer *b, int fd)
{
	assert_int_equal(
		frame_send(s->control, type, id, b ? b->data : NULL, b ? b->len : 0, &fd, fd >= 0),
		0);
	turn(s);
}

/* Whether the program has heard that; what else it heard is dropped. */
static bool program_got(struct stage *s, enum frame_type type, uint64_t id)
{
	bool has_it = false;

	while (frame_receive(s->control, &s->f) == 1)
		has_it = has_it || (s->f.type == type && s->f.id == id);
	return has_it;
}

static void declare(struct stage *s, uint64_t id)
{
	static const char yaml[] = "network: {allow: ['a.example:443', 'b.example:443']}\n";
	struct hold_declare d = { .flags = HOLD_ENFORCES | HOLD_BROKER };
	auto_buffer text = { 0 }, body = { 0 };
	struct manifest m;

	assert_int_equal(
		manifest_read(&m, MANIFEST_UNKNOWN, "x.yaml", yaml, strlen(yaml), NULL), 0);
	assert_int_equal(image_write_text(m.permissions, &text), 0);
	permissions_free(m.permissions);
	d.text = buffer_text(&text);
	assert_int_equal(hold_declare_encode(&d, &body), 0);
	tell(s, FRAME_HOLD_DECLARE, id, &body, -1);
}

static void add_warden(struct stage *s)
{
	int other;

	s->wardens[s->n_wardens++] = end_of(&other);
	tell(s, FRAME_HOLD_SESSION, s->n_wardens, NULL, other);
	fd_close(&other);
}

static void order(struct stage *s, uint64_t id, const char *host)
{
	const struct live_grant g = {
		.op = OPERATION_NET_CONNECT, .by = GRANT_BY_API, .pattern = host
	};
	auto_buffer body = { 0 };

	assert_int_equal(live_grant_encode(&g, &body), 0);
	assert_int_equal(frame_send(s->corrald, FRAME_GRANT, id, body.data, body.len, NULL, 0), 0);
	turn(s);
}

static void stage_begin(struct stage *s, size_t wardens)
{
	int other;

	*s = (struct stage){ .control = -1 };
	s->control = end_of(&s->theirs);
	assert_int_equal(fcntl(s->theirs, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(serve_new(&s->holder, s->theirs, -1), 0);
	declare(s, 1);
	for (size_t i = 0; i < wardens; i++)
		add_warden(s);
	s->corrald = end_of(&other);
	tell(s, FRAME_HOLD_CONNECTION, 1, NULL, other);
	fd_close(&other);
	assert_int_equal(frame_send(s->corrald, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	turn(s);
	assert_true(program_got(s, FRAME_JOINED, 0));
}

static void stage_end(struct stage *s)
{
	serve_free(s->holder);
	for (size_t i = 0; i < s->n_wardens; i++)
		fd_close(&s->wardens[i]);
	fd_close(&s->corrald);
	fd_close(&s->control);
	fd_close(&s->theirs);
	frame_deinit(&s->f);
}

/* How many grants the warden was given last, and the change; -1: it has heard of none. */
static int warden_got(struct stage *s, size_t i, uint64_t *ret_change)
{
	static struct live_grant grants[QUESTION_GRANTS_MAX];
	int n = -1;

	while (frame_receive(s->wardens[i], &s->f) == 1) {
		assert_int_equal(s->f.type, FRAME_GRANTS);
		n = live_grants_decode(grants, s->f.body, s->f.len);
		*ret_change = s->f.id;
	}
	return n;
}

static void warden_confirms(struct stage *s, size_t i, uint64_t change)
{
	assert_int_equal(frame_send(s->wardens[i], FRAME_GRANTS, change, NULL, 0, NULL, 0), 0);
	turn(s);
}

static bool is_let_go(struct stage *s, size_t i)
{
	int r = frame_receive(s->wardens[i], &s->f);

	return r == 0 || r == -EPIPE || r == -ECONNRESET;
}

/* The answer to an order that corrald got: 1: done; 0: none yet; negative: refused. */
static int corrald_got(struct stage *s, uint64_t id)
{
	struct join_reply reply;
	int heard = 0;

	while (frame_receive(s->corrald, &s->f) == 1) {
		if (s->f.type != FRAME_JOIN_REPLY || s->f.id != id)
			continue;
		assert_int_equal(join_reply_decode(&reply, s->f.body, s->f.len), 0);
		heard = reply.error ? -reply.error : 1;
	}
	return heard;
}

/* Forged packets */

struct packet {
	uint32_t magic;
	uint16_t type, protocol;
	uint64_t id;
	uint32_t len, n_fds;
	char body[64];
};

static void send_raw(int socket, const void *data, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
	} control = { 0 };
	struct iovec part = { (void *)data, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int) * n),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n);
	}
	assert_int_equal(sendmsg(socket, &m, MSG_NOSIGNAL), len);
}

/* Of change 0: the one that is waited for. fds: how many come; said: how many the header has. */
struct forgery {
	const char *what;
	enum frame_type type;
	int change; /* added to the one that is waited for */
	size_t len; /* of the packet, behind its header */
	uint32_t said_len;
	size_t fds;
	uint32_t said_fds;
	uint16_t protocol; /* added to ours */
	size_t cut;        /* bytes that are missing at the end */
};

static const struct forgery forgeries[] = {
	{ "another frame", FRAME_START, 0, 0, 0, 0, 0, 0, 0 },
	{ "a frame of corrald", FRAME_GRANT, 0, 0, 0, 0, 0, 0, 0 },
	{ "a frame of the program", FRAME_HOLD_DECLARE, 0, 0, 0, 0, 0, 0, 0 },
	{ "an answer", FRAME_ANSWER, 0, 32, 32, 0, 0, 0, 0 },
	{ "an end", FRAME_STOP, 0, 0, 0, 0, 0, 0, 0 },
	{ "no type", FRAME_NONE, 0, 0, 0, 0, 0, 0, 0 },
	{ "no such type", FRAME_TYPE_COUNT, 0, 0, 0, 0, 0, 0, 0 },
	{ "a change to come", FRAME_GRANTS, 1, 0, 0, 0, 0, 0, 0 },
	{ "change 0", FRAME_GRANTS, -2, 0, 0, 0, 0, 0, 0 },
	{ "nonsense for a refusal", FRAME_GRANTS, 0, 5, 5, 0, 0, 0, 0 },
	{ "more than it says", FRAME_GRANTS, 0, 8, 0, 0, 0, 0, 0 },
	{ "less than it says", FRAME_GRANTS, 0, 8, 9, 0, 0, 0, 0 },
	{ "too much", FRAME_GRANTS, 0, 0, FRAME_MEMFD_MAX + 1, 1, 1, 0, 0 },
	{ "a body in no memfd", FRAME_GRANTS, 0, 0, FRAME_BODY_MAX + 1, 1, 1, 0, 0 },
	{ "a surplus descriptor", FRAME_GRANTS, 0, 0, 0, 1, 1, 0, 0 },
	{ "descriptors that it does not say", FRAME_GRANTS, 0, 0, 0, 2, 0, 0, 0 },
	{ "descriptors that are missing", FRAME_GRANTS, 0, 0, 0, 0, 1, 0, 0 },
	{ "another version", FRAME_GRANTS, 0, 0, 0, 0, 0, 1, 0 },
	{ "half a header", FRAME_GRANTS, 0, 0, 0, 0, 0, 0, HEAD / 2 },
	{ "nothing at all", FRAME_GRANTS, 0, 0, 0, 0, 0, 0, HEAD - 1 },
};

static void forge(struct stage *s, const struct forgery *f, uint64_t change)
{
	static const int fds[] = { STDERR_FILENO, STDERR_FILENO };
	const struct packet p = { .magic = 0x4c525243,
		.type = (uint16_t)f->type,
		.protocol = (uint16_t)(FRAME_PROTOCOL + f->protocol),
		.id = change + (uint64_t)(int64_t)f->change,
		.len = f->said_len,
		.n_fds = f->said_fds,
		.body = "\xff\xff\xff\xffwho knows" };

	send_raw(s->wardens[FORGED], &p, HEAD + f->len - f->cut, fds, f->fds);
	turn(s);
}

static void test_forged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(forgeries); i++) {
		const size_t before = count_fds();
		uint64_t change = 0;
		struct stage s;
		bool is_gone;

		stage_begin(&s, WARDENS);
		order(&s, GRANT, "a.example:443");
		assert_int_equal(warden_got(&s, FORGED, &change), 1);
		assert_int_equal(warden_got(&s, HONEST, &change), 1);
		/* The row of change 0 is computed from the second change. */
		assert_int_equal(change, 2);
		forge(&s, &forgeries[i], change);
		/* One frame may have been under way. */
		is_gone = is_let_go(&s, FORGED);
		is_gone = is_gone || is_let_go(&s, FORGED);
		if (!is_gone)
			fail_msg("%s: the warden keeps its session", forgeries[i].what);
		/* It is no confirmation, and does not stand for one. */
		assert_int_equal(corrald_got(&s, GRANT), 0);
		warden_confirms(&s, HONEST, change);
		assert_int_equal(corrald_got(&s, GRANT), 1);
		assert_false(s.is_over);
		stage_end(&s);
		assert_int_equal(count_fds(), before);
	}
}

/* Answers in the wrong order: one of before does not confirm the change that is under way. */
static void test_late(void **state)
{
	uint64_t first = 0, change = 0;
	struct stage s;

	(void)state;
	stage_begin(&s, WARDENS);
	order(&s, GRANT, "a.example:443");
	assert_int_equal(warden_got(&s, FORGED, &first), 1);
	warden_confirms(&s, HONEST, first);
	warden_confirms(&s, FORGED, first);
	assert_int_equal(corrald_got(&s, GRANT), 1);
	order(&s, GRANT + 1, "b.example:443");
	assert_int_equal(warden_got(&s, FORGED, &change), 2);
	warden_confirms(&s, HONEST, change);
	warden_confirms(&s, FORGED, first);
	warden_confirms(&s, FORGED, first);
	assert_int_equal(corrald_got(&s, GRANT + 1), 0);
	warden_confirms(&s, FORGED, change);
	assert_int_equal(corrald_got(&s, GRANT + 1), 1);
	/* And it confirms no change a second time. */
	order(&s, GRANT + 2, "a.example:443");
	warden_confirms(&s, FORGED, change);
	warden_confirms(&s, HONEST, change);
	assert_int_equal(corrald_got(&s, GRANT + 2), 0);
	stage_end(&s);
}

/* One that does not answer is let go in time, and no other with it. */
static void test_silent(void **state)
{
	uint64_t change = 0;
	struct stage s;

	(void)state;
	stage_begin(&s, WARDENS);
	order(&s, GRANT, "a.example:443");
	assert_int_equal(warden_got(&s, HONEST, &change), 1);
	warden_confirms(&s, HONEST, change);
	assert_int_equal(corrald_got(&s, GRANT), 0);
	later_s += HOLDER_SESSIONS_ANSWER_MS / 1000 + 1;
	turn(&s);
	assert_int_equal(corrald_got(&s, GRANT), 1);
	assert_int_equal(warden_got(&s, FORGED, &change), 1);
	assert_true(is_let_go(&s, FORGED));
	assert_false(is_let_go(&s, HONEST));
	stage_end(&s);
}

/* A new session gets what is granted before its program goes on: with a warden that does not
 * answer the program goes on without it, and the others keep theirs. */
static void test_silent_from_the_start(void **state)
{
	uint64_t change = 0;
	struct stage s;

	(void)state;
	stage_begin(&s, 1);
	order(&s, GRANT, "a.example:443");
	assert_int_equal(warden_got(&s, 0, &change), 1);
	warden_confirms(&s, 0, change);
	assert_int_equal(corrald_got(&s, GRANT), 1);
	add_warden(&s);
	assert_false(program_got(&s, FRAME_HOLD_SESSION, 2));
	turn(&s);
	later_s += HOLDER_SESSIONS_ANSWER_MS / 1000 + 1;
	turn(&s);
	assert_true(program_got(&s, FRAME_HOLD_SESSION, 2));
	assert_int_equal(warden_got(&s, 1, &change), 1);
	assert_true(is_let_go(&s, 1));
	assert_false(is_let_go(&s, 0));
	stage_end(&s);
}

/* A refusal undoes the grant everywhere, and corrald gets its sentence. */
static void test_refuses(void **state)
{
	const struct refusal no = { .error = EIO, .text = "it does not want to", .hint = "" };
	auto_buffer body = { 0 };
	uint64_t change = 0;
	struct stage s;

	(void)state;
	assert_int_equal(refusal_encode(&no, &body), 0);
	stage_begin(&s, WARDENS);
	order(&s, GRANT, "a.example:443");
	assert_int_equal(warden_got(&s, HONEST, &change), 1);
	warden_confirms(&s, HONEST, change);
	assert_int_equal(
		frame_send(s.wardens[FORGED], FRAME_GRANTS, change, body.data, body.len, NULL, 0),
		0);
	turn(&s);
	assert_int_equal(warden_got(&s, HONEST, &change), 0);
	warden_confirms(&s, HONEST, change);
	warden_confirms(&s, FORGED, change);
	assert_int_equal(corrald_got(&s, GRANT), -EIO);
	stage_end(&s);
}

/* The program itself: what it must not send ends the holder, and all sessions lose their grants. */
static void test_program(void **state)
{
	static const struct forgery rows[] = {
		{ "a session without a socket", FRAME_HOLD_SESSION, 0, 0, 0, 0, 0, 0, 0 },
		{ "a session with two", FRAME_HOLD_SESSION, 0, 0, 0, 2, 2, 0, 0 },
		{ "a number of before", FRAME_HOLD_SESSION, -8, 0, 0, 1, 1, 0, 0 },
		{ "a connection without a socket", FRAME_HOLD_CONNECTION, 0, 0, 0, 0, 0, 0, 0 },
		{ "a declaration of nothing", FRAME_HOLD_DECLARE, 0, 0, 0, 0, 0, 0, 0 },
		{ "a question of nothing", FRAME_QUESTION, 0, 4, 4, 0, 0, 0, 0 },
		{ "grants", FRAME_GRANTS, 0, 0, 0, 0, 0, 0, 0 },
		{ "an order", FRAME_GRANT, 0, 0, 0, 0, 0, 0, 0 },
		{ "half a header", FRAME_HOLD_PULL, 0, 0, 0, 0, 0, 0, HEAD / 2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const size_t before = count_fds();
		struct stage s;
		int forged;

		stage_begin(&s, WARDENS);
		forged = s.wardens[FORGED];
		s.wardens[FORGED] = s.control;
		forge(&s, &rows[i], 9);
		s.wardens[FORGED] = forged;
		if (!s.is_over)
			fail_msg("%s: the holder goes on", rows[i].what);
		stage_end(&s);
		assert_int_equal(count_fds(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_silent_from_the_start),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
