/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the readers and printers of this folder share: the input, the builder, and bare words. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/node.h"

/*
 * The text of a document before anything is parsed: bytes from outside, with the name and the line
 * that messages about them use.
 */
struct input {
	const char *file; /* NULL: none given */
	const char *text;
	size_t len;
	uint32_t first_line; /* the line of `file` that the text starts on */
	struct node_bounds bounds;
};

/* Length of the UTF-8 byte order mark that the text starts with: 3, or 0. */
size_t input_bom(const char *text, size_t len);
/* Line and column of a byte. Walks the text from its start, so for messages only. */
struct location input_location(const struct input *in, size_t offset);
/* How much of s to quote in a message: at most a few dozen bytes, no character cut in two. */
int input_excerpt(const char *s, size_t len);

/*
 * Turns what a parser meets, in the order it meets it, into a document, and holds every promise
 * that node.h makes: bounds, unique keys, clean text. The parsers know grammar, this knows limits.
 *
 * Functions return 0 or a negative errno with the error filled; after a failure only builder_end()
 * may be called. Text is copied.
 */
struct builder {
	struct document *doc;
	struct error *error;
	struct node_bounds bounds;
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

/*
 * Makes *d, which need not be initialised, an empty document. -E2BIG: the input is longer than its
 * bounds say. -EINVAL: it holds a NUL, or is no UTF-8.
 */
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

/* Bare words: YAML 1.2's core schema, and the numbers of JSON. */

/* The type that YAML's core schema gives to a plain scalar: null, bool, number or string. */
enum node_type scalar_type(const char *text);
/* One of the core schema's whole numbers: decimal, 0x…, 0o…. */
bool scalar_is_integer(const char *text);
/* A number in JSON's grammar whose value is a finite double: what json_read() takes. */
bool scalar_is_json_number(const char *text);
