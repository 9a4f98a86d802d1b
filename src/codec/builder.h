/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Turns what a parser meets, in the order it meets it, into a document, and holds every promise
 * that node.h makes: bounds, unique keys, clean text. The parsers know grammar, this knows limits.
 *
 * Functions return 0 or a negative errno with the error filled; after a failure only builder_end()
 * may be called. Text is copied.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/input.h"
#include "codec/node.h"

struct builder {
	struct document *doc;
	struct error *error;
	struct node *open[NODE_DEPTH_MAX]; /* lists and maps not closed yet, the outermost first */
	size_t depth;
	size_t count;    /* nodes so far */
	size_t bytes;    /* of input, and of text that aliases repeat */
	const char *key; /* read, and waiting for its value */
	struct location key_at;
	struct node *added;  /* the latest node, for the anchor that names it */
	struct node **names; /* room to sort the children of a map */
	size_t room;
	struct arena scratch; /* what only reading needs */
};

/* Checks the input as input.h has it and makes *d an empty document. *d need not be initialised. */
int builder_begin(struct builder *b, struct document *d, const struct input *in, struct error *e);
/* Ends a build that went as *result* says: a failure empties the document. Returns result. */
int builder_end(struct builder *b, int result);

/* True if the next thing must be a key: a map is open, and no key waits for its value. */
bool builder_wants_key(const struct builder *b);
int builder_key(struct builder *b, const struct location *at, const char *text, size_t len);
/* A null has no text; a bool has "true" or "false". */
int builder_scalar(struct builder *b, const struct location *at, enum node_type type,
	const char *text, size_t len);
/* Opens a NODE_LIST or NODE_MAP; closing a map is where its keys are compared. */
int builder_open(struct builder *b, const struct location *at, enum node_type type);
int builder_close(struct builder *b);
/* True for a list or map that is not closed yet. */
bool builder_is_open(const struct builder *b, const struct node *n);
/* Adds a copy of n, which stands in this document already and is closed. */
int builder_copy(struct builder *b, const struct location *at, const struct node *n);

int builder_no_memory(struct builder *b);
