/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line has one call or many; its answer is one line, when all of them are there. A call is read,
 * checked by its row and handed to the monitor under a number; `ping` is answered here, which
 * needs no rights.
 *
 * A number is a slot and how often it was used, so that an answer that comes late, for a caller
 * that has gone, is never taken for another's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "broker/call.h"
#include "broker/front/internal.h"

enum { SLOT_BITS = 16 };
_Static_assert(FRONT_CALLS_MAX <= 1 << SLOT_BITS, "a slot fits into a number");

/* Answers */

/* What it holds now is its client's to answer for. */
static void exchange_charge(struct exchange *x)
{
	const size_t now = x->doc.arena.used + x->answers.len;

	if (x->client)
		serve_client_charge(&x->client->base, x->charged, now);
	x->charged = now;
}

/* All but the struct itself, which calls under way point to. */
static void exchange_empty(struct exchange *x)
{
	document_deinit(&x->doc);
	buffer_deinit(&x->answers);
	x->next = NULL;
	exchange_charge(x);
}

static void exchange_free(struct exchange *x)
{
	exchange_empty(x);
	free(x);
}

/* One more answer is being printed. */
static struct buffer *exchange_begin_answer(struct exchange *x)
{
	if (x->answers.len)
		buffer_addc(&x->answers, ',');
	return &x->answers;
}

static void exchange_refuse(
	struct exchange *x, const char *id, bool by_shield, const struct rpc_refusal *why)
{
	if (id && x->client)
		rpc_print_refusal(exchange_begin_answer(x), id, by_shield, why);
}

static void exchange_fail(struct exchange *x, const char *id, bool by_shield, const char *message)
{
	const struct rpc_refusal why = { .class = RPC_INTERNAL, .message = message };

	exchange_refuse(x, id, by_shield, &why);
}

/* All is there: out with it. Frees the exchange. */
static void exchange_finish(struct exchange *x)
{
	struct client *c = x->client;

	if (c && (x->answers.len || c->is_http)) {
		const bool is_list = x->is_batch && x->answers.len;

		if (c->is_http)
			http_message_begin(&c->base.out, x->answers.len ? 200 : 204,
				x->answers.len ? x->answers.len + (is_list ? 3 : 1) : 0,
				c->base.is_last);
		if (is_list)
			buffer_addc(&c->base.out, '[');
		buffer_add(&c->base.out, x->answers.data, x->answers.len);
		if (x->answers.len)
			buffer_adds(&c->base.out, is_list ? "]\n" : "\n");
		/* A client that misses an answer must not wait for it. */
		c->base.out.failed = c->base.out.failed || x->answers.failed;
		serve_client_settle(&c->base);
	}
	exchange_free(x);
}

/* Calls under way */

static struct pending *pending_find(struct front *f, uint64_t id)
{
	const size_t slot = id & ((1 << SLOT_BITS) - 1);
	struct pending *p = slot < FRONT_CALLS_MAX ? &f->pending[slot] : NULL;

	return p && p->exchange && p->generation == id >> SLOT_BITS ? p : NULL;
}

static uint64_t pending_id(const struct front *f, const struct pending *p)
{
	return (uint64_t)p->generation << SLOT_BITS | (uint64_t)(p - f->pending);
}

/* For the call that the exchange has read. There is a slot. */
static struct pending *pending_take(struct exchange *x)
{
	struct front *f = x->client->front;
	struct pending *p = &f->pending[f->free_slots[--f->n_free]];

	*p = (struct pending){ .exchange = x,
		.peer = x->client->base.peer,
		.method = x->call.method,
		.by_shield = x->call.by_shield,
		.wanted = rpc_wanted(&x->call),
		.id = x->call.id,
		.generation = p->generation + 1,
		.began = ++f->n_begun };
	x->waiting++;
	x->client->calls++;
	p->peer->calls++;
	f->n_calls++;
	return p;
}

/* The call is over; its exchange may be as well. */
static void pending_give_back(struct front *f, struct pending *p)
{
	struct exchange *x = p->exchange;

	p->exchange = NULL;
	f->free_slots[f->n_free++] = (uint16_t)(p - f->pending);
	f->n_calls--;
	f->n_words -= p->is_cancelled + p->notes;
	f->has_room = true;
	x->waiting--;
	if (x->client)
		x->client->calls--;
	peer_put_call(p->peer);
	if (x->waiting == 0 && !x->next)
		exchange_finish(x);
	else
		exchange_charge(x);
}

