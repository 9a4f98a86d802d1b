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
 * Reads the map `n` (the value of `permissions:`) into p, which must be empty. Unknown keys are
 * errors that name the nearest known one; so are patterns that could never compile. After an error
 * p holds a part of the document and is only good for permissions_free().
 */
int permissions_read_node(
	struct permissions *p, const struct document *d, const struct node *n, struct error *e);
/*
 * One pattern of any list, checked and in its canonical spelling: pattern.h for files, hosts and
 * commands; NAME, a glob of names or NAME=value for env; SERVICE[.ACCESS][:SCOPE] or "*" for
 * services, as rules write them. `ret` may be NULL.
 */
int permissions_canonical(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e);
/* The same for an entry of a list, which may take fewer patterns than its operation. */
int permissions_list_canonical(enum permission_list which, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e);

/*
 * A tree in canonical order: keys in the grammar's order, lists sorted and without doubles, nothing
 * that is empty. NULL when out of memory.
 */
struct node *permissions_to_node(const struct permissions *p, struct arena *a);

/* YAML ends with a newline, JSON (indented) does not. Out of memory marks `out` as failed. */
void permissions_print_yaml(const struct permissions *p, struct buffer *out);
void permissions_print_json(const struct permissions *p, struct buffer *out);
