/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/asking.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "codec/json.h"
#include "mcp/canonical.h"
#include "mcp/internal.h"

#define ASKING_KEY "permission"
#define ASKING_ID "corral-"

/* Who can be asked */

bool mcp_asking_can(const struct node *capabilities)
{
	const struct node *elicitation = node_get(capabilities, "elicitation");

	/* As of 2025-11-25 an empty map is one with forms. */
	return elicitation && elicitation->type == NODE_MAP &&
	       (elicitation->count == 0 || node_get(elicitation, "form"));
}

bool mcp_asking_is_possible(const struct mcp_call *c)
{
	return c->server->asking && c->shows_forms && c->claims.n < MCP_ANSWERS_MAX;
}

static void asking_digest(const char *object, unsigned char ret[MCP_DIGEST])
{
	mcp_digest(object, strlen(object), ret);
}

enum mcp_word mcp_asking_word(const struct mcp_call *c, enum operation op, const char *object)
{
	unsigned char digest[MCP_DIGEST];

	asking_digest(object, digest);
	for (uint32_t i = 0; i < c->claims.n; i++) {
		const struct mcp_answered *a = &c->claims.answers[i];

		if (a->op == (uint32_t)op && memcmp(a->object, digest, MCP_DIGEST) == 0)
			return a->is_allowed ? MCP_WORD_YES : MCP_WORD_NO;
	}
	return MCP_WORD_NONE;
}

/* Arguments in the order of the tool's table, or of their names, so that a client may write them in
 * another. */
static void asking_identify(const struct mcp_call *c, unsigned char ret[MCP_DIGEST])
{
	static const char *const kinds[] = { [MCP_CALL_TOOL] = "tool ",
		[MCP_CALL_PROMPT] = "prompt ",
		[MCP_CALL_READ] = "resource ",
		[MCP_CALL_COMPLETE] = "completion " };
	auto_buffer text = { 0 };

	buffer_adds(&text, kinds[c->kind]);
	buffer_add(&text, c->name, strlen(c->name) + 1);
	if (!c->tool && c->arguments)
		mcp_canonical_print(&text, c->arguments);
	for (const struct schema_field *f = c->tool ? c->tool->params : NULL; f && f->name; f++) {
		const struct node *n = node_get(c->arguments, f->name);

		if (!n)
			continue;
		buffer_add(&text, f->name, strlen(f->name) + 1);
		json_print(&text, n, JSON_COMPACT);
		buffer_add(&text, "", 1);
	}
	/* Without memory it is no request that was ever made. */
	mcp_digest(text.data, text.failed ? 0 : text.len, ret);
}

/* The question */

static void asking_put_params(struct json_writer *w, const char *message)
{
	json_open_map(w, "params");
	json_put_text(w, "message", message);
	json_open_map(w, "requestedSchema");
	json_put_text(w, "type", "object");
	json_open_map(w, "properties");
	json_open_map(w, "allow");
	json_put_text(w, "type", "boolean");
	json_put_text(w, "title", "Allow this once");
	json_put_text(w, "description", "It counts for this call alone.");
	json_close(w);
	json_close(w);
	json_open_list(w, "required");
	json_put_text(w, NULL, "allow");
	json_close(w);
	json_close(w);
	json_close(w);
}

void mcp_asking_seal(struct mcp_call *c, struct buffer *out)
{
	struct mcp_asking *a = c->server->asking;

	mcp_digest(a->principal, strlen(a->principal), c->claims.principal);
	asking_identify(c, c->claims.request);
	mcp_seal_close(&a->seal, &c->claims, a->now_ms(), a->patience_ms, out);
}

/* The call ends with it. */
static void asking_end(struct mcp_call *c, const char *message)
{
	struct mcp_server *s = c->server;
	auto_buffer state = { 0 };
	struct json_writer w;

	mcp_server_turn_to(s, c->reply);
	mcp_asking_seal(c, &state);
	if (state.failed) {
		mcp_server_fail(s, c->message.id, MCP_INTERNAL_ERROR, "out of memory");
	} else {
		mcp_server_open_result(s, &w, c->message.id, "input_required");
		json_open_map(&w, "inputRequests");
		json_open_map(&w, ASKING_KEY);
		json_put_text(&w, "method", "elicitation/create");
		asking_put_params(&w, message);
		json_close(&w);
		json_close(&w);
		json_put_buffer(&w, "requestState", &state);
		json_end_line(&w);
	}
	mcp_server_drop(c);
}

/* The call waits for it. */
static void asking_send(struct mcp_call *c, const char *message)
{
	struct mcp_asking *a = c->server->asking;
	struct json_writer w;

	mcp_server_turn_to(c->server, c->reply);
	w = (struct json_writer){ .out = mcp_server_lines(c->server) };
	c->question = ++a->last;
	c->until_ms = a->now_ms() + a->patience_ms;
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_format(&w, "id", ASKING_ID "%llu", (unsigned long long)c->question);
	json_put_text(&w, "method", "elicitation/create");
	asking_put_params(&w, message);
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
}

