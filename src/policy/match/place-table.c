/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/place-table.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "policy/rank.h"

/* Tells names below a folder from folders inside it. */
#define NAMED 0x5851f42d4c957f2du

static const struct place blank = {
	.exact = RANK_NONE,
	.subtree = RANK_NONE,
	.group = PLACE_NO_GROUP,
};

void place_table_init(struct place_table *t, struct arena *arena)
{
	*t = (struct place_table){ .arena = arena, .root = blank };
	t->root.key = "";
	/* Without a secret, patterns could be chosen to collide. */
	t->seed = hash_key_make().words[0];
}

/* The bytes of a word that are slashes, as their high bits; those after the first may be wrong. */
static uint64_t slashes_in(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	word ^= ones * '/';
	return (word - ones) & ~word & (ones << 7);
}

/*
 * Of the component that starts at s; text is where its bytes begin to be readable. Eight bytes at a
 * time; the length of the rest is part of it, else "a" and "a\0" would be one.
 */
static uint64_t hash_component(
	uint64_t seed, const char *text, const char *s, const char *end, const char **ret_end)
{
	uint64_t word = 0, hash = seed;
	unsigned shift = 0;

	while (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && end - s >= 8) {
		memcpy(&word, s, 8);
		if (slashes_in(word)) {
			shift = (unsigned)__builtin_ctzll(slashes_in(word)) & ~7U;
			*ret_end = s + shift / 8;
			word &= (UINT64_C(1) << shift) - 1;
			return hash_mix(hash, word ^ (uint64_t)(shift + 1) << 56);
		}
		hash = hash_mix(hash, word);
		s += 8;
	}
	word = 0;
	/* The last bytes of the text, in one look: those before them are shifted out. */
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && s < end && end - text >= 8) {
		memcpy(&word, end - 8, 8);
		shift = (unsigned)(end - s) * 8;
		word >>= 64 - shift;
		if (slashes_in(word)) {
			shift = (unsigned)__builtin_ctzll(slashes_in(word)) & ~7U;
			word &= (UINT64_C(1) << shift) - 1;
		}
		*ret_end = s + shift / 8;
		return hash_mix(hash, word ^ (uint64_t)(shift + 1) << 56);
	}
	for (; s < end && *s != '/'; s++) {
		word |= (uint64_t)(unsigned char)*s << shift;
		shift += 8;
		if (shift == 64) {
			hash = hash_mix(hash, word);
			word = 0;
			shift = 0;
		}
	}
	*ret_end = s;
	return hash_mix(hash, word ^ (uint64_t)(shift + 1) << 56);
}

void place_walk_start(
	struct place_walk *w, const struct place_table *t, const char *path, size_t len)
{
	*w = (struct place_walk){ .path = path, .len = len, .seed = t->seed, .hash = t->seed };
}

bool place_walk_next(struct place_walk *w)
{
	const char *end;

	if (w->at >= w->len)
		return false;
	w->component =
		hash_component(w->seed, w->path, w->path + w->at + 1, w->path + w->len, &end);
	w->hash = hash_mix(w->hash, w->component);
	w->at = (size_t)(end - w->path);
	return true;
}

static uint64_t hash_name(uint64_t base, uint64_t component)
{
	return hash_mix(base ^ NAMED, component);
}

static uint64_t hash_key(const struct place_table *t, const struct place_key *key)
{
	struct place_walk w;
	const char *end;

	place_walk_start(&w, t, key->folder, key->folder_len);
	while (place_walk_next(&w))
		;
	if (!key->name)
		return w.hash;
	return hash_name(w.hash,
		hash_component(t->seed, key->name, key->name, key->name + key->name_len, &end));
}

static int compare_bytes(const char *a, size_t na, const char *b, size_t nb)
{
	size_t least = na < nb ? na : nb;
	int c = least ? memcmp(a, b, least) : 0;

	return c ? c : (na > nb) - (na < nb);
}

