/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/program/telling.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "wire/frame.h"

/* Without a frame that is read, and in all. */
enum { TELLING_PATIENCE_MS = 1000, TELLING_SLOW_MS = 10 * 1000 };

/* All of this with the lock held. body NULL: only how many are missing. -EAGAIN: not now. */
static int telling_send(struct telling *t, const struct buffer *body)
{
	int r = frame_send(t->socket, FRAME_EVENT, t->lost, body ? body->data : NULL,
		body ? body->len : 0, NULL, 0);

	if (r == 0)
		t->lost = 0;
	else if (r != -EAGAIN)
		t->lost += body != NULL;
	return r;
}

static void telling_drop_first(struct telling *t)
{
	struct telling_event *e = t->first;

	t->first = e->next;
	if (!t->first)
		t->last = NULL;
	t->kept -= e->body.len;
	buffer_deinit(&e->body);
	free(e);
}

static bool telling_send_kept(struct telling *t)
{
	while (t->first && telling_send(t, &t->first->body) != -EAGAIN)
		telling_drop_first(t);
	if (!t->first)
		t->is_stuck = false;
	return !t->first;
}

/* Whether it may take more by now. */
static bool telling_wait(const struct telling *t)
{
	struct pollfd p = { .fd = t->socket, .events = POLLOUT };

	return poll(&p, 1, TELLING_PATIENCE_MS) == 1;
}

static void telling_keep(struct telling *t, struct buffer *body)
{
	struct telling_event *e = calloc(1, sizeof(*e));

	if (!e) {
		t->lost++;
		return;
	}
	e->body = *body;
	*body = (struct buffer){ 0 };
	t->kept += e->body.len;
	if (t->last)
		t->last->next = e;
	else
		t->first = e;
	t->last = e;
	if (t->first == e && t->wake >= 0)
		(void)eventfd_write(t->wake, 1);
}

void telling_add(void *context, const struct audit_event *e)
{
	struct telling *t = context;
	auto_buffer body = { 0 };

	audit_event_encode(e, &body);
	auto_lock held = lock_take(&t->lock);

	if (t->socket < 0)
		return;
	if (body.failed) {
		t->lost++;
		return;
	}
	/* A call that had begun when the holder stopped to read; it ends when the holder goes on.
	 * The broker's loop does not wait with it. */
	while (!telling_send_kept(t) && t->kept + body.len > TELLING_KEPT_MAX) {
		(void)pthread_mutex_unlock(&t->lock);
		(void)telling_wait(t);
		(void)pthread_mutex_lock(&t->lock);
	}
	if (t->first || telling_send(t, &body) == -EAGAIN)
		telling_keep(t, &body);
}

bool telling_is_ready(void *context)
{
	struct telling *t = context;
	auto_lock held = lock_take(&t->lock);
	uint64_t end;

	if (t->socket < 0 || telling_send_kept(t))
		return true;
	/* One that is slow is waited for longer than one that does not read at all. */
	end = clock_ms(CLOCK_MONOTONIC) + TELLING_SLOW_MS;
	while (!t->is_stuck) {
		t->is_stuck = !telling_wait(t) || clock_ms(CLOCK_MONOTONIC) > end;
		if (telling_send_kept(t))
			return true;
	}
	return false;
}

bool telling_flush(struct telling *t)
{
	auto_lock held = lock_take(&t->lock);

	return t->socket < 0 || telling_send_kept(t);
}

void telling_finish(struct telling *t)
{
	auto_lock held = lock_take(&t->lock);

	if (t->socket < 0)
		return;
	if (!telling_send_kept(t) && telling_wait(t))
		(void)telling_send_kept(t);
	for (; t->first; t->lost++)
		telling_drop_first(t);
	if (t->lost)
		(void)telling_send(t, NULL);
}
