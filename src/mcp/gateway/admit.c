/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of clients go on: of a tool, prompt or resource that is there, approved, and allowed
 * by the rules of the gateway's file, or by the client's user.
 */
#include <string.h>

#include "codec/json.h"
#include "mcp/gateway/gateway.h"

enum {
	REFUSALS_MAX = 8, /* in a row */
	QUIET_MS = 5 * 60 * 1000,
	SHOWN_BYTES = 2000, /* of arguments, in a question */
};

/* Rules */

/* A question for the client's user, who gets to see the arguments. */
static void call_ask(
	struct gateway_member *m, const char *name, const char *object, struct mcp_call *c)
{
	static const char *const words[GATEWAY_KINDS] = { "A call of the tool ",
		"The messages of the prompt ", "The contents of the resource " };
	auto_buffer text = { 0 }, json = { 0 };

	buffer_printf(&text, "Allow this once?\n%s", words[gateway_call_kind(c)]);
	buffer_add_visible(&text, name, strlen(name));
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

static void call_deny(struct gateway_member *m, const char *name, struct mcp_call *c,
	const struct gateway_decision *d, enum mcp_word word)
{
	struct gateway_outcome o = { .decision = AUDIT_DENIED, .rule = d->rule };
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
	gateway_call_record(m, name, c, &o);
	gateway_call_refuse(c, buffer_text(&text));
}

/* It goes on, is asked about or denied. */
static void call_judge(struct gateway_member *m, const struct node *pinned, struct mcp_call *c)
{
	struct gateway *g = m->gateway;
	const char *name = pinned ? node_get_text(pinned, "name") : c->name;
	const struct gateway_decision d =
		gateway_decide(m->config, gateway_call_kind(c), name, c->arguments);
	struct gateway_outcome o = {
		.decision = AUDIT_ALLOWED, .reason = d.reason, .rule = d.rule
	};
	enum mcp_word word = MCP_WORD_NONE;
	auto_buffer object = { 0 };

	buffer_printf(&object, "%s.%s", m->config->name, name);
	if (d.verdict == VERDICT_ASK)
		word = mcp_asking_word(c, OPERATION_SERVICE, buffer_text(&object));
	call_note_word(g, word);
	if (d.verdict == VERDICT_ASK && word == MCP_WORD_NONE && call_may_ask(g, c)) {
		o.decision = AUDIT_ASKED;
		gateway_call_record(m, name, c, &o);
		call_ask(m, name, buffer_text(&object), c);
	} else if (d.verdict == VERDICT_ALLOW || word == MCP_WORD_YES) {
		o.reason = word == MCP_WORD_YES ? "allowed by the client's user" : d.reason;
		gateway_call_record(m, name, c, &o);
		gateway_call_begin(m, pinned, c);
	} else {
		call_deny(m, name, c, &d, word);
	}
}

static void call_describe(const struct gateway *g, struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	for (size_t i = 0; i < g->n; i++)
		gateway_describe_member(&g->members[i], &r.text);
	mcp_server_answer(c, &r);
}

/* One that nobody approved. m: NULL: of no server of the file. */
static void call_refuse_unknown(
	const struct gateway *g, const struct gateway_member *m, struct mcp_call *c)
{
	const char *kind = gateway_kind_name(gateway_call_kind(c));
	auto_buffer text = { 0 }, reason = { 0 };

	buffer_printf(&text,
		"%s is no %s that the user approved. %s has what can be done: the "
		"user can look at the %ss of the server and approve them: %s %s",
		c->name, kind, GATEWAY_STATUS, kind, g->o.command, m ? m->config->name : "");
	buffer_printf(&reason, "the user did not approve the %s", kind);
	if (m) {
		const struct gateway_outcome o = { .decision = AUDIT_DENIED,
			.reason = buffer_text(&reason) };

		gateway_call_record(m, c->name + strlen(m->config->name) + 2, c, &o);
	}
	gateway_call_refuse(c, buffer_text(&text));
}

/* A resource that is gone, since its user was asked about it. */
static void call_miss(struct mcp_call *c)
{
	struct mcp_result r = { .is_error = true, .code = MCP_RESOURCE_NOT_FOUND };

	mcp_server_answer(c, &r);
}

void gateway_admit(void *context, struct mcp_call *c)
{
	struct gateway *g = context;
	const enum gateway_kind kind = gateway_call_kind(c);
	struct gateway_member *m = NULL;
	const struct node *pinned = NULL;

	if (c->kind == MCP_CALL_TOOL && strcmp(c->name, GATEWAY_STATUS) == 0) {
		call_describe(g, c);
		return;
	}
	if (kind == GATEWAY_RESOURCE)
		m = c->kind == MCP_CALL_READ ? gateway_route(g, c->name)
					     : gateway_route_template(g, c->name);
	else
		(void)gateway_find(g, kind, c->name, &m, &pinned);
	if (!m && c->kind == MCP_CALL_READ)
		call_miss(c);
	else if (!m || (kind != GATEWAY_RESOURCE && !pinned))
		call_refuse_unknown(g, m, c);
	else if (c->kind == MCP_CALL_COMPLETE)
		gateway_call_begin(m, pinned, c);
	else
		call_judge(m, pinned, c);
}