int place_key_compare(const struct place_key *a, const struct place_key *b)
{
	int c = compare_bytes(a->folder, a->folder_len, b->folder, b->folder_len);

	if (c || !a->name || !b->name)
		return c ? c : (a->name != NULL) - (b->name != NULL);
	return compare_bytes(a->name, a->name_len, b->name, b->name_len);
}

static bool place_is(const struct place *p, const struct place_key *key)
{
	return p->folder_len == key->folder_len && p->name_len == key->name_len &&
	       p->named == (key->name != NULL) &&
	       memcmp(p->key, key->folder, key->folder_len) == 0 &&
	       (!p->named || memcmp(p->key + p->folder_len, key->name, key->name_len) == 0);
}

/* Where a hash leads: to the bucket of the place with that key, or to a free one. */
static struct place_bucket *probe(
	const struct place_table *t, uint64_t hash, const struct place_key *key)
{
	size_t i = (size_t)hash & (t->n_buckets - 1);
	struct place_bucket *b = &t->buckets[i];

	while (b->index != PLACE_NONE &&
		(b->tag != (uint32_t)(hash >> 32) || !place_is(&t->places[b->index], key))) {
		i = (i + 1) & (t->n_buckets - 1);
		b = &t->buckets[i];
	}
	return b;
}

static struct place_key key_of(const struct place *p)
{
	return (struct place_key){
		.folder = p->key,
		.folder_len = p->folder_len,
		.name = p->named ? p->key + p->folder_len : NULL,
		.name_len = p->name_len,
	};
}

/* Room for n places at most: a third of the buckets stay free. */
static size_t place_table_buckets_for(size_t n)
{
	return n + n / 2 + 1;
}

