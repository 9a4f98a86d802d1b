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
#include "codec/json-writer.h"

enum {
	READ_BYTES = 64 << 10,
	KEEP_BYTES = 64 << 10,
	RIGHTS_MAX = 253, /* descriptors that the kernel lets one message have */
};

void client_charge(struct client *c, size_t before, size_t now)
{
	c->held += now - before;
	c->peer->bytes += now - before;
	c->front->bytes += now - before;
}

static void client_queue(struct client *c, struct link *list)
{
	link_remove(&c->queue);
	link_append(list, &c->queue);
}

void client_later(struct client *c)
{
	client_queue(c, &c->front->ready);
}

void client_block(struct client *c)
{
	client_queue(c, &c->front->blocked);
}

bool client_is_idle(const struct client *c)
{
	return c->calls == 0 && !c->feeding && !c->has_more;
}

void client_free(struct client *c)
{
	struct front *f = c->front;
	int fd = c->watcher.fd;

	loop_remove(f->loop, &c->watcher);
	loop_stop(f->loop, &c->stall);
	link_remove(&c->link);
	link_remove(&c->queue);
	f->n_clients--;
	exchange_abandon_all(c);
	if (c->has_opened)
		exchange_tell_gone(f, c->number);
	client_charge(c, c->in.len + c->out.len, 0);
	peer_put_connection(c->peer);
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
static int client_take_line(struct client *c, unsigned *work)
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
	*work -= n / FRONT_TURN_BYTES < *work ? (unsigned)(n / FRONT_TURN_BYTES) : *work;
	if (n > 0)
		r = exchange_new(c, begin, n);
	/* One without a call is work, too. */
	if (!c->feeding && *work > 0)
		--*work;
	c->start += n + 1;
	return r < 0 ? r : 1;
}

/* An answer of ours: an object with one member. */
static void client_answer(
	struct client *c, unsigned status, const char *key, const char *text, bool is_last)
{
	const size_t before = c->out.len;
	auto_buffer body = { 0 };
	struct json_writer w = { .out = &body };

	json_open_map(&w, NULL);
	json_put_text(&w, key, text);
	json_end_line(&w);
	http_message_begin(&c->out, status, body.len, is_last);
	buffer_add(&c->out, buffer_text(&body), body.len);
	c->out.failed = c->out.failed || body.failed;
	client_charge(c, before, c->out.len);
}

/* Behind what was refused, nothing is read. */
static void client_refuse_request(struct client *c, const struct http_message *m)
{
	client_answer(c, m->status, "error", m->reason, true);
	c->ended = c->is_refused = true;
	c->start = c->in.len;
	c->scanned = 0;
}

/* The same for a request, which has to wait for the answer to the one before. */
static int client_take_request(struct client *c, unsigned *work)
{
	const size_t len = c->in.len - c->start;
	struct http_message m;
	int r = 0;

	if (len == c->scanned || c->calls > 0 || c->is_refused)
		return 0;
	if (http_message_read(&c->front->guard, c->in.data + c->start, len, &c->scanned, &m) == 0)
		return 0;
	loop_stop(c->front->loop, &c->stall);
	if (m.what == HTTP_REFUSED) {
		client_refuse_request(c, &m);
		return 0;
	}
	*work -= m.body / FRONT_TURN_BYTES < *work ? (unsigned)(m.body / FRONT_TURN_BYTES) : *work;
	if (m.what == HTTP_HEALTH)
		client_answer(c, 200, "status", "ok", false);
	else
		r = exchange_new(c, c->in.data + c->start + m.head, m.body);
	if (!c->feeding && *work > 0)
		--*work;
	c->start += m.head + m.body;
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

/*
 * Closes what a message brought. A socket that lingers would keep us in close() until its other
 * side reads, as long as its owner likes: so it must not linger.
 */
static bool client_drop_rights(const struct msghdr *m)
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
static ssize_t client_receive(int fd, void *room, size_t size)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * RIGHTS_MAX)];
	} control;
	struct iovec bytes = { room, size };
	struct msghdr m = { .msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	return client_drop_rights(&m) ? -EBADMSG : n;
}