/*
 * A long call travels in a descriptor, and programs of the same user can use up those that may be
 * under way: that is no reason to give up the others.
 */
void exchange_fail_unsent(struct front *f, uint64_t id)
{
	struct pending *p = pending_find(f, id);
	struct client *c = p->exchange->client;

	exchange_fail(p->exchange, p->id, p->by_shield, "too many descriptors are under way");
	pending_give_back(f, p);
	if (c)
		client_later(c);
}

static int exchange_send(struct exchange *x)
{
	struct client *c = x->client;
	struct front *f = c->front;
	const struct broker_call sent = { .method = x->call.method,
		.flags = (x->call.by_shield ? CALL_BY_SHIELD : 0u) |
			 (c->is_http ? CALL_BY_HTTP : 0u),
		.pid = (uint32_t)c->base.peer->cred.pid,
		.uid = c->base.peer->cred.uid,
		.connection = c->number,
		.params = x->call.params };
	auto_buffer body = { 0 };
	struct pending *p;
	int r = call_encode(&sent, &body);

	if (r < 0)
		return r;
	p = pending_take(x);
	c->has_opened = c->has_opened || x->call.method->id == METHOD_SOCKET_OPEN ||
			x->call.method->id == METHOD_SECRET_INJECT;
	r = frame_send(f->o.monitor, FRAME_CALL, pending_id(f, p), body.data, body.len, NULL, 0);
	if (r == -EAGAIN) {
		f->unsent = body;
		body = (struct buffer){ 0 };
		f->unsent_id = pending_id(f, p);
		f->is_full = true;
		r = loop_change(f->loop, &f->monitor, EPOLLIN | EPOLLOUT);
	}
	if (front_lacks_descriptors(r))
		exchange_fail_unsent(f, pending_id(f, p));
	else if (r < 0)
		f->is_lost = true;
	return 0;
}

static void exchange_ping(struct exchange *x, const struct rpc_call *call)
{
	enum { PONG, ECHO, TIMESTAMP, VERSION };
	const char *version = x->client->front->o.version;
	struct values v = { 0 };

	if (!call->id)
		return;
	v.v[PONG] = value_number(SCHEMA_FLAG, 1);
	v.v[ECHO] = call->params.v[0];
	v.v[TIMESTAMP] = value_number(SCHEMA_TIME, clock_ns(CLOCK_REALTIME));
	v.v[VERSION] = value_text(version, strlen(version));
	(void)rpc_print_result(
		exchange_begin_answer(x), call->id, call->method, call->by_shield, -1, &v);
}

/* The last call that the process with most of them began; NULL: it has hardly more than this one.
 */
static struct pending *pending_of_most(struct front *f, const struct peer *peer)
{
	const struct peer *most = peer;
	struct pending *last = NULL;

	for (struct link *l = f->room.peers.next; l != &f->room.peers; l = l->next) {
		const struct peer *p = container_of(l, struct peer, link);

		if (p->calls > most->calls)
			most = p;
	}
	if (most->calls <= 2 * peer->calls + 1)
		return NULL;
	for (size_t i = 0; i < FRONT_CALLS_MAX; i++) {
		struct pending *p = &f->pending[i];

		if (p->exchange && p->peer == most && (!last || p->began > last->began))
			last = p;
	}
	return last;
}

/* All slots are taken by calls that take their time: who has most loses one. */
static bool pending_take_away(struct front *f, const struct peer *peer)
{
	static const struct rpc_refusal why = { .class = RPC_RATE,
		.message = "too many calls of this process are under way",
		.hint = "wait for answers before the next calls" };
	struct pending *p = pending_of_most(f, peer);
	struct client *c;

	if (!p || frame_send(f->o.monitor, FRAME_CALL_CANCEL, pending_id(f, p), NULL, 0, NULL, 0))
		return false;
	c = p->exchange->client;
	exchange_refuse(p->exchange, p->id, p->by_shield, &why);
	pending_give_back(f, p);
	if (c)
		client_later(c);
	return true;
}

