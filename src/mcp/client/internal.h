/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the readers of places share. */
#include <stdint.h>

#include "mcp/client/places.h"

struct places_reader {
	struct arena *arena;
	struct error *error;
	const char *file, *text;
	size_t len, at;
	enum places_dialect dialect;
	size_t count, depth;
};

/* A new value at r->at. NULL: the error is filled, and *code is what to return. */
struct text_place *place_new(struct places_reader *r, enum place_kind kind, int *code);
/* At the end of a list or map. */
void place_append(struct text_place *parent, struct text_place *child);
/* "expected WANTED" at an offset; returns -EINVAL. */
int place_expected(struct places_reader *r, size_t at, const char *wanted);
int place_twice(struct places_reader *r, size_t at, const char *key);

/* json-places.c, toml-places.c: the text is UTF-8, r->at is behind its byte order mark. */
int places_read_json(struct places_reader *r, struct text_place **ret);
int places_read_toml(struct places_reader *r, struct text_place **ret);
