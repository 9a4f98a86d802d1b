/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a skill held when it was approved, to say later what changed: the stream of which the digest
 * is the SHA-256 (skill/digest.h). So an inventory cannot lie about an approval: its own hash is
 * the digest that was approved, or it is not read.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "skill/content.h"

enum { SKILL_INVENTORY_MAX = 8 << 20 };

struct skill_record {
	const char *path;
	enum skill_entry_type type;
	bool executable;
	uint64_t size;             /* files only */
	const unsigned char *hash; /* files only; SKILL_DIGEST_BYTES, in the stream */
	const char *target;        /* links only */
};

struct skill_inventory {
	struct skill_record *items; /* sorted by the bytes of their paths */
	size_t n, cap;
};

/*
 * Reads the stream, which must last as long as *ret does. -ESTALE: it is not that of the digest;
 * -EINVAL: it is no such stream; -ENOMEM.
 */
int skill_inventory_read(const void *data, size_t len, const struct skill_digest *digest,
	struct arena *a, struct skill_inventory *ret);

enum skill_change_kind { SKILL_ADDED, SKILL_REMOVED, SKILL_CHANGED };

struct skill_change {
	enum skill_change_kind kind;
	const char *path;
	const struct skill_record *was; /* NULL: it was not there */
	const struct skill_item *now;   /* NULL: it is not there */
};

struct skill_changes {
	struct skill_change *items; /* in the order of their paths */
	size_t n, cap;
};

/* What is different now. What is live is no part of a skill. -ENOMEM. */
int skill_inventory_compare(const struct skill_inventory *was, const struct skill_content *now,
	struct arena *a, struct skill_changes *ret);
