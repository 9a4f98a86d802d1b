/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Values of a document together with their names: what a reader of maps needs so that every
 * complaint says which key it is about, where that stands, what was expected and what was found.
 *
 * A struct field lives on the stack of its reader and points at the field that it stands in, so a
 * dotted name ("network.allow") costs nothing until there is an error to report. Maps are read by
 * tables of their keys: a key that is in no table is an error that names the nearest one.
 *
 * All readers return 0, or a negative errno with the error filled in; outputs are not touched then.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "codec/node.h"
#include "codec/schema.h"
#include "policy/permissions.h"

struct field {
	const struct document *document;
	struct error *error;    /* may be NULL */
	const struct field *up; /* NULL: the top */
	const struct node *node;
	const void *how; /* what the table says to the reader of this key */
};

typedef int field_reader(const struct field *f, void *into);

struct field_table;

/* One of the first three says how the value is read; none: by its type, into the member that
 * FIELD_AT names. */
struct field_key {
	struct schema_field is;
	field_reader *read;
	field_reader *each;            /* of a list: called for each item */
	const struct field_table *map; /* of a map: its keys */
	const void *how;
};

struct field_table {
	const struct field_key *keys;
	size_t n;
	field_reader *other; /* keys that are not in the table; NULL: they are errors */
};

/* clang-format off */
/* A row: FIELD("name", TEXT, reader), FIELD("name", TEXT, reader, .how = x, .is.required = true). */
#define FIELD(key, kind, reader, ...) \
	{ .is.name = (key), .is.type = SCHEMA_##kind, .read = (reader), __VA_ARGS__ }
#define FIELD_EACH(key, reader, ...) \
	{ .is.name = (key), .is.type = SCHEMA_LIST, .each = (reader), __VA_ARGS__ }
#define FIELD_MAP(key, table) { .is.name = (key), .is.type = SCHEMA_MAP, .map = &(table) }
/* One that is stored by its type: SIZE, DURATION, RATE, NUMBER, TEXT (not empty). */
#define FIELD_STORE(key, kind, ...) { .is.name = (key), .is.type = SCHEMA_##kind, __VA_ARGS__ }
/* A table from an array of rows. */
#define FIELD_TABLE(rows) { .keys = (rows), .n = ROWS(rows) }
/* The member of *into that the value goes to. */
#define FIELD_AT(type, member) .how = &(const size_t){ offsetof(type, member) }
/* clang-format on */

/* The value in *node*, which stands in the field `up`. */
struct field field_child(const struct field *up, const struct node *node);

/* The row of a key, or NULL. */
const struct field_key *field_find_key(const struct field_table *table, const char *name);
/* Reads each key of a map, in the order of the document. */
int field_read_map(const struct field *f, const struct field_table *table, void *into);
/* Calls read for each item of a list. */
int field_read_list(const struct field *f, field_reader *read, void *into);
/* The reader for keys that are known and mean nothing to us. */
field_reader field_ignore;

/* Any scalar but null; the text lives as long as the document. */
int field_text(const struct field *f, const char **ret);
int field_boolean(const struct field *f, bool *ret);
int field_integer(const struct field *f, int64_t min, int64_t max, int64_t *ret);
/* Amounts (unit.h); sizes and durations may be bare numbers. */
int field_size(const struct field *f, uint64_t *ret);
int field_duration(const struct field *f, uint64_t *ret_ms);
/* Into a struct rate. */
int field_rate(const struct field *f, void *ret);
/* "enabled", as the bool `disabled`. */
field_reader field_store_disabled;
/* One of n words; *ret is its index. */
int field_word(const struct field *f, const char *const *words, size_t n, size_t *ret);
/* The same for words in the order of enum verdict (verdict_names, or a format's own). */
int field_verdict(const struct field *f, const char *const words[VERDICT_COUNT], enum verdict *ret);
int field_mode(const struct field *f, enum mode *ret);

/* Where the value stands. The file's name lives as long as the document. */
struct location field_location(const struct field *f);
/* "`network.allow`: …" at the place of the value; returns -EINVAL. */
int field_fail(const struct field *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "`network.allow` must be a list, not text"; returns -EINVAL. */
int field_expected(const struct field *f, const char *what);
/* "unknown key `network.alow`; did you mean `network.allow`?"; returns -EINVAL. */
int field_unknown(const struct field *f, const struct field_table *table);
/* Passes a negative code on, and says so in the error where it is out of memory. */
int field_result(const struct field *f, int code);
