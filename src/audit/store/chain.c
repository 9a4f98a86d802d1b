/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record enters the chain by its leaf, so that its bytes are hashed once for both, and so that
 * the tree and the chain cannot speak of different records. The number is part of what is hashed: a
 * record that stands in another's place says so itself.
 */
#include "audit/store/chain.h"

#include <sodium.h>
#include <string.h>

/* 0 and 1 are the tree's. */
enum { LINK = 2, BEGINNING = 3 };

void chain_begin(struct chain *c, const uint8_t id[CHAIN_ID_BYTES])
{
	uint8_t data[1 + CHAIN_ID_BYTES] = { BEGINNING };

	memcpy(data + 1, id, CHAIN_ID_BYTES);
	*c = (struct chain){ 0 };
	(void)crypto_generichash(c->hash.bytes, HASH_BYTES, data, sizeof(data), NULL, 0);
}

void chain_add(struct chain *c, const void *record, size_t len)
{
	const struct hash leaf = merkle_leaf(record, len);
	uint8_t data[1 + 2 * HASH_BYTES] = { LINK };

	memcpy(data + 1, c->hash.bytes, HASH_BYTES);
	memcpy(data + 1 + HASH_BYTES, leaf.bytes, HASH_BYTES);
	(void)crypto_generichash(c->hash.bytes, HASH_BYTES, data, sizeof(data), NULL, 0);
	merkle_add(&c->tree, &leaf);
}

void chain_put_number(uint8_t out[CHAIN_NUMBER_BYTES], uint64_t number)
{
	for (size_t i = 0; i < CHAIN_NUMBER_BYTES; i++)
		out[i] = (uint8_t)(number >> (8 * i));
}

uint64_t chain_get_number(const uint8_t in[CHAIN_NUMBER_BYTES])
{
	uint64_t number = 0;

	for (size_t i = 0; i < CHAIN_NUMBER_BYTES; i++)
		number |= (uint64_t)in[i] << (8 * i);
	return number;
}
