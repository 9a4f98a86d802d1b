/* SPDX-License-Identifier: Apache-2.0 */
#include "net/lent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/frame.h"
#include "wire/lend.h"

enum { LENT_ASKS_MAX = 64 /* before others have their turn */ };

/* A connection, or an answer, that the injector has no room for yet. */
struct lent_waiting {
	struct lent_waiting *next;
	enum frame_type type;
	uint64_t id;
	int fds[2];
	size_t n_fds, len;
	char body[];
};

bool lent_has(const struct net_lent *l, const char *target)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->hosts[i], target) == 0)
			return true;
	return false;
}

bool lent_needs_program(const struct lent_queue *q, const char *target)
{
	const struct net_lent *l = q->lent;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->hosts[i], target) == 0 &&
			(q->by_program[i] || (l->by_program && l->by_program[i])))
			return true;
	return false;
}

/* Sending */

static void lent_drop_first(struct lent_queue *q)
{
	struct lent_waiting *w = q->first;

	q->first = w->next;
	if (!q->first)
		q->end = &q->first;
	q->n--;
	for (size_t i = 0; i < w->n_fds; i++)
		(void)close(w->fds[i]);
	free(w);
}

static void lent_flush(struct lent_queue *q)
{
	while (q->first) {
		const struct lent_waiting *w = q->first;

		if (frame_send_now(q->lent->socket, w->type, w->id, w->body, w->len, w->fds,
			    w->n_fds) == -EAGAIN)
			return;
		lent_drop_first(q);
	}
}

/* For room while something waits, else for what is asked. */
static int lent_watch(struct lent_queue *q)
{
	const uint32_t events = q->first ? EPOLLOUT : q->is_heard ? EPOLLIN : 0U;

	if (q->watcher.fd >= 0 && events)
		return loop_change(q->loop, &q->watcher, events);
	if (q->watcher.fd >= 0)
		loop_remove(q->loop, &q->watcher);
	return events ? loop_add(q->loop, &q->watcher, q->lent->socket, events) : 0;
}

/* Takes the descriptors, if it succeeds. */
static int lent_wait(struct lent_queue *q, enum frame_type type, uint64_t id, const void *body,
	size_t len, const int *fds, size_t n_fds)
{
	struct lent_waiting *w;
	int r;

	if (q->n == LENT_WAITING_MAX)
		return -EAGAIN;
	w = calloc(1, sizeof(*w) + len);
	if (!w)
		return -ENOMEM;
	*w = (struct lent_waiting){ .type = type, .id = id, .n_fds = n_fds, .len = len };
	for (size_t i = 0; i < n_fds; i++)
		w->fds[i] = fds[i];
	memcpy(w->body, body, len);
	*q->end = w;
	q->end = &w->next;
	r = q->n++ == 0 ? lent_watch(q) : 0;
	if (r < 0) {
		w->n_fds = 0;
		lent_drop_first(q);
	}
	return r;
}

/* In their order. Takes the descriptors, if it succeeds. */
static int lent_send(struct lent_queue *q, enum frame_type type, uint64_t id, const void *body,
	size_t len, const int *fds, size_t n_fds)
{
	int r = q->first ? -EAGAIN
			 : frame_send_now(q->lent->socket, type, id, body, len, fds, n_fds);

	if (r == -EAGAIN)
		return lent_wait(q, type, id, body, len, fds, n_fds);
	for (size_t i = 0; r == 0 && i < n_fds; i++)
		(void)close(fds[i]);
	return r;
}

/* Asks */

/* Whoever breaks a rule is not heard any more: its requests wait for ever, and leave nowhere. */
static void lent_stop_asks(struct lent_queue *q)
{
	q->is_heard = false;
	(void)lent_watch(q);
}

/* A host of its own, as it was lent. */
static int lent_take_program(struct lent_queue *q, const struct frame *f)
{
	const char *host = f->body;

	if (f->len == 0 || host[f->len - 1] != '\0' || strlen(host) + 1 != f->len)
		return -EPROTO;
	for (size_t i = 0; i < q->lent->n; i++)
		if (strcmp(q->lent->hosts[i], host) == 0) {
			q->by_program[i] = true;
			return 0;
		}
	return -EPROTO;
}

static int lent_take_ask(struct lent_queue *q, const struct frame *f)
{
	struct lend_request request;

	if (!q->asked || lend_request_decode(&request, f->body, f->len) < 0)
		return -EPROTO;
	q->asked(q, f->id, &request);
	return 0;
}

static void lent_take_asks(struct lent_queue *q)
{
	static struct frame f;

	for (int i = 0; i < LENT_ASKS_MAX && q->is_heard && !q->first; i++) {
		int r = frame_receive_now(q->lent->socket, &f);

		if (r == -EAGAIN || r == -EINTR || r == -ENOMEM)
			return;
		r = r != 1 || f.n_fds > 0          ? -EPROTO
		    : f.type == FRAME_LEND_ASK     ? lent_take_ask(q, &f)
		    : f.type == FRAME_LEND_PROGRAM ? lent_take_program(q, &f)
						   : -EPROTO;
		if (r < 0)
			lent_stop_asks(q);
	}
}

void lent_answer(struct lent_queue *q, uint64_t id, const struct lend_answer *a)
{
	auto_buffer body = { 0 };

	if (lend_answer_encode(a, &body) == 0)
		(void)lent_send(q, FRAME_LEND_ANSWER, id, body.data, body.len, NULL, 0);
}

static void lent_on_ready(struct watcher *w, uint32_t events)
{
	struct lent_queue *q = container_of(w, struct lent_queue, watcher);

	(void)events;
	if (q->first) {
		lent_flush(q);
		if (!q->first)
			(void)lent_watch(q);
	} else {
		lent_take_asks(q);
	}
}

/* The queue */

int lent_queue_init(struct lent_queue *q, const struct net_lent *l, struct loop *loop,
	lent_asked *asked, void *context)
{
	*q = (struct lent_queue){ .lent = l,
		.by_program = calloc(l->n + 1, sizeof(*q->by_program)),
		.is_heard = true,
		.asked = asked,
		.context = context,
		.loop = loop,
		.watcher = { .ready = lent_on_ready, .fd = -1 },
		.end = &q->first };
	return q->by_program ? lent_watch(q) : -ENOMEM;
}

void lent_queue_deinit(struct lent_queue *q)
{
	if (!q->loop)
		return;
	loop_remove(q->loop, &q->watcher);
	while (q->first)
		lent_drop_first(q);
	free(q->by_program);
	q->by_program = NULL;
}

int lent_open(struct lent_queue *q, uint64_t id, const struct lend_open *open, int *fd)
{
	auto_buffer body = { 0 };
	int pair[2], fds[2];
	int r = lend_open_encode(open, &body);

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	fds[0] = pair[1];
	fds[1] = *fd;
	r = lent_send(q, FRAME_LEND_OPEN, id, body.data, body.len, fds, 2);
	if (r < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return r;
	}
	*fd = pair[0];
	return 0;
}
