/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/feature.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "mcp/internal.h"
#include "mcp/listen.h"

#define LOG_URI "corral://log"

/* How long a client may keep a list that does not change. */
enum { FEATURES_KEPT_MS = 3600 * 1000 };

static const char *const levels[MCP_LEVELS] = { "debug", "info", "notice", "warning", "error",
	"critical", "alert", "emergency" };

static const struct mcp_features none;

static const struct mcp_features *feature_of(const struct mcp_server *s)
{
	return s->backend.features ? s->backend.features : &none;
}

/* What there is */

static bool feature_have_resources(const struct mcp_server *s)
{
	return s->backend.log || feature_of(s)->resources || feature_of(s)->templates;
}

static bool feature_have_prompts(const struct mcp_server *s)
{
	return feature_of(s)->prompts && feature_of(s)->has_prompt;
}

static bool feature_have_completion(const struct mcp_server *s)
{
	return feature_of(s)->complete || feature_of(s)->has_completion;
}

static bool feature_have_logs(const struct mcp_server *s)
{
	return feature_of(s)->logs;
}

static bool feature_have_subscriptions(const struct mcp_server *s)
{
	return feature_of(s)->subscribes && feature_have_resources(s);
}

static bool feature_have_changes(const struct mcp_server *s)
{
	for (int i = 0; i < MCP_CHANGES; i++)
		if (mcp_listen_has(s, (enum mcp_change)i))
			return true;
	return feature_have_subscriptions(s);
}

static void feature_put_one(
	const struct mcp_server *s, struct json_writer *w, const char *name, enum mcp_change what)
{
	json_open_map(w, name);
	if (what < MCP_CHANGES && mcp_listen_has(s, what))
		json_put_flag(w, "listChanged", true);
	if (what == MCP_RESOURCES_CHANGED && feature_have_subscriptions(s))
		json_put_flag(w, "subscribe", true);
	json_close(w);
}

void mcp_feature_put(const struct mcp_server *s, struct json_writer *w)
{
	if (feature_have_resources(s))
		feature_put_one(s, w, "resources", MCP_RESOURCES_CHANGED);
	if (feature_have_prompts(s))
		feature_put_one(s, w, "prompts", MCP_PROMPTS_CHANGED);
	if (feature_have_completion(s))
		feature_put_one(s, w, "completions", MCP_CHANGES);
	if (feature_have_logs(s))
		feature_put_one(s, w, "logging", MCP_CHANGES);
}

/* Resources */

static void feature_answer_list(
	struct mcp_server *s, const struct mcp_message *m, const char *key, mcp_list *list)
{
	const bool changes = feature_of(s)->changes;
	struct json_writer w;

	mcp_server_open_result(s, &w, m->id, "complete");
	if (list) {
		list(s->backend.context, &w, key);
	} else {
		json_open_list(&w, key);
		json_close(&w);
	}
	mcp_server_put_cache(s, &w, changes ? 0 : FEATURES_KEPT_MS);
	json_end_line(&w);
}

static void feature_print_log(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_open_list(w, key);
	json_open_map(w, NULL);
	json_put_text(w, "uri", LOG_URI);
	json_put_text(w, "name", "log");
	json_put_text(w, "title", "What was done and denied");
	json_put_text(w, "mimeType", "application/json");
	json_close(w);
	json_close(w);
}

static void feature_list_resources(struct mcp_server *s, struct mcp_message *m)
{
	feature_answer_list(
		s, m, "resources", s->backend.log ? feature_print_log : feature_of(s)->resources);
}

static void feature_list_templates(struct mcp_server *s, struct mcp_message *m)
{
	feature_answer_list(s, m, "resourceTemplates", feature_of(s)->templates);
}

