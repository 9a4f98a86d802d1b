/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Typed fields, as data: the one kind of row for parameters of the broker's methods, fields of the
 * daemon's routes, keys of services, options of the command line, keys of formats and columns of
 * the log. A row says what a value is, what bounds it has and what it is for. Checks, error
 * sentences, help and the OpenAPI document follow from it.
 *
 * A value comes as text (an option, a query), as a node (JSON, YAML) or from a frame. All three are
 * checked by the same functions, so that a value which one of them accepts is accepted by the
 * others too. A row that is all zeros allows nothing.
 *
 * A table that needs more columns than these (how a value is stored, what other formats call it)
 * has a struct of its own that begins with a struct schema_field.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/node.h"

struct buffer;
struct json_writer;

enum {
	SCHEMA_TEXT_MAX = 16 << 10, /* where a row has no `max` */
	SCHEMA_ITEMS_MAX = 1024,    /* of a list or map */
	SCHEMA_NAMES_MAX = 64,      /* of one table */
};

/* Frames of the broker carry the numbers of the first ones: new types come at the end. */
enum schema_type {
	SCHEMA_NONE = 0, /* no type; of a value: it was not given */
	SCHEMA_TEXT,     /* UTF-8 without NUL */
	SCHEMA_PATH,     /* the same, not empty */
	SCHEMA_DATA,     /* any bytes; in JSON by the encoding that the call names */
	SCHEMA_NUMBER,   /* whole, not negative */
	SCHEMA_FLAG,
	SCHEMA_CHOICE, /* one of the row's words */
	SCHEMA_TIME,   /* nanoseconds since 1970; in JSON as RFC 3339 has it */
	SCHEMA_WORDS,  /* a list of texts */
	SCHEMA_PAIRS,  /* texts by name */
	SCHEMA_JSON,   /* a list of maps, as compact JSON */
	SCHEMA_FILES,  /* entries of folders */
	SCHEMA_LINE,   /* text without line breaks, not empty */
	SCHEMA_FILE,   /* a path, absolute or below the home by ~/ */
	SCHEMA_SIGNED, /* whole */
	SCHEMA_HASH,
	SCHEMA_SIZE,     /* "64K" (codec/unit.h), as bytes */
	SCHEMA_DURATION, /* "5m", as milliseconds */
	SCHEMA_RATE,     /* "10/min" */
	SCHEMA_MAP,      /* keys of a table of its own, or of any name */
	SCHEMA_LIST,     /* items that are no texts, or more than texts */
	SCHEMA_OTHER,    /* what its reader takes: several of these, or a grammar */
	SCHEMA_TYPE_COUNT,
};

struct schema_field {
	const char *name; /* NULL: behind the last */
	enum schema_type type;
	bool required;
	uint64_t max; /* bytes of text, or the greatest number; 0: SCHEMA_TEXT_MAX, or none */
	const char *const *words; /* SCHEMA_CHOICE; of an option of another type: for a shell to
				     offer. NULL behind the last */
	const char *help;
	const char *also;    /* another name of it; NULL: none; "": there is none for others */
	uint32_t min;        /* least bytes of text, or the least number */
	unsigned char place; /* where its owner finds it: a value of the owner's enum */
	bool many;           /* may be repeated */
	bool is_secret;      /* never repeated in messages */
	bool is_program;     /* what it names runs outside, with the user's rights */
};

/* Rows */

/* How many rows there are before the empty one. */
size_t schema_count(const struct schema_field *rows);
/* The row of a name. NULL: there is none. */
const struct schema_field *schema_find(const struct schema_field *rows, const char *name);
/* How long a text, or how large a number, may be. */
uint64_t schema_max(const struct schema_field *f);
/* "text", "number", "list" …: what a type is called in documents. */
const char *schema_type_name(enum schema_type type);

/* Checks. Whether a value is given at all is the caller's question. */

/* The text of TEXT, LINE, PATH, FILE, DATA, JSON or CHOICE: bytes, UTF-8, no NUL. */
bool schema_allows_text(const struct schema_field *f, const char *text, size_t len);
/* NUMBER, SIZE, DURATION, TIME; FLAG: 0 or 1; CHOICE: the place of the word. */
bool schema_allows_number(const struct schema_field *f, uint64_t number);
/*
 * A value that is written as text: digits, true or false, a word, 64K, a list as JSON. *ret is the
 * number, the place of the word, or the length of the text. -EINVAL: it is no such thing; -ERANGE:
 * it is, and too small or too large.
 */
int schema_parse(const struct schema_field *f, const char *text, uint64_t *ret);
/* The same for a node of JSON, whose type must be the row's. */
int schema_parse_node(const struct schema_field *f, const struct node *n, uint64_t *ret);

/* Sentences */

/* "a whole number from 1 to 65535", "one of tls, starttls, plain". */
void schema_print_expected(const struct schema_field *f, struct buffer *out);
/*
 * "WHAT must be a whole number from 1 to 65535, not `0`", and for a word the nearest one as a hint.
 * `what` names the field as its user does: "parameter `limit`". `found` may be NULL. Returns
 * -EINVAL.
 */
int schema_refuse(const struct schema_field *f, const char *what, const char *found,
	const struct location *where, struct error *e);
/* The same for a node: its text, or its type where that is not the row's. */
int schema_refuse_node(const struct schema_field *f, const char *what, const struct node *n,
	const struct location *where, struct error *e);

/* Names that were allowed in place of one that is not. */
struct schema_names {
	const char *v[SCHEMA_NAMES_MAX];
	size_t n;
};
/* Ignored when there is no room: the names are for messages. */
void schema_names_add(struct schema_names *s, const char *name);
/* The nearest name, or NULL. */
const char *schema_names_near(const struct schema_names *s, const char *word);
/* Hint: "did you mean `x`?", or `otherwise` with all names behind it; "": nothing. */
void schema_names_hint(
	const struct schema_names *s, const char *word, const char *otherwise, struct error *e);

/* Documents */

/* The row as a JSON Schema, under that key. */
void schema_print_json(const struct schema_field *f, struct json_writer *w, const char *key);
/* The same under its own name, with its help as the description. */
void schema_print_property(const struct schema_field *f, struct json_writer *w);
