/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/program/telling.h"

#include <errno.h>
#include <poll.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "wire/frame.h"

enum { TELLING_PATIENCE_MS = 1000 };

/* With the lock held. body NULL: only how many are missing. */
static void telling_send(struct telling *t, const struct buffer *body)
{
	struct pollfd p = { .fd = t->socket, .events = POLLOUT };
	const void *data = body ? body->data : NULL;
	const size_t len = body ? body->len : 0;
	int r = frame_send(t->socket, FRAME_EVENT, t->lost, data, len, NULL, 0);

	if (r == -EAGAIN && !t->is_stuck && poll(&p, 1, TELLING_PATIENCE_MS) == 1)
		r = frame_send(t->socket, FRAME_EVENT, t->lost, data, len, NULL, 0);
	t->is_stuck = r < 0;
	t->lost = r == 0 ? 0 : t->lost + (body != NULL);
}

void telling_add(void *context, const struct audit_event *e)
{
	struct telling *t = context;
	auto_buffer body = { 0 };

	audit_event_encode(e, &body);
	auto_lock held = lock_take(&t->lock);

	if (t->socket < 0)
		return;
	if (body.failed)
		t->lost++;
	else
		telling_send(t, &body);
}

void telling_finish(struct telling *t)
{
	auto_lock held = lock_take(&t->lock);

	if (t->socket >= 0 && t->lost)
		telling_send(t, NULL);
}
