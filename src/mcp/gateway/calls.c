/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of clients, each until it is answered: it waits for its server to have listed its tools,
 * goes out, and ends with an answer, with its time, or with its server.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/json.h"
#include "mcp/gateway/gateway.h"
#include "mcp/gateway/result.h"

enum {
	PROGRESS_MS = 50,
	TRACE_BYTES = 55,
	STATE_BYTES = 512,
	REFUSALS_MAX = 8, /* in a row */
	QUIET_MS = 5 * 60 * 1000,
	SHOWN_BYTES = 2000, /* of arguments, in a question */
};

struct gateway_call {
	struct gateway *gateway;
	struct gateway_member *member;
	struct mcp_call *call;
	const struct node *pinned;
	struct timer timer;
	bool is_out; /* it went to the server */
	uint64_t began_ns, told_ms;
	struct gateway_call *next;
};

/* The log */

/* 00-…-…-01 with lower-case digits (W3C Trace Context); else NULL. */
static const char *call_trace(const struct mcp_call *c)
{
	const char *text = node_get_text(node_get(c->message.params, "_meta"), "traceparent");

	if (strlen(text) != TRACE_BYTES || strncmp(text, "ff", 2) == 0)
		return NULL;
	for (size_t i = 0; i < TRACE_BYTES; i++) {
		const bool is_dash = i == 2 || i == 35 || i == 52;

		if (is_dash ? text[i] != '-' : !strchr("0123456789abcdef", text[i]))
			return NULL;
	}
	return text;
}

struct call_outcome {
	enum audit_decision decision;
	const char *reason;
	const struct gateway_rule *rule; /* NULL: none */
	uint64_t cost_ns, received;
};

static void call_record(const struct gateway_member *m, const char *tool, const struct mcp_call *c,
	const struct call_outcome *o)
{
	const struct gateway *g = m->gateway;
	const char *trace = call_trace(c);
	auto_buffer target = { 0 }, rule = { 0 }, reason = { 0 };
	struct audit_event event = { .action = AUDIT_SERVICE,
		.decision = o->decision,
		.program = "corral mcp gateway",
		.exact = true,
		.cost_ns = o->cost_ns,
		.received = o->received };

	if (!g->o.record)
		return;
	buffer_printf(&target, "mcp.%s.%s", m->config->name, tool);
	if (o->rule)
		buffer_printf(&rule, "%s:%u", g->o.path, o->rule->line);
	buffer_printf(
		&reason, "%s%s%s", o->reason, trace ? "; traceparent " : "", trace ? trace : "");
	event.target = buffer_text(&target);
	event.rule = buffer_text(&rule);
	event.reason = buffer_text(&reason);
	g->o.record(g->o.context, &event);
}

/* The end of a call */

static struct mcp_call *call_take(struct gateway_call *x)
{
	struct gateway_call **at = &x->gateway->calls;
	struct mcp_call *c = x->call;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	loop_stop(x->gateway->o.loop, &x->timer);
	c->state = NULL;
	free(x);
	return c;
}

static void call_refuse(struct mcp_call *c, const char *text)
{
	struct mcp_result r = { .is_error = true };

	buffer_adds(&r.text, text);
	mcp_server_answer(c, &r);
}

static uint64_t call_cost(const struct gateway_call *x)
{
	return clock_ns(CLOCK_MONOTONIC) - x->began_ns;
}

/* Ends it without an answer of the server. text: for the model. */
static void call_fail(struct gateway_call *x, const char *text)
{
	const struct call_outcome o = {
		.decision = AUDIT_FAILED, .reason = text, .cost_ns = call_cost(x)
	};

	call_record(x->member, node_get_text(x->pinned, "name"), x->call, &o);
	call_refuse(call_take(x), text);
}

static void call_late(struct timer *t)
{
	struct gateway_call *x = container_of(t, struct gateway_call, timer);
	struct gateway_process *process = &x->member->process;
	auto_buffer text = { 0 };

	upstream_cancel(&process->upstream, x, "it took too long");
	gateway_process_flush(process);
	buffer_printf(&text,
		"the server %s did not answer within %llu seconds (`timeout` in the gateway's "
		"file); the call was cancelled",
		x->member->config->name,
		(unsigned long long)(x->member->config->timeout_ms + 999) / 1000);
	call_fail(x, buffer_text(&text));
}

void gateway_calls_end(struct gateway_member *m, const char *why)
{
	for (struct gateway_call *x = m->gateway->calls, *next; x; x = next) {
		auto_buffer text = { 0 };

		next = x->next;
		if (x->member != m)
			continue;
		buffer_printf(&text, "the server %s cannot be reached: ", m->config->name);
		buffer_add_visible(&text, why, strlen(why));
		buffer_adds(&text, ". It is started again; try later");
		call_fail(x, buffer_text(&text));
	}
}

