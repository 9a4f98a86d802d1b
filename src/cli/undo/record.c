/* SPDX-License-Identifier: Apache-2.0 */
/* What a record is made of: its lists, how they are searched and sorted, and amounts in words. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/hash.h"
#include "cli/undo/internal.h"

void undo_deinit(struct undo *u)
{
	free(u->before.items);
	free(u->before.table);
	free(u->changes.items);
	fd_close(&u->data);
	fd_close(&u->root);
	fd_close(&u->record);
	fd_close(&u->store);
	arena_deinit(&u->arena);
	*u = UNDO_EMPTY;
}

void undo_print_bytes(uint64_t bytes, struct buffer *out)
{
	static const char *const units[] = { "bytes", "KB", "MB", "GB", "TB" };
	size_t i = 0;
	uint64_t rest = 0;

	for (; bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++) {
		rest = bytes % 1024;
		bytes /= 1024;
	}
	if (i > 0 && bytes < 10 && rest * 10 / 1024)
		buffer_printf(out, "%" PRIu64 ".%" PRIu64 " %s", bytes, rest * 10 / 1024, units[i]);
	else
		buffer_printf(out, "%" PRIu64 " %s", bytes, units[i]);
}

void undo_print_count(uint64_t n, struct buffer *out)
{
	if (n >= 1000) {
		undo_print_count(n / 1000, out);
		buffer_printf(out, ",%03" PRIu64, n % 1000);
	} else {
		buffer_printf(out, "%" PRIu64, n);
	}
}

void undo_print_changed(const struct undo_changes *c, struct buffer *out)
{
	const struct {
		size_t n;
		const char *word;
	} rows[] = { { c->count[UNDO_CREATED], "created" },
		{ c->count[UNDO_CHANGED] + c->count[UNDO_MODE] + c->count[UNDO_TIME], "changed" },
		{ c->count[UNDO_REMOVED], "removed" } };
	size_t shown = 0;

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (!rows[i].n)
			continue;
		buffer_adds(out, shown++ ? ", " : "");
		undo_print_count(rows[i].n, out);
		buffer_printf(out, " %s", rows[i].word);
	}
	if (!shown)
		buffer_adds(out, "only times of folders changed");
}

/* Looking up */

static size_t record_slot(const struct undo_list *l, const struct hash_key *key, const char *path)
{
	return (size_t)hash_keyed(key, 0, path, strlen(path)) & l->mask;
}

int undo_list_index(struct undo_list *l)
{
	const struct hash_key key = hash_key_make();
	size_t size = 16;

	while (size < 2 * l->n)
		size *= 2;
	free(l->table);
	l->table = calloc(size, sizeof(*l->table));
	l->mask = size - 1;
	if (!l->table)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		size_t at = record_slot(l, &key, l->items[i].path);

		while (l->table[at])
			at = (at + 1) & l->mask;
		l->table[at] = (uint32_t)i + 1;
	}
	return 0;
}

const struct undo_entry *undo_list_find(const struct undo_list *l, const char *path)
{
	const struct hash_key key = hash_key_make();

	for (size_t at = record_slot(l, &key, path); l->table[at]; at = (at + 1) & l->mask)
		if (strcmp(l->items[l->table[at] - 1].path, path) == 0)
			return &l->items[l->table[at] - 1];
	return NULL;
}

/* Sorting: folders before what is in them, and nothing else in between: a slash comes before all
 * letters. */
static int record_by_path(const void *a, const void *b)
{
	const struct undo_change *left = a, *right = b;
	const char *x = left->path, *y = right->path;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	return (*x == '/'   ? 1
		       : *x ? 1 + (unsigned char)*x
			    : 0) -
	       (*y == '/'   ? 1
		       : *y ? 1 + (unsigned char)*y
			    : 0);
}

size_t undo_changes_find(const struct undo_changes *c, const char *path)
{
	const struct undo_change key = { .path = path };
	const struct undo_change *found =
		c->n ? bsearch(&key, c->items, c->n, sizeof(key), record_by_path) : NULL;

	return found ? (size_t)(found - c->items) : SIZE_MAX;
}

void undo_changes_sort(struct undo_changes *c)
{
	if (c->n)
		qsort(c->items, c->n, sizeof(*c->items), record_by_path);
}
