/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients do to a server, as bytes: each step has a client and a deed (bytes in pieces, a
 * descriptor, half a close, a close, silence, reading or not), to a server that repeats lines and
 * lets some of them wait. What is charged is what is held, no more than the room allows after a
 * turn; a client receives its own lines, in order; and no descriptor is left.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "serve/client.h"
#include "serve/peer.h"
#include "serve/room.h"
#include "serve/test/echo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 256, CLIENTS = 4, ROOM_BYTES = 20000, READ_MAX = 4096 };
enum deed { CONNECT, SEND, SEND_RIGHTS, END, CLOSE, RECEIVE, ANSWER, PROBE, DEED_COUNT };

struct side {
	int fd;
	bool is_there, is_tcp;
	struct echo *echo;
	struct buffer said; /* whole, as the lines come back */
	size_t received;
};

static struct serve_room room;
static struct loop *loop;

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* "w…" waits, "l…" is the last. */
static bool echo_take(struct echo *e)
{
	size_t len;
	const char *data = serve_client_input(&e->base, &len);
	const char *end = memchr(data, '\n', len);
	const bool is_last = len && data[0] == 'l';

	if (!end || e->is_waiting || e->base.is_last)
		return false;
	e->is_waiting = data[0] == 'w';
	buffer_add(&e->base.out, data, (size_t)(end - data) + 1);
	if (is_last)
		serve_client_finish(&e->base);
	else
		serve_client_take(&e->base, (size_t)(end - data) + 1);
	return true;
}

static const struct serve_class echo_class = {
	.work = echo_work, .free = echo_free, .is_idle = echo_is_idle, .is_heard_out = true
};

static void side_close(struct side *s)
{
	fd_close(&s->fd);
	buffer_deinit(&s->said);
	s->received = 0;
}

static void side_connect(struct side *s)
{
	struct peer *peer;
	int pair[2];

	side_close(s);
	/* The one before may still be there, for what it said. */
	if (s->is_there)
		echo_free(&s->echo->base);
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	s->fd = pair[0];
	s->is_tcp = false;
	if (serve_room_enter(&room, pair[1], &peer) < 0) {
		require(close(pair[1]) == 0);
		return;
	}
	s->echo = calloc(1, sizeof(*s->echo));
	require(s->echo &&
		serve_client_open(&s->echo->base, &room, peer, pair[1], &echo_class) == 0);
	s->echo->is_there = &s->is_there;
	s->is_there = true;
}

static void side_send(struct side *s, const uint8_t *data, size_t len)
{
	const ssize_t n = len ? send(s->fd, data, len, MSG_NOSIGNAL) : 0;

	if (n > 0)
		buffer_add(&s->said, data, (size_t)n);
}

static void side_send_rights(const struct side *s)
{
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

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.header), &s->fd, sizeof(int));
	(void)sendmsg(s->fd, &m, MSG_NOSIGNAL);
}

/* By TCP an interim answer may stand between. */
static void side_receive(struct side *s)
{
	char received[READ_MAX];
	const ssize_t n = s->fd < 0 ? -1 : recv(s->fd, received, sizeof(received), MSG_DONTWAIT);

	if (n <= 0 || s->is_tcp)
		return;
	require((size_t)n <= s->said.len - s->received &&
		memcmp(received, s->said.data + s->received, (size_t)n) == 0);
	s->received += (size_t)n;
}

static void side_do(struct side *s, enum deed deed, const uint8_t *data, size_t len)
{
	if (deed == CONNECT)
		side_connect(s);
	if (s->fd < 0)
		return;
	if (deed == SEND)
		side_send(s, data, len);
	else if (deed == SEND_RIGHTS)
		side_send_rights(s);
	else if (deed == END)
		(void)shutdown(s->fd, SHUT_WR);
	else if (deed == CLOSE)
		side_close(s);
	else if (deed == RECEIVE)
		side_receive(s);
	else if (deed == PROBE && s->is_there)
		s->is_tcp = s->echo->base.is_tcp = true;
	else if (deed == ANSWER && s->is_there && s->echo->is_waiting) {
		s->echo->is_waiting = false;
		echo_work(&s->echo->base);
	}
}

static void check(const struct side sides[CLIENTS])
{
	size_t bytes = 0, n = 0;

	for (int i = 0; i < CLIENTS; i++) {
		const struct serve_client *c = sides[i].is_there ? &sides[i].echo->base : NULL;

		if (!c)
			continue;
		n++;
		bytes += c->held;
		require(c->held == c->in.len + c->out.len && c->buffered == c->held);
		require(c->start <= c->in.len && c->sent <= c->out.len);
	}
	require(n == room.n_clients && bytes == room.bytes && bytes <= ROOM_BYTES);
}

static void run(struct side sides[CLIENTS], const uint8_t *data, size_t size)
{
	for (int i = 0; i < STEPS_MAX && size >= 2; i++) {
		size_t len = (size_t)(data[0] >> 5) << 8 | data[1];

		len = len < size - 2 ? len : size - 2;
		len = data[0] / CLIENTS % DEED_COUNT == SEND ? len : 0;
		side_do(&sides[data[0] % CLIENTS], data[0] / CLIENTS % DEED_COUNT, data + 2, len);
		require(loop_turn(loop, 0) == 0);
		serve_room_hold_budget(&room);
		check(sides);
		data += 2 + len;
		size -= 2 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct serve_limits limits = {
		.clients = 3, .bytes = ROOM_BYTES, .stall_ms = 60000, .close_ms = 60000
	};
	struct side sides[CLIENTS] = { 0 };
	int before = dup(STDIN_FILENO), after;

	require(before >= 0 && close(before) == 0 && loop_new(&loop) == 0);
	serve_room_init(&room, loop, &limits);
	for (int i = 0; i < CLIENTS; i++)
		sides[i].fd = -1;
	run(sides, data, size);
	serve_room_clear(&room);
	require(room.n_clients == 0 && room.bytes == 0 && link_is_alone(&room.peers));
	for (int i = 0; i < CLIENTS; i++)
		side_close(&sides[i]);
	loop_free(loop);
	after = dup(STDIN_FILENO);
	require(after == before && close(after) == 0);
	return 0;
}
