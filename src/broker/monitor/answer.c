/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes back to the front, in order. A front that does not read holds up nothing but its own
 * calls: what its socket does not take is kept, and work waits while that is much. The same where
 * the machine has no descriptor or memory for a long answer now: that is no fault of the front's,
 * and is tried again.
 */
#include <errno.h>
#include <stdlib.h>

#include "broker/monitor/internal.h"

enum { AGAIN_MS = 100 };

static bool answer_is_shortage(int r)
{
	return r == -ETOOMANYREFS || r == -EMFILE || r == -ENFILE || r == -ENOBUFS || r == -ENOMEM;
}

static void answer_on_again(struct timer *t)
{
	answer_flush(container_of(t, struct monitor, again));
}

/* It could not be sent (r): when to try again. */
static void answer_wait(struct monitor *m, int r)
{
	const bool is_shortage = answer_is_shortage(r);

	m->again.expired = answer_on_again;
	/* The socket has room: by its events it would be tried without a pause. */
	r = loop_change(m->o.loop, &m->front, is_shortage ? EPOLLIN : EPOLLIN | EPOLLOUT);
	if (r == 0 && is_shortage)
		r = loop_start(m->o.loop, &m->again, AGAIN_MS);
	if (r < 0)
		monitor_lose(m, -ENOMEM);
}

static void answer_keep(struct monitor *m, enum frame_type type, uint64_t id, struct buffer *body)
{
	struct unsent *u = calloc(1, sizeof(*u));

	if (!u) {
		monitor_lose(m, -ENOMEM);
		return;
	}
	u->type = type;
	u->id = id;
	u->body = *body;
	*body = (struct buffer){ 0 };
	*(m->last_unsent ? &m->last_unsent->next : &m->unsent) = u;
	m->last_unsent = u;
	m->unsent_bytes += u->body.len;
	pool_hold(m->pool, m->unsent_bytes > MONITOR_OUT_MAX);
}

static void answer_free(struct monitor *m, struct unsent *u)
{
	m->unsent = u->next;
	if (!m->unsent)
		m->last_unsent = NULL;
	m->unsent_bytes -= u->body.len;
	buffer_deinit(&u->body);
	free(u);
}

void answer_send(struct monitor *m, enum frame_type type, uint64_t id, struct buffer *body)
{
	int r;

	if (m->front.fd < 0 || m->is_lost)
		return;
	if (body->failed) {
		monitor_lose(m, -ENOMEM);
		return;
	}
	if (m->unsent) {
		answer_keep(m, type, id, body);
		return;
	}
	r = frame_send(m->front.fd, type, id, body->data, body->len, NULL, 0);
	if (r == -EAGAIN || answer_is_shortage(r)) {
		answer_keep(m, type, id, body);
		answer_wait(m, r);
	} else if (r < 0) {
		monitor_lose(m, r);
	}
}

void answer_flush(struct monitor *m)
{
	while (m->unsent && !m->is_lost) {
		struct unsent *u = m->unsent;
		int r = frame_send(m->front.fd, u->type, u->id, u->body.data, u->body.len, NULL, 0);

		if (r == -EAGAIN || answer_is_shortage(r)) {
			answer_wait(m, r);
			break;
		}
		if (r < 0) {
			monitor_lose(m, r);
			return;
		}
		answer_free(m, u);
	}
	pool_hold(m->pool, m->unsent_bytes > MONITOR_OUT_MAX);
	if (!m->unsent && loop_change(m->o.loop, &m->front, EPOLLIN) < 0)
		monitor_lose(m, -ENOMEM);
}

void answer_drop(struct monitor *m)
{
	while (m->unsent)
		answer_free(m, m->unsent);
	loop_stop(m->o.loop, &m->again);
	pool_hold(m->pool, false);
}

/* Answers */

void answer_refuse(struct monitor *m, uint64_t id, const struct rpc_refusal *why)
{
	struct values v = rpc_refusal_values(why);
	auto_buffer body = { 0 };

	/* Only texts that are too long, or none, cannot be sent. */
	if (values_encode(rpc_refusal_fields, &v, &body) == -EINVAL) {
		const struct rpc_refusal plain = { .class = why->class,
			.message = "the call failed" };

		v = rpc_refusal_values(&plain);
		buffer_clear(&body);
		(void)values_encode(rpc_refusal_fields, &v, &body);
	}
	answer_send(m, FRAME_CALL_REFUSED, id, &body);
}

void monitor_refuse(struct monitor_call *c, const struct rpc_refusal *why)
{
	struct under_way *u = under_way_of(c);

	if (!u->is_over)
		answer_refuse(c->monitor, u->id, why);
	under_way_free(u);
}

void monitor_answer(struct monitor_call *c, const struct values *results)
{
	static const struct rpc_refusal wrong = { .class = RPC_INTERNAL,
		.message = "the result does not fit into an answer" };
	struct under_way *u = under_way_of(c);
	auto_buffer body = { 0 };
	int r = u->is_over ? 0 : values_encode(c->call.method->results, results, &body);

	if (r == -EINVAL || body.len > FRAME_MEMFD_MAX) {
		monitor_refuse(c, &wrong);
		return;
	}
	if (!u->is_over)
		answer_send(c->monitor, FRAME_CALL_ANSWER, u->id, &body);
	under_way_free(u);
}

int monitor_note(struct monitor_call *c, const struct values *notes)
{
	struct under_way *u = under_way_of(c);
	auto_buffer body = { 0 };
	int r;

	if (u->n_notes >= CALL_NOTES_MAX) {
		u->wants_room = true;
		return -EAGAIN;
	}
	if (!c->call.method->note)
		return -EINVAL;
	r = values_encode(c->call.method->notes, notes, &body);
	if (r < 0)
		return r;
	u->n_notes++;
	answer_send(c->monitor, FRAME_CALL_NOTE, u->id, &body);
	return 0;
}