/* Its contents as JSON. */
static int feature_read(struct mcp_server *s, const char *uri, struct buffer *out)
{
	struct json_writer w = { .out = out };
	auto_buffer text = { 0 };
	int r;

	if (!s->backend.log || strcmp(uri, LOG_URI) != 0)
		return feature_of(s)->read ? feature_of(s)->read(s->backend.context, uri, out)
					   : -ENOENT;
	r = s->backend.log(s->backend.context, &text);
	if (r < 0)
		return r;
	json_open_list(&w, NULL);
	json_open_map(&w, NULL);
	json_put_text(&w, "uri", LOG_URI);
	json_put_text(&w, "mimeType", "application/json");
	json_put_buffer(&w, "text", &text);
	return json_end(&w);
}

static void feature_read_resource(struct mcp_server *s, struct mcp_message *m)
{
	const char *uri = node_get_text(m->params, "uri");
	auto_buffer contents = { 0 };
	struct json_writer w;
	int r = feature_read(s, uri, &contents);

	if (r == -ENOENT) {
		mcp_server_fail_missing(s, m->id, uri);
		return;
	}
	if (r < 0 || contents.failed) {
		mcp_server_fail(s, m->id, MCP_INTERNAL_ERROR, "the resource cannot be read");
		return;
	}
	mcp_server_open_result(s, &w, m->id, "complete");
	json_put_raw(&w, "contents", contents.data);
	mcp_server_put_cache(s, &w, 0);
	json_end_line(&w);
}

static bool feature_begin_read(struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret)
{
	const char *uri = node_get_text(m->params, "uri");

	*ret = (struct mcp_call){ .kind = MCP_CALL_READ, .name = uri };
	if (!feature_of(s)->has_resource) {
		feature_read_resource(s, m);
		return false;
	}
	if (feature_of(s)->has_resource(s->backend.context, uri))
		return true;
	mcp_server_fail_missing(s, m->id, uri);
	return false;
}

/* Prompts */

static void feature_list_prompts(struct mcp_server *s, struct mcp_message *m)
{
	feature_answer_list(s, m, "prompts", feature_of(s)->prompts);
}

static bool feature_begin_prompt(struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret)
{
	const struct node *name = node_get(m->params, "name");

	*ret = (struct mcp_call){ .kind = MCP_CALL_PROMPT,
		.name = node_get_text(m->params, "name") };
	if (name && name->type == NODE_STRING &&
		feature_of(s)->has_prompt(s->backend.context, name->text))
		return true;
	mcp_server_fail(
		s, m->id, MCP_INVALID_PARAMS, "there is no such prompt; prompts/list has all");
	return false;
}

static void feature_fail_completion(struct mcp_server *s, const struct mcp_message *m)
{
	mcp_server_fail(s, m->id, MCP_INVALID_PARAMS,
		"`ref` and `argument` name nothing that can be completed");
}

static void feature_complete(struct mcp_server *s, struct mcp_message *m)
{
	auto_buffer values = { 0 };
	struct json_writer w;

	if (feature_of(s)->complete(s->backend.context, m->params, &values) < 0 || values.failed) {
		feature_fail_completion(s, m);
		return;
	}
	mcp_server_open_result(s, &w, m->id, "complete");
	json_open_map(&w, "completion");
	json_put_raw(&w, "values", values.len ? values.data : "[]");
	json_put_flag(&w, "hasMore", false);
	json_close(&w);
	json_end_line(&w);
}

static bool feature_begin_completion(
	struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret)
{
	const struct node *ref = node_get(m->params, "ref"), *name;
	const struct node *argument = node_get(m->params, "argument");
	const bool is_prompt = strcmp(node_get_text(ref, "type"), "ref/prompt") == 0;
	const bool is_known = is_prompt || strcmp(node_get_text(ref, "type"), "ref/resource") == 0;

	if (!feature_of(s)->has_completion) {
		feature_complete(s, m);
		return false;
	}
	name = node_get(ref, is_prompt ? "name" : "uri");
	*ret = (struct mcp_call){ .kind = MCP_CALL_COMPLETE,
		.name = node_get_text(ref, is_prompt ? "name" : "uri") };
	if (is_known && name && name->type == NODE_STRING && argument &&
		argument->type == NODE_MAP &&
		feature_of(s)->has_completion(s->backend.context, name->text, is_prompt))
		return true;
	feature_fail_completion(s, m);
	return false;
}

