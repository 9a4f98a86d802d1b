/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/listen.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "mcp/internal.h"

enum { LISTEN_MAX = 64, LISTEN_URIS_MAX = 64 };

/* One request that stays open, or, in a handshake, one resource that was subscribed to. */
struct mcp_listening {
	struct mcp_message message; /* all texts are in it */
	struct mcp_reply *reply;
	bool wants[MCP_CHANGES];
	const struct node *uris; /* a list; of a handshake one text */
	struct mcp_listening *next;
};

static const struct {
	const char *method, *key;
} changes[MCP_CHANGES] = {
	[MCP_TOOLS_CHANGED] = { "notifications/tools/list_changed", "toolsListChanged" },
	[MCP_PROMPTS_CHANGED] = { "notifications/prompts/list_changed", "promptsListChanged" },
	[MCP_RESOURCES_CHANGED] = { "notifications/resources/list_changed",
		"resourcesListChanged" },
};

bool mcp_listen_has(const struct mcp_server *s, enum mcp_change what)
{
	const struct mcp_features *f = s->backend.features;

	switch (what) {
	case MCP_TOOLS_CHANGED:
		return s->backend.tools;
	case MCP_PROMPTS_CHANGED:
		return f && f->changes && f->prompts;
	case MCP_RESOURCES_CHANGED:
		return f && f->changes && f->resources;
	case MCP_CHANGES:
		break;
	}
	return false;
}

static void listen_free(struct mcp_listening *x)
{
	mcp_message_deinit(&x->message);
	free(x);
}

static void listen_add(struct mcp_server *s, struct mcp_listening *x)
{
	x->next = s->listening;
	s->listening = x;
	s->n_listening++;
}

/* Takes the message over. NULL: it was refused. */
static struct mcp_listening *listen_new(struct mcp_server *s, struct mcp_message *m)
{
	struct mcp_listening *x = s->n_listening < LISTEN_MAX ? calloc(1, sizeof(*x)) : NULL;

	if (!x) {
		mcp_server_fail(s, m->id, MCP_INTERNAL_ERROR, "too many subscriptions are open");
		return NULL;
	}
	x->message = *m;
	x->reply = s->reply;
	*m = (struct mcp_message){ 0 };
	return x;
}

/* The request that stays open */

static bool listen_are_uris(const struct node *n)
{
	if (n->type != NODE_LIST || n->count > LISTEN_URIS_MAX)
		return false;
	node_for_each(item, n)
		if (item->type != NODE_STRING)
			return false;
	return true;
}

static void listen_open(struct mcp_server *s, struct json_writer *w, const struct mcp_listening *x,
	const char *method)
{
	mcp_server_turn_to(s, x->reply);
	mcp_server_open_notification(s, w, method);
	json_open_map(w, "params");
	if (s->era != MCP_ERA_MODERN)
		return;
	json_open_map(w, "_meta");
	json_put_node(w, MCP_META "subscriptionId", x->message.id);
	json_close(w);
}

static void listen_acknowledge(struct mcp_server *s, const struct mcp_listening *x)
{
	struct json_writer w;

	listen_open(s, &w, x, "notifications/subscriptions/acknowledged");
	json_open_map(&w, "notifications");
	for (int i = 0; i < MCP_CHANGES; i++)
		if (x->wants[i])
			json_put_flag(&w, changes[i].key, true);
	if (x->uris)
		json_put_node(&w, "resourceSubscriptions", x->uris);
	json_end_line(&w);
}

void mcp_listen_begin(struct mcp_server *s, struct mcp_message *m)
{
	const struct node *wanted = node_get(m->params, "notifications");
	const struct node *uris = node_get(wanted, "resourceSubscriptions");
	struct mcp_listening *x;

	if (!wanted || wanted->type != NODE_MAP || (uris && !listen_are_uris(uris))) {
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS,
			"`notifications` must be a map of what is wanted");
		return;
	}
	x = listen_new(s, m);
	if (!x)
		return;
	for (int i = 0; i < MCP_CHANGES; i++) {
		bool is_wanted = false;
		const struct node *n = node_get(wanted, changes[i].key);

		x->wants[i] = n && node_boolean(n, &is_wanted) == 0 && is_wanted &&
			      mcp_listen_has(s, (enum mcp_change)i);
	}
	x->uris = s->backend.features && s->backend.features->subscribes ? uris : NULL;
	listen_acknowledge(s, x);
	listen_add(s, x);
}

