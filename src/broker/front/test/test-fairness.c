/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that want all of a front for themselves: with many connections, many processes, calls,
 * bytes or descriptors. Each test has one more client, and what it asks for must come: after a
 * bounded number of turns, whatever the others do.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "broker/call.h"
#include "broker/front/test/stage.h"
#include "test/fds.h"

/* A whole round of all connections, 64 to a turn, and what a client's own call takes. */
enum { ROUND = FRONT_CLIENTS_MAX / 64 + 4 };
/* So many connections are all, also where a process may have 1,024 descriptors. */
enum { FULL = FRONT_CLIENTS_MAX - 124 };

/* Hostile processes */

static void crowd_speak(const struct stage *s, size_t connections, const char *text, size_t len)
{
	struct rlimit files;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; i < connections; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		/* The limit of descriptors may be lower than that of connections. */
		if (fd < 0)
			return;
		if (connect(fd, (const struct sockaddr *)&s->address, s->len) < 0)
			_exit(1);
		/* As much as there is room for: the front may have closed it already. */
		for (size_t sent = 0; sent < len;) {
			ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

			if (n <= 0)
				break;
			sent += (size_t)n;
		}
	}
}

/* A process that opens so many connections, says this on each, and keeps them. */
static pid_t crowd_start(struct stage *s, size_t connections, const char *text, size_t len)
{
	int said[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(said, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		crowd_speak(s, connections, text, len);
		if (write(said[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	fd_close(&said[1]);
	for (int i = 0; read(said[0], &byte, 1) < 0; i++) {
		assert_true(i < TURNS_MAX * 100);
		stage_turn(s);
	}
	fd_close(&said[0]);
	for (int i = 0; i < ROUND; i++)
		stage_turn(s);
	return pid;
}

static void crowd_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The same line again and again. */
static void crowd_text(struct buffer *out, const char *line, size_t times)
{
	for (size_t i = 0; i < times; i++) {
		buffer_adds(out, line);
		buffer_addc(out, '\n');
	}
}

/* The others */

/* How many turns an answer takes, of a client that has said all. */
static int turns_until_heard(struct stage *s, int fd)
{
	int turns = 0;
	char byte;

	while (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN) {
		assert_true(turns < TURNS_MAX);
		stage_turn(s);
		turns++;
	}
	return turns;
}

static void send_line(int fd, const char *line)
{
	assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
	assert_int_equal(send(fd, "\n", 1, MSG_NOSIGNAL), 1);
}

static void is_answered(struct stage *s, int fd)
{
	int turns;

	send_line(fd, PING);
	turns = turns_until_heard(s, fd);
	if (turns > ROUND)
		fail_msg("a ping took %d turns", turns);
	hears(s, fd, "pong");
}

/* The monitor takes all frames that come. Gives those of others; this process's last call: *ret. */
static size_t monitor_takes(struct stage *s, uint64_t *ret)
{
	size_t n = 0;

	while (frame_receive(s->monitor, &s->frame) == 1) {
		auto_arena a = { 0 };
		struct broker_call c;

		if (s->frame.type != FRAME_CALL)
			continue;
		assert_int_equal(call_decode(&c, s->frame.body, s->frame.len, &a), 0);
		if (c.pid == (uint32_t)getpid())
			*ret = s->frame.id;
		else
			n++;
	}
	return n;
}

/* A monitor that takes calls and answers none, until all have had their turns. */
static size_t monitor_sleeps(struct stage *s)
{
	uint64_t own = 0;
	size_t n = 0;

	for (int i = 0; i < 4 * ROUND; i++) {
		stage_turn(s);
		n += monitor_takes(s, &own);
	}
	return n;
}

static void call_is_answered(struct stage *s, int fd)
{
	uint64_t id = 0;

	send_line(fd, READ);
	for (int i = 0; i < ROUND && id == 0; i++) {
		stage_turn(s);
		(void)monitor_takes(s, &id);
	}
	if (id == 0)
		fail_msg("the call did not reach the monitor");
	monitor_answers(s, id, "mine");
	hears(s, fd, "mine");
}

/* Calls */

static void test_calls_of_one_process(void **state)
{
	struct stage *s = *state;
	auto_buffer text = { 0 };
	auto_fd other = -1;
	pid_t crowd;
	size_t n;

	crowd_text(&text, READ, 100);
	crowd = crowd_start(s, 100, text.data, text.len);
	n = monitor_sleeps(s);
	assert_true(n > 0 && n <= FRONT_CALLS_MAX / 2);
	other = stage_connect(s);
	call_is_answered(s, other);
	is_answered(s, other);
	crowd_end(crowd);
}

static void test_calls_of_many_processes(void **state)
{
	enum { MANY = 60 };
	struct stage *s = *state;
	auto_buffer text = { 0 };
	pid_t crowd[MANY];
	auto_fd other = -1;

	crowd_text(&text, READ, 100);
	for (int i = 0; i < MANY; i++) {
		crowd[i] = crowd_start(s, 3, text.data, text.len);
		(void)monitor_sleeps(s);
	}
	other = stage_connect(s);
	call_is_answered(s, other);
	is_answered(s, other);
	for (int i = 0; i < MANY; i++)
		crowd_end(crowd[i]);
}

/* Calls of processes that end at once: the monitor hears of each, and their slots come back. */
static void test_calls_that_are_left(void **state)
{
	struct stage *s = *state;
	auto_buffer text = { 0 };
	auto_fd other = stage_connect(s);
	int small = 4096, calls = 0, cancels = 0;

	/* There is no room for the words at first. */
	(void)setsockopt(s->theirs, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	crowd_text(&text, READ, 30);
	for (int i = 0; i < 4; i++)
		crowd_end(crowd_start(s, 4, text.data, text.len));
	for (int i = 0; i < 100; i++) {
		stage_turn(s);
		while (frame_receive(s->monitor, &s->frame) == 1) {
			calls += s->frame.type == FRAME_CALL;
			cancels += s->frame.type == FRAME_CALL_CANCEL;
		}
	}
	assert_true(calls > 0);
	assert_int_equal(cancels, calls);
	assert_int_equal(front_clients(s->front), 1);
	call_is_answered(s, other);
}

/* A monitor that does not read: who asks it for nothing does not wait for it. */
static void test_a_full_monitor(void **state)
{
	struct stage *s = *state;
	auto_buffer text = { 0 };
	auto_fd other = stage_connect(s), caller = stage_connect(s);
	int small = 4096, before = 0;
	uint64_t id = 0;
	pid_t crowd;

	(void)setsockopt(s->theirs, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	crowd_text(&text, READ, 100);
	crowd = crowd_start(s, 100, text.data, text.len);
	is_answered(s, other);
	send_line(caller, READ);
	for (int i = 0; i < ROUND; i++)
		stage_turn(s);
	is_answered(s, other);
	/* Nor does it wait until the crowd has had all that it wants. */
	while (id == 0) {
		const struct frame *f = monitor_hears(s);
		auto_arena a = { 0 };
		struct broker_call c;

		assert_int_equal(call_decode(&c, f->body, f->len, &a), 0);
		if (c.pid == (uint32_t)getpid())
			id = f->id;
		else
			before++;
	}
	assert_true(before < FRONT_CALLS_MAX / 2);
	monitor_answers(s, id, "mine");
	hears(s, caller, "mine");
	crowd_end(crowd);
}

/* 10,000 calls that the front itself answers, on each of many connections. */
static void test_pipelined_pings(void **state)
{
	struct stage *s = *state;
	auto_buffer text = { 0 };
	auto_fd other = stage_connect(s);
	pid_t crowd;

	crowd_text(&text, PING, 10000);
	crowd = crowd_start(s, 200, text.data, text.len);
	for (int i = 0; i < 20; i++)
		is_answered(s, other);
	crowd_end(crowd);
}

/* Lines that are no calls cost as much as others. */
static void test_lines_without_calls(void **state)
{
	struct stage *s = *state;
	auto_fd fd = stage_connect(s), other = stage_connect(s);
	auto_buffer text = { 0 };

	stage_turn(s);
	crowd_text(&text, "", 20000);
	send_line(fd, buffer_text(&text));
	send_line(fd, PING);
	is_answered(s, other);
	/* They were not all looked at meanwhile. */
	assert_true(turns_until_heard(s, fd) > 100);
	hears(s, fd, "pong");
}

/* Connections */

static void test_connections_of_one_process(void **state)
{
	static const char *const texts[] = { READ "\n", PING, "" };
	struct stage *s = *state;

	for (size_t i = 0; i < 3; i++) {
		/* All of them wait for an answer, for the rest of a line, or for nothing. */
		pid_t crowd = crowd_start(s, FRONT_CLIENTS_MAX + 50, texts[i], strlen(texts[i]));
		auto_fd other = -1, own = -1;

		(void)monitor_sleeps(s);
		assert_true(front_clients(s->front) >= FULL);
		other = stage_connect(s);
		is_answered(s, other);
		call_is_answered(s, other);
		crowd_end(crowd);
		own = stage_connect(s);
		is_answered(s, own);
	}
}

/* Processes that have as many each: who has fewer keeps what it has, whoever comes. */
static void test_connections_of_many_processes(void **state)
{
	enum { MANY = 64, EACH = FRONT_CLIENTS_MAX / MANY + 1 };
	struct stage *s = *state;
	auto_fd other = stage_connect(s), last = -1;
	pid_t crowd[MANY], one;
	uint64_t id = 0;

	send_line(other, READ);
	for (int i = 0; i < ROUND && id == 0; i++) {
		stage_turn(s);
		(void)monitor_takes(s, &id);
	}
	for (int i = 0; i < MANY; i++) {
		crowd[i] = crowd_start(s, EACH, READ "\n", strlen(READ) + 1);
		(void)monitor_sleeps(s);
	}
	one = crowd_start(s, 200, READ "\n", strlen(READ) + 1);
	(void)monitor_sleeps(s);
	assert_true(front_clients(s->front) >= FULL);
	last = stage_connect(s);
	is_answered(s, last);
	monitor_answers(s, id, "mine");
	hears(s, other, "mine");
	for (int i = 0; i < MANY; i++)
		crowd_end(crowd[i]);
	crowd_end(one);
}

/* Where the front may have fewer descriptors than connections. */
static void test_no_more_descriptors(void **state)
{
	struct stage *s = *state;
	auto_fd other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct rlimit all, few;
	pid_t crowd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	few.rlim_cur = (rlim_t)other + 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	crowd = crowd_start(s, 100, READ "\n", strlen(READ) + 1);
	assert_true(front_clients(s->front) < 45);
	assert_int_equal(connect(other, (const struct sockaddr *)&s->address, s->len), 0);
	is_answered(s, other);
	crowd_end(crowd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
}

/* Bytes */

static void test_bytes_of_one_process(void **state)
{
	struct stage *s = *state;
	auto_fd other = stage_connect(s);
	auto_buffer half = { 0 };
	static char spaces[7 << 20];
	size_t sent = 0;
	pid_t crowd;

	/* Lines that go on and on, each of them shorter than the one of the other. */
	crowd_text(&half, READ, 1);
	half.len--;
	for (int i = 0; i < 180 << 10; i++)
		buffer_addc(&half, ' ');
	crowd = crowd_start(s, 500, half.data, half.len);
	assert_true(front_bytes(s->front) > FRONT_BYTES_MAX - sizeof(spaces));
	memset(spaces, ' ', sizeof(spaces));
	for (int i = 0; sent < sizeof(spaces); i++) {
		ssize_t n = send(other, spaces + sent, sizeof(spaces) - sent, MSG_NOSIGNAL);

		assert_true(i < TURNS_MAX);
		assert_true(n > 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		stage_turn(s);
		assert_true(front_bytes(s->front) <= FRONT_BYTES_MAX);
	}
	is_answered(s, other);
	crowd_end(crowd);
}

/* One that says much and reads late hears all of it. */
static void test_a_client_that_reads_late(void **state)
{
	enum { CALLS = 300 };
	struct stage *s = *state;
	auto_fd fd = stage_connect(s);
	auto_buffer line = { 0 }, text = { 0 };
	size_t sent = 0, heard = 0, read = 0;

	buffer_adds(
		&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"echo\":\"");
	for (int i = 0; i < 16000; i++)
		buffer_addc(&line, 'x');
	buffer_adds(&line, "\"}}");
	crowd_text(&text, line.data, CALLS);
	for (int i = 0; heard < CALLS; i++) {
		ssize_t n = send(fd, text.data + sent, text.len - sent, MSG_NOSIGNAL);
		char bytes[4096];

		assert_true(i < TURNS_MAX);
		sent += n > 0 ? (size_t)n : 0;
		stage_turn(s);
		if (i < 1000)
			continue;
		n = recv(fd, bytes, sizeof(bytes), 0);
		for (ssize_t k = 0; k < n; k++)
			heard += bytes[k] == '\n';
		read += n > 0 ? (size_t)n : 0;
	}
	assert_true(read > (size_t)CALLS * 16000);
}

/* Descriptors that are sent */

static ssize_t send_rights(int to, int fd, size_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 253)];
	} control = { 0 };
	char line[] = PING "\n";
	struct iovec bytes = { line, strlen(line) };
	struct msghdr m = { .msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * n) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * n);
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(h) + i * sizeof(int), &fd, sizeof(int));
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

/* As a kernel has it that lets everyone send them. */
static void take_rights(const struct stage *s)
{
	enum { PASSRIGHTS = 83 };

	(void)setsockopt(s->listener, SOL_SOCKET, PASSRIGHTS, &(int){ 1 }, sizeof(int));
}

static void test_descriptors(void **state)
{
	struct stage *s = *state;
	auto_fd other = stage_connect(s);

	is_answered(s, other);
	for (int i = 0; i < 4; i++) {
		auto_fd fd = -1;
		size_t before;

		if (i == 2)
			take_rights(s);
		fd = stage_connect(s);
		before = count_fds();
		if (send_rights(fd, 0, i % 2 ? 253 : 1) < 0) {
			assert_int_equal(errno, EPERM);
			continue;
		}
		hears(s, fd, "descriptors cannot be sent");
		assert_null(hear(s, fd));
		assert_int_equal(count_fds(), before);
		is_answered(s, other);
	}
}

/* A socket whose last close waits, as long as its owner likes, for somebody who never reads. */
static int lingering_socket(int *ret_other)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger hour = { 1, 3600 };
	auto_fd listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(to);
	static char bytes[1 << 16];

	assert_int_equal(bind(listener, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&to, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	*ret_other = accept(listener, NULL, NULL);
	assert_true(*ret_other >= 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)), 0);
	return fd;
}

static void test_a_descriptor_that_lingers(void **state)
{
	struct stage *s = *state;
	auto_fd fd = -1, other = stage_connect(s), reader = -1;
	int lingers = lingering_socket(&reader);

	take_rights(s);
	fd = stage_connect(s);
	stage_turn(s);
	assert_true(send_rights(fd, lingers, 1) > 0);
	/* The one that is under way is the last. */
	fd_close(&lingers);
	is_answered(s, other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_make, stage_remove)
	const struct CMUnitTest tests[] = {
		TEST(test_calls_of_one_process),
		TEST(test_calls_of_many_processes),
		TEST(test_calls_that_are_left),
		TEST(test_a_full_monitor),
		TEST(test_pipelined_pings),
		TEST(test_lines_without_calls),
		TEST(test_connections_of_one_process),
		TEST(test_connections_of_many_processes),
		TEST(test_no_more_descriptors),
		TEST(test_bytes_of_one_process),
		TEST(test_a_client_that_reads_late),
		TEST(test_descriptors),
		TEST(test_a_descriptor_that_lingers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
