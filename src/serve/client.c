/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/peer.h"
#include "serve/room.h"

enum {
	CLIENT_READ = 64 << 10,
	CLIENT_KEEP = 16 << 10, /* a buffer that is empty keeps no more */
	CLIENT_RIGHTS = 253,    /* descriptors that the kernel lets one message have */
};

/* Charging */

void serve_client_charge(struct serve_client *c, size_t before, size_t now)
{
	c->held += now - before;
	c->peer->bytes += now - before;
	c->room->bytes += now - before;
}

void serve_client_settle(struct serve_client *c)
{
	const size_t now = c->in.len + c->out.len;

	serve_client_charge(c, c->buffered, now);
	c->buffered = now;
}

static void serve_client_empty(struct buffer *b)
{
	if (b->cap > CLIENT_KEEP)
		buffer_deinit(b);
	else
		buffer_clear(b);
}

/* Reading */

void serve_client_take(struct serve_client *c, size_t len)
{
	loop_stop(c->room->loop, &c->timer);
	c->start += len;
	c->scanned = 0;
}

void serve_client_finish(struct serve_client *c)
{
	serve_client_take(c, c->in.len - c->start);
	c->is_deaf = c->is_last = true;
}

/* What was taken is removed once it is much, or all. */
static void serve_client_compact(struct serve_client *c)
{
	if (c->start == c->in.len) {
		serve_client_empty(&c->in);
	} else if (c->start >= CLIENT_READ) {
		c->in.len -= c->start;
		memmove(c->in.data, c->in.data + c->start, c->in.len);
	} else {
		return;
	}
	c->start = 0;
}

/*
 * Closes what a message brought. A socket that lingers would keep us in close() until its other
 * side reads, as long as its owner likes: so it must not linger.
 */
static bool serve_client_drop_rights(const struct msghdr *m)
{
	static const struct linger none;
	bool any = m->msg_flags & MSG_CTRUNC;

	for (const struct cmsghdr *h = CMSG_FIRSTHDR(m); h;
		h = CMSG_NXTHDR((struct msghdr *)m, (struct cmsghdr *)h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		any = true;
		for (size_t at = 0; at + sizeof(int) <= h->cmsg_len - CMSG_LEN(0);
			at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + at, sizeof(fd));
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
			(void)close(fd);
		}
	}
	return any;
}

/* -EBADMSG: there were descriptors, too. */
static ssize_t serve_client_receive(int fd, void *room, size_t size)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * CLIENT_RIGHTS)];
	} control;
	struct iovec bytes = { room, size };
	struct msghdr m = { .msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	return serve_client_drop_rights(&m) ? -EBADMSG : n;
}

/* 1: there were bytes. */
static int serve_client_read(struct serve_client *c)
{
	static char room[CLIENT_READ];
	ssize_t n = serve_client_receive(c->watcher.fd, room, sizeof(room));

	if (n < 0)
		return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
	if (n == 0) {
		c->has_ended = true;
		return 0;
	}
	if (!c->is_deaf)
		buffer_add(&c->in, room, (size_t)n);
	if (c->in.failed)
		return -ENOMEM;
	serve_client_settle(c);
	/* It is not silent. */
	link_remove(&c->link);
	link_append(&c->room->clients, &c->link);
	return 1;
}

/* Writing */

