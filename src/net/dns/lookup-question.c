/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wants to forge an answer must guess our port and the id: the socket is new for each question,
 * connected, so that the kernel drops what does not come from the server, and the id is random.
 * What is not our answer is skipped; after a few such messages a sender is guessing, and the
 * question goes by TCP.
 *
 * After done() nothing of the question may be touched: every function that can end in
 * lookup_question_ask_next() or lookup_question_finish() returns right after it.
 */
#include "net/dns/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/endpoint.h"

enum { STRAYS_MAX = 16, PREFIX = 2, QUERY_MAX = 512, DATAGRAM_MAX = 4096 };

/* Leaves the server that was asked last. */
static void lookup_question_hang_up(struct lookup_question *q)
{
	auto_fd fd = q->watcher.fd;

	loop_remove(q->loop, &q->watcher);
	free(q->message);
	q->message = NULL;
	q->len = q->at = 0;
}

static void lookup_question_finish(struct lookup_question *q, int error)
{
	static const int kept[] = { 0, -ETIMEDOUT, -ENOMEM, -EMFILE, -ENFILE, -ELOOP, -EINVAL };
	size_t i = 0;

	/* What befell a server is not to be taken for what befell the host that was asked for. */
	while (i < ROWS(kept) && kept[i] != error)
		i++;
	lookup_question_stop(q);
	q->done(q, i < ROWS(kept) ? error : -EIO);
}

static void datagram_ready(struct watcher *w, uint32_t events);
static void stream_ready(struct watcher *w, uint32_t events);

/* The socket is the watcher's then. */
static int lookup_question_wait(struct lookup_question *q, int *fd,
	void (*ready)(struct watcher *w, uint32_t events), uint32_t events)
{
	int r;

	q->watcher.ready = ready;
	r = loop_add(q->loop, &q->watcher, *fd, events);
	if (r < 0)
		return r;
	(void)fd_take(fd);
	return loop_start(q->loop, &q->timer, q->config->timeout_ms);
}

static int lookup_question_ask_by_datagram(struct lookup_question *q)
{
	const struct lookup_server *s = q->server;
	uint8_t query[QUERY_MAX];
	auto_fd fd = -1;
	size_t len;

	/* As a new question to every server: an answer of the last one must not pass. */
	if (getrandom(&q->id, sizeof(q->id), 0) != sizeof(q->id))
		return -EIO;
	len = dns_query_write(q->id, q->name, q->type, query, sizeof(query));
	if (len == 0)
		return -EINVAL;
	fd = endpoint_connect(&s->address, s->port, s->zone, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	if (send(fd, query, len, MSG_NOSIGNAL) != (ssize_t)len)
		return -EIO;
	return lookup_question_wait(q, &fd, datagram_ready, EPOLLIN);
}

static int lookup_question_ask_by_stream(struct lookup_question *q)
{
	const struct lookup_server *s = q->server;
	auto_fd fd = -1;

	lookup_question_hang_up(q);
	q->message = malloc(PREFIX + QUERY_MAX);
	if (!q->message)
		return -ENOMEM;
	q->len = dns_query_write(q->id, q->name, q->type, q->message + PREFIX, QUERY_MAX);
	if (q->len == 0)
		return -EINVAL;
	q->message[0] = (uint8_t)(q->len >> 8);
	q->message[1] = (uint8_t)q->len;
	q->len += PREFIX;
	fd = endpoint_connect(&s->address, s->port, s->zone, SOCK_STREAM);
	return fd < 0 ? fd : lookup_question_wait(q, &fd, stream_ready, EPOLLOUT);
}

/* The next server, and the one after it if that cannot even be asked. */
static void lookup_question_ask_next(struct lookup_question *q, int error)
{
	const struct lookup_config *c = q->config;

	q->error = error;
	while (q->turn < c->attempts * c->n_servers) {
		int r;

		lookup_question_hang_up(q);
		q->server = &c->servers[q->turn++ % c->n_servers];
		q->strays = 0;
		r = lookup_question_ask_by_datagram(q);
		if (r == 0)
			return;
		q->error = r;
	}
	lookup_question_finish(q, q->error);
}

static void lookup_question_change_to_stream(struct lookup_question *q)
{
	int r = lookup_question_ask_by_stream(q);

	if (r < 0)
		lookup_question_ask_next(q, r);
}

/* The question has an answer, of which `by_stream` says how it came. */
static void lookup_question_take_answer(struct lookup_question *q, bool by_stream)
{
	if (q->answer.truncated && !by_stream)
		lookup_question_change_to_stream(q);
	else if (q->answer.code == DNS_OK || q->answer.code == DNS_NO_NAME)
		lookup_question_finish(q, 0);
	else
		lookup_question_ask_next(q, -EIO);
}

static void datagram_ready(struct watcher *w, uint32_t events)
{
	struct lookup_question *q = container_of(w, struct lookup_question, watcher);
	uint8_t message[DATAGRAM_MAX];
	ssize_t n = recv(w->fd, message, sizeof(message), MSG_TRUNC);
	int r;

	(void)events;
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			lookup_question_ask_next(q, -errno);
		return;
	}
	r = (size_t)n > sizeof(message)
		    ? -EBADMSG
		    : dns_answer_parse(&q->answer, q->id, q->name, q->type, message, (size_t)n);
	if (r == 0)
		lookup_question_take_answer(q, false);
	else if (r != -EBADMSG)
		lookup_question_ask_next(q, r);
	else if (++q->strays == STRAYS_MAX)
		lookup_question_change_to_stream(q);
}

