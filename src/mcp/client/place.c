/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/client/places.h"

#include <errno.h>
#include <string.h>

#include "mcp/client/internal.h"

struct location place_location(const char *file, const char *text, size_t len, size_t at)
{
	struct location l = { file, 1, 1 };

	for (size_t i = 0; i < at && i < len; i++) {
		l.line += text[i] == '\n';
		l.column = text[i] == '\n' ? 1 : l.column + 1;
	}
	return l;
}

struct text_place *place_new(struct places_reader *r, enum place_kind kind, int *code)
{
	const struct location at = { r->file, 0, 0 };
	struct text_place *p = NULL;

	if (++r->count > PLACES_COUNT_MAX) {
		*code = error_set(
			r->error, -E2BIG, &at, "more than %d values", (int)PLACES_COUNT_MAX);
		return NULL;
	}
	p = arena_alloc(r->arena, sizeof(*p));
	if (!p) {
		*code = error_no_memory(r->error);
		return NULL;
	}
	p->kind = kind;
	p->key_at = p->at = p->end = r->at;
	return p;
}

void place_append(struct text_place *parent, struct text_place *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	parent->count++;
}

int place_expected(struct places_reader *r, size_t at, const char *wanted)
{
	const struct location where = place_location(r->file, r->text, r->len, at);
	const bool is_end = at >= r->len;

	return error_set(r->error, -EINVAL, &where, "expected %s, found %s%.1s%s", wanted,
		is_end ? "the end of the text" : "'",
		is_end                              ? ""
		: (unsigned char)r->text[at] < 0x80 ? r->text + at
						    : "?",
		is_end ? "" : "'");
}

int place_twice(struct places_reader *r, size_t at, const char *key)
{
	const struct location where = place_location(r->file, r->text, r->len, at);

	(void)error_set(r->error, -EINVAL, &where, "the key `%.64s` stands twice in one map", key);
	error_hint(r->error, "programs would read one or the other: remove one of them");
	return -EINVAL;
}

struct text_place *place_get(const struct text_place *map, const char *key)
{
	if (map && map->kind == PLACE_MAP)
		place_for_each(p, map) if (strcmp(p->key, key) == 0) return p;
	return NULL;
}

const char *place_get_text(const struct text_place *map, const char *key)
{
	const struct text_place *p = place_get(map, key);

	return p && p->kind == PLACE_TEXT ? p->text : NULL;
}

bool place_is_texts(const struct text_place *list)
{
	if (!list || list->kind != PLACE_LIST)
		return false;
	place_for_each(p, list) if (p->kind != PLACE_TEXT) return false;
	return true;
}
