/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 6962 defines a tree of n leaves by splitting them at k, the largest power of two below n. So
 * every left part is full, and starts at a multiple of its size. Two things follow, which this file
 * lives on: the root of any part [a, b) that the splitting meets is the root of a fresh tree of its
 * leaves; and if the frontier of the first c leaves is known, a < c < b, then the frontier of [a,
 * c) is its lower end, because a has no bits that c - a could have.
 *
 * A record enters the chain by its leaf, so that its bytes are hashed once for both, and so that
 * the tree and the chain cannot speak of different records. The number is part of what is hashed: a
 * record that stands in another's place says so itself.
 */
#include "audit/store/merkle.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

_Static_assert(HASH_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");

/* The first byte of what is hashed. */
enum { LEAF, NODE, LINK, BEGINNING };

bool merkle_equal(const struct hash *a, const struct hash *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

struct hash merkle_leaf(const void *data, size_t len)
{
	crypto_generichash_state state;
	const uint8_t type = LEAF;
	struct hash h;

	(void)crypto_generichash_init(&state, NULL, 0, sizeof(h.bytes));
	(void)crypto_generichash_update(&state, &type, 1);
	(void)crypto_generichash_update(&state, data, len);
	(void)crypto_generichash_final(&state, h.bytes, sizeof(h.bytes));
	return h;
}

static struct hash merkle_hash_two(uint8_t type, const struct hash *left, const struct hash *right)
{
	uint8_t data[1 + 2 * HASH_BYTES] = { type };
	struct hash h;

	memcpy(data + 1, left->bytes, HASH_BYTES);
	memcpy(data + 1 + HASH_BYTES, right->bytes, HASH_BYTES);
	(void)crypto_generichash(h.bytes, sizeof(h.bytes), data, sizeof(data), NULL, 0);
	return h;
}

void merkle_add(struct merkle *m, const struct hash *leaf)
{
	struct hash h = *leaf;
	unsigned level = 0;

	for (; m->n >> level & 1; level++)
		h = merkle_hash_two(NODE, &m->roots[level], &h);
	m->roots[level] = h;
	m->n++;
}

struct hash merkle_root(const struct merkle *m)
{
	bool any = false;
	struct hash h = { 0 };

	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!(m->n >> level & 1))
			continue;
		h = any ? merkle_hash_two(NODE, &m->roots[level], &h) : m->roots[level];
		any = true;
	}
	if (!any)
		(void)crypto_generichash(h.bytes, sizeof(h.bytes), NULL, 0, NULL, 0);
	return h;
}

size_t merkle_pack(const struct merkle *m, uint8_t out[MERKLE_PACKED_MAX])
{
	size_t len = 0;

	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!(m->n >> level & 1))
			continue;
		memcpy(out + len, m->roots[level].bytes, HASH_BYTES);
		len += HASH_BYTES;
	}
	return len;
}

int merkle_unpack(struct merkle *ret, uint64_t n, const void *data, size_t len)
{
	const uint8_t *p = data;
	struct merkle m = { .n = n };

	if (len != (size_t)__builtin_popcountll(n) * HASH_BYTES)
		return -EBADMSG;
	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!(n >> level & 1))
			continue;
		memcpy(m.roots[level].bytes, p, HASH_BYTES);
		p += HASH_BYTES;
	}
	*ret = m;
	return 0;
}

struct proving {
	merkle_source *source;
	void *context;
	const struct merkle *gone;
};

/* The root of the leaves from a to before b, a part that the splitting meets. */
static int merkle_part_root(const struct proving *p, uint64_t a, uint64_t b, struct hash *ret)
{
	struct merkle m = { 0 };

	if (p->gone->n >= b) {
		*ret = p->gone->roots[__builtin_ctzll(b - a)];
		return 0;
	}
	if (p->gone->n > a) {
		m = *p->gone;
		m.n -= a;
	}
	for (uint64_t i = a + m.n; i < b; i++) {
		struct hash leaf;
		int r = p->source(p->context, i, &leaf);

		if (r < 0)
			return r;
		merkle_add(&m, &leaf);
	}
	*ret = merkle_root(&m);
	return 0;
}

int merkle_prove(merkle_source *source, void *context, const struct merkle *gone, uint64_t i,
	uint64_t n, struct hash path[MERKLE_LEVELS])
{
	const struct merkle none = { 0 };
	const struct proving p = { source, context, gone ? gone : &none };
	uint64_t start = 0, end = n;
	int len = 0;

	if (i >= n)
		return -EINVAL;
	if (i < p.gone->n)
		return -ENOENT;
	while (end - start > 1) {
		/* The largest power of two below their number. */
		const int level = 63 - __builtin_clzll(end - start - 1);
		const uint64_t middle = start + (UINT64_C(1) << level);
		int r;

		if (i < middle) {
			r = merkle_part_root(&p, middle, end, &path[len]);
			end = middle;
		} else {
			r = merkle_part_root(&p, start, middle, &path[len]);
			start = middle;
		}
		if (r < 0)
			return r;
		len++;
	}
	/* Found from the root, given from the leaf. */
	for (int k = 0; k < len / 2; k++) {
		const struct hash h = path[k];

		path[k] = path[len - 1 - k];
		path[len - 1 - k] = h;
	}
	return len;
}

/* As in RFC 9162, 2.1.3.2: i and last are the places of this node and of the last one, by level. */
int merkle_check(const struct hash *leaf, uint64_t i, uint64_t n, const struct hash *path,
	size_t len, const struct hash *root)
{
	struct hash h = *leaf;
	uint64_t last = n - 1;

	if (i >= n || len > MERKLE_LEVELS)
		return -EBADMSG;
	for (size_t step = 0; step < len; step++) {
		if (last == 0)
			return -EBADMSG;
		if (i & 1 || i == last) {
			h = merkle_hash_two(NODE, &path[step], &h);
			while (!(i & 1) && i) {
				i >>= 1;
				last >>= 1;
			}
		} else {
			h = merkle_hash_two(NODE, &h, &path[step]);
		}
		i >>= 1;
		last >>= 1;
	}
	return last == 0 && merkle_equal(&h, root) ? 0 : -EBADMSG;
}

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

	c->hash = merkle_hash_two(LINK, &c->hash, &leaf);
	merkle_add(&c->tree, &leaf);
}

bool chain_is_at(const struct chain *c, const struct hash *hash, const struct hash *root)
{
	const struct hash own = merkle_root(&c->tree);

	return merkle_equal(&c->hash, hash) && merkle_equal(&own, root);
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
