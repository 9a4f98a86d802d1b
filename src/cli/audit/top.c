/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a name and finding the rarest are both a walk over a plain array of numbers, which is
 * a few hundred nanoseconds for this size: no tree or heap to keep in order. The hash is keyed, or
 * a log could be written in which all names collide and each walk compares a thousand long texts.
 */
#include "cli/audit/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/audit/figures.h"

struct audit_top *audit_top_new(void)
{
	return calloc(1, sizeof(struct audit_top));
}

void audit_top_free(struct audit_top *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		free(t->entries[i].text);
	free(t);
}

/* A place for a new name: a free one, or that of the rarest, whose count it takes over. */
static size_t audit_top_make_place(struct audit_top *t)
{
	size_t least = 0;

	if (t->n < AUDIT_TOP_SIZE) {
		t->counts[t->n] = 0;
		return t->n++;
	}
	t->is_approximate = true;
	for (size_t i = 1; i < t->n; i++)
		least = t->counts[i] < t->counts[least] ? i : least;
	free(t->entries[least].text);
	return least;
}

int audit_top_add(struct audit_top *t, unsigned kind, const char *text, uint64_t n)
{
	const struct hash_key key = hash_key_make();
	const uint64_t hash = hash_keyed(&key, kind, text, strlen(text));
	size_t i = 0;

	while (i < t->n && !(t->hashes[i] == hash && t->entries[i].kind == kind &&
				   strcmp(t->entries[i].text, text) == 0))
		i++;
	if (i == t->n) {
		char *copy = strdup(text);

		if (!copy)
			return -ENOMEM;
		i = audit_top_make_place(t);
		t->hashes[i] = hash;
		t->entries[i] = (struct audit_top_entry){
			.text = copy, .kind = kind, .inherited = t->counts[i]
		};
	}
	audit_amount_add(&t->counts[i], n);
	t->entries[i].count = t->counts[i];
	return 0;
}

static int audit_top_compare(const void *a, const void *b)
{
	const struct audit_top_entry *x = a, *y = b;
	const uint64_t of_x = audit_top_surely(x), of_y = audit_top_surely(y);
	int r;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	/* So that the same log always gives the same list. */
	r = strcmp(x->text, y->text);
	return r ? r : (int)x->kind - (int)y->kind;
}

void audit_top_sort(struct audit_top *t)
{
	qsort(t->entries, t->n, sizeof(t->entries[0]), audit_top_compare);
}
