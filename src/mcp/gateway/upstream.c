/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"
#include "mcp/error-code.h"
#include "mcp/gateway/listing.h"

#define META "io.modelcontextprotocol/"
#define HANDSHAKE "2025-11-25"
#define MODERN "2026-07-28"

const struct node *upstream_listed(const struct upstream *u, enum upstream_list list)
{
	return u->lists[list].document.root;
}

static void upstream_break(struct upstream *u, const char *why)
{
	u->state = UPSTREAM_BROKEN;
	u->why = why;
}

/* What is sent */

static void upstream_open(struct upstream *u, struct json_writer *w)
{
	*w = (struct json_writer){ .out = &u->out };
	json_open_map(w, NULL);
	json_put_text(w, "jsonrpc", "2.0");
}

static void upstream_put_info(const struct upstream *u, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	json_put_text(w, "name", "corral-gateway");
	json_put_text(w, "version", u->version);
	json_close(w);
}

/* Up to the map of its parameters. */
static uint64_t upstream_open_request(struct upstream *u, struct json_writer *w, const char *method)
{
	upstream_open(u, w);
	json_put_count(w, "id", ++u->last);
	json_put_text(w, "method", method);
	json_open_map(w, "params");
	return u->last;
}

static void upstream_put_modern(const struct upstream *u, struct json_writer *w)
{
	json_put_text(w, META "protocolVersion", MODERN);
	json_open_map(w, META "clientCapabilities");
	json_close(w);
	upstream_put_info(u, w, META "clientInfo");
}

static void upstream_put_meta(const struct upstream *u, struct json_writer *w)
{
	if (!u->is_modern)
		return;
	json_open_map(w, "_meta");
	upstream_put_modern(u, w);
	json_close(w);
}

void upstream_begin(struct upstream *u)
{
	struct json_writer w;

	u->waits = upstream_open_request(u, &w, "initialize");
	json_put_text(&w, "protocolVersion", HANDSHAKE);
	json_open_map(&w, "capabilities");
	json_close(&w);
	upstream_put_info(u, &w, "clientInfo");
	json_end_line(&w);
	u->state = UPSTREAM_HANDSHAKE;
}

static void upstream_discover(struct upstream *u)
{
	struct json_writer w;

	u->is_modern = true;
	u->waits = upstream_open_request(u, &w, "server/discover");
	upstream_put_meta(u, &w);
	json_end_line(&w);
	u->state = UPSTREAM_DISCOVER;
}

static void upstream_ask_page(struct upstream *u, const char *cursor)
{
	struct json_writer w;

	u->waits = upstream_open_request(u, &w, listing_kinds[u->at].method);
	if (cursor)
		json_put_text(&w, "cursor", cursor);
	upstream_put_meta(u, &w);
	json_end_line(&w);
}

/* The first page of u->at. */
static void upstream_ask_list(struct upstream *u)
{
	u->pages = 0;
	upstream_ask_page(u, NULL);
}

/* Beside tools. */
static bool upstream_is_wanted(const struct upstream *u, enum upstream_list list)
{
	return u->wants[list] && u->has[list];
}

/* One with neither tools nor anything else that is wanted is asked for tools, too. */
static enum upstream_list upstream_first(const struct upstream *u)
{
	for (int i = UPSTREAM_PROMPTS; !u->has[UPSTREAM_TOOLS] && i < UPSTREAM_LISTS; i++)
		if (upstream_is_wanted(u, (enum upstream_list)i))
			return (enum upstream_list)i;
	return UPSTREAM_TOOLS;
}

void upstream_list(struct upstream *u)
{
	for (int i = 0; i < UPSTREAM_LISTS; i++) {
		if (listing_begin(&u->coming[i], (enum upstream_list)i))
			continue;
		upstream_break(u, "out of memory");
		return;
	}
	u->is_stale = false;
	u->state = UPSTREAM_LISTING;
	u->at = upstream_first(u);
	upstream_ask_list(u);
}

/* What is answered */

static void upstream_take_capabilities(struct upstream *u, const struct mcp_message *m)
{
	const struct node *capabilities = node_get(m->body, "capabilities");
	const struct node *completions = node_get(capabilities, "completions");

	for (int i = 0; i < UPSTREAM_LISTS; i++) {
		const struct node *n = node_get(capabilities, listing_kinds[i].capability);

		u->has[i] = n && n->type == NODE_MAP;
	}
	u->completes = completions && completions->type == NODE_MAP;
}

