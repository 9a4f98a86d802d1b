/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/listing.h"

#include <string.h>

#include "base/buffer.h"
#include "codec/json.h"

const struct listing_kind listing_kinds[UPSTREAM_LISTS] = {
	[UPSTREAM_TOOLS] = { "tools/list", "tools", "name", "tools",
		"notifications/tools/list_changed", UPSTREAM_TOOLS_MAX,
		"one of its tools has no name, or one of more than 128 bytes",
		"two of its tools have the same name",
		"it has too many tools, or their definitions are too long" },
	[UPSTREAM_PROMPTS] = { "prompts/list", "prompts", "name", "prompts",
		"notifications/prompts/list_changed", UPSTREAM_TOOLS_MAX,
		"one of its prompts has no name, or one of more than 128 bytes",
		"two of its prompts have the same name",
		"it has too many prompts, or their definitions are too long" },
	[UPSTREAM_RESOURCES] = { "resources/list", "resources", "uri", "resources",
		"notifications/resources/list_changed", UPSTREAM_RESOURCES_MAX, NULL, NULL, NULL },
	[UPSTREAM_TEMPLATES] = { "resources/templates/list", "resourceTemplates", "uriTemplate",
		"resources", "notifications/resources/list_changed", UPSTREAM_TEMPLATES_MAX, NULL,
		NULL, NULL },
};

bool upstream_is_uri(const char *uri)
{
	const size_t scheme =
		strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
	size_t len = 0;

	while (uri[len] > ' ' && uri[len] < 0x7f)
		len++;
	return scheme > 0 && uri[scheme] == ':' && !uri[len] && len <= UPSTREAM_URI_MAX;
}

static bool listing_has_twice(enum upstream_list list, const struct node *items, const char *id)
{
	node_for_each(other, items) {
		if (strcmp(node_get_text(other, listing_kinds[list].id), id) == 0)
			return true;
	}
	return false;
}

/* Whether it is one as clients take it, and none of that name was before it. false: it is left out;
 * *why: or the server is. */
static bool listing_check(
	const struct upstream_items *l, const struct node *item, size_t bytes, const char **why)
{
	const struct listing_kind *k = &listing_kinds[l->list];
	const struct node *id = node_get(item, k->id), *schema = node_get(item, "inputSchema");
	const char *text = id && id->type == NODE_STRING ? id->text : "";
	const bool is_named =
		k->unnamed ? *text && strlen(text) <= LISTING_NAME_MAX : upstream_is_uri(text);

	if (!is_named)
		*why = k->unnamed;
	else if (l->list == UPSTREAM_TOOLS && (!schema || schema->type != NODE_MAP))
		*why = "one of its tools has no inputSchema";
	else if (l->document.root->count == k->max || bytes > UPSTREAM_LIST_BYTES - l->bytes)
		*why = k->many;
	else if (listing_has_twice(l->list, l->document.root, text))
		*why = k->twice;
	else
		return true;
	return false;
}

bool listing_begin(struct upstream_items *l, enum upstream_list list)
{
	listing_deinit(l);
	*l = (struct upstream_items){ .list = list,
		.document.arena.budget = (size_t)8 * UPSTREAM_LIST_BYTES };
	l->document.root = node_new(&l->document.arena, NODE_LIST);
	return l->document.root;
}

const char *listing_add(struct upstream_items *l, const struct node *items)
{
	node_for_each(item, items) {
		const char *why = NULL;
		auto_buffer text = { 0 };

		json_print(&text, item, JSON_COMPACT);
		if (text.failed)
			return "out of memory";
		if (!listing_check(l, item, text.len, &why)) {
			if (why)
				return why;
			l->left_out++;
			continue;
		}
		l->bytes += text.len;
		if (!node_append(l->document.root, node_copy(&l->document.arena, item)))
			return "out of memory";
	}
	return NULL;
}

void listing_deinit(struct upstream_items *l)
{
	document_deinit(&l->document);
	*l = (struct upstream_items){ 0 };
}
