/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Path patterns.
 *
 *   *        any bytes but '/', also none; as a whole component at least one
 *   ?        one byte other than '/'
 *   [a-z]    one byte of a set, never '/'; [!a-z] or [^a-z] one that is not in it; [[:digit:]] …
 *   {a,b}    either; may nest and may hold slashes
 *   **       as a whole component: any number of components, also none. DIR/** includes DIR itself
 *   \x       x itself
 *
 * `*`, `?` and `**` match names that start with a dot: a hidden file is a file. Bytes are compared
 * as they are. "DIR/" means "DIR/**". A pattern is absolute; a leading "**" means "/**".
 *
 * Alternatives are expanded when a pattern is parsed (at most GLOB_ALTERNATIVES_MAX), so each one
 * is either a literal path, a folder with all below it, or a true glob. The kernel can hold the
 * first two directly, and the matcher (pathset.h) treats them without an automaton.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

struct buffer;

enum { GLOB_LENGTH_MAX = 4096, GLOB_ALTERNATIVES_MAX = 256 };

enum glob_type {
	GLOB_BYTE,  /* this byte */
	GLOB_ANY,   /* one byte, not '/' */
	GLOB_CLASS, /* one byte of a set */
	GLOB_STAR,  /* bytes, not '/' */
	GLOB_TREE,  /* "/", or "/" bytes "/" */
	GLOB_TAIL,  /* nothing, or "/" bytes; always last */
};

struct glob_class {
	uint64_t bits[4];
};

struct glob_token {
	enum glob_type type;
	unsigned char byte;
	const struct glob_class *class;
};

enum glob_kind { GLOB_LITERAL, GLOB_SUBTREE, GLOB_TRUE };

struct glob_alternative {
	enum glob_kind kind;
	const struct glob_token *tokens;
	size_t n;
	/* What all matches start with; for GLOB_LITERAL and GLOB_SUBTREE the path itself ("" is the
	 * root). */
	const char *literal;
	size_t literal_len;
};

struct glob {
	const struct glob_alternative *alternatives;
	size_t n;
};

static inline bool glob_class_has(const struct glob_class *c, unsigned char b)
{
	return c->bits[b >> 6] >> (b & 63) & 1;
}

/* One token that stands for one byte: whether it takes this one. */
static inline bool glob_token_has(const struct glob_token *t, unsigned char b)
{
	if (t->type == GLOB_BYTE)
		return t->byte == b;
	return t->type == GLOB_CLASS ? glob_class_has(t->class, b) : b != '/';
}

static inline bool glob_token_equal(const struct glob_token *a, const struct glob_token *b)
{
	return a->type == b->type && a->byte == b->byte &&
	       (a->type != GLOB_CLASS || memcmp(a->class, b->class, sizeof(*a->class)) == 0);
}

/* A byte that no plain pattern has: whoever makes names up can put it into them. */
enum { GLOB_FREE_BYTE = '\x01' };
/*
 * The common pattern, told by one look at its bytes: a normal path, or one with all below it
 * (DIR/**), and no byte with a meaning of its own in a pattern or a variable, nor GLOB_FREE_BYTE.
 * False: it has to be parsed. ret_len is literal_len as glob_parse() gives it.
 */
bool glob_plain(const char *text, size_t *ret_len, enum glob_kind *ret_kind);
/* The same where text[0..known) is known to be a normal path, if not "/", and another follows. */
bool glob_plain_after(const char *text, size_t known, size_t *ret_len, enum glob_kind *ret_kind);
/* Parses into the arena. Errors point at `where` (may be NULL). */
int glob_parse(struct glob *ret, struct arena *a, const char *text, const struct location *where,
	struct error *e);
/* One pattern against a path; linear in pattern x path, no allocation. Sets use pathset.h. */
bool glob_match(const struct glob *g, const char *path, size_t len);
bool glob_alternative_match(const struct glob_alternative *alt, const char *path, size_t len);

/* Canonical text of one alternative; parsing it again gives the same tokens. */
void glob_print(const struct glob_alternative *alt, struct buffer *out);
/* Bytes as a pattern that matches just them. */
void glob_print_literal(const char *text, size_t len, struct buffer *out);

/* For patterns that are kept as text. */
int glob_check(const char *pattern, struct error *e);
/* Parses and matches in one go: slow, for tests and rare uses. A bad pattern matches nothing. */
bool glob_match_text(const char *pattern, const char *text);

struct glob_texts {
	const char **items;
	size_t n, cap;
};

/* All the texts that {a,b} in `text` stands for, in order; at least one. -E2BIG past
 * GLOB_ALTERNATIVES_MAX. */
int glob_expand(struct glob_texts *ret, struct arena *a, const char *text,
	const struct location *where, struct error *e);
