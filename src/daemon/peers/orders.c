/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to sandboxes. A call of the API that changes one is answered when its holder has replied,
 * so what is said to be in force is. A holder that does not reply in time is not waited for; what
 * it does later is an event.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/peers/orders.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/supervisor.h"
#include "wire/question.h"

struct order {
	struct supervisor *s;
	const struct sandbox *to;
	uint64_t id, call;
	size_t generation; /* of corrald-http: another one has other calls */
	const char *done;
	struct timer timer;
};

static void order_free(struct order *o)
{
	struct supervisor *s = o->s;

	loop_stop(s->loop, &o->timer);
	for (size_t i = 0; i < ORDERS_MAX; i++)
		if (s->peers.orders[i] == o)
			s->peers.orders[i] = NULL;
	free(o);
}

static void order_fail(struct order *o, unsigned status, const char *text)
{
	if (o->generation == o->s->http.n_started)
		api_fail(o->s, o->call, status, text);
	http_link_flush(o->s);
	order_free(o);
}

static void order_on_timer(struct timer *t)
{
	order_fail(container_of(t, struct order, timer), 504, "the sandbox did not answer in time");
}

static unsigned order_status(int error)
{
	static const struct {
		int error;
		unsigned status;
	} rows[] = {
		{ ENOENT, 404 },
		{ EINVAL, 400 },
		{ EPERM, 409 },
		{ EOPNOTSUPP, 409 },
		{ ESHUTDOWN, 409 },
		{ EBUSY, 429 },
		{ ENOSPC, 429 },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		if (rows[i].error == error)
			return rows[i].status;
	return 500;
}

void orders_send(struct sandbox *b, const struct order_request *r)
{
	struct supervisor *s = b->s;
	struct order *o;
	size_t i = 0;

	while (i < ORDERS_MAX && s->peers.orders[i])
		i++;
	o = i < ORDERS_MAX ? calloc(1, sizeof(*o)) : NULL;
	if (!o) {
		api_fail(s, r->call, 429, "too many changes are under way; try again");
		return;
	}
	*o = (struct order){ .s = s,
		.to = b,
		.id = ++s->peers.last_order,
		.call = r->call,
		.generation = s->http.n_started,
		.done = r->done,
		.timer = { .expired = order_on_timer } };
	s->peers.orders[i] = o;
	if (r->body->failed || loop_start(s->loop, &o->timer, ORDER_MS) < 0 ||
		frame_send(b->watcher.fd, r->type, o->id, r->body->data, r->body->len, NULL, 0) < 0)
		order_fail(o, 503, "the sandbox cannot be reached now; try again");
}

static void order_answer(struct order *o, const struct join_reply *reply)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	json_open_map(&w, NULL);
	if (o->done)
		json_put_flag(&w, o->done, true);
	else
		json_put_format(&w, "id", "%s.%" PRIu64, o->to->who.id, reply->made);
	json_end_line(&w);
	if (o->generation == o->s->http.n_started)
		api_send(o->s, o->call, &json);
	http_link_flush(o->s);
	order_free(o);
}

int orders_on_reply(struct sandbox *b, const struct frame *f)
{
	struct join_reply reply;
	struct order *o = NULL;

	if (!b->who.id || join_reply_decode(&reply, f->body, f->len) < 0)
		return -EPROTO;
	for (size_t i = 0; !o && i < ORDERS_MAX; i++)
		if (b->s->peers.orders[i] && b->s->peers.orders[i]->id == f->id &&
			b->s->peers.orders[i]->to == b)
			o = b->s->peers.orders[i];
	/* It came too late. */
	if (!o)
		return 0;
	if (reply.error)
		order_fail(o, order_status(reply.error), reply.text);
	else
		order_answer(o, &reply);
	return 0;
}

void orders_drop(struct supervisor *s, const struct sandbox *b)
{
	for (size_t i = 0; i < ORDERS_MAX; i++)
		if (s->peers.orders[i] && (!b || s->peers.orders[i]->to == b))
			order_fail(s->peers.orders[i], 404, "the sandbox has ended");
}