static void upstream_greeted(struct upstream *u, const struct mcp_message *m)
{
	static const char *const known[] = { HANDSHAKE, "2025-06-18", "2025-03-26", "2024-11-05",
		NULL };
	const char *version = node_get_text(m->body, "protocolVersion");
	struct json_writer w;
	size_t i = 0;

	if (m->kind == MCP_ERROR) {
		upstream_discover(u);
		return;
	}
	while (known[i] && strcmp(known[i], version) != 0)
		i++;
	if (!known[i]) {
		upstream_break(u, "it speaks no version of the protocol that is known here");
		return;
	}
	upstream_open(u, &w);
	json_put_text(&w, "method", "notifications/initialized");
	json_end_line(&w);
	upstream_take_capabilities(u, m);
	upstream_list(u);
}

static void upstream_discovered(struct upstream *u, const struct mcp_message *m)
{
	const struct node *versions = node_get(m->body, "supportedVersions");

	if (m->kind == MCP_RESULT && versions && versions->type == NODE_LIST) {
		node_for_each(v, versions) {
			if (v->type != NODE_STRING || strcmp(v->text, MODERN) != 0)
				continue;
			upstream_take_capabilities(u, m);
			upstream_list(u);
			return;
		}
	}
	upstream_break(u, "it speaks neither " HANDSHAKE " nor " MODERN);
}

/* All lists are there. */
static void upstream_got_all(struct upstream *u)
{
	if (u->is_stale) {
		u->state = UPSTREAM_STALE;
		return;
	}
	for (int i = 0; i < UPSTREAM_LISTS; i++) {
		listing_deinit(&u->lists[i]);
		u->lists[i] = u->coming[i];
		u->coming[i] = (struct upstream_items){ 0 };
	}
	u->waits = 0;
	u->state = UPSTREAM_READY;
	u->host.listed(u->host.context);
}

static void upstream_got_list(struct upstream *u)
{
	for (int i = (int)u->at + 1; i < UPSTREAM_LISTS; i++) {
		u->at = (enum upstream_list)i;
		if (!upstream_is_wanted(u, u->at))
			continue;
		upstream_ask_list(u);
		return;
	}
	upstream_got_all(u);
}

static void upstream_got_page(struct upstream *u, const struct mcp_message *m)
{
	const struct node *items = node_get(m->body, listing_kinds[u->at].key);
	const struct node *next = node_get(m->body, "nextCursor");
	const bool is_list = m->kind == MCP_RESULT && items && items->type == NODE_LIST;
	const bool goes_on = is_list && next && next->type == NODE_STRING;
	const char *why = is_list ? listing_add(&u->coming[u->at], items) : NULL;

	/* Servers that have resources often have no method for templates. */
	if (!is_list && u->at == UPSTREAM_TOOLS)
		why = "it does not list its tools";
	if (!why && goes_on && ++u->pages == UPSTREAM_PAGES_MAX)
		why = "a list of what it has does not end";
	if (why)
		upstream_break(u, why);
	else if (goes_on)
		upstream_ask_page(u, next->text);
	else
		upstream_got_list(u);
}

/* Takes it out of the list. */
static void *upstream_take_call(struct upstream *u, uint64_t id)
{
	for (struct upstream_call **at = &u->calls; *at; at = &(*at)->next) {
		struct upstream_call *c = *at;
		void *owner = c->owner;

		if (c->id != id)
			continue;
		*at = c->next;
		free(c);
		return owner;
	}
	return NULL;
}

static void upstream_answer(struct upstream *u, const struct mcp_message *m)
{
	int64_t id;
	void *owner;

	if (!m->id || m->id->type != NODE_NUMBER || node_integer(m->id, &id) < 0 || id <= 0)
		return;
	if (u->waits && (uint64_t)id == u->waits) {
		u->waits = 0;
		if (u->state == UPSTREAM_HANDSHAKE)
			upstream_greeted(u, m);
		else if (u->state == UPSTREAM_DISCOVER)
			upstream_discovered(u, m);
		else if (u->state == UPSTREAM_LISTING)
			upstream_got_page(u, m);
		return;
	}
	owner = upstream_take_call(u, (uint64_t)id);
	if (owner)
		u->host.answered(u->host.context, owner, m);
}

/* Requests and notifications of the server */

static void upstream_refuse(struct upstream *u, const struct mcp_message *m)
{
	struct json_writer w;

	if (u->out.len > UPSTREAM_REFUSED_MAX)
		return;
	upstream_open(u, &w);
	json_put_node(&w, "id", m->id);
	if (strcmp(m->method, "ping") == 0) {
		json_open_map(&w, "result");
	} else {
		json_open_map(&w, "error");
		json_put_number(&w, "code", MCP_METHOD_NOT_FOUND);
		json_put_text(&w, "message",
			"the gateway passes no requests of servers on to its client");
	}
	json_end_line(&w);
}