void gateway_cancel(void *context, struct mcp_call *c)
{
	struct gateway_call *x = c->state;

	(void)context;
	if (!x)
		return;
	upstream_cancel(&x->member->process.upstream, x, "the client cancelled it");
	gateway_process_flush(&x->member->process);
	(void)call_take(x);
}

/* Answers */

void gateway_answered(void *context, void *owner, const struct mcp_message *m)
{
	struct gateway_member *member = context;
	struct gateway_call *x = owner;
	struct gateway_result result = { .server = member->config->name,
		.name = node_get_text(x->pinned, "name"),
		.max = member->config->result_max,
		.has_schema = node_get(x->pinned, "outputSchema") != NULL };
	struct call_outcome o = { .decision = AUDIT_NONE, .cost_ns = call_cost(x) };
	auto_buffer size = { 0 };
	struct mcp_result answer = { 0 };

	json_print(&size, m->body, JSON_COMPACT);
	result.received = o.received = size.len;
	gateway_result_make(&result, m, member->gateway->scanner, &answer);
	o.reason = result.has_signs  ? "answered, with signs of prompt injection"
		   : result.is_cut   ? "answered, cut"
		   : answer.is_error ? "answered, with an error"
				     : "answered";
	call_record(member, result.name, x->call, &o);
	mcp_server_answer(call_take(x), &answer);
}

void gateway_progressed(void *context, void *owner, const struct node *params)
{
	const struct gateway_member *m = context;
	struct gateway_call *x = owner;
	const uint64_t now = loop_now(m->process.loop);

	/* One that floods is heard now and then. */
	if (x->told_ms && now - x->told_ms < PROGRESS_MS)
		return;
	x->told_ms = now;
	mcp_server_pass_progress(x->call, params);
}

/* Going out */

/* The server has listed its tools: only exactly what was approved goes out. */
static void call_send(struct gateway_call *x)
{
	struct gateway_member *m = x->member;
	const enum pin_state state = gateway_state(m, x->pinned);
	const struct node *meta = node_get(x->call->message.params, "_meta");
	const char *tool = node_get_text(x->pinned, "name");
	const char *tracestate = node_get_text(meta, "tracestate");
	const struct upstream_request request = { .name = tool,
		.arguments = x->call->arguments,
		.traceparent = call_trace(x->call),
		.tracestate = *tracestate && strlen(tracestate) <= STATE_BYTES ? tracestate : NULL,
		.wants_progress = x->call->token != NULL,
		.owner = x };
	auto_buffer text = { 0 };

	if (state != PIN_APPROVED) {
		buffer_printf(&text,
			"the tool %s of the server %s is quarantined: it is %s since the user "
			"approved "
			"it. The user can look at it and approve it: %s %s",
			tool, m->config->name, pin_state_name(state), m->gateway->o.command,
			m->config->name);
		call_fail(x, buffer_text(&text));
		return;
	}
	x->is_out = true;
	if (upstream_call(&m->process.upstream, &request) < 0) {
		buffer_printf(&text, "the server %s does not take what is sent to it; try later",
			m->config->name);
		call_fail(x, buffer_text(&text));
		return;
	}
	gateway_process_flush(&m->process);
}

void gateway_calls_go(struct gateway_member *m)
{
	for (struct gateway_call *x = m->gateway->calls, *next; x; x = next) {
		next = x->next;
		if (x->member == m && !x->is_out)
			call_send(x);
	}
}

static void call_begin(
	struct gateway *g, struct gateway_member *m, const struct node *pinned, struct mcp_call *c)
{
	struct gateway_call *x = calloc(1, sizeof(*x));
	auto_buffer text = { 0 };

	if (!x) {
		call_refuse(c, "out of memory");
		return;
	}
	*x = (struct gateway_call){ .gateway = g,
		.member = m,
		.call = c,
		.pinned = pinned,
		.timer.expired = call_late,
		.began_ns = clock_ns(CLOCK_MONOTONIC),
		.next = g->calls };
	g->calls = x;
	c->state = x;
	if (m->has_ended && m->process.pid == 0) {
		buffer_printf(&text, "the server %s cannot be reached: ", m->config->name);
		buffer_add_visible(&text, m->why, strlen(m->why));
		buffer_adds(&text, ". It is started again; try later");
		call_fail(x, buffer_text(&text));
	} else if (loop_start(g->o.loop, &x->timer, m->config->timeout_ms) < 0) {
		call_fail(x, "out of memory");
	} else if (m->process.upstream.state == UPSTREAM_READY) {
		call_send(x);
	}
}

/* Rules */

/* A question for the client's user, who gets to see the arguments. */
static void call_ask(
	struct gateway_member *m, const char *tool, const char *object, struct mcp_call *c)
{
	auto_buffer text = { 0 }, json = { 0 };

