/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/canonical.h"

#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"

static int canonical_compare(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

static void canonical_put(struct json_writer *w, const char *key, const struct node *n);

static void canonical_put_map(struct json_writer *w, const struct node *n)
{
	const struct node **items = calloc(n->count ? n->count : 1, sizeof(*items));
	size_t count = 0;

	if (!items) {
		w->out->failed = true;
		return;
	}
	node_for_each(child, n)
		items[count++] = child;
	qsort(items, count, sizeof(*items), canonical_compare);
	for (size_t i = 0; i < count; i++)
		canonical_put(w, items[i]->key, items[i]);
	free(items);
}

/* Its depth is that of a document (codec/node.h). */
static void canonical_put(struct json_writer *w, const char *key, const struct node *n)
{
	if (n->type != NODE_MAP && n->type != NODE_LIST) {
		json_put_node(w, key, n);
		return;
	}
	if (n->type == NODE_MAP) {
		json_open_map(w, key);
		canonical_put_map(w, n);
	} else {
		json_open_list(w, key);
		node_for_each(child, n)
			canonical_put(w, NULL, child);
	}
	json_close(w);
}

void mcp_canonical_print(struct buffer *out, const struct node *n)
{
	struct json_writer w = { .out = out };

	canonical_put(&w, NULL, n);
	if (json_end(&w) < 0)
		out->failed = true;
}
