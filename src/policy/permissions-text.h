/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions to and from their written form (docs/permissions.md has the grammar). The tree of
 * codec/node.h is the middle: YAML and JSON are both read from and printed through it.
 * read → print → read is the identity.
 */
#include "base/error.h"
#include "policy/permissions.h"

struct buffer;
struct document;
struct node;

/*
 * Reads the map `n` (the value of `permissions:`) into p, which must be empty. Unknown keys are errors
 * that name the nearest known one; so are patterns that could never compile.
 */
int permissions_read_node(struct permissions *p, const struct document *d, const struct node *n,
	struct error *e);
/* A tree in canonical order: keys in the grammar's order, lists sorted and without doubles. */
struct node *permissions_to_node(const struct permissions *p, struct arena *a);

void permissions_print_yaml(const struct permissions *p, struct buffer *out);
void permissions_print_json(const struct permissions *p, struct buffer *out);
