/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front between real sockets: this test is its clients and its monitor. What hostile clients try
 * must cost the others nothing but turns.
 */
#include "test/unit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "broker/call.h"
#include "broker/front/test/stage.h"
#include "broker/rpc.h"

static void test_ping(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);

	say(s, fd, "{\"jsonrpc\":\"2.0\",\"id\":[1]}\n");
	hears(s, fd, "\"code\":-32600");
	say(s, fd, "\n" PING "\n");
	hears(s, fd, "\"id\":1,\"result\":{\"pong\":true,\"timestamp\":\"2");
	say(s, fd,
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"echo\":\"e\"}}\n");
	hears(s, fd, "\"echo\":\"e\"");
	/* A notification has no answer; nor has a batch of nothing else. */
	say(s, fd,
		"{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n[{\"jsonrpc\":\"2.0\",\"method\":"
		"\"ping\"}]\n");
	say(s, fd, "[" PING "," PING ",7]\n");
	hears(s, fd, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"pong\":true");
}

static void test_calls_and_answers(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	const struct rpc_refusal why = { .class = RPC_PERMISSION, .message = "no" };
	struct values refusal = rpc_refusal_values(&why);
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	const struct frame *f;
	uint64_t first, second;
	struct broker_call c;

	say(s, fd, "[" READ "," PING "," READ "]\n");
	f = monitor_hears(s);
	assert_int_equal(f->type, FRAME_CALL);
	assert_int_equal(call_decode(&c, f->body, f->len, &a), 0);
	assert_int_equal(c.method->id, METHOD_FS_READ);
	assert_string_equal(c.params.v[0].text, "/a");
	/* Whoever it is, the kernel says so. */
	assert_int_equal(c.pid, getpid());
	assert_int_equal(c.uid, geteuid());
	first = f->id;
	second = monitor_hears(s)->id;
	assert_true(first != second);
	/* In whatever order they come, there is one answer. */
	assert_int_equal(values_encode(rpc_refusal_fields, &refusal, &body), 0);
	assert_int_equal(
		frame_send(s->monitor, FRAME_CALL_REFUSED, second, body.data, body.len, NULL, 0),
		0);
	monitor_answers(s, first, "text");
	hears(s, fd, "\"id\":\"r\",\"error\":{\"code\":-32001,\"message\":\"no\"");
	/* An answer to no call, or to one that was answered, is dropped. */
	monitor_answers(s, first, "again");
	monitor_answers(s, 12345678, "none");
	say(s, fd, PING "\n");
	hears(s, fd, "\"pong\":true");
}

#define RUN                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"exec.run\",\"params\":{\"command\":" \
	"\"true\",\"stream\":true}}"

static void monitor_notes(struct stage *s, uint64_t id, const char *text, size_t len)
{
	struct values v = { 0 };
	auto_buffer body = { 0 };

	v.v[0] = value_number(SCHEMA_CHOICE, 1);
	v.v[1] = (struct value){ .type = SCHEMA_DATA, .text = text, .len = len };
	assert_int_equal(values_encode(method_rows[METHOD_EXEC_RUN].notes, &v, &body), 0);
	assert_int_equal(
		frame_send(s->monitor, FRAME_CALL_NOTE, id, body.data, body.len, NULL, 0), 0);
}

/* What a call says while it runs is a line of its own, and the monitor hears that it was taken. */
static void test_notes(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	uint64_t id;

	say(s, fd, RUN "\n");
	id = monitor_hears(s)->id;
	monitor_notes(s, id, "text\n", 5);
	hears(s, fd,
		"{\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"id\":\"x\","
		"\"stream\":\"stderr\",\"data\":\"text\\n\",\"encoding\":\"utf-8\"}}");
	assert_int_equal(monitor_hears(s)->type, FRAME_CALL_NOTE);
	assert_int_equal(s->frame.id, id);
	monitor_notes(s, id, "\xff", 1);
	hears(s, fd, "\"data\":\"/w==\",\"encoding\":\"base64\"");
	assert_int_equal(monitor_hears(s)->type, FRAME_CALL_NOTE);
	/* One of a call that has ended is dropped. */
	monitor_notes(s, id + 1, "late", 4);
	say(s, fd, PING "\n");
	hears(s, fd, "pong");
}

