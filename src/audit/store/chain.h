/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a log comes to after each record: a hash that takes in all before it, and the frontier of
 * the Merkle tree over the records. The first shows where a log was touched; from the second, one
 * record can be proved without the others.
 *
 *     leaf(i)  = H(0, record i)                        record = number (8 bytes, LE), encoded event
 *     chain(0) = H(3, id of the log)
 *     chain(i) = H(2, chain(i - 1), leaf(i))
 */
#include "audit/store/merkle.h"

enum { CHAIN_ID_BYTES = 16, CHAIN_NUMBER_BYTES = 8 };

struct chain {
	struct hash hash;
	struct merkle tree; /* tree.n: the number of the last record */
};

void chain_begin(struct chain *c, const uint8_t id[CHAIN_ID_BYTES]);
void chain_add(struct chain *c, const void *record, size_t len);

/* The number that a record starts with. */
void chain_put_number(uint8_t out[CHAIN_NUMBER_BYTES], uint64_t number);
uint64_t chain_get_number(const uint8_t in[CHAIN_NUMBER_BYTES]);
