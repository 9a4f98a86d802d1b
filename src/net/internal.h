/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What recorder.c keeps, for its tests. Records that are kept apart: one for each target,
 * reason and program, found by a hash, with the order in which they were last used. At most
 * RECORD_TABLE_MAX; the texts are copied, and cut off where they are longer than anybody would
 * read.
 */
#include "base/hash.h"
#include "wire/record.h"

enum { RECORD_TABLE_MAX = 4096, RECORD_TABLE_SLOTS = 2 * RECORD_TABLE_MAX };
/* With its NUL. Seven of them are less than RECORD_TEXT_MAX. */
enum { RECORD_TABLE_TEXT = 512 };

struct record_list {
	struct record_entry *first, *last;
};

/* A place in one of the two lists. */
struct record_link {
	struct record_entry *next, *previous;
};

struct record_entry {
	struct record record; /* what is counted is what was not told yet */
	uint64_t told;        /* the recorder's turn in which it was reported last; 0: it was not */
	bool waits;           /* it is in the list of those that wait */
	uint64_t told_ms;
	uint64_t hash;
	struct record_link links[2]; /* enum record_order */
	char texts[];
};

enum record_order {
	RECORD_BY_USE,  /* the oldest first */
	RECORD_WAITING, /* to be reported, in the order in which they came */
};

struct record_table {
	struct hash_key key;
	struct record_entry *slots[RECORD_TABLE_SLOTS];
	struct record_list lists[2];
	size_t n;
};

void record_table_init(struct record_table *t);
void record_table_deinit(struct record_table *t);
/* The entry of the same kind, target, reason and program; one of any program if that is not known.
 * NULL: there is none. */
struct record_entry *record_table_find(struct record_table *t, const struct record *r);
/* A new one, with nothing counted. NULL: no memory, or no room. */
struct record_entry *record_table_add(struct record_table *t, const struct record *r);
/* It is the one that was used last. */
void record_table_use(struct record_table *t, struct record_entry *e);
void record_table_wait(struct record_table *t, struct record_entry *e);
void record_table_unwait(struct record_table *t, struct record_entry *e);
void record_table_remove(struct record_table *t, struct record_entry *e);