/* Of notes that are not read no more are taken. */
static void test_notes_that_are_not_read(void **state)
{
	enum { LEN = 64 << 10 };
	struct stage *s = *state;
	auto_fd fd = stage_connect(s), other = stage_connect(s);
	static char text[LEN];
	unsigned sent = 0, taken = 0, lines = 0;
	uint64_t id;

	memset(text, 'x', sizeof(text));
	say(s, fd, RUN "\n");
	id = monitor_hears(s)->id;
	for (int i = 0; i < 1000; i++) {
		if (sent < taken + CALL_NOTES_MAX) {
			monitor_notes(s, id, text, sizeof(text));
			sent++;
		}
		stage_turn(s);
		while (frame_receive(s->monitor, &s->frame) == 1)
			taken++;
	}
	assert_true(sent < 100);
	assert_int_equal(sent, taken + CALL_NOTES_MAX);
	assert_true(front_bytes(s->front) < FRONT_OUT_MAX + CALL_NOTES_MAX * 2 * LEN);
	say(s, other, PING "\n");
	hears(s, other, "pong");
	/* All of them are there once it reads. */
	for (int i = 0; lines < sent; i++) {
		ssize_t n = recv(fd, text, sizeof(text), 0);

		assert_true(i < TURNS_MAX);
		for (ssize_t k = 0; k < n; k++)
			lines += text[k] == '\n';
		stage_turn(s);
		while (frame_receive(s->monitor, &s->frame) == 1)
			taken++;
	}
	assert_int_equal(sent, taken);
}

static void test_a_monitor_that_answers_nonsense(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);

	say(s, fd, READ "\n");
	assert_int_equal(
		frame_send(s->monitor, FRAME_CALL_ANSWER, monitor_hears(s)->id, "x", 1, NULL, 0),
		0);
	hears(s, fd, "\"code\":-32603");
}

/* 10,000 calls in one go: no more than a bounded number of them is under way at once. */
static void test_pipelined_calls(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s), other = stage_connect(s);
	auto_buffer text = { 0 };
	unsigned calls = 0, answers = 0;

	for (int i = 0; i < 10000; i++)
		buffer_adds(&text, READ "\n");
	for (size_t sent = 0, turns = 0; answers < 10000; turns++) {
		ssize_t n = sent < text.len ? send(fd, text.data + sent, text.len - sent, 0) : 0;
		char bytes[4096];
		unsigned waiting = 0;

		assert_true(turns < TURNS_MAX);
		sent += n > 0 ? (size_t)n : 0;
		stage_turn(s);
		while (frame_receive(s->monitor, &s->frame) == 1) {
			waiting++;
			calls++;
			monitor_answers(s, s->frame.id, "x");
		}
		assert_true(waiting <= FRONT_CLIENT_CALLS_MAX);
		while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
			for (ssize_t k = 0; k < n; k++)
				answers += bytes[k] == '\n';
		}
		/* Another client is served meanwhile. */
		if (turns == 100) {
			say(s, other, PING "\n");
			hears(s, other, "pong");
		}
	}
	assert_int_equal(calls, 10000);
	assert_true(front_bytes(s->front) < 1 << 20);
}

/* A batch of 1,000 is not in the way of a single call for longer than a turn or two. */
static void test_turns(void **state)
{
	struct stage *s = *state;
	auto_fd greedy = stage_connect(s), other = stage_connect(s);
	auto_buffer batch = { 0 };
	int turns = 0;
	char byte;

	buffer_addc(&batch, '[');
	for (int i = 0; i < RPC_BATCH_MAX; i++)
		buffer_printf(&batch, "%s" PING, i ? "," : "");
	buffer_adds(&batch, "]\n");
	stage_turn(s);
	assert_int_equal(send(greedy, batch.data, batch.len, 0), batch.len);
	assert_int_equal(send(other, PING "\n", strlen(PING) + 1, 0), strlen(PING) + 1);
	while (recv(other, &byte, 1, MSG_PEEK) < 0) {
		stage_turn(s);
		turns++;
	}
	assert_true(turns <= 3);
	assert_true(recv(greedy, &byte, 1, MSG_PEEK) < 0);
}