	buffer_adds(&text, "Allow this once?\nA call of the tool ");
	buffer_add_visible(&text, tool, strlen(tool));
	buffer_printf(&text, " of the server %s:\n", m->config->name);
	if (c->arguments)
		json_print(&json, c->arguments, JSON_SPACED);
	buffer_add_visible(
		&text, buffer_text(&json), json.len < SHOWN_BYTES ? json.len : SHOWN_BYTES);
	if (json.len > SHOWN_BYTES)
		buffer_printf(&text, "\n[%zu bytes more]", json.len - SHOWN_BYTES);
	mcp_asking_ask(c, OPERATION_SERVICE, object, buffer_text(&text));
}

static bool call_may_ask(const struct gateway *g, const struct mcp_call *c)
{
	return loop_now(g->o.loop) >= g->quiet_until_ms && mcp_asking_is_possible(c);
}

/* An agent that asks until its user says yes is not heard. */
static void call_note_word(struct gateway *g, enum mcp_word word)
{
	if (word == MCP_WORD_YES)
		g->refusals = 0;
	if (word != MCP_WORD_NO || ++g->refusals < REFUSALS_MAX)
		return;
	g->refusals = 0;
	g->quiet_until_ms = loop_now(g->o.loop) + QUIET_MS;
}

static void call_deny(struct gateway_member *m, const char *tool, struct mcp_call *c,
	const struct gateway_decision *d, enum mcp_word word)
{
	struct call_outcome o = { .decision = AUDIT_DENIED, .rule = d->rule };
	auto_buffer text = { 0 };

	buffer_printf(&text, "denied: %s", d->reason);
	if (d->rule)
		buffer_printf(&text, " (line %u)", d->rule->line);
	if (word == MCP_WORD_NO)
		buffer_adds(&text, ", and the user did not agree");
	else if (loop_now(m->gateway->o.loop) < m->gateway->quiet_until_ms)
		buffer_adds(
			&text, ". The user said no many times; nothing is asked for some minutes");
	else if (d->verdict == VERDICT_ASK)
		buffer_adds(&text, ". The user has to agree first: `corral mcp gateway "
				   "--client-answers` asks in a "
				   "client that shows forms; else the user can allow it in the "
				   "gateway's file");
	o.reason = buffer_text(&text);
	call_record(m, tool, c, &o);
	call_refuse(c, buffer_text(&text));
}

/* It goes on, is asked about or denied. */
static void call_judge(
	struct gateway *g, struct gateway_member *m, const struct node *pinned, struct mcp_call *c)
{
	const char *tool = node_get_text(pinned, "name");
	const struct gateway_decision d =
		gateway_decide(m->config, GATEWAY_TOOL, tool, c->arguments);
	struct call_outcome o = { .decision = AUDIT_ALLOWED, .reason = d.reason, .rule = d.rule };
	enum mcp_word word = MCP_WORD_NONE;
	auto_buffer object = { 0 };

	buffer_printf(&object, "%s.%s", m->config->name, tool);
	if (d.verdict == VERDICT_ASK)
		word = mcp_asking_word(c, OPERATION_SERVICE, buffer_text(&object));
	call_note_word(g, word);
	if (d.verdict == VERDICT_ASK && word == MCP_WORD_NONE && call_may_ask(g, c)) {
		o.decision = AUDIT_ASKED;
		call_record(m, tool, c, &o);
		call_ask(m, tool, buffer_text(&object), c);
	} else if (d.verdict == VERDICT_ALLOW || word == MCP_WORD_YES) {
		o.reason = word == MCP_WORD_YES ? "allowed by the client's user" : d.reason;
		call_record(m, tool, c, &o);
		call_begin(g, m, pinned, c);
	} else {
		call_deny(m, tool, c, &d, word);
	}
}

static void call_describe(const struct gateway *g, struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	for (size_t i = 0; i < g->n; i++)
		gateway_describe_member(&g->members[i], &r.text);
	mcp_server_answer(c, &r);
}

void gateway_call(void *context, struct mcp_call *c)
{
	struct gateway *g = context;
	struct gateway_member *m = NULL;
	const struct node *pinned = NULL;
	auto_buffer text = { 0 };

	if (strcmp(c->name, GATEWAY_STATUS) == 0) {
		call_describe(g, c);
		return;
	}
	if (gateway_find(g, c->name, &m, &pinned) && pinned) {
		call_judge(g, m, pinned, c);
		return;
	}
	buffer_printf(&text,
		"%s is no tool that the user approved. %s has what can be done: the "
		"user can look at the tools of the server and approve them: %s %s",
		c->name, GATEWAY_STATUS, g->o.command, m ? m->config->name : "");
	if (m) {
		const struct call_outcome o = { .decision = AUDIT_DENIED,
			.reason = "the user did not approve the tool" };

		call_record(m, c->name + strlen(m->config->name) + 2, c, &o);
	}
	call_refuse(c, buffer_text(&text));
}
