/* SPDX-License-Identifier: Apache-2.0 */
#include "net/owners.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "wire/frame.h"

enum { SECOND_MS = 1000 };

struct owners_place {
	struct owner_wait *wait; /* NULL: free */
	uint64_t id;
	uint64_t end_ms;
};

struct owners {
	struct loop *loop;
	int socket;
	struct timer late;
	struct owners_place places[OWNERS_WAITING_MAX];
	uint64_t last; /* the number of the last question */
	uint64_t second_ms;
	unsigned left; /* of the budget of this second */
	bool is_over;
};

static void owners_finish(struct owners *o, size_t place, const char *program)
{
	struct owner_wait *w = o->places[place].wait;

	o->places[place].wait = NULL;
	w->owners = NULL;
	w->done(w, program);
}

static void owners_on_late(struct timer *t)
{
	struct owners *o = container_of(t, struct owners, late);
	const uint64_t now = loop_now(o->loop);
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < OWNERS_WAITING_MAX; i++)
		if (o->places[i].wait && o->places[i].end_ms <= now)
			owners_finish(o, i, "");
	for (size_t i = 0; i < OWNERS_WAITING_MAX; i++)
		if (o->places[i].wait && o->places[i].end_ms < next)
			next = o->places[i].end_ms;
	/* Without memory for a timer nothing would end the wait. */
	if (next != UINT64_MAX && loop_start(o->loop, t, next > now ? next - now : 1) < 0)
		owners_stop(o);
}

int owners_new(struct owners **ret, struct loop *l, int socket)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->loop = l;
	o->socket = socket;
	o->late.expired = owners_on_late;
	o->left = OWNERS_PER_SECOND;
	o->second_ms = loop_now(l);
	*ret = o;
	return 0;
}

static bool owners_spend(struct owners *o)
{
	const uint64_t now = loop_now(o->loop);

	if (now - o->second_ms >= SECOND_MS) {
		o->second_ms = now;
		o->left = OWNERS_PER_SECOND;
	}
	return o->left > 0 && o->left--;
}

/* q without an id. */
static bool owners_send(struct owners *o, struct owner_wait *w, struct owner_question *q)
{
	const uint64_t wait_ms = q->wants_program ? OWNERS_PROGRAM_MS : OWNERS_WAIT_MS;
	size_t i = 0;

	while (i < OWNERS_WAITING_MAX && o->places[i].wait)
		i++;
	if (o->is_over || q->port == 0 || i == OWNERS_WAITING_MAX ||
		(!q->wants_program && !owners_spend(o)))
		return false;
	if (o->late.place == 0 && loop_start(o->loop, &o->late, OWNERS_WAIT_MS) < 0)
		return false;
	q->id = o->last + 1;
	if (frame_send(o->socket, FRAME_OWNER, q->id, q, sizeof(*q), NULL, 0) < 0)
		return false;
	o->last = q->id;
	o->places[i] = (struct owners_place){ w, q->id, loop_now(o->loop) + wait_ms };
	w->owners = o;
	w->place = i;
	return true;
}

bool owners_ask(struct owners *o, struct owner_wait *w, bool is_udp, uint16_t port)
{
	struct owner_question q = { .port = port, .is_udp = is_udp };

	w->found = NULL;
	return o && owners_send(o, w, &q);
}

bool owners_ask_program(struct owners *o, struct owner_wait *w, uint16_t port, uint16_t peer_port)
{
	struct owner_question q = { .port = port, .wants_program = 1, .peer_port = peer_port };

	return o && peer_port > 0 && owners_send(o, w, &q);
}

void owners_leave(struct owner_wait *w)
{
	if (w->owners)
		w->owners->places[w->place].wait = NULL;
	w->owners = NULL;
}

/* A record that waits for its program. */
struct owners_kept {
	struct owner_wait wait;
	struct recorder *recorder;
	struct buffer body;
	void (*after)(void *context);
	void *context;
};

static void owners_on_recorded(struct owner_wait *w, const char *program)
{
	struct owners_kept *r = container_of(w, struct owners_kept, wait);
	struct record record;

	if (record_decode(&record, r->body.data, r->body.len) == 0) {
		record.program = program;
		recorder_add(r->recorder, &record);
	}
	if (r->after)
		r->after(r->context);
	buffer_deinit(&r->body);
	free(r);
}

void owners_record(struct owners *o, struct recorder *recorder, bool is_udp, uint16_t port,
	const struct record *record, void (*after)(void *context), void *context)
{
	struct owners_kept *r = o ? calloc(1, sizeof(*r)) : NULL;

	if (r) {
		r->wait.done = owners_on_recorded;
		r->recorder = recorder;
		r->after = after;
		r->context = context;
		if (record_encode(record, &r->body) == 0 && owners_ask(o, &r->wait, is_udp, port))
			return;
		buffer_deinit(&r->body);
		free(r);
	}
	recorder_add(recorder, record);
	if (after)
		after(context);
}

/* Which place waits for that answer; OWNERS_WAITING_MAX: none does. */
static size_t owners_place_of(const struct owners *o, uint64_t id)
{
	size_t i = 0;

	while (i < OWNERS_WAITING_MAX && (!o->places[i].wait || o->places[i].id != id))
		i++;
	return i;
}

static int owners_answer_program(struct owners *o, uint64_t id, const void *body, size_t len)
{
	const size_t i = owners_place_of(o, id);
	struct owner_program p;

	if (owner_program_decode(&p, body, len) < 0 || p.id != id)
		return -EPROTO;
	if (i == OWNERS_WAITING_MAX)
		return 0;
	if (!o->places[i].wait->found)
		return -EPROTO;
	*o->places[i].wait->found = p;
	owners_finish(o, i, p.name);
	return 0;
}

int owners_answer(struct owners *o, uint64_t id, const void *body, size_t len)
{
	const size_t i = owners_place_of(o, id);
	char program[OWNER_NAME_BYTES];

	if (len == sizeof(struct owner_program))
		return owners_answer_program(o, id, body, len);
	if (owner_name_decode(program, body, len) < 0)
		return -EPROTO;
	if (i < OWNERS_WAITING_MAX)
		owners_finish(o, i, program);
	return 0;
}

void owners_flush(struct owners *o)
{
	for (size_t i = 0; i < OWNERS_WAITING_MAX; i++)
		if (o->places[i].wait && o->places[i].wait->done == owners_on_recorded)
			owners_finish(o, i, "");
}

void owners_stop(struct owners *o)
{
	if (!o)
		return;
	o->is_over = true;
	loop_stop(o->loop, &o->late);
	for (size_t i = 0; i < OWNERS_WAITING_MAX; i++)
		if (o->places[i].wait)
			owners_finish(o, i, "");
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	loop_stop(o->loop, &o->late);
	free(o);
}
