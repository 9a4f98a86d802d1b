/* SPDX-License-Identifier: Apache-2.0 */
/* A server that repeats lines, between real sockets; "last" and "wait" are words of its own. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "serve/client.h"
#include "serve/peer.h"
#include "serve/room.h"
#include "serve/test/echo.h"
#include "test/fds.h"

enum { TURNS_MAX = 100000 };

static struct serve_room room;
static struct loop *loop;

static void echo_refill(struct serve_client *c)
{
	struct echo *e = container_of(c, struct echo, base);

	if (e->refills > 0) {
		e->refills--;
		buffer_adds(&c->out, "more\n");
	}
}

static bool echo_take(struct echo *e)
{
	size_t len;
	const char *data = serve_client_input(&e->base, &len);
	const char *end = memchr(data, '\n', len);

	if (!end || e->is_waiting || e->base.is_last)
		return false;
	if (strncmp(data, "wait\n", 5) == 0)
		e->is_waiting = true;
	else
		buffer_add(&e->base.out, data, (size_t)(end - data) + 1);
	if (strncmp(data, "last\n", 5) == 0)
		serve_client_finish(&e->base);
	else
		serve_client_take(&e->base, (size_t)(end - data) + 1);
	return true;
}

static const struct serve_class echo_class = {
	.work = echo_work, .free = echo_free, .is_idle = echo_is_idle, .refill = echo_refill
};

static const struct serve_limits limits = {
	.clients = 3, .bytes = 200000, .stall_ms = 60000, .close_ms = 60000, .keeps_busy = true
};

static int setup(void **state)
{
	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	serve_room_init(&room, loop, &limits);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	serve_room_clear(&room);
	assert_int_equal(room.n_clients, 0);
	assert_int_equal(room.bytes, 0);
	assert_true(link_is_alone(&room.peers));
	loop_free(loop);
	return 0;
}

/* Our end; *ret: the server's client, or NULL if there was no place. */
static int enter(struct echo **ret)
{
	struct echo *e = calloc(1, sizeof(*e));
	struct peer *peer;
	int pair[2];

	assert_non_null(e);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	*ret = NULL;
	if (serve_room_enter(&room, pair[1], &peer) < 0) {
		free(e);
		(void)close(pair[1]);
		return pair[0];
	}
	assert_int_equal(serve_client_open(&e->base, &room, peer, pair[1], &echo_class), 0);
	*ret = e;
	return pair[0];
}

static void turn(void)
{
	assert_int_equal(loop_turn(loop, 0), 0);
	serve_room_hold_budget(&room);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn();
}

static void hears(int fd, const char *text)
{
	char heard[64] = "";

	assert_int_equal(recv(fd, heard, sizeof(heard) - 1, 0), strlen(text));
	assert_string_equal(heard, text);
}

/* With as many turns as that takes. */
static void is_closed(int fd)
{
	char byte;

	for (int i = 0; i < TURNS_MAX; i++) {
		assert_int_equal(loop_turn(loop, 1), 0);
		if (recv(fd, &byte, 1, 0) == 0)
			return;
	}
	fail_msg("it is not closed");
}

