/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "mcp/input.h"
#include "mcp/internal.h"
#include "mcp/listen.h"

#define META MCP_META
#define META_VERSION META "protocolVersion"
#define MODERN "2026-07-28"

/* How long a client may keep a list that does not change. */
enum { LIST_KEPT_MS = 3600 * 1000 };

/* Newest first: what a client is offered that asks for another. */
static const char *const handshakes[] = { "2025-11-25", "2025-06-18" };

/* Methods */

static void server_put_versions(struct json_writer *w, const char *key)
{
	json_open_list(w, key);
	json_put_text(w, NULL, MODERN);
	json_close(w);
}

/* The version is not served. */
static void server_fail_version(
	struct mcp_server *s, const struct node *id, const char *requested, const char *text)
{
	auto_buffer data = { 0 };
	struct json_writer w = { .out = &data };

	json_open_map(&w, NULL);
	server_put_versions(&w, "supported");
	json_put_text(&w, "requested", requested);
	(void)json_end(&w);
	mcp_server_fail_with(s, id, MCP_UNSUPPORTED_VERSION, text, &data);
}

/* The map of a result. */
static void server_open_result(struct mcp_server *s, struct json_writer *w, const struct node *id)
{
	mcp_server_open_result(s, w, id, "complete");
}

static void server_put_capabilities(const struct mcp_server *s, struct json_writer *w)
{
	json_open_map(w, "capabilities");
	json_open_map(w, "tools");
	if (mcp_listen_has(s, MCP_TOOLS_CHANGED))
		json_put_flag(w, "listChanged", true);
	json_close(w);
	mcp_feature_put(s, w);
	json_close(w);
}

typedef void server_method(struct mcp_server *s, struct mcp_message *m);

static void server_initialize(struct mcp_server *s, struct mcp_message *m)
{
	const char *wanted = node_get_text(m->params, "protocolVersion"), *version = handshakes[0];
	struct json_writer w;

	if (s->is_initialized) {
		mcp_server_fail(s, m->id, MCP_INVALID_REQUEST, "initialize was called before");
		return;
	}
	for (size_t i = 0; i < ROWS(handshakes); i++)
		if (strcmp(handshakes[i], wanted) == 0)
			version = handshakes[i];
	s->era = MCP_ERA_HANDSHAKE;
	s->is_initialized = true;
	s->spoken = version;
	s->declared = node_get(m->params, "capabilities");
	server_open_result(s, &w, m->id);
	json_put_text(&w, "protocolVersion", version);
	server_put_capabilities(s, &w);
	mcp_server_put_info(s, &w, "serverInfo");
	if (s->instructions)
		json_put_text(&w, "instructions", s->instructions);
	json_end_line(&w);
	s->handshake = *m;
	*m = (struct mcp_message){ 0 };
}

static void server_discover(struct mcp_server *s, struct mcp_message *m)
{
	struct json_writer w;

	server_open_result(s, &w, m->id);
	server_put_versions(&w, "supportedVersions");
	server_put_capabilities(s, &w);
	mcp_server_put_cache(s, &w, 0);
	if (s->instructions)
		json_put_text(&w, "instructions", s->instructions);
	json_end_line(&w);
}

static void server_ping(struct mcp_server *s, struct mcp_message *m)
{
	struct json_writer w;

	server_open_result(s, &w, m->id);
	json_end_line(&w);
}

static void server_list_tools(struct mcp_server *s, struct mcp_message *m)
{
	struct json_writer w;

	server_open_result(s, &w, m->id);
	if (s->backend.tools)
		s->backend.tools->print(s->backend.context, &w, "tools");
	else
		mcp_tools_print(&w, "tools", s->backend.has_handles);
	mcp_server_put_cache(s, &w, s->backend.tools ? 0 : LIST_KEPT_MS);
	json_end_line(&w);
}

/* Calls */

static bool server_is_busy(const struct mcp_server *s, const struct node *id)
{
	for (const struct mcp_call *c = s->calls; c; c = c->next)
		if (node_equal(c->message.id, id))
			return true;
	return false;
}

/* Takes the message over; NULL: it was refused. what: of which kind it is. */
static struct mcp_call *server_new_call(
	struct mcp_server *s, struct mcp_message *m, const struct mcp_call *what)
{
	const struct node *token = node_get(node_get(m->params, "_meta"), "progressToken");
	const struct node *arguments = node_get(m->params, "arguments");
	struct mcp_call *c;