/* Whether the monitor can have one more of it now. If not, it is called again when it may. */
static bool exchange_may_send(const struct exchange *x)
{
	struct client *c = x->client;
	struct front *f = c->front;

	/* An answer of its own wakes it. */
	if (f->is_lost || c->calls >= FRONT_CLIENT_CALLS_MAX)
		return false;
	if (!f->is_full && c->base.peer->calls < FRONT_PEER_CALLS_MAX &&
		(c->base.peer->calls < f->n_free || pending_take_away(f, c->base.peer)))
		return true;
	client_block(c);
	return false;
}

/* The next call. 1: it was taken. 0: it must wait. */
static int exchange_call(struct exchange *x)
{
	struct rpc_refusal why;
	struct error e;
	int r = 0;

	if (!x->has_call)
		r = rpc_call_read(&x->doc, x->next,
			x->client->is_http ? CHANNEL_HTTP : CHANNEL_SOCKET, &x->call, &e, &why);
	if (r == 1)
		exchange_refuse(x, x->call.id, x->call.by_shield, &why);
	if (r != 0)
		return r;
	if (x->call.method->id == METHOD_PING) {
		exchange_ping(x, &x->call);
		return 1;
	}
	x->has_call = !exchange_may_send(x);
	if (x->has_call)
		return 0;
	r = exchange_send(x);
	return r < 0 ? r : 1;
}

int exchange_feed(struct exchange *x, unsigned *work)
{
	while (x->next && *work > 0) {
		int r = exchange_call(x);

		exchange_charge(x);
		if (r <= 0)
			return r;
		x->next = x->is_batch ? x->next->next : NULL;
		--*work;
	}
	if (x->next)
		return 0;
	if (x->waiting == 0)
		exchange_finish(x);
	return 1;
}

int exchange_new(struct client *c, const char *line, size_t len)
{
	struct exchange *x = calloc(1, sizeof(*x));
	struct rpc_refusal why;
	struct error e = { 0 };
	int r;

	if (!x)
		return -ENOMEM;
	x->client = c;
	r = rpc_read(&x->doc, line, len, &e, &why);
	if (r < 0) {
		exchange_free(x);
		return r;
	}
	if (r == 1) {
		exchange_refuse(x, "null", false, &why);
		exchange_finish(x);
		return 0;
	}
	x->is_batch = x->doc.root->type == NODE_LIST;
	x->next = x->is_batch ? x->doc.root->first : x->doc.root;
	c->feeding = x;
	exchange_charge(x);
	return 0;
}

/* From the monitor */

static void exchange_print_answer(struct pending *p, const struct frame *frame, struct arena *a)
{
	const bool is_refusal = frame->type == FRAME_CALL_REFUSED;
	struct rpc_refusal why;
	struct values v;
	int r = values_decode(is_refusal ? rpc_refusal_fields : p->method->results, frame->body,
		frame->len, a, &v);

	if (r == 0 && is_refusal)
		r = rpc_refusal_read(&v, &why);
	if (r < 0)
		exchange_fail(
			p->exchange, p->id, p->by_shield, "the broker's answer was not understood");
	else if (is_refusal)
		exchange_refuse(p->exchange, p->id, p->by_shield, &why);
	else if (p->id && p->exchange->client)
		(void)rpc_print_result(exchange_begin_answer(p->exchange), p->id, p->method,
			p->by_shield, p->wanted, &v);
}

void exchange_answer(struct front *f, const struct frame *frame)
{
	struct pending *p = pending_find(f, frame->id);
	struct client *c;
	auto_arena a = { 0 };

	if (!p)
		return;
	c = p->exchange->client;
	exchange_print_answer(p, frame, &a);
	pending_give_back(f, p);
	if (c)
		client_later(c);
}

/* Between the answers, on a line of its own. */
static void exchange_print_note(struct pending *p, const struct values *notes)
{
	struct client *c = p->exchange->client;

	rpc_print_note(&c->base.out, p->id, p->method, p->by_shield, p->wanted, notes);
	buffer_addc(&c->base.out, '\n');
	serve_client_settle(&c->base);
	client_later(c);
}