bool mcp_listen_cancel(struct mcp_server *s, const struct node *id)
{
	for (struct mcp_listening **at = &s->listening, *x; (x = *at); at = &x->next) {
		if (s->era != MCP_ERA_MODERN || !node_equal(x->message.id, id))
			continue;
		*at = x->next;
		s->n_listening--;
		if (x->reply)
			x->reply->is_over = true;
		listen_free(x);
		return true;
	}
	return false;
}

/* One resource, in a handshake */

static void listen_answer(struct mcp_server *s, const struct node *id)
{
	struct json_writer w;

	mcp_server_open_result(s, &w, id, "complete");
	json_end_line(&w);
}

/* Of a resource, or NULL; nothing is there for a URI that is none. */
static struct mcp_listening **listen_find(struct mcp_server *s, const struct node *uri)
{
	struct mcp_listening **at = &s->listening;

	while (*at && !node_equal((*at)->uris, uri))
		at = &(*at)->next;
	return at;
}

void mcp_listen_subscribe(struct mcp_server *s, struct mcp_message *m)
{
	const struct node *uri = node_get(m->params, "uri");
	struct mcp_listening *x;

	if (!uri || uri->type != NODE_STRING) {
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS, "`uri` must be a text");
		return;
	}
	if (*listen_find(s, uri)) {
		listen_answer(s, m->id);
		return;
	}
	x = listen_new(s, m);
	if (!x)
		return;
	x->uris = uri;
	x->reply = NULL;
	listen_answer(s, x->message.id);
	listen_add(s, x);
}

void mcp_listen_unsubscribe(struct mcp_server *s, struct mcp_message *m)
{
	const struct node *uri = node_get(m->params, "uri");
	struct mcp_listening **at, *x;

	if (!uri || uri->type != NODE_STRING) {
		mcp_server_fail(s, m->id, MCP_INVALID_PARAMS, "`uri` must be a text");
		return;
	}
	at = listen_find(s, uri);
	x = *at;
	if (x) {
		*at = x->next;
		s->n_listening--;
		listen_free(x);
	}
	listen_answer(s, m->id);
}

/* Word of changes */

void mcp_listen_changed(struct mcp_server *s, enum mcp_change what)
{
	struct json_writer w;

	if (!mcp_listen_has(s, what))
		return;
	for (const struct mcp_listening *x = s->listening; x; x = x->next) {
		if (s->era != MCP_ERA_MODERN || !x->wants[what])
			continue;
		listen_open(s, &w, x, changes[what].method);
		json_end_line(&w);
	}
	mcp_server_turn_to(s, NULL);
	if (!s->is_initialized)
		return;
	mcp_server_open_notification(s, &w, changes[what].method);
	json_end_line(&w);
}

static bool listen_wants_uri(const struct mcp_listening *x, const char *uri)
{
	if (!x->uris)
		return false;
	if (x->uris->type == NODE_STRING)
		return strcmp(x->uris->text, uri) == 0;
	node_for_each(item, x->uris)
		if (strcmp(node_text(item), uri) == 0)
			return true;
	return false;
}

void mcp_listen_updated(struct mcp_server *s, const char *uri)
{
	for (const struct mcp_listening *x = s->listening; x; x = x->next) {
		struct json_writer w;

		if (!listen_wants_uri(x, uri))
			continue;
		listen_open(s, &w, x, "notifications/resources/updated");
		json_put_text(&w, "uri", uri);
		json_end_line(&w);
	}
	mcp_server_turn_to(s, NULL);
}

void mcp_listen_end(struct mcp_server *s)
{
	for (struct mcp_listening *x = s->listening, *next; x; x = next) {
		next = x->next;
		listen_free(x);
	}
	s->listening = NULL;
	s->n_listening = 0;
}