/* Sends what is left of the question. 1: all of it is on its way. */
static int lookup_question_send_some(struct lookup_question *q)
{
	ssize_t n = send(q->watcher.fd, q->message + q->at, q->len - q->at, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	q->at += (size_t)n;
	if (q->at < q->len)
		return 0;
	/* There is room for a question: enough for the length of the answer. */
	q->at = 0;
	q->len = PREFIX;
	return 1;
}

/* Reads what is there. 1: the answer is whole. */
static int lookup_question_receive_some(struct lookup_question *q)
{
	ssize_t n = recv(q->watcher.fd, q->message + q->at, q->len - q->at, 0);
	uint8_t *grown;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EIO;
	q->at += (size_t)n;
	if (q->at != PREFIX || q->len != PREFIX)
		return q->at == q->len;
	q->len = PREFIX + ((size_t)q->message[0] << 8 | q->message[1]);
	/* A message of no bytes at all is no answer. */
	if (q->len == PREFIX)
		return -EIO;
	grown = realloc(q->message, q->len);
	if (!grown)
		return -ENOMEM;
	q->message = grown;
	return 0;
}

static void stream_ready(struct watcher *w, uint32_t events)
{
	struct lookup_question *q = container_of(w, struct lookup_question, watcher);
	int r;

	(void)events;
	if (w->events == EPOLLOUT) {
		r = lookup_question_send_some(q);
		if (r > 0)
			r = loop_change(q->loop, w, EPOLLIN);
	} else {
		r = lookup_question_receive_some(q);
		if (r > 0) {
			r = dns_answer_parse(&q->answer, q->id, q->name, q->type,
				q->message + PREFIX, q->len - PREFIX);
			if (r == 0) {
				lookup_question_take_answer(q, true);
				return;
			}
		}
	}
	if (r < 0)
		lookup_question_ask_next(q, r);
}

static void lookup_question_timed_out(struct timer *t)
{
	lookup_question_ask_next(container_of(t, struct lookup_question, timer), -ETIMEDOUT);
}

static void lookup_question_begin(struct timer *t)
{
	struct lookup_question *q = container_of(t, struct lookup_question, timer);

	t->expired = lookup_question_timed_out;
	lookup_question_ask_next(q, -EIO);
}

int lookup_question_start(struct lookup_question *q, struct loop *l, const struct lookup_config *c,
	const char *name, enum dns_type type)
{
	q->loop = l;
	q->config = c;
	q->name = name;
	q->type = type;
	q->turn = 0;
	q->watcher.fd = -1;
	q->timer = (struct timer){ .expired = lookup_question_begin };
	return loop_start(l, &q->timer, 0);
}

void lookup_question_stop(struct lookup_question *q)
{
	if (!q->loop)
		return;
	lookup_question_hang_up(q);
	loop_stop(q->loop, &q->timer);
}
