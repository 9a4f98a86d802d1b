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

enum { PROGRESS_MS = 50, PROGRESS_BURST = 16, TRACE_BYTES = 55, STATE_BYTES = 512 };

struct gateway_call {
	struct gateway *gateway;
	struct gateway_member *member;
	struct mcp_call *call;
	const struct node *pinned; /* NULL: of a resource, or a template */
	const char *name;          /* as the server has it */
	struct timer timer;
	bool is_out; /* it went to the server */
	uint64_t began_ns, told_ms, told;
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

enum gateway_kind gateway_call_kind(const struct mcp_call *c)
{
	const struct node *ref = node_get(c->message.params, "ref");

	switch (c->kind) {
	case MCP_CALL_TOOL:
		return GATEWAY_TOOL;
	case MCP_CALL_PROMPT:
		return GATEWAY_PROMPT;
	case MCP_CALL_READ:
		return GATEWAY_RESOURCE;
	case MCP_CALL_COMPLETE:
		break;
	}
	return strcmp(node_get_text(ref, "type"), "ref/prompt") == 0 ? GATEWAY_PROMPT
								     : GATEWAY_RESOURCE;
}

void gateway_call_record(const struct gateway_member *m, const char *name, const struct mcp_call *c,
	const struct gateway_outcome *o)
{
	static const char *const kinds[GATEWAY_KINDS] = { "", "prompt.", "resource." };
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
	buffer_printf(&target, "mcp.%s.%s%s", m->config->name, kinds[gateway_call_kind(c)], name);
	if (o->rule)
		buffer_printf(&rule, "%s:%u", g->o.path, o->rule->line);
	buffer_printf(&reason, "%s%s%s%s", c->kind == MCP_CALL_COMPLETE ? "completion: " : "",
		o->reason, trace ? "; traceparent " : "", trace ? trace : "");
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

static void call_answer(struct mcp_call *c, const char *text, int code)
{
	struct mcp_result r = { .is_error = true, .code = code };

	buffer_adds(&r.text, text);
	mcp_server_answer(c, &r);
}

void gateway_call_refuse(struct mcp_call *c, const char *text)
{
	call_answer(c, text, MCP_INVALID_PARAMS);
}

static uint64_t call_cost(const struct gateway_call *x)
{
	return clock_ns(CLOCK_MONOTONIC) - x->began_ns;
}

/* Ends it without an answer of the server. text: for the model. */
static void call_fail_with(struct gateway_call *x, const char *text, int code)
{
	const struct gateway_outcome o = {
		.decision = AUDIT_FAILED, .reason = text, .cost_ns = call_cost(x)
	};

	gateway_call_record(x->member, x->name, x->call, &o);
	call_answer(call_take(x), text, code);
}

static void call_fail(struct gateway_call *x, const char *text)
{
	call_fail_with(x, text, MCP_INTERNAL_ERROR);
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

static bool call_is_own(const void *context, const char *uri)
{
	const struct gateway_member *m = context;

	return gateway_route(m->gateway, uri) == m;
}

void gateway_answered(void *context, void *owner, const struct mcp_message *m)
{
	struct gateway_member *member = context;
	struct gateway_call *x = owner;
	struct gateway_result result = { .kind = gateway_call_kind(x->call),
		.server = member->config->name,
		.name = x->name,
		.is_own = call_is_own,
		.context = member,
		.max = member->config->result_max,
		.has_schema = node_get(x->pinned, "outputSchema") != NULL };
	struct gateway_outcome o = { .decision = AUDIT_NONE, .cost_ns = call_cost(x) };
	auto_buffer size = { 0 };
	struct mcp_result answer = { 0 };

	json_print(&size, m->body, JSON_COMPACT);
	result.received = o.received = size.len;
	if (x->call->kind == MCP_CALL_COMPLETE)
		gateway_completion_make(&result, m, member->gateway->scanner, &answer);
	else
		gateway_result_make(&result, m, member->gateway->scanner, &answer);
	o.reason = result.has_signs  ? "answered, with signs of prompt injection"
		   : result.is_cut   ? "answered, cut"
		   : answer.is_error ? "answered, with an error"
				     : "answered";
	gateway_call_record(member, x->name, x->call, &o);
	mcp_server_answer(call_take(x), &answer);
}

void gateway_progressed(void *context, void *owner, const struct node *params)
{
	const struct gateway_member *m = context;
	struct gateway_call *x = owner;
	const uint64_t now = loop_now(m->process.loop);

	/* One that floods is heard now and then. */
	if (x->told >= PROGRESS_BURST && now - x->told_ms < PROGRESS_MS)
		return;
	x->told++;
	x->told_ms = now;
	mcp_server_pass_progress(x->call, params);
}

/* Going out */

/* Only exactly what was approved goes out. */
static bool call_is_pinned(struct gateway_call *x)
{
	const struct gateway_member *m = x->member;
	const enum gateway_kind kind = gateway_call_kind(x->call);
	const enum pin_state state = gateway_state(m, kind, x->pinned);
	auto_buffer text = { 0 };

	if (state == PIN_APPROVED)
		return true;
	buffer_printf(&text,
		"the %s %s of the server %s is quarantined: it is %s since the user approved it. "
		"The user can look at it and approve it: %s %s",
		gateway_kind_name(kind), x->name, m->config->name, pin_state_name(state),
		m->gateway->o.command, m->config->name);
	call_fail_with(x, buffer_text(&text), MCP_INVALID_PARAMS);
	return false;
}

/* It may have listed others since the call came. */
static bool call_is_routed(struct gateway_call *x)
{
	const struct gateway *g = x->gateway;
	const bool is_read = x->call->kind == MCP_CALL_READ;

	if ((is_read ? gateway_route(g, x->name) : gateway_route_template(g, x->name)) == x->member)
		return true;
	call_fail_with(x, "the server has it no more",
		is_read ? MCP_RESOURCE_NOT_FOUND : MCP_INVALID_PARAMS);
	return false;
}

/* Of a server that has no completion. */
static void call_complete_nothing(struct gateway_call *x)
{
	const struct gateway_outcome o = { .decision = AUDIT_NONE,
		.reason = "the server completes nothing" };
	struct mcp_result r = { 0 };

	gateway_call_record(x->member, x->name, x->call, &o);
	mcp_server_answer(call_take(x), &r);
}

/* The server has listed what it has. */
static void call_send(struct gateway_call *x)
{
	static const enum upstream_method methods[] = { [MCP_CALL_TOOL] = UPSTREAM_CALL,
		[MCP_CALL_PROMPT] = UPSTREAM_GET,
		[MCP_CALL_READ] = UPSTREAM_READ,
		[MCP_CALL_COMPLETE] = UPSTREAM_COMPLETE };
	struct gateway_member *m = x->member;
	const struct node *params = x->call->message.params, *meta = node_get(params, "_meta");
	const char *tracestate = node_get_text(meta, "tracestate");
	const struct upstream_request request = { .method = methods[x->call->kind],
		.name = x->name,
		.is_prompt = gateway_call_kind(x->call) == GATEWAY_PROMPT,
		.arguments = x->call->arguments,
		.argument = node_get(params, "argument"),
		.context = node_get(params, "context"),
		.traceparent = call_trace(x->call),
		.tracestate = *tracestate && strlen(tracestate) <= STATE_BYTES ? tracestate : NULL,
		.wants_progress = x->call->token != NULL,
		.owner = x };
	auto_buffer text = { 0 };

	if (x->pinned ? !call_is_pinned(x) : !call_is_routed(x))
		return;
	if (x->call->kind == MCP_CALL_COMPLETE && !m->process.upstream.completes) {
		call_complete_nothing(x);
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

void gateway_call_begin(struct gateway_member *m, const struct node *pinned, struct mcp_call *c)
{
	struct gateway *g = m->gateway;
	struct gateway_call *x = calloc(1, sizeof(*x));
	auto_buffer text = { 0 };

	if (!x) {
		call_answer(c, "out of memory", MCP_INTERNAL_ERROR);
		return;
	}
	*x = (struct gateway_call){ .gateway = g,
		.member = m,
		.call = c,
		.pinned = pinned,
		.name = pinned ? node_get_text(pinned, "name") : c->name,
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