static void test_a_client_that_never_reads(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s), other = stage_connect(s);
	static const char echo[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":"
				   "{\"echo\":\"0123456789012345678901234567890123456789\"}}\n";
	size_t most = 0;

	for (int i = 0; i < 100000; i++) {
		(void)send(fd, echo, sizeof(echo) - 1, MSG_NOSIGNAL);
		stage_turn(s);
		most = front_bytes(s->front) > most ? front_bytes(s->front) : most;
	}
	assert_true(most < 2 * FRONT_OUT_MAX);
	say(s, other, PING "\n");
	hears(s, other, "pong");
	/* And it is closed in the end. */
	for (int i = 0; front_clients(s->front) > 1; i++) {
		assert_true(i < 500);
		assert_int_equal(front_turn(s->front, 10), 0);
	}
	assert_int_equal(front_bytes(s->front), 0);
}

static void test_half_a_line(void **state)
{
	struct stage *s = *state;
	auto_fd slow = stage_connect(s), other = stage_connect(s);

	say(s, slow, "{\"jsonrpc\"");
	say(s, other, PING "\n");
	hears(s, other, "pong");
	/* A byte now and then does not help. */
	for (int i = 0; front_clients(s->front) > 1; i++) {
		assert_true(i < 500);
		(void)send(slow, " ", 1, MSG_NOSIGNAL);
		(void)poll(NULL, 0, 5);
		assert_int_equal(front_turn(s->front, 10), 0);
	}
	assert_true(is_closed(s, slow));
	say(s, other, PING "\n");
	hears(s, other, "pong");
}

static void test_a_line_without_an_end(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	static char bytes[1 << 16];
	size_t most = 0;
	int turns = 0;

	memset(bytes, ' ', sizeof(bytes));
	while (!is_closed(s, fd) && turns++ < 10000) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		(void)send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		most = front_bytes(s->front) > most ? front_bytes(s->front) : most;
		if (poll(&p, 1, 0) == 1)
			break;
	}
	hears(s, fd, "the line is too long");
	assert_true(most <= RPC_LINE_MAX + 2 * sizeof(bytes));
	assert_null(hear(s, fd));
	assert_int_equal(front_bytes(s->front), 0);
}

/* More connections than there is room for: the silent ones make room, those that wait do not. */
static void test_many_connections(void **state)
{
	enum { MANY = FRONT_CLIENTS_MAX + 100 };
	struct stage *s = *state;
	auto_fd busy = stage_connect(s);
	int fds[MANY], closed = 0;
	uint64_t id;

	say(s, busy, READ "\n");
	id = monitor_hears(s)->id;
	for (int i = 0; i < MANY; i++) {
		fds[i] = stage_connect(s);
		stage_turn(s);
	}
	assert_int_equal(front_clients(s->front), FRONT_CLIENTS_MAX);
	say(s, fds[MANY - 1], PING "\n");
	hears(s, fds[MANY - 1], "pong");
	for (int i = 0; i < MANY; i++) {
		closed += is_closed(s, fds[i]);
		fd_close(&fds[i]);
	}
	assert_int_equal(closed, MANY + 1 - FRONT_CLIENTS_MAX);
	monitor_answers(s, id, "late");
	hears(s, busy, "late");
}

static void test_a_client_that_leaves(void **state)
{
	struct stage *s = *state;
	int fd = stage_connect(s);
	auto_fd other = stage_connect(s);
	uint64_t id;

	say(s, fd, READ "\n");
	id = monitor_hears(s)->id;
	fd_close(&fd);
	assert_int_equal(monitor_hears(s)->type, FRAME_CALL_CANCEL);
	assert_int_equal(s->frame.id, id);
	monitor_answers(s, id, "SECRET");
	/* The slot is used again, and no client hears another's answer. */
	say(s, other, READ "\n");
	assert_true(monitor_hears(s)->id != id);
	monitor_answers(s, id, "SECRET");
	monitor_answers(s, s->frame.id, "mine");
	hears(s, other, "\"content\":\"mine\"");
	assert_int_equal(front_clients(s->front), 1);
}

/* One that says all it has and closes its side still hears the answers. */
static void test_half_closed(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);

	say(s, fd, READ "\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	stage_turn(s);
	monitor_answers(s, monitor_hears(s)->id, "there");
	hears(s, fd, "there");
	assert_null(hear(s, fd));
	assert_int_equal(front_clients(s->front), 0);
}

