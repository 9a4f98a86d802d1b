/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A list of what a server has, as its pages come: tools, prompts, resources, templates of those.
 *
 * A tool or prompt that clients could not take makes the server unusable: they are approved as a
 * whole. A resource or template of that kind is left out, and so is what is past a bound.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/node.h"

enum {
	UPSTREAM_TOOLS_MAX = 512, /* and prompts */
	UPSTREAM_RESOURCES_MAX = 1024,
	UPSTREAM_TEMPLATES_MAX = 64,
	UPSTREAM_URI_MAX = 2048,
	UPSTREAM_LIST_BYTES = 4 << 20, /* of all definitions of a list */
	LISTING_NAME_MAX = 128,
};

/* In the order in which they are asked for. */
enum upstream_list {
	UPSTREAM_TOOLS,
	UPSTREAM_PROMPTS,
	UPSTREAM_RESOURCES,
	UPSTREAM_TEMPLATES,
	UPSTREAM_LISTS,
};

struct listing_kind {
	const char *method, *key, *id; /* what tells one from another */
	const char *capability, *changed;
	size_t max;
	const char *unnamed, *twice, *many; /* NULL: what is wrong is left out */
};

extern const struct listing_kind listing_kinds[UPSTREAM_LISTS];

struct upstream_items {
	enum upstream_list list;
	struct document document; /* a list of definitions */
	size_t bytes, left_out;
};

/* Makes it an empty one; what it had is freed. false: out of memory. */
bool listing_begin(struct upstream_items *l, enum upstream_list list);
/* A page more. NULL, or why the server cannot be used. */
const char *listing_add(struct upstream_items *l, const struct node *items);
void listing_deinit(struct upstream_items *l);
/* Whether it is one as clients take it: with a scheme, and of printable ASCII. A template has the
 * scheme before what varies. */
bool upstream_is_uri(const char *uri);
