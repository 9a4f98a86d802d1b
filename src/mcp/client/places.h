/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the values of a text stand: a tree of offsets into the bytes of a client's file. What is
 * changed is cut out and put in at these offsets, and everything else stays as it is: comments,
 * blanks, line ends, the order of keys.
 *
 * Three dialects of JSON are read, and TOML. A text that its dialect does not allow is refused, as
 * is one that is not UTF-8 or past a bound; so is a key that stands twice in one map, of which two
 * readers could take different ones.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	PLACES_BYTES_MAX = 8 << 20, /* of a text */
	PLACES_DEPTH_MAX = 64,
	PLACES_COUNT_MAX = 200000, /* values */
};

enum places_dialect {
	PLACES_JSON,  /* RFC 8259 */
	PLACES_JSONC, /* with comments, and a comma after the last entry */
	PLACES_JSON5, /* also names without quotes, single quotes, other numbers */
	PLACES_TOML,
};

enum place_kind { PLACE_OTHER, PLACE_TEXT, PLACE_LIST, PLACE_MAP };

struct text_place {
	enum place_kind kind;
	/* A map of TOML that has no brackets: a header's, or one that dotted keys make. */
	bool is_open;
	size_t key_at;  /* where its key begins; of an item of a list: where the item does */
	size_t at, end; /* the value, with its quotes or brackets; of a header: its lines */
	size_t comma;   /* the comma behind it; 0: there is none */
	const char *key;
	const char *text; /* of a PLACE_TEXT */
	struct text_place *first, *last, *next;
	size_t count;
};

/* A failure leaves *ret untouched. -EINVAL, -E2BIG or -ENOMEM with *e filled. file may be NULL. */
int places_read(struct text_place **ret, struct arena *a, enum places_dialect dialect,
	const char *file, const char *text, size_t len, struct error *e);
/* The entry of a map, or NULL (also if map is NULL or no map). */
struct text_place *place_get(const struct text_place *map, const char *key);
/* The text of an entry, or NULL. */
const char *place_get_text(const struct text_place *map, const char *key);
/* A list of texts and of nothing else. */
bool place_is_texts(const struct text_place *list);
/* Line and column of a byte; for messages. */
struct location place_location(const char *file, const char *text, size_t len, size_t at);

#define place_for_each(child, parent) \
	for (struct text_place *child = (parent)->first; child; child = child->next)
