/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON objects as they are built for printing. Running out of memory is remembered and found when
 * the tree is printed, so that building needs no checks.
 */
#include <stdbool.h>
#include <stdint.h>

#include "codec/node.h"
#include "cli/output.h"

struct json_tree {
	struct arena *arena;
	bool failed;
};

struct node *tree_map(struct json_tree *t);
/* Each puts a value into a map. Text that is NULL, like a NULL child, is null. */
void tree_put(struct json_tree *t, struct node *map, const char *key, struct node *child);
void tree_put_text(struct json_tree *t, struct node *map, const char *key, const char *text);
void tree_put_buffer(
	struct json_tree *t, struct node *map, const char *key, const struct buffer *text);
void tree_put_flag(struct json_tree *t, struct node *map, const char *key, bool value);
void tree_put_number(struct json_tree *t, struct node *map, const char *key, int64_t value);
/* Empty ones, put into a map or at the end of a list, to be filled. */
struct node *tree_put_map(struct json_tree *t, struct node *map, const char *key);
struct node *tree_put_list(struct json_tree *t, struct node *map, const char *key);
struct node *tree_append_map(struct json_tree *t, struct node *list);
void tree_append_text(struct json_tree *t, struct node *list, const char *text);

/* Prints the tree on standard output, indented, with a newline at the end. */
int tree_print(struct json_tree *t, const struct node *root, struct error *e);
