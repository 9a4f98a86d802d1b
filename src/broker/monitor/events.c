/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_batch: what a program inside wants to be in the log. These are its own words, and the log
 * says so: they are never exact, name no decision, and stand under one action and target that
 * nothing else has, whatever the program calls them.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/monitor/handlers.h"
#include "codec/json.h"

enum { EVENTS_MAX = 200, EVENT_BYTES = 2048 };

#define EVENTS_TARGET "events_batch"

static const struct rpc_refusal events_wrong = { .class = RPC_PARAMS,
	.message = "events must be a list of at most 200 maps" };
static const struct rpc_refusal events_no_log = { .class = RPC_SERVICE,
	.message = "this session has no log",
	.hint = "start it with a log: corral run --audit FILE" };

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

static void events_work(struct monitor_call *c)
{
	const struct document *d = c->state;
	int r = 0;

	for (const struct node *n = d->root->first; r == 0 && n; n = n->next)
		r = events_add(c, n);
}

static void events_free(struct monitor_call *c)
{
	document_deinit(c->state);
	c->state = NULL;
}

static void events_done(struct monitor_call *c)
{
	const struct document *d = c->state;
	struct values v = { 0 };

	v.v[0] = value_number(VALUE_NUMBER, d->root->count);
	events_free(c);
	monitor_answer(c, &v);
}

void events_batch(struct monitor_call *c)
{
	const struct value *text = &c->call.params.v[0];
	struct document *d = arena_alloc(&c->arena, sizeof(*d));
	int r = d ? json_read(d, NULL, text->text, text->len, NULL) : -ENOMEM;

	if (r == 0 && events_are_maps(d->root) && monitor_audit(c->monitor)) {
		c->state = d;
		c->cancel = events_free;
		r = monitor_work(c, events_work, events_done);
		if (r == 0)
			return;
	} else if (r == 0) {
		r = events_are_maps(d->root) ? -ENOENT : -EINVAL;
	}
	if (d)
		document_deinit(d);
	if (r == -ENOMEM || r == -EAGAIN)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
	else
		monitor_refuse(c, r == -ENOENT ? &events_no_log : &events_wrong);
}
