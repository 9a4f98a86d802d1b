/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree itself: looking things up, building by hand, copying, comparing.
 *
 * Children are a singly linked list because documents are read in order and seldom searched; a map
 * is a list whose members have names. Copying and comparing recurse as deep as the tree is: at most
 * NODE_DEPTH_MAX for what a reader made, and as deep as the code that built it for the rest.
 */
#include "codec/node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/scalar.h"

static const char *const type_names[] = {
	[NODE_NULL] = "nothing",
	[NODE_BOOL] = "true or false",
	[NODE_NUMBER] = "a number",
	[NODE_STRING] = "text",
	[NODE_LIST] = "a list",
	[NODE_MAP] = "a map",
};

const char *node_type_name(enum node_type type)
{
	return type_names[type];
}

struct node *node_get(const struct node *map, const char *key)
{
	if (!map || map->type != NODE_MAP)
		return NULL;
	node_for_each(child, map) {
		if (strcmp(child->key, key) == 0)
			return child;
	}
	return NULL;
}

const char *node_text(const struct node *n)
{
	return n ? n->text : NULL;
}

int node_integer(const struct node *n, int64_t *ret)
{
	const char *digits;
	intmax_t value;
	bool octal;

	if (!n || n->type != NODE_NUMBER || !scalar_is_integer(n->text))
		return -EINVAL;
	/* strtoimax() knows 0x but not 0o, and would take a leading 0 for octal if it chose. */
	octal = n->text[0] == '0' && n->text[1] == 'o';
	digits = octal ? n->text + 2 : n->text;
	errno = 0;
	value = strtoimax(digits, NULL, octal ? 8 : n->text[1] == 'x' ? 16 : 10);
	if (errno)
		return -EINVAL;
	*ret = value;
	return 0;
}

int node_boolean(const struct node *n, bool *ret)
{
	if (!n || n->type != NODE_BOOL)
		return -EINVAL;
	*ret = n->text[0] == 't';
	return 0;
}

struct location node_location(const struct document *d, const struct node *n)
{
	return (struct location){ .file = d->file, .line = n->line, .column = n->column };
}

struct location node_key_location(const struct document *d, const struct node *n)
{
	return (struct location){ .file = d->file, .line = n->key_line, .column = n->key_column };
}

struct node *node_new(struct arena *a, enum node_type type)
{
	struct node *n = arena_alloc(a, sizeof(*n));

	if (n)
		n->type = type;
	return n;
}

/* A scalar around text that is in the arena already, or static; NULL if that failed. */
static struct node *new_scalar(struct arena *a, enum node_type type, const char *text)
{
	struct node *n = text ? node_new(a, type) : NULL;

	if (n)
		n->text = text;
	return n;
}

struct node *node_new_text(struct arena *a, const char *text)
{
	return new_scalar(a, NODE_STRING, arena_strdup(a, text));
}

struct node *node_new_integer(struct arena *a, int64_t value)
{
	return new_scalar(a, NODE_NUMBER, arena_printf(a, "%" PRId64, value));
}

struct node *node_new_boolean(struct arena *a, bool value)
{
	return new_scalar(a, NODE_BOOL, value ? "true" : "false");
}

struct node *node_append(struct node *list, struct node *child)
{
	if (!list || !child)
		return NULL;
	if (list->last)
		list->last->next = child;
	else
		list->first = child;
	list->last = child;
	list->count++;
	return child;
}

struct node *node_put(struct arena *a, struct node *map, const char *key, struct node *child)
{
	const char *name = map && child ? arena_strdup(a, key) : NULL;

	if (!name)
		return NULL;
	child->key = name;
	return node_append(map, child);
}

/* n without its children, its name and its siblings. */
static struct node *copy_one(struct arena *a, const struct node *n)
{
	struct node *copy = node_new(a, n->type);

	if (!copy)
		return NULL;
	copy->line = n->line;
	copy->column = n->column;
	if (n->text) {
		copy->text = arena_strdup(a, n->text);
		if (!copy->text)
			return NULL;
	}
	return copy;
}

static struct node *copy_child(struct arena *a, struct node *parent, const struct node *child)
{
	struct node *copy = node_copy(a, child);

	if (!child->key)
		return node_append(parent, copy);
	if (!node_put(a, parent, child->key, copy))
		return NULL;
	copy->key_line = child->key_line;
	copy->key_column = child->key_column;
	return copy;
}

struct node *node_copy(struct arena *a, const struct node *n)
{
	struct node *copy = copy_one(a, n);

	if (!copy)
		return NULL;
	node_for_each(child, n) {
		if (!copy_child(a, copy, child))
			return NULL;
	}
	return copy;
}

/* Equal, or both absent. */
static bool node_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool node_equal(const struct node *a, const struct node *b)
{
	const struct node *other = b->first;

	if (a->type != b->type || a->count != b->count || !node_same_text(a->text, b->text))
		return false;
	node_for_each(child, a) {
		if (!node_same_text(child->key, other->key) || !node_equal(child, other))
			return false;
		other = other->next;
	}
	return true;
}

void document_deinit(struct document *d)
{
	arena_deinit(&d->arena);
	*d = (struct document){ 0 };
}
