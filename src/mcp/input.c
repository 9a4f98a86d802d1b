/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "mcp/internal.h"

#define INPUT_ID "corral-input-"

/* What a client must have said that it can do. */
static const struct {
	const char *method, *capability;
} input_needs[] = {
	{ "elicitation/create", "elicitation" },
	{ "sampling/createMessage", "sampling" },
	{ "roots/list", "roots" },
};

static const char *input_lacks(
	const struct mcp_call *c, const struct mcp_input_request *requests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ROWS(input_needs); k++)
			if (strcmp(requests[i].method, input_needs[k].method) == 0 &&
				!mcp_server_has(c, input_needs[k].capability))
				return input_needs[k].capability;
	return NULL;
}

static void input_put(struct json_writer *w, const struct mcp_input_request *q)
{
	json_put_text(w, "method", q->method);
	json_put_raw(w, "params", q->params ? q->params : "{}");
}

/* The call ends with them. */
static void input_end(
	struct mcp_call *c, const struct mcp_input_request *requests, size_t n, const char *note)
{
	struct mcp_server *s = c->server;
	auto_buffer state = { 0 };
	struct json_writer w;

	if (note) {
		c->claims.is_input = true;
		(void)snprintf(c->claims.note, sizeof(c->claims.note), "%s", note);
		mcp_asking_seal(c, &state);
	}
	mcp_server_turn_to(s, c->reply);
	mcp_server_open_result(s, &w, c->message.id, "input_required");
	json_open_map(&w, "inputRequests");
	for (size_t i = 0; i < n; i++) {
		json_open_map(&w, requests[i].key);
		input_put(&w, &requests[i]);
		json_close(&w);
	}
	json_close(&w);
	if (note)
		json_put_buffer(&w, "requestState", &state);
	json_end_line(&w);
	mcp_server_drop(c);
	mcp_server_turn_to(s, NULL);
}

/* The call waits for it. */
static int input_send(struct mcp_call *c, const struct mcp_input_request *q)
{
	struct mcp_input *x = calloc(1, sizeof(*x));
	char *key = x ? strdup(q->key) : NULL;
	struct json_writer w;

	if (!key) {
		free(x);
		return -1;
	}
	*x = (struct mcp_input){ .key = key, .number = ++c->server->last_input, .next = c->inputs };
	c->inputs = x;
	mcp_server_turn_to(c->server, c->reply);
	w = (struct json_writer){ .out = mcp_server_lines(c->server) };
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_format(&w, "id", INPUT_ID "%llu", (unsigned long long)x->number);
	input_put(&w, q);
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
	return 0;
}

void mcp_input_ask(
	struct mcp_call *c, const struct mcp_input_request *requests, size_t n, const char *note)
{
	const char *lacks = input_lacks(c, requests, n);
	struct mcp_result failed = { .is_error = true };

	if (lacks) {
		mcp_server_lacks(c, lacks);
		return;
	}
	if (c->server->era == MCP_ERA_MODERN) {
		input_end(c, requests, n, c->server->asking ? note : NULL);
		return;
	}
	mcp_server_drop_inputs(c);
	if (note)
		(void)snprintf(c->claims.note, sizeof(c->claims.note), "%s", note);
	for (size_t i = 0; i < n && i < MCP_INPUTS_MAX; i++) {
		if (input_send(c, &requests[i]) == 0)
			continue;
		buffer_adds(&failed.text, "out of memory");
		mcp_server_answer(c, &failed);
		return;
	}
}

const struct node *mcp_input_answer(const struct mcp_call *c, const char *key)
{
	const struct node *n = NULL;

	if (c->server->era == MCP_ERA_MODERN)
		n = node_get(node_get(c->message.params, "inputResponses"), key);
	for (const struct mcp_input *x = c->inputs; x && !n; x = x->next)
		if (strcmp(x->key, key) == 0 && x->answer.kind == MCP_RESULT)
			n = x->answer.body;
	return n && n->type == NODE_MAP ? n : NULL;
}

const char *mcp_input_note(const struct mcp_call *c)
{
	return c->claims.note[0] ? c->claims.note : NULL;
}

static bool input_waits(const struct mcp_call *c)
{
	for (const struct mcp_input *x = c->inputs; x; x = x->next)
		if (!x->is_answered)
			return true;
	return false;
}

/* The one that waits for this answer. */
static struct mcp_input *input_of(const struct mcp_call *c, const struct node *id)
{
	for (struct mcp_input *x = c->inputs; x; x = x->next) {
		char text[40];

		(void)snprintf(text, sizeof(text), INPUT_ID "%llu", (unsigned long long)x->number);
		if (!x->is_answered && strcmp(id->text, text) == 0)
			return x;
	}
	return NULL;
}

bool mcp_input_replied(struct mcp_server *s, struct mcp_message *m)
{
	if (!m->id || m->id->type != NODE_STRING)
		return false;
	for (struct mcp_call *c = s->calls; c; c = c->next) {
		struct mcp_input *x = input_of(c, m->id);

		if (!x)
			continue;
		x->is_answered = true;
		x->answer = *m;
		*m = (struct mcp_message){ 0 };
		if (!input_waits(c))
			s->backend.call(s->backend.context, c);
		return true;
	}
	return false;
}