void mcp_asking_ask(struct mcp_call *c, enum operation op, const char *object, const char *message)
{
	struct mcp_answered *a = &c->claims.answers[c->claims.n++];

	*a = (struct mcp_answered){ .op = (uint32_t)op };
	c->claims.is_input = false;
	asking_digest(object, a->object);
	if (c->server->era == MCP_ERA_MODERN)
		asking_end(c, message);
	else
		asking_send(c, message);
}

/* The answer */

/* Of what the client sent as its result. */
static bool asking_is_yes(const struct node *result)
{
	const struct node *action = node_get(result, "action");
	const struct node *allow = node_get(node_get(result, "content"), "allow");
	bool is_allowed = false;

	return action && action->type == NODE_STRING && strcmp(action->text, "accept") == 0 &&
	       allow && node_boolean(allow, &is_allowed) == 0 && is_allowed;
}

bool mcp_asking_resume(struct mcp_call *c)
{
	struct mcp_server *s = c->server;
	const struct node *state = node_get(c->message.params, "requestState");
	const struct node *responses = node_get(c->message.params, "inputResponses");
	const struct node *response = node_get(responses, ASKING_KEY);
	unsigned char principal[MCP_DIGEST], request[MCP_DIGEST];
	enum mcp_seal_fault fault;
	const char *wrong = NULL;

	if (s->era != MCP_ERA_MODERN || !state)
		return true;
	if (!s->asking)
		wrong = "this server asks its client nothing, so no requestState is its own";
	else if (state->type != NODE_STRING || (responses && responses->type != NODE_MAP) ||
		 (response && (response->type != NODE_MAP || !node_get(response, "action"))))
		wrong = "`requestState` must be a text, and `inputResponses` a map whose values "
			"have an `action`";
	if (!wrong) {
		mcp_digest(s->asking->principal, strlen(s->asking->principal), principal);
		asking_identify(c, request);
		fault = mcp_seal_open(&s->asking->seal, state->text, strlen(state->text), principal,
			request, s->asking->now_ms(), &c->claims);
		wrong = fault == MCP_SEAL_GOOD ? NULL : mcp_seal_fault_text(fault);
	}
	if (wrong) {
		mcp_server_fail(s, c->message.id, MCP_INVALID_PARAMS, wrong);
		mcp_server_drop(c);
		return false;
	}
	if (c->claims.is_input)
		return true;
	/* Without an answer it is asked again. */
	if (response)
		c->claims.answers[c->claims.n - 1].is_allowed = asking_is_yes(response);
	else
		c->claims.n--;
	return true;
}

/* The call goes on with it. */
static void asking_take(struct mcp_call *c, bool is_allowed)
{
	struct mcp_server *s = c->server;

	c->question = 0;
	c->claims.answers[c->claims.n - 1].is_allowed = is_allowed;
	s->backend.call(s->backend.context, c);
}

void mcp_asking_replied(struct mcp_server *s, const struct mcp_message *m)
{
	for (struct mcp_call *c = m->id ? s->calls : NULL; c; c = c->next) {
		char id[32];

		(void)snprintf(id, sizeof(id), ASKING_ID "%llu", (unsigned long long)c->question);
		if (!c->question || m->id->type != NODE_STRING || strcmp(m->id->text, id) != 0)
			continue;
		asking_take(c, m->kind == MCP_RESULT && asking_is_yes(m->body));
		return;
	}
}

void mcp_asking_forget(struct mcp_call *c)
{
	struct json_writer w;

	if (!c->question)
		return;
	mcp_server_turn_to(c->server, c->reply);
	w = (struct json_writer){ .out = mcp_server_lines(c->server) };
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_text(&w, "method", "notifications/cancelled");
	json_open_map(&w, "params");
	json_put_format(&w, "requestId", ASKING_ID "%llu", (unsigned long long)c->question);
	json_put_text(&w, "reason", "the answer is not waited for any more");
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
	c->question = 0;
}

int mcp_asking_turn(struct mcp_server *s)
{
	const uint64_t now = s->asking ? s->asking->now_ms() : 0;
	uint64_t next = UINT64_MAX;

	for (struct mcp_call *c = s->calls, *after; c; c = after) {
		after = c->next;
		if (!c->question || c->until_ms > now)
			continue;
		mcp_asking_forget(c);
		asking_take(c, false);
	}
	/* What went on may have asked once more. */
	for (const struct mcp_call *c = s->calls; c; c = c->next)
		if (c->question && c->until_ms < next)
			next = c->until_ms;
	if (next == UINT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	return next - now < INT_MAX ? (int)(next - now) : INT_MAX;
}