/* Messages for the log */

/* -1: there is no such level. */
static int feature_level(const struct node *n)
{
	for (int i = 0; n && n->type == NODE_STRING && i < MCP_LEVELS; i++)
		if (strcmp(levels[i], n->text) == 0)
			return i;
	return -1;
}

static void feature_set_level(struct mcp_server *s, struct mcp_message *m)
{
	const int level = feature_level(node_get(m->params, "level"));
	struct json_writer w;

	if (level < 0) {
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS,
			"`level` must be debug, info, notice, warning, error, critical, alert or "
			"emergency");
		return;
	}
	s->level = (enum mcp_level)level;
	mcp_server_open_result(s, &w, m->id, "complete");
	json_end_line(&w);
}

/* A modern request says itself which messages it wants; without that it gets none. */
static bool feature_wants(const struct mcp_call *c, enum mcp_level level)
{
	const struct node *meta = node_get(c->message.params, "_meta");
	int least = (int)c->server->level;

	if (!feature_of(c->server)->logs)
		return false;
	if (c->server->era == MCP_ERA_MODERN)
		least = feature_level(node_get(meta, MCP_META "logLevel"));
	return least >= 0 && (int)level >= least;
}

void mcp_feature_log(struct mcp_call *c, enum mcp_level level, const char *text)
{
	struct json_writer w;

	if (!feature_wants(c, level))
		return;
	mcp_server_turn_to(c->server, c->reply);
	mcp_server_open_notification(c->server, &w, "notifications/message");
	json_open_map(&w, "params");
	json_put_text(&w, "level", levels[level]);
	json_put_text(&w, "logger", "corral");
	json_put_text(&w, "data", text);
	json_end_line(&w);
	mcp_server_turn_to(c->server, NULL);
}

/* Methods */

static const struct {
	const char *name;
	bool (*is_there)(const struct mcp_server *s);
	bool handshake, modern; /* the eras that have it */
	void (*run)(struct mcp_server *s, struct mcp_message *m);
	/* In place of it: whether it is a call; if not, it was answered. */
	bool (*begin)(struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret);
} rows[] = {
	{ "resources/list", feature_have_resources, true, true, feature_list_resources, NULL },
	{ "resources/templates/list", feature_have_resources, true, true, feature_list_templates,
		NULL },
	{ "resources/read", feature_have_resources, true, true, NULL, feature_begin_read },
	{ "resources/subscribe", feature_have_subscriptions, true, false, mcp_listen_subscribe,
		NULL },
	{ "resources/unsubscribe", feature_have_subscriptions, true, false, mcp_listen_unsubscribe,
		NULL },
	{ "prompts/list", feature_have_prompts, true, true, feature_list_prompts, NULL },
	{ "prompts/get", feature_have_prompts, true, true, NULL, feature_begin_prompt },
	{ "completion/complete", feature_have_completion, true, true, NULL,
		feature_begin_completion },
	{ "logging/setLevel", feature_have_logs, true, false, feature_set_level, NULL },
	{ "subscriptions/listen", feature_have_changes, false, true, mcp_listen_begin, NULL },
};

static size_t feature_find(const struct mcp_server *s, const char *method)
{
	const bool is_modern = s->era == MCP_ERA_MODERN;

	for (size_t i = 0; i < ROWS(rows); i++)
		if (strcmp(rows[i].name, method) == 0 && rows[i].is_there(s) &&
			(is_modern ? rows[i].modern : rows[i].handshake))
			return i;
	return ROWS(rows);
}

bool mcp_feature_knows(const struct mcp_server *s, const char *method)
{
	return feature_find(s, method) < ROWS(rows);
}

bool mcp_feature_run(struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret)
{
	const size_t i = feature_find(s, m->method);

	if (rows[i].begin)
		return !rows[i].begin(s, m, ret);
	rows[i].run(s, m);
	return true;
}
