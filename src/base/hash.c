/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

static inline uint64_t hash_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

__attribute__((always_inline)) static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = hash_rotate(v[1], 13) ^ v[0];
	v[0] = hash_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = hash_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = hash_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = hash_rotate(v[1], 17) ^ v[2];
	v[2] = hash_rotate(v[2], 32);
}

__attribute__((always_inline)) static inline void sip_absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

uint64_t hash_keyed(const struct hash_key *k, uint64_t word, const void *data, size_t len)
{
	uint64_t v[4] = { k->words[0] ^ 0x736f6d6570736575, k->words[1] ^ 0x646f72616e646f6d,
		k->words[0] ^ 0x6c7967656e657261, k->words[1] ^ 0x7465646279746573 };
	const char *bytes = data;
	uint64_t next;
	size_t i = 0;

	sip_absorb(v, word);
	for (; len - i >= 8; i += 8) {
		memcpy(&next, bytes + i, 8);
		sip_absorb(v, next);
	}
	next = 0;
	memcpy(&next, bytes + i, len - i);
	sip_absorb(v, next ^ (uint64_t)len << 56);
	v[2] ^= 0xff;
	for (int round = 0; round < 3; round++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The kernel gives every program sixteen random bytes. */
struct hash_key hash_key_make(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	struct hash_key raw = { { 0, 0 } }, k;

	if (random)
		memcpy(&raw, random, sizeof(raw));
	/* Other secrets are made from the same bytes: keep only a hash of them. */
	k.words[0] = hash_keyed(&raw, 0, "hash_key", 8);
	k.words[1] = hash_keyed(&raw, 1, "hash_key", 8);
	return k;
}
