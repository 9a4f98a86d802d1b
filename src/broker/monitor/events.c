/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_batch: what a program inside wants to be in the log. These are its own words, and the log
 * says so: they are never exact, name no decision, and stand under one action and target that
 * nothing else has, whatever the program calls them. A session adds so many at once and so many a
 * second, all its programs together: the log has other readers, and its place on the disk is not
 * the program's to fill.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "codec/json.h"

enum { EVENTS_MAX = 200, EVENT_BYTES = 2048, EVENTS_IN_A_BURST = 2000, EVENTS_PER_SECOND = 20 };

#define EVENTS_TARGET "events_batch"

static const struct rpc_refusal events_wrong = { .class = RPC_PARAMS,
	.message = "events must be a list of at most 200 maps" };
static const struct rpc_refusal events_no_log = { .class = RPC_SERVICE,
	.message = "this session has no log",
	.hint = "start it with a log: corral run --audit FILE" };
static const struct rpc_refusal events_too_many = { .class = RPC_RATE,
	.message = "too many events: a session adds 20 in a second, 2000 in a burst",
	.hint = "add them later, or fewer" };
static const struct rpc_refusal events_lost = { .class = RPC_INTERNAL,
	.message = "the log took only a part of the events, or none" };

static bool events_are_maps(const struct node *list)
{
	if (list->type != NODE_LIST || list->count > EVENTS_MAX)
		return false;
	for (const struct node *n = list->first; n; n = n->next)
		if (n->type != NODE_MAP)
			return false;
	return true;
}

static int events_add(const struct monitor_call *c, const struct node *n)
{
	struct corral_audit_event event = { .size = sizeof(event),
		.program = c->by.actor,
		.pid = c->call.pid,
		.action = "service",
		.target = EVENTS_TARGET,
		.rule = "the caller's own words",
		.count = 1 };
	auto_buffer text = { 0 };

	json_print(&text, n, JSON_COMPACT);
	if (text.failed)
		return -ENOMEM;
	if (text.len > EVENT_BYTES)
		text.data[EVENT_BYTES] = '\0';
	event.reason = buffer_text(&text);
	return corral_audit_add(monitor_audit(c->monitor), &event);
}

struct monitor_events {
	struct document document;
	int code; /* of adding them */
};

static void events_work(struct monitor_call *c)
{
	struct monitor_events *e = c->state;

	for (const struct node *n = e->document.root->first; e->code == 0 && n; n = n->next)
		e->code = events_add(c, n);
}

static void events_free(struct monitor_call *c)
{
	struct monitor_events *e = c->state;

	document_deinit(&e->document);
	c->state = NULL;
}

static void events_done(struct monitor_call *c)
{
	const struct monitor_events *e = c->state;
	const bool is_lost = e->code < 0;
	struct values v = { 0 };

	v.v[0] = value_number(SCHEMA_NUMBER, e->document.root->count);
	events_free(c);
	if (is_lost)
		monitor_refuse(c, &events_lost);
	else
		monitor_answer(c, &v);
}

/* Whether n more may be added now; then they are counted. */
static bool events_spend(struct monitor *m, size_t n)
{
	const uint64_t now = loop_now(m->o.loop);
	uint64_t more = (now - m->events_ms) * EVENTS_PER_SECOND / 1000;

	if (m->events_ms == 0)
		more = EVENTS_IN_A_BURST;
	/* A part of an event is not lost by asking often. */
	if (more > 0) {
		m->events_ms = now;
		m->events_left += more;
	}
	if (m->events_left > EVENTS_IN_A_BURST)
		m->events_left = EVENTS_IN_A_BURST;
	if (n > m->events_left)
		return false;
	m->events_left -= n;
	return true;
}

void events_batch(struct monitor_call *c)
{
	const struct value *text = &c->call.params.v[0];
	struct monitor_events *e = arena_calloc(&c->arena, 1, sizeof(*e));
	const struct rpc_refusal *why = NULL;
	int r = e ? json_read(&e->document, NULL, text->text, text->len, NULL) : -ENOMEM;

	if (r == -ENOMEM) {
		monitor_fail(c, RPC_INTERNAL, r, NULL);
		return;
	}
	if (r < 0 || !events_are_maps(e->document.root))
		why = &events_wrong;
	else if (!monitor_setup(c->monitor)->log[0])
		why = &events_no_log;
	else if (!events_spend(c->monitor, e->document.root->count))
		why = &events_too_many;
	c->state = e;
	c->cancel = events_free;
	if (!why && monitor_work(c, events_work, events_done) == 0)
		return;
	events_free(c);
	monitor_refuse(c, why ? why : &events_lost);
}
