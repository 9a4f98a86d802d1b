/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing in a table that is at most half full. Whoever is removed leaves no gap in a run:
 * those behind move up, so a search ends at the first free slot.
 */
#include "net/record-table.h"

#include <stdlib.h>
#include <string.h>

enum { N_TEXTS = 7, MASK = RECORD_TABLE_SLOTS - 1 };

_Static_assert(N_TEXTS *RECORD_TABLE_TEXT <= RECORD_TEXT_MAX, "what is kept can be sent");

void record_table_init(struct record_table *t)
{
	*t = (struct record_table){ .key = hash_key_make() };
}

void record_table_deinit(struct record_table *t)
{
	for (size_t i = 0; i < RECORD_TABLE_SLOTS; i++)
		free(t->slots[i]);
	memset(t->slots, 0, sizeof(t->slots));
}

/* Lists. */

static void record_table_append(struct record_table *t, enum record_order o, struct record_entry *e)
{
	struct record_list *l = &t->lists[o];

	e->links[o] = (struct record_link){ .previous = l->last };
	*(l->last ? &l->last->links[o].next : &l->first) = e;
	l->last = e;
}

static void record_table_take_out(
	struct record_table *t, enum record_order o, struct record_entry *e)
{
	struct record_list *l = &t->lists[o];
	struct record_link *link = &e->links[o];

	*(link->previous ? &link->previous->links[o].next : &l->first) = link->next;
	*(link->next ? &link->next->links[o].previous : &l->last) = link->previous;
}

void record_table_use(struct record_table *t, struct record_entry *e)
{
	record_table_take_out(t, RECORD_BY_USE, e);
	record_table_append(t, RECORD_BY_USE, e);
}

void record_table_wait(struct record_table *t, struct record_entry *e)
{
	if (!e->waits)
		record_table_append(t, RECORD_WAITING, e);
	e->waits = true;
}

void record_table_unwait(struct record_table *t, struct record_entry *e)
{
	if (e->waits)
		record_table_take_out(t, RECORD_WAITING, e);
	e->waits = false;
}

/* Texts: compared and hashed as they are kept. */

static size_t record_table_length(const char *text)
{
	return strnlen(text, RECORD_TABLE_TEXT - 1);
}

static bool record_table_same_text(const char *kept, const char *text)
{
	size_t len = record_table_length(text);

	return strlen(kept) == len && memcmp(kept, text, len) == 0;
}

/* Where it is, or would be. */
static struct record_entry **record_table_slot(
	struct record_table *t, const struct record *r, uint64_t *ret_hash)
{
	uint64_t hash =
		hash_keyed(&t->key, (uint64_t)r->kind, r->target, record_table_length(r->target));
	size_t i;

	hash = hash_keyed(&t->key, hash, r->reason, record_table_length(r->reason));
	for (i = hash & MASK; t->slots[i]; i = (i + 1) & MASK) {
		const struct record *kept = &t->slots[i]->record;

		if (t->slots[i]->hash == hash && kept->kind == r->kind && kept->dns == r->dns &&
			record_table_same_text(kept->target, r->target) &&
			record_table_same_text(kept->reason, r->reason))
			break;
	}
	*ret_hash = hash;
	return &t->slots[i];
}

struct record_entry *record_table_find(struct record_table *t, const struct record *r)
{
	uint64_t hash;

	return *record_table_slot(t, r, &hash);
}

struct record_entry *record_table_add(struct record_table *t, const struct record *r)
{
	const char *texts[N_TEXTS] = { r->target, r->name, r->address, r->rule, r->reason,
		r->remedy, r->program };
	struct record_entry *e, **slot;
	size_t size = sizeof(*e);
	char *at;

	for (size_t i = 0; i < N_TEXTS; i++)
		size += record_table_length(texts[i]) + 1;
	e = t->n < RECORD_TABLE_MAX ? calloc(1, size) : NULL;
	if (!e)
		return NULL;
	at = e->texts;
	for (size_t i = 0; i < N_TEXTS; i++) {
		size_t len = record_table_length(texts[i]);

		texts[i] = memcpy(at, texts[i], len);
		at += len + 1;
	}
	slot = record_table_slot(t, r, &e->hash);
	*slot = e;
	e->record = (struct record){ .kind = r->kind,
		.dns = r->dns,
		.target = texts[0],
		.name = texts[1],
		.address = texts[2],
		.port = r->port,
		.rule = texts[3],
		.reason = texts[4],
		.remedy = texts[5],
		.pid = r->pid,
		.program = texts[6] };
	record_table_append(t, RECORD_BY_USE, e);
	t->n++;
	return e;
}

void record_table_remove(struct record_table *t, struct record_entry *e)
{
	uint64_t hash;
	size_t i = (size_t)(record_table_slot(t, &e->record, &hash) - t->slots);

	record_table_unwait(t, e);
	record_table_take_out(t, RECORD_BY_USE, e);
	/* Fills the gap at i with those behind it that may stand there. */
	for (size_t j = (i + 1) & MASK; t->slots[j]; j = (j + 1) & MASK) {
		size_t home = t->slots[j]->hash & MASK;

		if (((j - home) & MASK) < ((j - i) & MASK))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i] = NULL;
	t->n--;
	free(e);
}