static int client_read(struct client *c)
{
	static char room[READ_BYTES];
	const size_t before = c->in.len;
	ssize_t n = client_receive(c->watcher.fd, room, sizeof(room));

	if (n < 0)
		return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
	if (n == 0) {
		c->ended = true;
		return 0;
	}
	buffer_add(&c->in, room, (size_t)n);
	if (c->in.failed)
		return -ENOMEM;
	client_charge(c, before, c->in.len);
	/* It is not silent. */
	link_remove(&c->link);
	link_append(&c->front->clients, &c->link);
	return 1;
}

/* Working */

bool client_is_clogged(const struct client *c)
{
	return c->out.len - c->sent > FRONT_OUT_MAX;
}

/* Lines that are there, up to what one turn allows the client, and the process that it is of. */
static int client_take_up(struct client *c)
{
	unsigned *of_peer = peer_work(c->front, c->peer);
	unsigned work = *of_peer < FRONT_TURN_CALLS_MAX ? *of_peer : FRONT_TURN_CALLS_MAX;
	const unsigned before = work;
	int r = 1;

	while (r > 0 && work > 0 && !client_is_clogged(c) && !c->out.failed) {
		r = c->feeding   ? 1
		    : c->is_http ? client_take_request(c, &work)
				 : client_take_line(c, &work);
		if (r <= 0 || !c->feeding)
			continue;
		r = exchange_feed(c->feeding, &work);
		if (r == 1)
			c->feeding = NULL;
	}
	*of_peer -= before - work;
	c->has_more = r > 0;
	if (r >= 0 && work == 0)
		client_later(c);
	return r < 0 ? r : c->out.failed ? -ENOMEM : 0;
}

/* What it waits for now; and for how long at most. */
static int client_wait(struct client *c)
{
	const bool writes = c->sent<c->out.len, is_part = c->in.len> c->start && !c->feeding;
	const bool is_waiting = c->is_http && c->calls > 0;
	const bool reads =
		!c->ended && !c->feeding && !c->has_more && !client_is_clogged(c) && !is_waiting;
	struct loop *l = c->front->loop;

	if ((writes || (is_part && reads)) && c->stall.place == 0 &&
		loop_start(l, &c->stall, c->front->o.stall_ms) < 0)
		return -ENOMEM;
	return loop_change(l, &c->watcher,
		(reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0) | (is_waiting ? EPOLLRDHUP : 0));
}

/* It said all, and has heard all. */
static bool client_is_done(const struct client *c)
{
	return c->ended && client_is_idle(c) && c->sent == c->out.len;
}

/* The last words to a client whose line cannot be answered by its id. */
static void client_complain(struct client *c, const char *message, const char *hint)
{
	const struct rpc_refusal why = { .class = RPC_REQUEST, .message = message, .hint = hint };
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
	const bool was_clogged = client_is_clogged(c);

	client_compact(c);
	if (r == -EMSGSIZE)
		client_complain(c, "the line is too long", "a line has at most 8 MiB");
	if (r == 0)
		r = client_write(c);
	if (was_clogged && !client_is_clogged(c)) {
		client_later(c);
		exchange_send_words(c->front);
	}
	/* A last line without its newline is none. */
	if (r == 0 && client_is_done(c))
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
	if (r == -EBADMSG)
		client_complain(c, "descriptors cannot be sent", "send one line of text");
	/* Both directions are closed: no answer can be read. By TCP one that has gone looks like
	 * one that sends no more, which no client of HTTP does while it waits. */
	if ((events & (EPOLLHUP | EPOLLERR) && r == 0 && c->ended) || events & EPOLLRDHUP)
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

int client_new(struct front *f, struct peer *peer, int fd, bool is_http)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->front = f;
	c->peer = peer;
	c->is_http = is_http;
	c->number = ++f->n_connected;
	link_init(&c->queue);
	c->watcher = (struct watcher){ .ready = client_on_ready, .fd = -1 };
	c->stall = (struct timer){ .expired = client_on_stall };
	r = loop_add(f->loop, &c->watcher, fd, EPOLLIN);
	if (r < 0) {
		free(c);
		return r;
	}
	link_append(&f->clients, &c->link);
	f->n_clients++;
	return 0;
}