void exchange_note(struct front *f, const struct frame *frame)
{
	struct pending *p = pending_find(f, frame->id);
	auto_arena a = { 0 };
	struct values v;

	if (!p)
		return;
	if (p->method->note && p->id && p->exchange->client &&
		values_decode(p->method->notes, frame->body, frame->len, &a, &v) == 0)
		exchange_print_note(p, &v);
	p->notes++;
	f->n_words++;
	exchange_send_words(f);
}

static void exchange_abandon(struct exchange *x)
{
	exchange_empty(x);
	x->client = NULL;
	if (x->waiting == 0)
		exchange_free(x);
}

void exchange_abandon_all(struct client *c)
{
	struct front *f = c->front;
	const size_t n = c->calls > 0 ? FRONT_CALLS_MAX : 0;

	for (size_t i = 0; i < n; i++) {
		struct pending *p = &f->pending[i];

		if (p->exchange && p->exchange->client == c) {
			p->is_cancelled = true;
			f->n_words++;
		}
	}
	exchange_send_words(f);
	if (c->feeding && c->feeding->waiting == 0)
		exchange_abandon(c->feeding);
	/* Calls stay with the monitor until they are answered. */
	for (size_t i = 0; i < n; i++) {
		struct exchange *x = f->pending[i].exchange;

		if (x && x->client == c)
			exchange_abandon(x);
	}
}

/* 1: all that is to be said of this call was. 0: there is no room. */
static int pending_send_words(struct front *f, struct pending *p)
{
	const struct client *c = p->exchange->client;

	if (p->is_cancelled) {
		if (frame_send(f->o.monitor, FRAME_CALL_CANCEL, pending_id(f, p), NULL, 0, NULL,
			    0) == -EAGAIN)
			return 0;
		p->is_cancelled = false;
		f->n_words--;
	}
	while (p->notes > 0 && (!c || !client_is_clogged(c))) {
		if (frame_send(f->o.monitor, FRAME_CALL_NOTE, pending_id(f, p), NULL, 0, NULL, 0) ==
			-EAGAIN)
			return 0;
		p->notes--;
		f->n_words--;
	}
	return 1;
}

/* Reports callers that have gone. 1: all of them. 0: the buffer is full. */
static int exchange_send_gone(struct front *f)
{
	size_t at = 0;

	for (; at < f->gone.len; at += sizeof(uint64_t)) {
		uint64_t number;

		memcpy(&number, f->gone.data + at, sizeof(number));
		if (frame_send(f->o.monitor, FRAME_CALL_GONE, number, NULL, 0, NULL, 0) == -EAGAIN)
			break;
	}
	f->gone.len -= at;
	if (at > 0 && f->gone.len > 0)
		memmove(f->gone.data, f->gone.data + at, f->gone.len);
	return f->gone.len == 0;
}

void exchange_tell_gone(struct front *f, uint64_t connection)
{
	buffer_add(&f->gone, &connection, sizeof(connection));
	/* Without memory for eight bytes nothing can be promised: then all end. */
	f->is_lost = f->is_lost || f->gone.failed;
	exchange_send_words(f);
}

void exchange_send_words(struct front *f)
{
	if (!f->is_full && f->gone.len > 0 && !exchange_send_gone(f)) {
		(void)loop_change(f->loop, &f->monitor, EPOLLIN | EPOLLOUT);
		return;
	}
	/* They come behind the call itself. */
	for (size_t i = 0; !f->is_full && f->n_words > 0 && i < FRONT_CALLS_MAX; i++) {
		if (!f->pending[i].exchange || pending_send_words(f, &f->pending[i]))
			continue;
		(void)loop_change(f->loop, &f->monitor, EPOLLIN | EPOLLOUT);
		return;
	}
}

void exchange_lose_all(struct front *f)
{
	for (size_t i = 0; i < FRONT_CALLS_MAX; i++) {
		struct pending *p = &f->pending[i];
		struct client *c;

		if (!p->exchange)
			continue;
		c = p->exchange->client;
		exchange_fail(p->exchange, p->id, p->by_shield, "the broker has ended");
		p->exchange->next = NULL;
		if (c && c->feeding == p->exchange)
			c->feeding = NULL;
		pending_give_back(f, p);
		if (c)
			client_later(c);
	}
}
