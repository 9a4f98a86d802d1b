/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are numbered as they come. An address is its range's start plus the number, so addresses
 * that end in .0 and .255 are given like others: inside there are no networks, each address stands
 * for itself. The numbers end where 198.19.255.0/24 begins, which is the sandbox's own.
 *
 * A command chooses the names, so the hash has a secret key. What is kept is bounded by the number
 * of addresses: some 40 MB if all are given to the longest names that there are.
 */
#include "net/dns/synthetic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "policy/network/host.h"

enum {
	NUMBERS = 2 * 65536 - 256 - 2, /* 198.19.254.254 is the last one */
	SLOTS_MIN = 256,
};

static const struct prefix range4 = { { 32, { 198, 18 } }, 15 };
static const struct prefix range6 = { { 128, { 0xfd, 0x53, [7] = 1 } }, 96 };

struct synthetic_entry {
	const char *name;
	uint64_t hash;
};

struct synthetic {
	struct hash_key key;
	struct arena arena;              /* the names */
	struct synthetic_entry *entries; /* by number - 1; room for half of n_slots */
	uint32_t n, max;
	uint32_t *slots; /* numbers by hash; 0: empty. Never more than half of them are taken. */
	uint32_t n_slots;
};

int synthetic_new(struct synthetic **ret, uint32_t max)
{
	struct synthetic *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->key = hash_key_make();
	s->max = max > 0 && max < NUMBERS ? max : NUMBERS;
	*ret = s;
	return 0;
}

void synthetic_free(struct synthetic *s)
{
	if (!s)
		return;
	arena_deinit(&s->arena);
	free(s->entries);
	free(s->slots);
	free(s);
}

/* The slot of a name, or the empty one where it belongs. */
static uint32_t *synthetic_find(const struct synthetic *s, const char *name, uint64_t hash)
{
	uint32_t mask = s->n_slots - 1;

	for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
		uint32_t number = s->slots[i];

		if (number == 0)
			return &s->slots[i];
		if (s->entries[number - 1].hash == hash &&
			strcmp(s->entries[number - 1].name, name) == 0)
			return &s->slots[i];
	}
}

/* Room for one more. */
static int synthetic_grow(struct synthetic *s)
{
	uint32_t n = s->n_slots ? 2 * s->n_slots : SLOTS_MIN;
	struct synthetic_entry *entries;
	uint32_t *slots;

	if (s->n < s->n_slots / 2 || s->n == s->max)
		return 0;
	entries = reallocarray(s->entries, n / 2, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	s->entries = entries;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (uint32_t number = 1; number <= s->n; number++) {
		const struct synthetic_entry *e = &s->entries[number - 1];

		*synthetic_find(s, e->name, e->hash) = number;
	}
	return 0;
}

int synthetic_take(struct synthetic *s, const char *name, uint32_t *ret)
{
	uint64_t hash = host_name_hash(&s->key, name);
	int r = synthetic_grow(s);
	const char *copy;
	uint32_t *slot;

	/* Without more room those that are known are still found. */
	if (r < 0 && s->n == 0)
		return r;
	slot = synthetic_find(s, name, hash);
	if (*slot == 0) {
		if (r < 0)
			return r;
		if (s->n == s->max)
			return -ENOSPC;
		copy = arena_strdup(&s->arena, name);
		if (!copy)
			return -ENOMEM;
		s->entries[s->n++] = (struct synthetic_entry){ copy, hash };
		*slot = s->n;
	}
	*ret = *slot;
	return 0;
}

struct address synthetic_v4(uint32_t number)
{
	struct address a = range4.address;
	uint32_t bytes = htonl(UINT32_C(198) << 24 | 18 << 16 | (number & 0x1ffff));

	memcpy(a.bytes, &bytes, sizeof(bytes));
	return a;
}

struct address synthetic_v6(uint32_t number)
{
	struct address a = range6.address;
	uint32_t bytes = htonl(number);

	memcpy(a.bytes + 12, &bytes, sizeof(bytes));
	return a;
}

int synthetic_covers(const struct address *a)
{
	struct address plain = address_plain(a);

	return prefix_has(&range4, &plain) || prefix_has(&range6, &plain);
}

const char *synthetic_name(const struct synthetic *s, const struct address *a)
{
	struct address plain = address_plain(a);
	const uint8_t *b = plain.bits == 32 ? plain.bytes : plain.bytes + 12;
	uint32_t number = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];

	if (!synthetic_covers(&plain))
		return NULL;
	if (plain.bits == 32)
		number &= 0x1ffff;
	return number > 0 && number <= s->n ? s->entries[number - 1].name : NULL;
}