static void upstream_notified(struct upstream *u, const struct mcp_message *m)
{
	const struct node *token = node_get(m->params, "progressToken");
	int64_t id;

	for (int i = 0; i < UPSTREAM_LISTS; i++) {
		if (strcmp(m->method, listing_kinds[i].changed) != 0 ||
			(i != UPSTREAM_TOOLS && !u->wants[i]))
			continue;
		if (u->state == UPSTREAM_READY)
			u->state = UPSTREAM_STALE;
		else if (u->state == UPSTREAM_LISTING)
			u->is_stale = true;
		return;
	}
	if (strcmp(m->method, "notifications/progress") != 0 || !token ||
		token->type != NODE_NUMBER || node_integer(token, &id) < 0)
		return;
	for (const struct upstream_call *c = u->calls; c; c = c->next) {
		if (c->id != (uint64_t)id)
			continue;
		u->host.progressed(u->host.context, c->owner, m->params);
		return;
	}
}

void upstream_line(struct upstream *u, const char *line, size_t len)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };

	if (u->state == UPSTREAM_BROKEN || !line || mcp_message_read(&m, line, len, &e) < 0)
		return;
	switch (m.kind) {
	case MCP_REQUEST:
		upstream_refuse(u, &m);
		break;
	case MCP_NOTIFICATION:
		upstream_notified(u, &m);
		break;
	case MCP_RESULT:
	case MCP_ERROR:
		upstream_answer(u, &m);
		break;
	case MCP_OTHER:
		break;
	}
}

/* Calls */

static void upstream_put_arguments(struct json_writer *w, const struct upstream_request *r)
{
	if (r->arguments) {
		json_put_node(w, "arguments", r->arguments);
	} else {
		json_open_map(w, "arguments");
		json_close(w);
	}
}

static void upstream_put_completion(struct json_writer *w, const struct upstream_request *r)
{
	json_open_map(w, "ref");
	json_put_text(w, "type", r->is_prompt ? "ref/prompt" : "ref/resource");
	json_put_text(w, r->is_prompt ? "name" : "uri", r->name);
	json_close(w);
	json_put_node(w, "argument", r->argument);
	if (r->context)
		json_put_node(w, "context", r->context);
}

static void upstream_put_what(struct json_writer *w, const struct upstream_request *r)
{
	switch (r->method) {
	case UPSTREAM_CALL:
	case UPSTREAM_GET:
		json_put_text(w, "name", r->name);
		upstream_put_arguments(w, r);
		break;
	case UPSTREAM_READ:
		json_put_text(w, "uri", r->name);
		break;
	case UPSTREAM_COMPLETE:
		upstream_put_completion(w, r);
		break;
	}
}

int upstream_call(struct upstream *u, const struct upstream_request *r)
{
	static const char *const methods[] = { [UPSTREAM_CALL] = "tools/call",
		[UPSTREAM_GET] = "prompts/get",
		[UPSTREAM_READ] = "resources/read",
		[UPSTREAM_COMPLETE] = "completion/complete" };
	struct upstream_call *c;
	struct json_writer w;

	if (u->out.len > UPSTREAM_OUT_MAX)
		return -ENOBUFS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->id = upstream_open_request(u, &w, methods[r->method]);
	upstream_put_what(&w, r);
	json_open_map(&w, "_meta");
	if (u->is_modern)
		upstream_put_modern(u, &w);
	if (r->wants_progress)
		json_put_count(&w, "progressToken", c->id);
	if (r->traceparent)
		json_put_text(&w, "traceparent", r->traceparent);
	if (r->traceparent && r->tracestate)
		json_put_text(&w, "tracestate", r->tracestate);
	json_end_line(&w);
	c->owner = r->owner;
	c->next = u->calls;
	u->calls = c;
	return u->out.failed ? -ENOMEM : 0;
}

void upstream_cancel(struct upstream *u, const void *owner, const char *reason)
{
	struct json_writer w;
	uint64_t id = 0;

	for (const struct upstream_call *c = u->calls; c; c = c->next)
		if (c->owner == owner)
			id = c->id;
	if (!id)
		return;
	(void)upstream_take_call(u, id);
	upstream_open(u, &w);
	json_put_text(&w, "method", "notifications/cancelled");
	json_open_map(&w, "params");
	json_put_count(&w, "requestId", id);
	json_put_text(&w, "reason", reason);
	json_end_line(&w);
}

void upstream_reset(struct upstream *u)
{
	while (u->calls)
		(void)upstream_take_call(u, u->calls->id);
	buffer_deinit(&u->out);
	for (int i = 0; i < UPSTREAM_LISTS; i++) {
		listing_deinit(&u->coming[i]);
		u->has[i] = false;
	}
	u->state = UPSTREAM_NEW;
	u->pages = 0;
	u->is_modern = u->is_stale = u->completes = false;
	u->waits = 0;
}

void upstream_deinit(struct upstream *u)
{
	upstream_reset(u);
	for (int i = 0; i < UPSTREAM_LISTS; i++)
		listing_deinit(&u->lists[i]);
}
