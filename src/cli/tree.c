/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree.h"

#include <unistd.h>

#include "codec/json.h"

static struct node *tree_kept(struct json_tree *t, struct node *n)
{
	t->failed = t->failed || !n;
	return n;
}

struct node *tree_map(struct json_tree *t)
{
	return tree_kept(t, node_new(t->arena, NODE_MAP));
}

void tree_put(struct json_tree *t, struct node *map, const char *key, struct node *child)
{
	if (!child)
		child = tree_kept(t, node_new(t->arena, NODE_NULL));
	(void)tree_kept(t, node_put(t->arena, map, key, child));
}

void tree_put_text(struct json_tree *t, struct node *map, const char *key, const char *text)
{
	tree_put(t, map, key, text ? tree_kept(t, node_new_text(t->arena, text)) : NULL);
}

void tree_put_buffer(
	struct json_tree *t, struct node *map, const char *key, const struct buffer *text)
{
	t->failed = t->failed || text->failed;
	tree_put_text(t, map, key, text->len ? text->data : NULL);
}

void tree_put_flag(struct json_tree *t, struct node *map, const char *key, bool value)
{
	tree_put(t, map, key, tree_kept(t, node_new_boolean(t->arena, value)));
}

void tree_put_number(struct json_tree *t, struct node *map, const char *key, int64_t value)
{
	tree_put(t, map, key, tree_kept(t, node_new_integer(t->arena, value)));
}

struct node *tree_put_map(struct json_tree *t, struct node *map, const char *key)
{
	struct node *child = tree_map(t);

	tree_put(t, map, key, child);
	return child;
}

struct node *tree_put_list(struct json_tree *t, struct node *map, const char *key)
{
	struct node *child = tree_kept(t, node_new(t->arena, NODE_LIST));

	tree_put(t, map, key, child);
	return child;
}

struct node *tree_append_map(struct json_tree *t, struct node *list)
{
	return tree_kept(t, node_append(list, tree_map(t)));
}

void tree_append_text(struct json_tree *t, struct node *list, const char *text)
{
	(void)tree_kept(t, node_append(list, node_new_text(t->arena, text)));
}

int tree_print(struct json_tree *t, const struct node *root, struct error *e)
{
	auto_output o = { 0 };

	if (t->failed || !root)
		o.text.failed = true;
	else
		json_print(&o.text, root, JSON_PRETTY);
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, e);
}