	if (arguments && arguments->type != NODE_MAP) {
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS, "`arguments` must be a map");
		return NULL;
	}
	if (server_is_busy(s, m->id)) {
		mcp_server_fail(s, m->id, MCP_INVALID_REQUEST, "a call with this id is under way");
		return NULL;
	}
	c = s->n_calls < MCP_CALLS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		mcp_server_fail(s, m->id, MCP_INTERNAL_ERROR,
			s->n_calls < MCP_CALLS_MAX ? "out of memory"
						   : "too many calls are under way");
		return NULL;
	}
	*c = (struct mcp_call){ .server = s,
		.tool = what->tool,
		.kind = what->kind,
		.name = what->name,
		.reply = s->reply,
		.message = *m,
		.next = s->calls };
	*m = (struct mcp_message){ 0 };
	c->shows_forms = mcp_asking_can(mcp_server_declared(c));
	c->arguments = arguments;
	if (token && (token->type == NODE_STRING || token->type == NODE_NUMBER))
		c->token = token;
	s->calls = c;
	s->n_calls++;
	return mcp_asking_resume(c) ? c : NULL;
}

/* tool: NULL: the back end's own. */
static void server_begin_call(
	struct mcp_server *s, struct mcp_message *m, const struct mcp_tool *tool)
{
	const struct mcp_call what = { .tool = tool, .name = node_get_text(m->params, "name") };
	struct mcp_call *c = server_new_call(s, m, &what);
	struct mcp_result refused = { .is_error = true };
	struct error e = { 0 };

	if (!c)
		return;
	if (!tool || mcp_tool_check(tool, c->arguments, s->backend.has_handles, &e) == 0) {
		s->backend.call(s->backend.context, c);
		return;
	}
	/* For the model, which can do better: so it is no error of the protocol. */
	buffer_adds(&refused.text, e.text);
	if (e.hint[0])
		buffer_printf(&refused.text, "; %s", e.hint);
	mcp_server_answer(c, &refused);
}

static void server_run_feature(struct mcp_server *s, struct mcp_message *m)
{
	struct mcp_call what, *c;

	if (mcp_feature_run(s, m, &what))
		return;
	c = server_new_call(s, m, &what);
	if (c)
		s->backend.call(s->backend.context, c);
}

static void server_call_tool(struct mcp_server *s, struct mcp_message *m)
{
	const struct node *name = node_get(m->params, "name");
	const struct mcp_toolset *own = s->backend.tools;
	const bool is_text = name && name->type == NODE_STRING;
	const struct mcp_tool *tool =
		is_text && !own ? mcp_tool_find(name->text, s->backend.has_handles) : NULL;

	if (!tool && !(is_text && own && own->has(s->backend.context, name->text)))
		mcp_server_fail(
			s, m->id, MCP_INVALID_PARAMS, "there is no such tool; tools/list has all");
	else
		server_begin_call(s, m, tool);
}

static const struct {
	const char *name;
	server_method *run;
	bool handshake, modern; /* the eras that have it */
	bool is_first;          /* before `initialize`, too */
} methods[] = {
	{ "initialize", server_initialize, .handshake = true, .is_first = true },
	{ "ping", server_ping, .handshake = true, .is_first = true },
	{ "server/discover", server_discover, .modern = true },
	{ "tools/list", server_list_tools, .handshake = true, .modern = true },
	{ "tools/call", server_call_tool, .handshake = true, .modern = true },
};

/* A handshake comes first. */
static bool server_is_begun(struct mcp_server *s, const struct mcp_message *m)
{
	if (s->era == MCP_ERA_MODERN || s->is_initialized)
		return true;
	mcp_server_fail(s, m->id, MCP_INVALID_REQUEST,
		"initialize must come first, or _meta with the version of the protocol");
	return false;
}

static void server_run_method(struct mcp_server *s, struct mcp_message *m)
{
	const bool is_modern = s->era == MCP_ERA_MODERN;

	for (size_t i = 0; i < ROWS(methods); i++) {
		if (strcmp(methods[i].name, m->method) != 0 ||
			!(is_modern ? methods[i].modern : methods[i].handshake))
			continue;
		if (methods[i].is_first || server_is_begun(s, m))
			methods[i].run(s, m);
		return;
	}
	if (mcp_feature_knows(s, m->method)) {
		if (server_is_begun(s, m))
			server_run_feature(s, m);
		return;
	}
	mcp_server_fail(s, m->id, MCP_METHOD_NOT_FOUND, "there is no such method");
}