static int serve_client_send(struct serve_client *c)
{
	for (;;) {
		ssize_t n;

		if (serve_client_is_written(c)) {
			c->sent = 0;
			serve_client_empty(&c->out);
			if (c->class->refill)
				c->class->refill(c);
			if (c->out.failed)
				return -ENOMEM;
			if (c->out.len == 0)
				return 0;
		}
		n = send(c->watcher.fd, c->out.data + c->sent, c->out.len - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->sent += (size_t)n;
		loop_stop(c->room->loop, &c->timer);
	}
}

int serve_client_write(struct serve_client *c)
{
	int r = c->out.failed || c->in.failed ? -ENOMEM : serve_client_send(c);

	serve_client_compact(c);
	serve_client_settle(c);
	return r;
}

/* Waiting */

static int serve_client_wait_time(struct serve_client *c, const struct serve_wait *w)
{
	const struct serve_limits *limits = &c->room->limits;
	const bool stalls = w->is_part || !serve_client_is_written(c);
	const uint64_t ms = c->is_shut ? limits->close_ms
			    : stalls   ? limits->stall_ms
				       : limits->idle_ms;
	struct loop *l = c->room->loop;

	if (w->is_busy || ms == 0 || (c->timer.place && c->timer.due_ms > loop_now(l) + ms))
		loop_stop(l, &c->timer);
	/* Each byte more does not prolong it. */
	if (w->is_busy || ms == 0 || c->timer.place)
		return 0;
	return loop_start(l, &c->timer, ms);
}

int serve_client_wait(struct serve_client *c, const struct serve_wait *w)
{
	const bool is_over = serve_client_is_written(c) && !w->is_unfinished;
	int r;

	if (is_over && c->has_ended)
		return -EPIPE;
	if (is_over && c->is_last && !c->is_shut) {
		c->is_shut = true;
		if (shutdown(c->watcher.fd, SHUT_WR) < 0)
			return -errno;
	}
	r = serve_client_wait_time(c, w);
	if (r < 0)
		return r;
	return loop_change(c->room->loop, &c->watcher,
		(c->has_ended            ? 0
			: w->reads       ? EPOLLIN
			: w->watches_end ? EPOLLRDHUP
					 : 0) |
			(serve_client_is_written(c) ? 0 : EPOLLOUT));
}

/* It sends nothing more, while it waits for an answer. */
static void serve_client_end(struct serve_client *c)
{
	c->has_ended = true;
	if (c->is_tcp)
		buffer_adds(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void serve_client_on_ready(struct watcher *w, uint32_t events)
{
	struct serve_client *c = container_of(w, struct serve_client, watcher);
	const bool is_cut = events & (EPOLLHUP | EPOLLERR);
	int r = 0;

	if (is_cut && !c->class->is_heard_out)
		r = -EPIPE;
	else if (is_cut || events & EPOLLIN)
		r = serve_client_read(c);
	else if (events & EPOLLRDHUP)
		serve_client_end(c);
	if (r == -EBADMSG && c->class->on_rights)
		c->class->on_rights(c);
	/* Both directions are closed: no answer can be read. */
	if (is_cut && r == 0 && c->has_ended)
		r = -EPIPE;
	if (r < 0)
		c->class->free(c);
	else
		c->class->work(c);
}

/* Half a request, an answer that is not read, or silence. */
static void serve_client_on_timer(struct timer *t)
{
	struct serve_client *c = container_of(t, struct serve_client, timer);

	c->class->free(c);
}

int serve_client_open(struct serve_client *c, struct serve_room *r, struct peer *peer, int fd,
	const struct serve_class *class)
{
	int error;

	*c = (struct serve_client){ .class = class,
		.room = r,
		.peer = peer,
		.watcher = { .ready = serve_client_on_ready, .fd = -1 },
		.timer = { .expired = serve_client_on_timer } };
	link_init(&c->link);
	error = serve_client_wait_time(c, &(struct serve_wait){ .reads = true });
	if (error == 0)
		error = loop_add(r->loop, &c->watcher, fd, EPOLLIN);
	if (error < 0) {
		loop_stop(r->loop, &c->timer);
		return error;
	}
	link_append(&r->clients, &c->link);
	r->n_clients++;
	return 0;
}

void serve_client_close(struct serve_client *c)
{
	const int fd = c->watcher.fd;

	loop_remove(c->room->loop, &c->watcher);
	loop_stop(c->room->loop, &c->timer);
	link_remove(&c->link);
	c->room->n_clients--;
	buffer_deinit(&c->in);
	buffer_deinit(&c->out);
	serve_client_settle(c);
	peer_put_connection(c->peer);
	if (fd >= 0)
		(void)close(fd);
}
