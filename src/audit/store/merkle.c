/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 6962 defines a tree of n leaves by splitting them at k, the largest power of two below n. So
 * every left part is full, and starts at a multiple of its size. Two things follow, which this file
 * lives on: the root of any part [a, b) that the splitting meets is the root of a fresh tree of its
 * leaves; and if the frontier of the first c leaves is known, a < c < b, then the frontier of [a,
 * c) is its lower end, because a has no bits that c - a could have.
 */
#include "audit/store/merkle.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

_Static_assert(HASH_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");

enum { LEAF = 0, NODE = 1 };

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

static struct hash merkle_join(const struct hash *left, const struct hash *right)
{
	uint8_t data[1 + 2 * HASH_BYTES] = { NODE };
	struct hash h;

	memcpy(data + 1, left->bytes, HASH_BYTES);
	memcpy(data + 1 + HASH_BYTES, right->bytes, HASH_BYTES);
	(void)crypto_generichash(h.bytes, sizeof(h.bytes), data, sizeof(data), NULL, 0);
	return h;
}

static bool has_level(uint64_t n, unsigned level)
{
	return n >> level & 1;
}

void merkle_add(struct merkle *m, const struct hash *leaf)
{
	struct hash h = *leaf;
	unsigned level = 0;

	for (; has_level(m->n, level); level++)
		h = merkle_join(&m->roots[level], &h);
	m->roots[level] = h;
	m->n++;
}

struct hash merkle_root(const struct merkle *m)
{
	bool any = false;
	struct hash h = { 0 };

	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!has_level(m->n, level))
			continue;
		h = any ? merkle_join(&m->roots[level], &h) : m->roots[level];
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
		if (!has_level(m->n, level))
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
		if (!has_level(n, level))
			continue;
		memcpy(m.roots[level].bytes, p, HASH_BYTES);
		p += HASH_BYTES;
	}
	*ret = m;
	return 0;
}

/* The largest power of two below n; n is above 1. */
static unsigned split_level(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n - 1);
}

struct proving {
	merkle_source *source;
	void *context;
	const struct merkle *gone;
};

/* The root of the leaves from a to before b, a part that the splitting meets. */
static int part_root(const struct proving *p, uint64_t a, uint64_t b, struct hash *ret)
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

static void reverse(struct hash *path, int n)
{
	for (int i = 0; i < n / 2; i++) {
		struct hash h = path[i];

		path[i] = path[n - 1 - i];
		path[n - 1 - i] = h;
	}
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
		const uint64_t middle = start + (UINT64_C(1) << split_level(end - start));
		int r;

		if (i < middle) {
			r = part_root(&p, middle, end, &path[len]);
			end = middle;
		} else {
			r = part_root(&p, start, middle, &path[len]);
			start = middle;
		}
		if (r < 0)
			return r;
		len++;
	}
	reverse(path, len);
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
			h = merkle_join(&path[step], &h);
			while (!(i & 1) && i) {
				i >>= 1;
				last >>= 1;
			}
		} else {
			h = merkle_join(&h, &path[step]);
		}
		i >>= 1;
		last >>= 1;
	}
	return last == 0 && merkle_equal(&h, root) ? 0 : -EBADMSG;
}
