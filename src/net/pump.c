/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum {
	COPY_BYTES = 16 << 10,
	PIPE_BYTES = 512 << 10,
	PIPES_KEPT = 16,
	MOVES_MAX = 8, /* of one stream, before others have their pump_turn */
};

struct pump_room {
	struct loop *loop;
	int pipes[PIPES_KEPT][2];
	size_t n_pipes;
	char copy[COPY_BYTES];
};

int pump_room_new(struct pump_room **ret, struct loop *l)
{
	struct pump_room *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->loop = l;
	*ret = r;
	return 0;
}

static void pump_close_pipe(int pipe[2])
{
	fd_close(&pipe[0]);
	fd_close(&pipe[1]);
}

void pump_room_free(struct pump_room *r)
{
	if (!r)
		return;
	while (r->n_pipes > 0)
		pump_close_pipe(r->pipes[--r->n_pipes]);
	free(r);
}

/* Pipes. */

static int pump_lend_pipe(struct pump_room *r, struct pump_stream *s)
{
	if (s->pipe[0] >= 0)
		return 0;
	if (r->n_pipes > 0) {
		r->n_pipes--;
		s->pipe[0] = r->pipes[r->n_pipes][0];
		s->pipe[1] = r->pipes[r->n_pipes][1];
		return 0;
	}
	if (pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		s->pipe[0] = s->pipe[1] = -1;
		return -errno;
	}
	/* A smaller one is slower, nothing else. */
	(void)fcntl(s->pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

/* An empty one goes back; one with something in it is of no use to others. */
static void pump_return_pipe(struct pump_room *r, struct pump_stream *s)
{
	if (s->pipe[0] < 0)
		return;
	if (s->in_pipe > 0 || r->n_pipes == PIPES_KEPT) {
		pump_close_pipe(s->pipe);
		s->in_pipe = 0;
		return;
	}
	r->pipes[r->n_pipes][0] = fd_take(&s->pipe[0]);
	r->pipes[r->n_pipes++][1] = fd_take(&s->pipe[1]);
}

/* What was read and not yet taken by the sink. */

static size_t pump_pending(const struct pump_stream *s)
{
	return s->in_pipe + s->n_kept;
}

static void pump_drop_pending(struct pump_room *r, struct pump_stream *s)
{
	pump_return_pipe(r, s);
	free(s->kept);
	s->kept = NULL;
	s->n_kept = 0;
}

/* In memory: a pipe may be had no more, or be too small for it. */
static int pump_keep(struct pump_stream *s, const void *data, size_t len)
{
	s->kept = malloc(len);
	if (!s->kept)
		return -ENOMEM;
	memcpy(s->kept, data, len);
	s->n_kept = len;
	s->blocked = true;
	return 0;
}

/* One stream. Each step: 1 if something moved, 0 if nothing can now, negative if it is broken. */

static int pump_result(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : n < 0 ? -errno : (int)n;
}

static int pump_drain(struct pump_stream *s, int to)
{
	int n = pump_result(s->n_kept > 0 ? send(to, s->kept, s->n_kept, MSG_NOSIGNAL)
					  : splice(s->pipe[0], NULL, to, NULL, s->in_pipe,
						    SPLICE_F_MOVE | SPLICE_F_NONBLOCK));

	if (n == -EAGAIN) {
		s->blocked = true;
		return 0;
	}
	if (n <= 0)
		return n < 0 ? n : -EPIPE;
	if (s->n_kept == 0) {
		s->in_pipe -= (size_t)n;
		return 1;
	}
	s->n_kept -= (size_t)n;
	memmove(s->kept, s->kept + n, s->n_kept);
	if (s->n_kept == 0) {
		free(s->kept);
		s->kept = NULL;
	}
	return 1;
}

/* The number of bytes read, and *ret_sink is what the sink said of them. */
static int pump_copy(
	struct pump_room *r, struct pump_stream *s, int from, int to, size_t max, int *ret_sink)
{
	size_t size = max < COPY_BYTES ? max : COPY_BYTES;
	int n = pump_result(recv(from, r->copy, size, 0));
	int sent;

	if (n <= 0)
		return n;
	s->bulk = n == COPY_BYTES;
	s->dry = (size_t)n < size;
	sent = pump_result(send(to, r->copy, (size_t)n, MSG_NOSIGNAL));
	if (sent == -EAGAIN)
		sent = 0;
	if (sent < 0)
		*ret_sink = sent;
	else if (sent < n)
		*ret_sink = pump_keep(s, r->copy + sent, (size_t)(n - sent));
	return n;
}

static void pump_charge(struct pump *p, enum pump_side from, size_t n)
{
	p->streams[from].moved += n;
	if (p->account)
		quota_charge(p->account, from == PUMP_INNER ? n : 0, from == PUMP_INNER ? 0 : n);
}

int pump_give(struct pump *p, enum pump_side from, const void *data, size_t len)
{
	struct pump_stream *s = &p->streams[from];
	int r;

	if (len == 0)
		return 0;
	if (p->account && quota_left(p->account) < len)
		return -EDQUOT;
	r = pump_keep(s, data, len);
	if (r < 0)
		return r;
	s->blocked = false;
	/* They are beside what may pass out of the socket. */
	pump_charge(p, from, len);
	return 0;
}

/* It takes nothing more, and what it said before is all that it says. */
static void pump_break_side(struct pump *p, enum pump_side side, int error)
{
	struct pump_stream *to = &p->streams[!side];

	if (p->error == 0)
		p->error = error;
	p->sides[side].hung_up = true;
	pump_drop_pending(p->room, to);
	to->ended = to->closed = true;
	/* No peer is left to receive the answer that the gate waits for. */
	p->streams[side].waiting = false;
}

static int pump_take(struct pump *p, enum pump_side from, size_t max)
{
	struct pump_stream *s = &p->streams[from];
	int fd = p->sides[from].fd, sink = 0, n;

	if (s->bulk && pump_lend_pipe(p->room, s) == 0) {
		n = pump_result(splice(fd, NULL, s->pipe[1], NULL,
			max < PIPE_BYTES ? max : PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
		s->in_pipe = n > 0 ? (size_t)n : 0;
		s->bulk = n > 0;
	} else {
		n = pump_copy(p->room, s, fd, p->sides[!from].fd, max, &sink);
	}
	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		pump_break_side(p, from, n);
	if (n <= 0) {
		s->ended = true;
		return 1;
	}
	if (s->allowed != UINT64_MAX)
		s->allowed -= (size_t)n;
	pump_charge(p, from, (size_t)n);
	if (sink == -ENOMEM)
		return sink;
	if (sink < 0)
		pump_break_side(p, !from, sink);
	return 1;
}

static int pump_step(struct pump *p, enum pump_side from, bool last)
{
	struct pump_stream *s = &p->streams[from];
	uint64_t left = p->account ? quota_left(p->account) : UINT64_MAX;
	char byte;
	int r;

	if (pump_pending(s) > 0) {
		r = s->blocked ? 0 : pump_drain(s, p->sides[!from].fd);
		if (r >= 0)
			return r;
		pump_break_side(p, !from, r);
		return 1;
	}
	if (s->ended || s->waiting)
		return 0;
	if (s->allowed == 0) {
		r = p->gate ? p->gate(p, from, last && p->error == 0) : -EPERM;
		if (r != -EAGAIN || p->error >= 0)
			return r == -EAGAIN ? 0 : r < 0 ? r : 1;
		/* What was not judged when its side was reset does not pass. */
		s->waiting = false;
		s->ended = true;
		return 1;
	}
	if (left > 0)
		return pump_take(p, from, left < s->allowed ? left : s->allowed);
	/* The quota is used up: that matters once there are more bytes. */
	r = pump_result(recv(p->sides[from].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
	if (r > 0 || r == -EAGAIN)
		return r > 0 ? -EDQUOT : 0;
	if (r < 0)
		pump_break_side(p, from, r);
	s->ended = true;
	return 1;
}

static int pump_run(struct pump *p, enum pump_side from, bool last)
{
	struct pump_stream *s = &p->streams[from];
	int r = 1;

	s->dry = false;
	/* No other event would fetch what the gate holds; epoll reports the end, too. */
	for (int i = 0; r == 1 && (i < MOVES_MAX || s->held) && !(s->dry && !last); i++)
		r = pump_step(p, from, last);
	if (s->in_pipe == 0)
		pump_return_pipe(p->room, s);
	/* Whatever was moved before: nothing would call for it again. */
	if (s->ended && !s->closed && pump_pending(s) == 0) {
		s->closed = true;
		/* The end of one that was reset must not look like an orderly one. */
		if (p->error == 0)
			(void)shutdown(p->sides[!from].fd, SHUT_WR);
	}
	return r < 0 ? r : 0;
}

/* Both. */

static int pump_update(struct pump *p, enum pump_side side)
{
	const struct pump_stream *out = &p->streams[side], *in = &p->streams[!side];
	bool reads = !out->ended && !out->waiting && pump_pending(out) == 0;
	struct loop *l = p->room->loop;
	struct watcher *w = &p->sides[side].watcher;

	if (!p->sides[side].hung_up)
		return loop_change(l, w,
			(reads ? EPOLLIN : 0U) | (reads || out->asks ? EPOLLRDHUP : 0U) |
				(pump_pending(in) > 0 ? EPOLLOUT : 0U));
	/* epoll tells of a side that hung up for ever: it is only heard while it is read. */
	if (!reads)
		loop_remove(l, w);
	else if (w->fd < 0)
		return loop_add(l, w, p->sides[side].fd, EPOLLIN);
	return 0;
}

/* wanted: the streams that may have something to do. */
static void pump_turn(struct pump *p, const bool wanted[2], const bool last[2])
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		if (wanted[i])
			r = pump_run(p, (enum pump_side)i, last[i]);
	/* The answer that the gate had waited for may have come. */
	if (r == 0 && p->streams[PUMP_INNER].held)
		r = pump_run(p, PUMP_INNER, last[PUMP_INNER]);
	/* No client waits for the answer to what the user is asked. */
	for (int i = 0; r == 0 && i < 2; i++)
		r = p->streams[i].asks && last[i] ? -ECONNABORTED : 0;
	for (int i = 0; r == 0 && i < 2; i++)
		r = pump_update(p, (enum pump_side)i);
	if (r < 0 || (p->streams[0].closed && p->streams[1].closed)) {
		pump_stop(p);
		p->done(p, r < 0 ? r : p->error);
	}
}

void pump_again(struct pump *p)
{
	pump_turn(p, (bool[]){ true, true }, (bool[]){ p->sides[0].hung_up, p->sides[1].hung_up });
}

static void pump_on_side(struct pump *p, enum pump_side side, uint32_t events)
{
	const uint32_t plain = EPOLLIN | EPOLLRDHUP;
	bool last[2] = { p->sides[0].hung_up, p->sides[1].hung_up };
	bool both = events & ~plain;

	if (events & EPOLLERR) {
		int error = 0;
		socklen_t len = sizeof(error);

		(void)getsockopt(p->sides[side].fd, SOL_SOCKET, SO_ERROR, &error, &len);
		pump_break_side(p, side, error ? -error : -ECONNRESET);
	}
	if (events & (EPOLLOUT | EPOLLHUP))
		p->streams[!side].blocked = false;
	if (events & EPOLLHUP)
		p->sides[side].hung_up = true;
	last[side] = last[side] || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	pump_turn(p, (bool[]){ both || side == PUMP_INNER, both || side == PUMP_OUTER }, last);
}

static void pump_on_inner(struct watcher *w, uint32_t events)
{
	pump_on_side(container_of(w, struct pump, sides[PUMP_INNER].watcher), PUMP_INNER, events);
}

static void pump_on_outer(struct watcher *w, uint32_t events)
{
	pump_on_side(container_of(w, struct pump, sides[PUMP_OUTER].watcher), PUMP_OUTER, events);
}

int pump_start(struct pump *p, struct pump_room *r, int inner, int outer)
{
	int error = 0;

	p->room = r;
	p->error = 0;
	for (int i = 0; i < 2; i++) {
		p->streams[i] = (struct pump_stream){ .pipe = { -1, -1 } };
		p->streams[i].allowed = p->gate ? 0 : UINT64_MAX;
		p->sides[i].watcher.ready = i == PUMP_INNER ? pump_on_inner : pump_on_outer;
		p->sides[i].watcher.fd = -1;
		p->sides[i].fd = i == PUMP_INNER ? inner : outer;
		p->sides[i].hung_up = false;
	}
	for (int i = 0; error == 0 && i < 2; i++)
		error = loop_add(
			r->loop, &p->sides[i].watcher, p->sides[i].fd, EPOLLIN | EPOLLRDHUP);
	if (error < 0)
		pump_stop(p);
	return error;
}

void pump_stop(struct pump *p)
{
	for (int i = 0; i < 2; i++) {
		loop_remove(p->room->loop, &p->sides[i].watcher);
		pump_drop_pending(p->room, &p->streams[i]);
	}
}

void pump_reset(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
}
