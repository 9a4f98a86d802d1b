/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The hash tree over the records of a store, as in RFC 6962 (Certificate Transparency), with
 * BLAKE2b-256: leaves and nodes are hashed with different first bytes. A tree grows by leaves in
 * O(log n) memory (the roots of its full subtrees, its frontier); any head of it can be proved to
 * contain a record.
 *
 * The frontier of the first n leaves stands for them: who has it can go on adding leaves, and can
 * prove later ones, without the leaves themselves. So old records can be removed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 32, MERKLE_LEVELS = 64 };

struct hash {
	uint8_t bytes[HASH_BYTES];
};

struct merkle {
	uint64_t n;
	struct hash roots[MERKLE_LEVELS]; /* of full subtrees, by the bits of n */
};

bool merkle_equal(const struct hash *a, const struct hash *b);
struct hash merkle_leaf(const void *data, size_t len);
void merkle_add(struct merkle *m, const struct hash *leaf);
struct hash merkle_root(const struct merkle *m); /* of no leaves: the hash of nothing */

/* The frontier as bytes: only the roots that the bits of n say are there. */
enum { MERKLE_PACKED_MAX = MERKLE_LEVELS * HASH_BYTES };
size_t merkle_pack(const struct merkle *m, uint8_t out[MERKLE_PACKED_MAX]);
/* -EBADMSG: not the length that n leaves have. Whether it is the right one, its root tells. */
int merkle_unpack(struct merkle *ret, uint64_t n, const void *data, size_t len);

/* Gives the hash of leaf i (from 0); negative: it cannot. */
typedef int merkle_source(void *context, uint64_t i, struct hash *ret);
/*
 * The path that proves leaf i in the tree of the first n leaves. Returns its length. gone: the
 * frontier of leaves that cannot be had any more, which are never asked for (NULL: all are there).
 * -EINVAL: i is not below n; -ENOENT: it is one of those that are gone.
 */
int merkle_prove(merkle_source *source, void *context, const struct merkle *gone, uint64_t i,
	uint64_t n, struct hash path[MERKLE_LEVELS]);
/* -EBADMSG: it does not prove it. */
int merkle_check(const struct hash *leaf, uint64_t i, uint64_t n, const struct hash *path,
	size_t len, const struct hash *root);

/*
 * What a log comes to after each record: a hash that takes in all before it, and the frontier of
 * the tree over the records. The first shows where a log was touched; from the second, one record
 * can be proved without the others.
 *
 *     leaf(i)  = H(0, record i)                        record = number (8 bytes, LE), encoded event
 *     chain(0) = H(3, id of the log)
 *     chain(i) = H(2, chain(i - 1), leaf(i))
 */
enum { CHAIN_ID_BYTES = 16, CHAIN_NUMBER_BYTES = 8 };

struct chain {
	struct hash hash;
	struct merkle tree; /* tree.n: the number of the last record */
};

void chain_begin(struct chain *c, const uint8_t id[CHAIN_ID_BYTES]);
void chain_add(struct chain *c, const void *record, size_t len);
/* It is what a head says: these are its hashes. */
bool chain_is_at(const struct chain *c, const struct hash *hash, const struct hash *root);

/* The number that a record starts with. */
void chain_put_number(uint8_t out[CHAIN_NUMBER_BYTES], uint64_t number);
uint64_t chain_get_number(const uint8_t in[CHAIN_NUMBER_BYTES]);
