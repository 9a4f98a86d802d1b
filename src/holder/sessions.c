/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "wire/report.h"

struct holder_session {
	struct holder_session *next;
	struct holder_sessions *of;
	uint64_t number;
	uint64_t waits; /* for the answer to that change; 0: for none */
	bool is_new;    /* the program waits until it has what is granted */
	bool has_grants;
	struct watcher watch;
	struct timer patience;
};

static void sessions_drop(struct holder_session *x)
{
	struct holder_session **at = &x->of->first;
	int fd = x->watch.fd;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	x->of->n--;
	if (x->is_new)
		x->of->on_added(x->of->context, x->number);
	loop_remove(x->of->loop, &x->watch);
	loop_stop(x->of->loop, &x->patience);
	fd_close(&fd);
	free(x);
}

/* Gives it what is granted now, and waits for its answer. */
static void sessions_put(struct holder_session *x)
{
	struct holder_sessions *s = x->of;

	if (frame_send(x->watch.fd, FRAME_GRANTS, s->change, s->list.data, s->list.len, NULL, 0) <
			0 ||
		loop_start(s->loop, &x->patience, HOLDER_SESSIONS_ANSWER_MS) < 0) {
		sessions_drop(x);
		return;
	}
	x->waits = s->change;
	x->has_grants = x->has_grants || s->has_grants;
}

/* -ENOTCONN: it has nothing that could enforce it, which only matters of the newest. */
static void sessions_on_granted(struct holder_session *x, const struct refusal *r)
{
	struct holder_sessions *s = x->of;

	if (x->is_new)
		s->on_added(s->context, x->number);
	/* What a session that comes later cannot enforce is not granted there. */
	if (r->error && !x->is_new && s->code == 0 &&
		(r->error != ENOTCONN || x->number == s->last_number)) {
		s->code = r->error == ENOTCONN ? -EOPNOTSUPP : -r->error;
		(void)error_set(&s->why, s->code, NULL, "%s", r->text);
	}
	if (r->error == 0)
		x->has_grants = s->has_grants;
	x->is_new = false;
	x->waits = 0;
	loop_stop(s->loop, &x->patience);
}

static int sessions_take_frame(struct holder_session *x, const struct frame *f)
{
	struct refusal r = { .text = "" };

	if (f->type != FRAME_GRANTS || f->n_fds != 0 || f->id == 0 || f->id > x->of->change ||
		(f->len && refusal_decode(&r, f->body, f->len) < 0))
		return -EPROTO;
	/* Of one before it, which is not waited for any more. */
	if (f->id == x->waits)
		sessions_on_granted(x, &r);
	return 0;
}

static void sessions_ready(struct watcher *w, uint32_t events)
{
	struct holder_session *x = container_of(w, struct holder_session, watch);
	struct holder_sessions *s = x->of;
	int r = frame_receive(w->fd, &s->frame);

	(void)events;
	if (r == 1)
		r = sessions_take_frame(x, &s->frame) < 0 ? 0 : 1;
	frame_deinit(&s->frame);
	if (r != 1 && r != -EAGAIN && r != -EINTR)
		sessions_drop(x);
	s->on_heard(s->context);
}

static void sessions_out_of_patience(struct timer *t)
{
	struct holder_session *x = container_of(t, struct holder_session, patience);
	struct holder_sessions *s = x->of;

	sessions_drop(x);
	s->on_heard(s->context);
}

void holder_sessions_deinit(struct holder_sessions *s)
{
	holder_sessions_drop(s);
	buffer_deinit(&s->list);
	frame_deinit(&s->frame);
}

int holder_sessions_add(struct holder_sessions *s, uint64_t number, int socket)
{
	struct holder_session *x;
	auto_fd fd = socket;

	if (number <= s->last_number || number > INT32_MAX)
		return -EPROTO;
	s->last_number = number;
	x = s->n < HOLDER_SESSIONS_MAX ? calloc(1, sizeof(*x)) : NULL;
	if (x)
		*x = (struct holder_session){ .of = s,
			.number = number,
			.watch.ready = sessions_ready,
			.patience.expired = sessions_out_of_patience };
	/* It gets no grants. */
	if (!x || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
		loop_add(s->loop, &x->watch, fd, EPOLLIN) < 0) {
		free(x);
		s->on_added(s->context, number);
		return 0;
	}
	(void)fd_take(&fd);
	x->next = s->first;
	s->first = x;
	s->n++;
	if (!s->has_grants) {
		s->on_added(s->context, number);
		return 0;
	}
	x->is_new = true;
	sessions_put(x);
	return 0;
}

/* Those that never had any need no empty list. */
void holder_sessions_put(struct holder_sessions *s, struct buffer *list, bool has_grants)
{
	struct holder_session *next;

	buffer_deinit(&s->list);
	s->list = *list;
	*list = (struct buffer){ 0 };
	s->has_grants = has_grants;
	s->change++;
	s->code = 0;
	s->why = (struct error){ 0 };
	for (struct holder_session *x = s->first; x; x = next) {
		next = x->next;
		if (s->has_grants || x->has_grants)
			sessions_put(x);
	}
}

bool holder_sessions_are_settled(const struct holder_sessions *s)
{
	for (const struct holder_session *x = s->first; x; x = x->next)
		if (x->waits && !x->is_new)
			return false;
	return true;
}

void holder_sessions_answer(
	struct holder_sessions *s, uint64_t number, uint64_t id, const struct answer *a)
{
	struct holder_session *x = s->first;
	auto_buffer body = { 0 };

	while (x && x->number != number)
		x = x->next;
	if (x && answer_encode(a, &body) == 0 &&
		frame_send(x->watch.fd, FRAME_ANSWER, id, body.data, body.len, NULL, 0) < 0)
		sessions_drop(x);
}

void holder_sessions_stop(struct holder_sessions *s)
{
	struct holder_session *next;

	for (struct holder_session *x = s->first; x; x = next) {
		next = x->next;
		if (frame_send(x->watch.fd, FRAME_STOP, 0, NULL, 0, NULL, 0) < 0)
			sessions_drop(x);
	}
}

void holder_sessions_drop(struct holder_sessions *s)
{
	while (s->first)
		sessions_drop(s->first);
}
