/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hash_bytes() is FNV-1a: for tables of a bounded size, in which a collision costs time and nothing
 * else. Where foreign names fill a table without a bound, hash_keyed() belongs: it is SipHash-1-3,
 * and without the key names that collide cannot be chosen.
 */
#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* One word into a hash that started with a secret: weaker than hash_keyed(), and much faster. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	__uint128_t m = (__uint128_t)(hash ^ word) * 0xa0761d6478bd642fu;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

struct hash_key {
	uint64_t words[2];
};

/* The key of this process; needs no system call. */
struct hash_key hash_key_make(void);
/* The hash of a word, such as another hash, and some bytes. */
uint64_t hash_keyed(const struct hash_key *k, uint64_t word, const void *data, size_t len);
