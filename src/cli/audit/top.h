/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What happened most often, of things that commands can make up names for: a table of fixed size,
 * whatever comes. When a new name finds it full, the rarest one goes and the new one takes over its
 * count (the algorithm is called Space-Saving). So each count is too high by at most what it took
 * over, which is known; and who is more frequent than one in AUDIT_TOP_SIZE is always in the table.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUDIT_TOP_SIZE = 1024 };

struct audit_top_entry {
	char *text;
	unsigned kind;
	uint64_t count;     /* at most */
	uint64_t inherited; /* of these, not known to be its own */
};

struct audit_top {
	uint64_t hashes[AUDIT_TOP_SIZE], counts[AUDIT_TOP_SIZE];
	struct audit_top_entry entries[AUDIT_TOP_SIZE];
	size_t n;
	bool is_approximate; /* something had to go */
};

/* NULL: out of memory. */
struct audit_top *audit_top_new(void);
void audit_top_free(struct audit_top *t);

/* `n` more of this. */
int audit_top_add(struct audit_top *t, unsigned kind, const char *text, uint64_t n);
/* Brings the entries into order, by what is surely theirs, the most frequent first. Then no more
 * may be added. */
void audit_top_sort(struct audit_top *t);
/* How often at least. */
static inline uint64_t audit_top_surely(const struct audit_top_entry *e)
{
	return e->count - e->inherited;
}