static int place_table_grow(struct place_table *t, size_t n)
{
	size_t n_buckets = 32;
	struct place_bucket *buckets;

	while (n_buckets < place_table_buckets_for(n))
		n_buckets *= 2;
	if (n_buckets <= t->n_buckets)
		return 0;
	buckets = arena_room(t->arena, n_buckets, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	memset(buckets, 0xff, n_buckets * sizeof(*buckets));
	t->buckets = buckets;
	t->n_buckets = n_buckets;
	for (size_t i = 0; i < t->n; i++) {
		struct place_key key = key_of(&t->places[i]);
		uint64_t hash = hash_key(t, &key);

		*probe(t, hash, &key) =
			(struct place_bucket){ (uint32_t)(hash >> 32), (uint32_t)i };
	}
	return 0;
}

int place_table_reserve(struct place_table *t, size_t n)
{
	struct place *places;

	if (n > UINT32_MAX / 4 || n <= t->cap)
		return 0;
	places = arena_room(t->arena, n, sizeof(*places));
	if (!places)
		return -ENOMEM;
	if (t->n)
		memcpy(places, t->places, t->n * sizeof(*places));
	t->places = places;
	t->cap = n;
	return place_table_grow(t, n);
}

/* The folder, and the name behind it. */
static const char *place_text(struct place_table *t, const struct place_key *key)
{
	char *text;

	if (!key->name)
		return key->folder;
	text = arena_alloc(t->arena, key->folder_len + key->name_len + 1);
	if (text) {
		memcpy(text, key->folder, key->folder_len);
		memcpy(text + key->folder_len, key->name, key->name_len);
	}
	return text;
}

static struct place *place_table_put_hashed(
	struct place_table *t, const struct place_key *key, uint64_t hash)
{
	struct place_bucket *bucket;
	struct place *places, *p;

	if (key->folder_len == 0 && !key->name)
		return &t->root;
	if (key->folder_len > UINT16_MAX || key->name_len > UINT16_MAX)
		return NULL;
	if (place_table_buckets_for(t->n + 1) > t->n_buckets &&
		place_table_grow(t, t->n * 2 + 1) < 0)
		return NULL;
	bucket = probe(t, hash, key);
	if (bucket->index != PLACE_NONE)
		return &t->places[bucket->index];
	places = t->n < t->cap ? t->places
			       : arena_grow(t->arena, t->places, t->n, &t->cap, sizeof(*places));
	if (!places)
		return NULL;
	t->places = places;
	p = &places[t->n];
	*p = blank;
	p->key = place_text(t, key);
	if (!p->key)
		return NULL;
	p->folder_len = (uint16_t)key->folder_len;
	p->name_len = (uint16_t)key->name_len;
	p->named = key->name != NULL;
	*bucket = (struct place_bucket){ (uint32_t)(hash >> 32), (uint32_t)t->n++ };
	return p;
}

struct place *place_table_put(struct place_table *t, const struct place_key *key)
{
	return place_table_put_hashed(t, key, hash_key(t, key));
}

struct place *place_table_put_path(
	struct place_table *t, const char *path, size_t len, uint64_t hash)
{
	const struct place_key key = { .folder = path, .folder_len = len };

	return place_table_put_hashed(t, &key, hash);
}

struct place *place_table_put_path_in(struct place_table *t, const char *path, size_t len,
	size_t folder_len, uint64_t folder_hash)
{
	const struct place_key key = { .folder = path, .folder_len = len };
	const char *end;
	uint64_t component = hash_component(t->seed, path, path + folder_len + 1, path + len, &end);

	return place_table_put_hashed(t, &key, hash_mix(folder_hash, component));
}

size_t place_table_bases(const struct place_table *t, const char *folder, size_t len)
{
	size_t n = t->root.floats && len > 0;
	struct place_walk w;

	place_walk_start(&w, t, folder, len);
	while (t->n && place_walk_next(&w) && w.at < len) {
		const struct place_key key = { .folder = folder, .folder_len = w.at };
		const struct place_bucket *b = probe(t, w.hash, &key);

		n += b->index != PLACE_NONE && t->places[b->index].floats;
	}
	return n;
}

/* From the part of a hash that buckets keep. */
static size_t place_table_filter_bit(const struct place_table *t, uint32_t tag)
{
	return (size_t)tag & t->filter_mask;
}

int place_table_finish(struct place_table *t)
{
	size_t bits = 1024;

	while (bits < t->n * 16)
		bits *= 2;
	t->filter = arena_calloc(t->arena, bits / 64, sizeof(*t->filter));
	if (!t->filter)
		return -ENOMEM;
	t->filter_mask = bits - 1;
	/* No jump that depends on which buckets are free, as that cannot be foreseen. */
	for (size_t i = 0; t->n && i < t->n_buckets; i++) {
		size_t bit = place_table_filter_bit(t, t->buckets[i].tag);

		t->filter[bit >> 6] |= (uint64_t)(t->buckets[i].index != PLACE_NONE) << (bit & 63);
	}
	return 0;
}

static const struct place *place_table_look_up(
	const struct place_table *t, uint64_t hash, const struct place_key *key)
{
	size_t bit = place_table_filter_bit(t, (uint32_t)(hash >> 32));
	const struct place_bucket *b;

	if (!(t->filter[bit >> 6] >> (bit & 63) & 1))
		return NULL;
	b = probe(t, hash, key);
	return b->index == PLACE_NONE ? NULL : &t->places[b->index];
}

const struct place *place_table_find(const struct place_table *t, const struct place_walk *w)
{
	const struct place_key key = { .folder = w->path, .folder_len = w->at };

	return place_table_look_up(t, w->hash, &key);
}

const struct place *place_table_find_name(const struct place_table *t, const struct place *base,
	uint64_t base_hash, const struct place_walk *w, size_t before)
{
	const struct place_key key = {
		.folder = base->key,
		.folder_len = base->folder_len,
		.name = w->path + before + 1,
		.name_len = w->at - before - 1,
	};

	return place_table_look_up(t, hash_name(base_hash, w->component), &key);
}
