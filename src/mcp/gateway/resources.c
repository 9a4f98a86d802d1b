/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources of all servers: which server a URI is of, and what clients see of them.
 *
 * A URI is of the first server in the gateway's file that lists it, else of the first one with a
 * template that fits. What a server listed stays its own while it is started again. Definitions
 * are not pinned, since they come and go with what they stand for: so clients get few parts of
 * them, cut and without what cannot be seen; and of a server whose texts have signs of prompt
 * injection only the URIs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "codec/json-writer.h"
#include "mcp/gateway/gateway.h"
#include "mcp/gateway/pattern.h"
#include "mcp/gateway/result.h"

enum { RESOURCE_TEXT_MAX = 512, RESOURCE_SHOWN_MAX = 8 };

static const char *const resource_texts[] = { "title", "description", "mimeType" };

/* The index: by URI, and among the same in the order of the file */

static int resource_compare(const void *a, const void *b)
{
	const struct gateway_resource *x = a, *y = b;
	const int order = strcmp(x->uri, y->uri);

	return order ? order : x->member < y->member ? -1 : x->member > y->member;
}

static const struct node *resource_first(const struct gateway_member *m, enum upstream_list list)
{
	const struct node *items = upstream_listed(&m->process.upstream, list);

	return items && m->config->rules[GATEWAY_RESOURCE].is_on ? items->first : NULL;
}

static int resources_index(struct gateway *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		for (const struct node *r = resource_first(&g->members[i], UPSTREAM_RESOURCES); r;
			r = r->next)
			n++;
	free(g->resources);
	g->n_resources = 0;
	g->resources = calloc(n ? n : 1, sizeof(*g->resources));
	if (!g->resources)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++)
		for (const struct node *r = resource_first(&g->members[i], UPSTREAM_RESOURCES); r;
			r = r->next)
			g->resources[g->n_resources++] =
				(struct gateway_resource){ node_get_text(r, "uri"), r,
					&g->members[i] };
	qsort(g->resources, n, sizeof(*g->resources), resource_compare);
	return 0;
}

static bool resources_have_signs(const struct gateway_member *m)
{
	struct skill_findings found = { 0 };
	auto_buffer text = { 0 };
	auto_arena a = { 0 };

	for (int list = UPSTREAM_RESOURCES; list <= UPSTREAM_TEMPLATES; list++)
		for (const struct node *r = resource_first(m, (enum upstream_list)list); r;
			r = r->next) {
			buffer_printf(&text, "%s\n", node_get_text(r, "name"));
			for (size_t i = 0; i < 2; i++)
				buffer_printf(&text, "%s\n", node_get_text(r, resource_texts[i]));
		}
	if (text.failed || skill_scanner_look(m->gateway->scanner, &a, buffer_text(&text), text.len,
				   &found) < 0)
		return true;
	for (size_t i = 0; i < found.n; i++)
		if (gateway_is_sign(&found.items[i]))
			return true;
	/* What was not looked at may have them. */
	return text.len > SKILL_SCAN_FILE_MAX;
}

int gateway_resources_listed(struct gateway_member *m)
{
	m->has_signs = resources_have_signs(m);
	return resources_index(m->gateway);
}

/* Whose a URI is */

static bool resource_is_denied(const struct gateway_member *m, const char *uri)
{
	return gateway_best(m->config, GATEWAY_RESOURCE, uri) == VERDICT_DENY;
}

/* The first of a URI in the index; g->n_resources: none. */
static size_t resource_find(const struct gateway *g, const char *uri)
{
	size_t from = 0, to = g->n_resources;

	while (from < to) {
		const size_t at = from + (to - from) / 2;

		if (strcmp(g->resources[at].uri, uri) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from < g->n_resources && strcmp(g->resources[from].uri, uri) == 0 ? from
										 : g->n_resources;
}

/* A template (RFC 6570) as a pattern: {x} is a piece of a path, what has an operator anything. */
static bool template_print(const char *template, struct buffer *out)
{
	buffer_addc(out, '^');
	for (const char *at = template; *at; at++) {
		if (*at == '{') {
			const char *end = strchr(at, '}');

			if (!end || end == at + 1)
				return false;
			buffer_adds(
				out, strchr("+#./;?&", at[1]) || end[-1] == '*' ? ".*" : "[^/?#]+");
			at = end;
		} else {
			if (strchr("^$\\.*+?()[]{}|/-", *at))
				buffer_addc(out, '\\');
			buffer_addc(out, *at);
		}
	}
	buffer_addc(out, '$');
	return !out->failed;
}

bool gateway_template_fits(const char *template, const char *uri)
{
	const size_t head = strcspn(template, ":{");
	auto_buffer text = { 0 };
	struct pattern p;

	return template[head] == ':' && template_print(template, &text) &&
	       !pattern_read(&p, buffer_text(&text)) && pattern_matches(&p, uri);
}

static bool resource_fits(const struct gateway_member *m, const char *uri)
{
	for (const struct node *t = resource_first(m, UPSTREAM_TEMPLATES); t; t = t->next)
		if (gateway_template_fits(node_get_text(t, "uriTemplate"), uri))
			return true;
	return false;
}

struct gateway_member *gateway_route(const struct gateway *g, const char *uri)
{
	const size_t at = resource_find(g, uri);
	struct gateway_member *denied = NULL;

	if (!upstream_is_uri(uri))
		return NULL;
	for (size_t i = at; i < g->n_resources && strcmp(g->resources[i].uri, uri) == 0; i++)
		if (!resource_is_denied(g->resources[i].member, uri))
			return g->resources[i].member;
	/* One that is listed is of no template of another server, even if it is denied. */
	if (at < g->n_resources)
		return g->resources[at].member;
	for (size_t i = 0; i < g->n; i++) {
		struct gateway_member *m = &g->members[i];

		if (!resource_fits(m, uri))
			continue;
		if (!resource_is_denied(m, uri))
			return m;
		denied = denied ? denied : m;
	}
	return denied;
}

struct gateway_member *gateway_route_template(const struct gateway *g, const char *template)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gateway_member *m = &g->members[i];

		for (const struct node *t = resource_first(m, UPSTREAM_TEMPLATES); t; t = t->next)
			if (strcmp(node_get_text(t, "uriTemplate"), template) == 0 &&
				!resource_is_denied(m, template))
				return m;
	}
	return NULL;
}

