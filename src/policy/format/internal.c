/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "policy/format/permissions-text.h"

/* Names are looked for one by one: a bound keeps a hostile list from costing its square. */
enum { NAMES_MAX = 256 };

int manifest_part_text(const struct field *f, void *into)
{
	struct manifest *m = into;
	const char **member = (void *)((char *)into + *(const size_t *)f->how);
	const char *text = NULL;
	int r;

	if (f->node->type == NODE_NULL)
		return 0;
	r = field_text(f, &text);
	if (r < 0)
		return r;
	*member = arena_strdup(m->permissions->arena, text);
	return field_result(f, *member ? 0 : -ENOMEM);
}

int manifest_part_keep(const struct field *f, void *into)
{
	struct manifest *m = into;
	struct arena *a = m->permissions->arena;
	struct node *copy = node_copy(a, f->node);

	if (!m->extra)
		m->extra = node_new(a, NODE_MAP);
	if (!m->extra || !copy || !node_put(a, m->extra, f->node->key, copy))
		return field_result(f, -ENOMEM);
	return 0;
}

int manifest_part_text_or_keep(const struct field *f, void *into)
{
	return node_text(f->node) ? manifest_part_text(f, into) : manifest_part_keep(f, into);
}

/* An array of names that grows in an arena. */
struct names {
	struct arena *arena;
	const char **items;
	size_t n, cap;
};

static int format_add_name(const struct field *f, void *into)
{
	struct names *names = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i], text) == 0)
			return 0;
	}
	if (names->n == NAMES_MAX)
		return field_fail(f, "more than %d names", NAMES_MAX);
	text = arena_strdup(names->arena, text);
	r = text ? ARENA_PUSH(names->arena, names->items, names->n, names->cap, text) : -ENOMEM;
	return field_result(f, r);
}

int manifest_part_names(const struct field *f, struct arena *a, const char ***names, size_t *n)
{
	struct names all = { .arena = a, .items = *names, .n = *n, .cap = *n };
	int r = field_read_list(f, format_add_name, &all);

	*names = all.items;
	*n = all.n;
	return r;
}

int manifest_part_grant(const struct field *f, struct permissions *p, struct grant_list *list,
	enum operation op, const char *text)
{
	struct location where = field_location(f);
	const char *pattern = NULL;
	int r = permissions_canonical(op, text, p->arena, &pattern, &where, f->error);

	if (r == 0)
		r = permissions_add(p, list, pattern, &where);
	return field_result(f, r);
}