static void test_a_monitor_that_dies(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	int r = 0;
	char text[512] = "";

	say(s, fd, READ "\n");
	(void)monitor_hears(s);
	fd_close(&s->monitor);
	for (int i = 0; r == 0 && i < 100; i++)
		r = front_turn(s->front, 10);
	assert_int_equal(r, -EPIPE);
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "\"id\":\"r\",\"error\":{\"code\":-32603"));
}

/* A monitor that is slow to read: calls wait, none is lost or sent twice. */
static void test_a_monitor_that_is_slow(void **state)
{
	enum { CLIENTS = 40, EACH = 30 };
	struct stage *s = *state;
	int fds[CLIENTS], calls = 0, small = 4096;

	(void)setsockopt(s->theirs, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = stage_connect(s);
		for (int k = 0; k < EACH; k++)
			say(s, fds[i], READ "\n");
	}
	while (calls < CLIENTS * EACH) {
		(void)monitor_hears(s);
		assert_int_equal(s->frame.type, FRAME_CALL);
		monitor_answers(s, s->frame.id, "x");
		calls++;
	}
	for (int i = 0; i < CLIENTS; i++) {
		for (int k = 0; k < EACH; k++)
			hears(s, fds[i], "\"content\":\"x\"");
		fd_close(&fds[i]);
	}
	assert_int_equal(frame_receive(s->monitor, &s->frame), -EAGAIN);
}

/* Documents that are small as text and large as trees, sent by many at once. */
static void test_memory_is_bounded(void **state)
{
	enum { CLIENTS = 24 };
	struct stage *s = *state;
	int fds[CLIENTS], closed = 0;
	auto_buffer bomb = { 0 };
	auto_fd other = stage_connect(s);
	size_t most = 0;

	/* One call that waits, and behind it what is not read yet. */
	buffer_adds(&bomb, "[" READ);
	for (int i = 0; i < 900; i++) {
		buffer_adds(&bomb, ",[0");
		for (int k = 0; k < 200; k++)
			buffer_adds(&bomb, ",0");
		buffer_adds(&bomb, "]");
	}
	for (int i = 0; i < 99; i++)
		buffer_adds(&bomb, "," READ);
	buffer_adds(&bomb, "]\n");
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = stage_connect(s);
		for (size_t sent = 0, turns = 0; sent < bomb.len && turns < 1000; turns++) {
			ssize_t n = send(fds[i], bomb.data + sent, bomb.len - sent, MSG_NOSIGNAL);

			sent += n > 0 ? (size_t)n : 0;
			stage_turn(s);
			most = front_bytes(s->front) > most ? front_bytes(s->front) : most;
			/* The monitor reads, and takes its time to answer. */
			while (frame_receive(s->monitor, &s->frame) == 1)
				continue;
		}
	}
	assert_true(most > FRONT_BYTES_MAX / 2);
	assert_true(front_bytes(s->front) <= FRONT_BYTES_MAX);
	say(s, other, PING "\n");
	hears(s, other, "pong");
	for (int i = 0; i < CLIENTS; i++) {
		closed += is_closed(s, fds[i]);
		fd_close(&fds[i]);
	}
	assert_true(closed > 0);
	for (int i = 0; i < 50; i++)
		stage_turn(s);
	assert_int_equal(front_bytes(s->front), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_make, stage_remove)
	const struct CMUnitTest tests[] = {
		TEST(test_ping),
		TEST(test_calls_and_answers),
		TEST(test_notes),
		TEST(test_notes_that_are_not_read),
		TEST(test_a_monitor_that_answers_nonsense),
		TEST(test_pipelined_calls),
		TEST(test_turns),
		cmocka_unit_test_setup_teardown(
			test_a_client_that_never_reads, stage_make_impatient, stage_remove),
		cmocka_unit_test_setup_teardown(
			test_half_a_line, stage_make_impatient, stage_remove),
		TEST(test_a_line_without_an_end),
		TEST(test_many_connections),
		TEST(test_a_client_that_leaves),
		TEST(test_half_closed),
		TEST(test_a_monitor_that_dies),
		TEST(test_a_monitor_that_is_slow),
		TEST(test_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