bool gateway_has_resource(void *context, const char *uri)
{
	return gateway_route(context, uri);
}

/* What clients see */

static void resource_put_text(struct json_writer *w, const char *key, const char *text)
{
	size_t len = strlen(text), bad;
	auto_buffer shown = { 0 };

	if (len > RESOURCE_TEXT_MAX) {
		len = RESOURCE_TEXT_MAX;
		if (!utf8_valid(text, len, &bad))
			len = bad;
	}
	buffer_add_visible(&shown, text, len);
	json_put_buffer(w, key, &shown);
}

static void resource_print(const struct gateway_member *m, const struct node *item, const char *id,
	struct json_writer *w)
{
	const char *name = node_get_text(item, "name"), *uri = node_get_text(item, id);
	const struct node *size = node_get(item, "size");
	auto_buffer text = { 0 };
	int64_t bytes;

	buffer_printf(&text, "%s: %s", m->config->name, m->has_signs || !*name ? uri : name);
	json_open_map(w, NULL);
	json_put_text(w, id, uri);
	resource_put_text(w, "name", buffer_text(&text));
	for (size_t i = 0; !m->has_signs && i < 3; i++)
		if (*node_get_text(item, resource_texts[i]))
			resource_put_text(
				w, resource_texts[i], node_get_text(item, resource_texts[i]));
	if (size && size->type == NODE_NUMBER && node_integer(size, &bytes) == 0)
		json_put_number(w, "size", bytes);
	json_close(w);
}

void gateway_print_resources(void *context, struct json_writer *w, const char *key)
{
	const struct gateway *g = context;
	const char *last = "";

	json_open_list(w, key);
	for (size_t i = 0; i < g->n_resources; i++) {
		const struct gateway_resource *r = &g->resources[i];

		if (strcmp(r->uri, last) == 0 || resource_is_denied(r->member, r->uri))
			continue;
		last = r->uri;
		resource_print(r->member, r->item, "uri", w);
	}
	json_close(w);
}

void gateway_print_templates(void *context, struct json_writer *w, const char *key)
{
	const struct gateway *g = context;

	json_open_list(w, key);
	for (size_t i = 0; i < g->n; i++) {
		const struct gateway_member *m = &g->members[i];

		for (const struct node *t = resource_first(m, UPSTREAM_TEMPLATES); t; t = t->next)
			if (gateway_route_template(g, node_get_text(t, "uriTemplate")) == m)
				resource_print(m, t, "uriTemplate", w);
	}
	json_close(w);
}

uint64_t gateway_look_resources(const struct gateway_member *m)
{
	uint64_t hash = HASH_START;

	for (int list = UPSTREAM_RESOURCES; list <= UPSTREAM_TEMPLATES; list++)
		for (const struct node *r = resource_first(m, (enum upstream_list)list); r;
			r = r->next) {
			auto_buffer text = { 0 };

			json_print(&text, r, JSON_COMPACT);
			hash = hash_bytes(hash, buffer_text(&text), text.len + 1);
		}
	return hash;
}

/* For people */

size_t gateway_describe_taken(const struct gateway_member *m, struct buffer *out)
{
	const struct gateway *g = m->gateway;
	size_t n = 0;

	for (const struct node *r = resource_first(m, UPSTREAM_RESOURCES); r; r = r->next) {
		const char *uri = node_get_text(r, "uri");
		const struct gateway_member *owner = gateway_route(g, uri);

		if (owner == m || resource_is_denied(m, uri))
			continue;
		if (n++ < RESOURCE_SHOWN_MAX)
			buffer_printf(out, "  not offered: %s (it is a resource of %s)\n", uri,
				owner->config->name);
	}
	if (n > RESOURCE_SHOWN_MAX)
		buffer_printf(
			out, "  nor are %zu more, for the same reason\n", n - RESOURCE_SHOWN_MAX);
	return n;
}

void gateway_describe_resources(const struct gateway_member *m, struct buffer *out)
{
	const struct upstream_items *lists = m->process.upstream.lists;
	const size_t left_out =
		lists[UPSTREAM_RESOURCES].left_out + lists[UPSTREAM_TEMPLATES].left_out;

	if (!m->config->rules[GATEWAY_RESOURCE].is_on || !m->is_listed)
		return;
	if (m->has_signs)
		buffer_adds(out, "  names and descriptions of its resources are not shown: they "
				 "have signs of prompt injection\n");
	if (left_out)
		buffer_printf(out,
			"  %zu of its resources and templates are not offered: they have no usable "
			"URI, have that of another, or are too many\n",
			left_out);
	(void)gateway_describe_taken(m, out);
}
