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
	*t = (struct record_table){ .key = hostset_key_make() };
}

void record_table_deinit(struct record_table *t)
{
	for (size_t i = 0; i < RECORD_TABLE_SLOTS; i++)
		free(t->slots[i]);
	memset(t->slots, 0, sizeof(t->slots));
}

/* Lists. */

static void record_table_append(struct record_list *l, enum record_order o, struct record_entry *e)
{
	e->links[o] = (struct record_link){ .previous = l->last };
	*(l->last ? &l->last->links[o].next : &l->first) = e;
	l->last = e;
}

static void record_table_take_out(
	struct record_list *l, enum record_order o, struct record_entry *e)
{
	struct record_link *link = &e->links[o];

	*(link->previous ? &link->previous->links[o].next : &l->first) = link->next;
	*(link->next ? &link->next->links[o].previous : &l->last) = link->previous;
}

void record_table_use(struct record_table *t, struct record_entry *e)
{
	record_table_take_out(&t->lists[RECORD_BY_USE], RECORD_BY_USE, e);
	record_table_append(&t->lists[RECORD_BY_USE], RECORD_BY_USE, e);
}

void record_table_wait(struct record_table *t, struct record_entry *e)
{
	if (!e->waits)
		record_table_append(&t->lists[RECORD_WAITING], RECORD_WAITING, e);
	e->waits = true;
}

void record_table_unwait(struct record_table *t, struct record_entry *e)
{
	if (e->waits)
		record_table_take_out(&t->lists[RECORD_WAITING], RECORD_WAITING, e);
	e->waits = false;
}

/* Texts: compared and hashed as they are kept. */

static size_t length(const char *text)
{
	return strnlen(text, RECORD_TABLE_TEXT - 1);
}

static bool record_table_same_text(const char *kept, const char *text)
{
	size_t len = length(text);

	return strlen(kept) == len && memcmp(kept, text, len) == 0;
}

static bool same(const struct record *kept, const struct record *r)
{
	return kept->kind == r->kind && kept->dns == r->dns &&
	       record_table_same_text(kept->target, r->target) &&
	       record_table_same_text(kept->reason, r->reason);
}

static uint64_t record_table_hash_of(const struct record_table *t, const struct record *r)
{
	uint64_t hash = hostset_hash(&t->key, (uint64_t)r->kind, r->target, length(r->target));

	return hostset_hash(&t->key, hash, r->reason, length(r->reason));
}

static size_t record_table_slot_of(
	const struct record_table *t, const struct record *r, uint64_t hash)
{
	size_t i = hash & MASK;

	for (; t->slots[i]; i = (i + 1) & MASK)
		if (t->slots[i]->hash == hash && same(&t->slots[i]->record, r))
			break;
	return i;
}

struct record_entry *record_table_find(struct record_table *t, const struct record *r)
{
	return t->slots[record_table_slot_of(t, r, record_table_hash_of(t, r))];
}

static struct record_entry *record_table_copy(const struct record *r)
{
	const char *const from[N_TEXTS] = { r->target, r->name, r->address, r->rule, r->reason,
		r->remedy, r->program };
	const char *to[N_TEXTS];
	struct record_entry *e;
	size_t size = sizeof(*e);
	char *at;

	for (size_t i = 0; i < N_TEXTS; i++)
		size += length(from[i]) + 1;
	e = calloc(1, size);
	if (!e)
		return NULL;
	at = e->texts;
	for (size_t i = 0; i < N_TEXTS; i++) {
		to[i] = memcpy(at, from[i], length(from[i]));
		at += length(from[i]) + 1;
	}
	e->record = (struct record){ .kind = r->kind,
		.dns = r->dns,
		.target = to[0],
		.name = to[1],
		.address = to[2],
		.port = r->port,
		.rule = to[3],
		.reason = to[4],
		.remedy = to[5],
		.pid = r->pid,
		.program = to[6] };
	return e;
}

struct record_entry *record_table_add(struct record_table *t, const struct record *r)
{
	struct record_entry *e = t->n < RECORD_TABLE_MAX ? record_table_copy(r) : NULL;

	if (!e)
		return NULL;
	e->hash = record_table_hash_of(t, r);
	t->slots[record_table_slot_of(t, r, e->hash)] = e;
	record_table_append(&t->lists[RECORD_BY_USE], RECORD_BY_USE, e);
	t->n++;
	return e;
}

/* Fills the gap at i with those behind it that may stand there. */
static void record_table_close_gap(struct record_table *t, size_t i)
{
	for (size_t j = (i + 1) & MASK; t->slots[j]; j = (j + 1) & MASK) {
		size_t home = t->slots[j]->hash & MASK;

		if (((j - home) & MASK) < ((j - i) & MASK))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i] = NULL;
}

void record_table_remove(struct record_table *t, struct record_entry *e)
{
	record_table_unwait(t, e);
	record_table_take_out(&t->lists[RECORD_BY_USE], RECORD_BY_USE, e);
	record_table_close_gap(t, record_table_slot_of(t, &e->record, e->hash));
	t->n--;
	free(e);
}
