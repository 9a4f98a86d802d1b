/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A document, whatever it was written in: a tree of nodes that know where they stand. YAML and JSON
 * are both read into it, and both are printed from it, so everything above this folder has one
 * shape to understand and every complaint can point at a line and a column.
 *
 * Bounds (builder.c): size of the input, depth, number of nodes (aliases count each time they are
 * used), length of one scalar. Keys are unique, text is UTF-8 without NUL: a reader refuses what
 * breaks this, so users of the tree need not check.
 *
 * All readers return 0, -EINVAL for text that is not what it should be, -E2BIG past a bound, or
 * -ENOMEM, with *e filled; a failed read leaves an empty document. Columns count bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	NODE_INPUT_MAX = 4 << 20,   /* bytes, with what aliases repeat written out */
	NODE_DEPTH_MAX = 64,        /* lists and maps around a scalar */
	NODE_COUNT_MAX = 200000,    /* scalars, lists and maps; keys do not count */
	NODE_SCALAR_MAX = 64 << 10, /* bytes of one scalar or key */
};

/* How much is read: all of the input, and one scalar or key. Depth and number have no
 * other bounds than these above. */
struct node_bounds {
	size_t bytes, scalar;
};
#define NODE_BOUNDS ((struct node_bounds){ NODE_INPUT_MAX, NODE_SCALAR_MAX })

enum node_type { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_LIST, NODE_MAP };

struct node {
	enum node_type type;
	uint32_t line, column;
	/*
	 * Scalars: the text, NUL-terminated. A number keeps the digits it was written with; a bool
	 * is "true" or "false", however it was written; null has none (NULL).
	 */
	const char *text;
	/* In a map: the name this node stands under, and where that name is. */
	const char *key;
	uint32_t key_line, key_column;
	/* Lists and maps: the children, in order. */
	struct node *first, *last, *next;
	size_t count;
};

struct document {
	struct arena arena;
	const char *file; /* as in messages; lives in the arena; NULL if none was given */
	/* Never NULL after a successful read; NODE_NULL for an empty YAML file. */
	struct node *root;
};

#define node_for_each(child, parent) \
	for (struct node *child = (parent)->first; child; child = child->next)

/* What a type is called in a sentence: "a list", "a map", "text" … */
const char *node_type_name(enum node_type type);

/* The child of a map with this name, or NULL (also if map is no map). */
struct node *node_get(const struct node *map, const char *key);
/* Text of any scalar but null; NULL otherwise. `version: 1.0` is the text "1.0". */
const char *node_text(const struct node *n);
/* The same of a map's child; "" if there is none, or it has none. */
const char *node_get_text(const struct node *map, const char *key);
/* Numbers written as whole ones (1, 0x1F; not 1.0); -EINVAL if n is none or does not fit. */
int node_integer(const struct node *n, int64_t *ret);
int node_boolean(const struct node *n, bool *ret);
/* Where a node, or its name, stands; for error_set(). */
struct location node_location(const struct document *d, const struct node *n);
struct location node_key_location(const struct document *d, const struct node *n);

/* Building trees, for printing. All return NULL when out of memory; a NULL parent is passed on. */
struct node *node_new(struct arena *a, enum node_type type);
struct node *node_new_text(struct arena *a, const char *text); /* NODE_STRING */
struct node *node_new_integer(struct arena *a, int64_t value);
struct node *node_new_boolean(struct arena *a, bool value);
/* Adds child to a map under key (copied, and not in the map yet) or to a list; returns child. */
struct node *node_put(struct arena *a, struct node *map, const char *key, struct node *child);
struct node *node_append(struct node *list, struct node *child);
/* A deep copy into another arena; it stands alone, whatever n stood in. */
struct node *node_copy(struct arena *a, const struct node *n);
/* The same values under the same keys in the same order (places do not count). */
bool node_equal(const struct node *a, const struct node *b);

void document_deinit(struct document *d);
#define auto_document __attribute__((cleanup(document_deinit))) struct document