/* Eras */

/* Of a modern request. false: it was refused. */
static bool server_check_meta(struct mcp_server *s, const struct mcp_message *m)
{
	const struct node *meta = node_get(m->params, "_meta");
	const struct node *version = node_get(meta, META_VERSION);
	const struct node *capabilities = node_get(meta, META "clientCapabilities");

	if (!version || version->type != NODE_STRING || !capabilities ||
		capabilities->type != NODE_MAP) {
		if (s->reply)
			s->reply->is_malformed = true;
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS,
			"_meta must have " META_VERSION ", a text, and " META
			"clientCapabilities, a map");
		return false;
	}
	if (strcmp(version->text, MODERN) == 0)
		return true;
	server_fail_version(s, m->id, version->text, "Unsupported protocol version");
	return false;
}

static void server_request(struct mcp_server *s, struct mcp_message *m)
{
	const bool is_initialize = strcmp(m->method, "initialize") == 0;
	const bool has_version = node_get(node_get(m->params, "_meta"), META_VERSION);

	if (s->era == MCP_ERA_MODERN && is_initialize && !has_version) {
		server_fail_version(s, m->id, node_get_text(m->params, "protocolVersion"),
			"this connection is of " MODERN ", which has no initialize");
		return;
	}
	if (s->era == MCP_ERA_HANDSHAKE && has_version && !is_initialize) {
		mcp_server_fail(s, m->id, MCP_INVALID_REQUEST,
			"this connection began with initialize, whose version holds");
		return;
	}
	if (s->era == MCP_ERA_MODERN || (has_version && !is_initialize)) {
		if (!server_check_meta(s, m))
			return;
		s->era = MCP_ERA_MODERN;
	}
	server_run_method(s, m);
}

static void server_notified(struct mcp_server *s, const struct mcp_message *m)
{
	const struct node *id = node_get(m->params, "requestId");

	if (strcmp(m->method, "notifications/cancelled") != 0 || !id || mcp_listen_cancel(s, id))
		return;
	for (struct mcp_call *c = s->calls; c; c = c->next) {
		if (!node_equal(c->message.id, id))
			continue;
		s->backend.cancel(s->backend.context, c);
		mcp_server_turn_to(s, c->reply);
		mcp_asking_forget(c);
		mcp_server_drop(c);
		return;
	}
}

void mcp_server_be_modern(struct mcp_server *s)
{
	s->era = MCP_ERA_MODERN;
}

void mcp_server_message(struct mcp_server *s, struct mcp_message *m, struct mcp_reply *reply)
{
	mcp_server_turn_to(s, reply);
	switch (m->kind) {
	case MCP_REQUEST:
		server_request(s, m);
		break;
	case MCP_NOTIFICATION:
		server_notified(s, m);
		break;
	case MCP_RESULT:
	case MCP_ERROR:
		if (!mcp_input_replied(s, m))
			mcp_asking_replied(s, m);
		break;
	case MCP_OTHER:
		mcp_server_fail(s, m->id, MCP_INVALID_REQUEST,
			m->document.root->type == NODE_LIST
				? "batches are not supported, as of 2025-06-18"
				: "this is no message of JSON-RPC 2.0");
		break;
	}
	mcp_server_turn_to(s, NULL);
}

void mcp_server_line(struct mcp_server *s, const char *line, size_t len)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };

	mcp_server_turn_to(s, NULL);
	if (!line) {
		mcp_server_fail(s, NULL, MCP_PARSE_ERROR, "the line is longer than 16 MiB");
		return;
	}
	if (len == 0 || (len == 1 && line[0] == '\r'))
		return;
	if (mcp_message_read(&m, line, len, &e) < 0) {
		mcp_server_fail(s, NULL, MCP_PARSE_ERROR, e.text);
		return;
	}
	mcp_server_message(s, &m, NULL);
}

void mcp_server_tools_changed(struct mcp_server *s)
{
	mcp_listen_changed(s, MCP_TOOLS_CHANGED);
}

void mcp_server_deinit(struct mcp_server *s)
{
	for (struct mcp_call *c = s->calls, *next; c; c = next) {
		next = c->next;
		s->backend.cancel(s->backend.context, c);
		mcp_server_drop(c);
	}
	mcp_listen_end(s);
	mcp_message_deinit(&s->handshake);
	s->declared = NULL;
	buffer_deinit(&s->out);
}
