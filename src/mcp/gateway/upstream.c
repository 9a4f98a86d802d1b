/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"
#include "mcp/error-code.h"

#define META "io.modelcontextprotocol/"
#define HANDSHAKE "2025-11-25"
#define MODERN "2026-07-28"

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

	u->waits = upstream_open_request(u, &w, "tools/list");
	if (cursor)
		json_put_text(&w, "cursor", cursor);
	upstream_put_meta(u, &w);
	json_end_line(&w);
}

void upstream_list(struct upstream *u)
{
	document_deinit(&u->coming);
	u->coming = (struct document){ .arena.budget = (size_t)8 * UPSTREAM_TOOLS_BYTES };
	u->coming.root = node_new(&u->coming.arena, NODE_LIST);
	u->pages = u->bytes = 0;
	u->is_stale = false;
	u->state = UPSTREAM_LISTING;
	if (u->coming.root)
		upstream_ask_page(u, NULL);
	else
		upstream_break(u, "out of memory");
}

/* What is answered */

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
	upstream_list(u);
}

static void upstream_discovered(struct upstream *u, const struct mcp_message *m)
{
	const struct node *versions = node_get(m->body, "supportedVersions");

	if (m->kind == MCP_RESULT && versions && versions->type == NODE_LIST) {
		node_for_each(v, versions) {
			if (v->type != NODE_STRING || strcmp(v->text, MODERN) != 0)
				continue;
			upstream_list(u);
			return;
		}
	}
	upstream_break(u, "it speaks neither " HANDSHAKE " nor " MODERN);
}

/* Whether it is a tool as clients take it, and none of that name was before it. */
static const char *upstream_check_tool(const struct upstream *u, const struct node *tool)
{
	const struct node *name = node_get(tool, "name"), *schema = node_get(tool, "inputSchema");

	if (!name || name->type != NODE_STRING || !*name->text || strlen(name->text) > 128)
		return "one of its tools has no name, or one of more than 128 bytes";
	if (!schema || schema->type != NODE_MAP)
		return "one of its tools has no inputSchema";
	node_for_each(other, u->coming.root) {
		if (strcmp(node_get_text(other, "name"), name->text) == 0)
			return "two of its tools have the same name";
	}
	return NULL;
}

static const char *upstream_add_tools(struct upstream *u, const struct node *tools)
{
	node_for_each(tool, tools) {
		const char *why = upstream_check_tool(u, tool);
		auto_buffer text = { 0 };

		if (why)
			return why;
		json_print(&text, tool, JSON_COMPACT);
		u->bytes += text.len;
		if (u->coming.root->count == UPSTREAM_TOOLS_MAX || u->bytes > UPSTREAM_TOOLS_BYTES)
			return "it has too many tools, or their definitions are too long";
		if (text.failed || !node_append(u->coming.root, node_copy(&u->coming.arena, tool)))
			return "out of memory";
	}
	return NULL;
}

static void upstream_got_page(struct upstream *u, const struct mcp_message *m)
{
	const struct node *tools = node_get(m->body, "tools");
	const struct node *next = node_get(m->body, "nextCursor");
	const char *why = m->kind == MCP_RESULT && tools && tools->type == NODE_LIST
				  ? upstream_add_tools(u, tools)
				  : "it does not list its tools";

	if (!why && next && next->type == NODE_STRING && ++u->pages == UPSTREAM_PAGES_MAX)
		why = "the list of its tools does not end";
	if (why) {
		upstream_break(u, why);
		return;
	}
	if (next && next->type == NODE_STRING) {
		upstream_ask_page(u, next->text);
		return;
	}
	if (u->is_stale) {
		u->state = UPSTREAM_STALE;
		return;
	}
	document_deinit(&u->tools);
	u->tools = u->coming;
	u->coming = (struct document){ 0 };
	u->waits = 0;
	u->state = UPSTREAM_READY;
	u->host.listed(u->host.context);
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

	if (strcmp(m->method, "notifications/tools/list_changed") == 0) {
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

int upstream_call(struct upstream *u, const struct upstream_request *r)
{
	struct upstream_call *c;
	struct json_writer w;

	if (u->out.len > UPSTREAM_OUT_MAX)
		return -ENOBUFS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->id = upstream_open_request(u, &w, "tools/call");
	json_put_text(&w, "name", r->tool);
	if (r->arguments) {
		json_put_node(&w, "arguments", r->arguments);
	} else {
		json_open_map(&w, "arguments");
		json_close(&w);
	}
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

void upstream_deinit(struct upstream *u)
{
	while (u->calls)
		(void)upstream_take_call(u, u->calls->id);
	buffer_deinit(&u->out);
	document_deinit(&u->tools);
	document_deinit(&u->coming);
	u->state = UPSTREAM_NEW;
	u->pages = u->bytes = 0;
	u->is_modern = u->is_stale = false;
	u->waits = 0;
}