static void test_lines(void **state)
{
	struct echo *e;
	auto_fd fd = enter(&e);

	(void)state;
	say(fd, "a\nb");
	hears(fd, "a\n");
	assert_int_equal(e->base.held, 3);
	assert_int_equal(e->base.peer->bytes, 3);
	assert_int_equal(room.bytes, 3);
	say(fd, "c\n");
	hears(fd, "bc\n");
	assert_int_equal(room.bytes, 0);
	e->refills = 2;
	say(fd, "d\n");
	hears(fd, "d\nmore\nmore\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	is_closed(fd);
	assert_int_equal(room.n_clients, 0);
}

/* What comes behind the last answer is thrown away until the client closes. */
static void test_last(void **state)
{
	static char bytes[100000];
	struct echo *e;
	auto_fd fd = enter(&e);

	(void)state;
	memset(bytes, '\n', sizeof(bytes));
	say(fd, "last\nb\n");
	hears(fd, "last\n");
	assert_int_equal(recv(fd, bytes, 1, 0), 0);
	assert_true(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0);
	turn();
	assert_int_equal(room.bytes, 0);
	assert_int_equal(room.n_clients, 1);
	fd_close(&fd);
	turn();
	assert_int_equal(room.n_clients, 0);
}

/* Who waits for an answer gets it, though it sends no more. */
static void test_half_closed(void **state)
{
	struct echo *e;
	auto_fd fd = enter(&e);

	(void)state;
	say(fd, "wait\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn();
	assert_int_equal(room.n_clients, 1);
	assert_true(e->base.has_ended);
	buffer_adds(&e->base.out, "done\n");
	e->is_waiting = false;
	echo_work(&e->base);
	hears(fd, "done\n");
	is_closed(fd);
}

/* By TCP it is probed first; once it has closed the connection, it is let go. */
static void test_probe(void **state)
{
	struct echo *e;
	auto_fd fd = enter(&e);

	(void)state;
	e->base.is_tcp = true;
	say(fd, "wait\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn();
	hears(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	fd_close(&fd);
	turn();
	assert_int_equal(room.n_clients, 0);
}

static void test_time(void **state)
{
	struct echo *e;
	auto_fd part = -1, idle = -1, waiting = -1;

	(void)state;
	room.limits.stall_ms = 1;
	part = enter(&e);
	say(part, "half");
	is_closed(part);
	/* Silence is no stall; but it may have an end, too. */
	assert_int_equal(room.n_clients, 0);
	waiting = enter(&e);
	say(waiting, "wait\n");
	room.limits.idle_ms = 1;
	idle = enter(&e);
	is_closed(idle);
	assert_int_equal(room.n_clients, 1);
}

/* A place for a newcomer: the longest silent goes, and none that waits. */
static void test_places(void **state)
{
	struct echo *e[4];
	int fds[4];
	char byte;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		fds[i] = enter(&e[i]);
	say(fds[0], "wait\n");
	say(fds[1], "a\n");
	hears(fds[1], "a\n");
	fds[3] = enter(&e[3]);
	assert_non_null(e[3]);
	assert_int_equal(recv(fds[2], &byte, 1, 0), 0);
	(void)close(fds[2]);
	say(fds[1], "wait\n");
	say(fds[3], "wait\n");
	fds[2] = enter(&e[2]);
	assert_null(e[2]);
	/* Where those may go, too, nobody else is there to lose one to this process. */
	assert_int_equal(room.n_clients, 3);
	for (size_t i = 0; i < ROWS(fds); i++)
		(void)close(fds[i]);
}

/* Who holds most goes. */
static void test_budget(void **state)
{
	static char bytes[150000];
	struct echo *small, *large;
	auto_fd a = enter(&small), b = enter(&large);

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	room.limits.bytes = 100000;
	say(a, "half");
	for (int i = 0; i < TURNS_MAX && room.n_clients == 2; i++) {
		ssize_t n = send(b, bytes, sizeof(bytes), MSG_NOSIGNAL);

		assert_true(n > 0 || errno == EAGAIN);
		turn();
	}
	assert_int_equal(room.n_clients, 1);
	assert_int_equal(room.bytes, 4);
	say(a, "\n");
	hears(a, "half\n");
}

/* Descriptors are closed, and so is whoever sends them. */
static void test_rights(void **state)
{
	struct echo *e;
	auto_fd fd = enter(&e);
	const size_t before = count_fds();
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char line[] = "a\n";
	struct iovec text = { line, 2 };
	struct msghdr m = { .msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	(void)state;
	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.header), &(int){ STDERR_FILENO }, sizeof(int));
	assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), 2);
	is_closed(fd);
	assert_int_equal(count_fds(), before - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_last),
		TEST(test_half_closed),
		TEST(test_probe),
		TEST(test_time),
		TEST(test_places),
		TEST(test_budget),
		TEST(test_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
