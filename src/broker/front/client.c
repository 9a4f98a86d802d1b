/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections. Of a client only as much is read as can be worked on: a line that is being worked
 * on keeps the next in the socket, and only the program that sends them waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/front/internal.h"

enum { READ_BYTES = 64 << 10, KEEP_BYTES = 64 << 10 };

void client_charge(struct client *c, size_t before, size_t now)
{
	c->held += now - before;
	c->front->bytes += now - before;
}

void client_later(struct client *c)
{
	if (c->is_ready)
		return;
	c->is_ready = true;
	c->next_ready = c->front->ready;
	c->front->ready = c;
}

static void client_unlink(struct client *c)
{
	struct front *f = c->front;

	*(c->previous ? &c->previous->next : &f->first) = c->next;
	*(c->next ? &c->next->previous : &f->last) = c->previous;
	c->next = c->previous = NULL;
}

static void client_link_last(struct client *c)
{
	struct front *f = c->front;

	c->previous = f->last;
	*(f->last ? &f->last->next : &f->first) = c;
	f->last = c;
}

/* Out of the list of those that are ready: it is short. */
static void client_forget_ready(struct client *c)
{
	for (struct client **at = &c->front->ready; c->is_ready && *at; at = &(*at)->next_ready) {
		if (*at == c) {
			*at = c->next_ready;
			return;
		}
	}
}

void client_free(struct client *c)
{
	struct front *f = c->front;
	int fd = c->watcher.fd;

	loop_remove(f->loop, &c->watcher);
	loop_stop(f->loop, &c->stall);
	client_unlink(c);
	client_forget_ready(c);
	f->n_clients--;
	/* Its calls stay with the monitor until they are answered. */
	if (c->feeding && c->feeding->waiting == 0)
		exchange_abandon(c->feeding);
	for (size_t i = 0; i < FRONT_CALLS_MAX && c->calls > 0; i++) {
		struct exchange *x = f->pending[i].exchange;

		if (x && x->client == c)
			exchange_abandon(x);
	}
	client_charge(c, c->in.len + c->out.len, 0);
	buffer_deinit(&c->in);
	buffer_deinit(&c->out);
	if (fd >= 0)
		(void)close(fd);
	free(c);
}

/* Writing */

/* Negative: the peer has closed it. */
static int client_write(struct client *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->watcher.fd, c->out.data + c->sent, c->out.len - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->sent += (size_t)n;
		loop_stop(c->front->loop, &c->stall);
	}
	client_charge(c, c->out.len, 0);
	c->sent = 0;
	if (c->out.cap > KEEP_BYTES)
		buffer_deinit(&c->out);
	else
		buffer_clear(&c->out);
	return 0;
}

/* Reading */

/* 1: a line was taken up, or an empty one left out. 0: there is none yet. */
static int client_take_line(struct client *c)
{
	const size_t len = c->in.len - c->start;
	const char *begin, *end;
	size_t n;
	int r = 0;

	if (len == c->scanned)
		return 0;
	begin = c->in.data + c->start;
	end = memchr(begin + c->scanned, '\n', len - c->scanned);
	c->scanned = end ? 0 : len;
	if (!end)
		return len > RPC_LINE_MAX ? -EMSGSIZE : 0;
	n = (size_t)(end - begin);
	if (n > RPC_LINE_MAX)
		return -EMSGSIZE;
	loop_stop(c->front->loop, &c->stall);
	if (n > 0)
		r = exchange_new(c, begin, n);
	c->start += n + 1;
	return r < 0 ? r : 1;
}

/* What was taken is removed once it is much, or all. */
static void client_compact(struct client *c)
{
	const size_t before = c->in.len;

	if (c->start == 0 || (c->start < c->in.len && c->start < READ_BYTES))
		return;
	c->in.len -= c->start;
	memmove(c->in.data, c->in.data + c->start, c->in.len);
	c->start = 0;
	client_charge(c, before, c->in.len);
	if (c->in.len == 0 && c->in.cap > KEEP_BYTES)
		buffer_deinit(&c->in);
}

static int client_read(struct client *c)
{
	static char room[READ_BYTES];
	const size_t before = c->in.len;
	ssize_t n = recv(c->watcher.fd, room, sizeof(room), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0) {
		c->ended = true;
		return 0;
	}
	buffer_add(&c->in, room, (size_t)n);
	if (c->in.failed)
		return -ENOMEM;
	client_charge(c, before, c->in.len);
	/* It is not silent. */
	client_unlink(c);
	client_link_last(c);
	return 1;
}

/* Working */

static bool client_is_clogged(const struct client *c)
{
	return c->out.len - c->sent > FRONT_OUT_MAX;
}

/* Lines that are there, up to what one turn allows. */
static int client_take_up(struct client *c)
{
	unsigned calls = FRONT_TURN_CALLS_MAX;

	while (calls > 0 && !client_is_clogged(c) && !c->out.failed) {
		int r;

		if (!c->feeding) {
			r = client_take_line(c);
			if (r <= 0)
				return r;
		}
		if (!c->feeding)
			continue;
		r = exchange_feed(c->feeding, &calls);
		if (r == 1)
			c->feeding = NULL;
		else if (r < 0 || calls > 0)
			return r;
	}
	if (calls == 0)
		client_later(c);
	return c->out.failed ? -ENOMEM : 0;
}

/* What it waits for now; and for how long at most. */
static int client_wait(struct client *c)
{
	const bool writes = c->sent<c->out.len, is_part = c->in.len> c->start && !c->feeding;
	const bool reads = !c->ended && !c->feeding && !client_is_clogged(c);
	struct loop *l = c->front->loop;

	if ((writes || (is_part && reads)) && c->stall.place == 0 &&
		loop_start(l, &c->stall, c->front->o.stall_ms) < 0)
		return -ENOMEM;
	return loop_change(l, &c->watcher, (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0));
}

/* It said all, and has heard all. */
static bool client_is_done(const struct client *c)
{
	return c->ended && !c->feeding && c->calls == 0 && c->sent == c->out.len;
}

/* The last words to a client whose line is too long to be answered by its id. */
static void client_complain(struct client *c)
{
	const struct rpc_refusal why = { .class = RPC_REQUEST,
		.message = "the line is too long",
		.hint = "a line has at most 8 MiB" };
	const size_t before = c->out.len;

	rpc_print_refusal(&c->out, NULL, false, &why);
	buffer_addc(&c->out, '\n');
	client_charge(c, before, c->out.len);
	if (!c->out.failed)
		(void)client_write(c);
}

void client_work(struct client *c)
{
	int r = client_take_up(c);

	client_compact(c);
	if (r == -EMSGSIZE)
		client_complain(c);
	if (r == 0)
		r = client_write(c);
	/* A last line without its newline is none. */
	if (r == 0 && client_is_done(c) && !c->is_ready)
		r = -EPIPE;
	if (r == 0)
		r = client_wait(c);
	if (r < 0)
		client_free(c);
}

static void client_on_ready(struct watcher *w, uint32_t events)
{
	struct client *c = container_of(w, struct client, watcher);
	int r = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = client_read(c);
	/* Both directions are closed: no answer can be read. */
	if (events & (EPOLLHUP | EPOLLERR) && r == 0 && c->ended)
		r = -EPIPE;
	if (r < 0)
		client_free(c);
	else
		client_work(c);
}

/* Half a line, or answers that are not read. */
static void client_on_stall(struct timer *t)
{
	client_free(container_of(t, struct client, stall));
}

int client_new(struct front *f, int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	socklen_t len = sizeof(c->peer);
	int r;

	if (!c)
		return -ENOMEM;
	c->front = f;
	c->watcher = (struct watcher){ .ready = client_on_ready, .fd = -1 };
	c->stall = (struct timer){ .expired = client_on_stall };
	r = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &len) < 0 ? -errno : 0;
	if (r == 0)
		r = loop_add(f->loop, &c->watcher, fd, EPOLLIN);
	if (r < 0) {
		free(c);
		return r;
	}
	client_link_last(c);
	f->n_clients++;
	return 0;
}
