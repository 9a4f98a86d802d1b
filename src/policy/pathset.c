/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nearly all patterns that people write are a path, or a folder with all below it; most of the others
 * are a glob inside a fixed folder (/srv/app/logs/*.log). So the set is a hash table of folders:
 *
 *     key           the bytes of a path or folder
 *     exact         strongest entry that is this very path
 *     subtree       strongest entry that is this folder and all below it
 *     group         the true globs whose fixed part is this folder
 *
 * A match walks the path once. At every slash the hash of the part so far is known, and the folder is
 * looked up: first in a small filter of bits, which stays in the nearest cache and rules out nearly all parts that
 * are no key, then in the table. The true globs of a group are one automaton each (dfa.h) that runs over the rest of
 * the path; folders with the same globs below them share it.
 *
 * Patterns made to explode (`*a??????????????`) hit a limit on states that is linear in their length. Their
 * group is then halved until the rest fits, and what explodes alone is matched by itself (glob.h, linear in pattern x
 * path); at most ALONE_MAX such patterns are taken, so the cost of a decision stays bounded.
 */
#include "policy/pathset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "policy/automaton.h"
#include "policy/dfa.h"

#define NONE UINT32_MAX

enum { ALONE_MAX = 256, STATES_MAX = 1 << 18 };

/* A true glob, or an entry of several, before it is compiled. */
struct item {
	const char *key; /* the fixed folder */
	size_t key_len;
	const struct glob_token *tokens; /* what follows it */
	size_t n;
	const struct glob *globs; /* an entry of several: key is "" */
	size_t n_globs;
	uint32_t rank;
};

/* One matcher of a group: an automaton with ranks of its own, or one entry by itself. */
struct machine {
	const struct dfa *dfa;
	const uint32_t *ranks;
	const struct item *alone;
};

struct group {
	uint32_t first, n; /* of machines */
};

struct slot {
	const char *key;
	uint32_t key_len; /* NONE: free */
	uint32_t tag;     /* of the hash, so that few keys are compared in vain */
	uint32_t exact, subtree, group;
};

/* A group's patterns in order are the name of its automaton. */
struct shared {
	const struct item *items;
	size_t n;
	const struct dfa *dfa;
};

struct pathset {
	struct arena arena;
	uint64_t seed;
	struct slot root; /* the key "" */
	struct slot *slots;
	size_t n_slots, used;
	uint64_t *filter;
	size_t filter_mask;

	struct item *items;
	size_t n_items, cap_items;
	struct machine *machines;
	size_t n_machines, cap_machines;
	struct group *groups;
	size_t n_groups, cap_groups;
	struct shared *shared;
	size_t n_shared, cap_shared;
	uint32_t *shared_heads; /* buckets, by hash of the patterns */
	uint32_t *shared_next;
	size_t cap_shared_next, n_shared_heads;
	struct dfa **dfas;
	size_t n_dfas, cap_dfas;
	size_t n_alone;
};

static const struct slot free_slot = {
	.key = "",
	.key_len = NONE,
	.exact = RANK_NONE,
	.subtree = RANK_NONE,
	.group = NONE,
};

struct pathset *pathset_new(void)
{
	struct pathset *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->root = free_slot;
	s->root.key_len = 0;
	/* Without a secret, patterns could be chosen to collide. Where the kernel has none to give yet,
	 * the address of the set has to do. */
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) != sizeof(s->seed))
		s->seed = (uintptr_t)s * 0x9e3779b97f4a7c15u;
	return s;
}

void pathset_free(struct pathset *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_dfas; i++)
		dfa_free(s->dfas[i]);
	arena_deinit(&s->arena);
	free(s);
}

/* Hashing: eight bytes at a time, and once more at every slash. */

static uint64_t mix(uint64_t h, uint64_t word)
{
	__uint128_t m = (__uint128_t)(h ^ word) * 0xa0761d6478bd642fu;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* A walk over the parts of a path: "/a", "/a/b", … with the hash of each. */
struct walk {
	const char *path;
	size_t len, at; /* at: end of the current part */
	uint64_t hash;
};

/* Goes to the next part; false at the end. */
static bool walk_next(struct walk *w)
{
	uint64_t word = 0, hash = w->hash;
	size_t i = w->at;
	unsigned shift = 0;

	if (i >= w->len)
		return false;
	i++; /* the slash */
	for (; i < w->len && w->path[i] != '/'; i++) {
		word |= (uint64_t)(unsigned char)w->path[i] << shift;
		shift += 8;
		if (shift == 64) {
			hash = mix(hash, word);
			word = 0;
			shift = 0;
		}
	}
	/* The length of the rest is part of it, else "a" and "a\0" … would be one. */
	w->hash = mix(hash, word ^ (uint64_t)(shift + 1) << 56);
	w->at = i;
	return true;
}

static uint64_t hash_key(const struct pathset *s, const char *key, size_t len)
{
	struct walk w = { .path = key, .len = len, .hash = s->seed };

	while (walk_next(&w))
		;
	return w.hash;
}

/* The table */

static size_t slot_index(const struct pathset *s, uint64_t hash)
{
	return (size_t)hash & (s->n_slots - 1);
}

static bool slot_is(const struct slot *slot, uint64_t hash, const char *key, size_t len)
{
	return slot->tag == (uint32_t)(hash >> 32) && slot->key_len == len &&
	       memcmp(slot->key, key, len) == 0;
}

static int grow(struct pathset *s)
{
	size_t n = s->n_slots ? s->n_slots * 2 : 16;
	struct slot *old = s->slots;
	size_t n_old = s->n_slots;

	s->slots = arena_calloc(&s->arena, n, sizeof(*s->slots));
	if (!s->slots) {
		s->slots = old;
		return -ENOMEM;
	}
	s->n_slots = n;
	for (size_t i = 0; i < n; i++)
		s->slots[i] = free_slot;
	for (size_t i = 0; i < n_old; i++) {
		size_t at;

		if (old[i].key_len == NONE)
			continue;
		at = slot_index(s, hash_key(s, old[i].key, old[i].key_len));
		while (s->slots[at].key_len != NONE)
			at = (at + 1) & (n - 1);
		s->slots[at] = old[i];
	}
	return 0;
}

/* The slot of a key, made if there is none; NULL when out of memory. */
static struct slot *slot_for(struct pathset *s, const char *key, size_t len)
{
	uint64_t hash = hash_key(s, key, len);
	size_t at;

	if (len == 0)
		return &s->root;
	if (s->used * 2 >= s->n_slots && grow(s) < 0)
		return NULL;
	at = slot_index(s, hash);
	for (; s->slots[at].key_len != NONE; at = (at + 1) & (s->n_slots - 1)) {
		if (slot_is(&s->slots[at], hash, key, len))
			return &s->slots[at];
	}
	s->slots[at].key = arena_strndup(&s->arena, key, len);
	if (!s->slots[at].key)
		return NULL;
	s->slots[at].key_len = (uint32_t)len;
	s->slots[at].tag = (uint32_t)(hash >> 32);
	s->used++;
	return &s->slots[at];
}

static int make_filter(struct pathset *s)
{
	size_t bits = 1024;

	while (bits < s->used * 16)
		bits *= 2;
	s->filter = arena_calloc(&s->arena, bits / 64, sizeof(*s->filter));
	if (!s->filter)
		return -ENOMEM;
	s->filter_mask = bits - 1;
	for (size_t i = 0; i < s->n_slots; i++) {
		uint64_t hash;

		if (s->slots[i].key_len == NONE)
			continue;
		hash = hash_key(s, s->slots[i].key, s->slots[i].key_len) >> 20 & s->filter_mask;
		s->filter[hash >> 6] |= (uint64_t)1 << (hash & 63);
	}
	return 0;
}

/* Adding */

static int add_path(struct pathset *s, const struct glob_alternative *alt, uint32_t rank)
{
	/* "/" is the root, whose key is "". */
	size_t len = alt->literal_len == 1 ? 0 : alt->literal_len;
	struct slot *slot = slot_for(s, alt->literal, len);

	if (!slot)
		return -ENOMEM;
	if (alt->kind == GLOB_LITERAL)
		slot->exact = rank_best(slot->exact, rank);
	else
		slot->subtree = rank_best(slot->subtree, rank);
	return 0;
}

/* Where the fixed folder of a true glob ends: the last slash of its literal part. */
static size_t fixed_length(const struct glob_alternative *alt)
{
	size_t n = alt->literal_len;

	/* A "**" brings its own slash. */
	if (alt->tokens[n].type == GLOB_TREE || alt->tokens[n].type == GLOB_TAIL)
		return n;
	while (n > 0 && alt->literal[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}

static int add_glob(struct pathset *s, const struct glob_alternative *alt, uint32_t rank)
{
	size_t fixed = fixed_length(alt);
	struct item item = {
		.key = alt->literal,
		.key_len = fixed,
		.tokens = alt->tokens + fixed,
		.n = alt->n - fixed,
		.rank = rank,
	};

	return ARENA_PUSH(&s->arena, s->items, s->n_items, s->cap_items, item);
}

int pathset_add(struct pathset *s, const struct glob *globs, size_t n, uint32_t rank)
{
	struct item item = { .key = "", .globs = globs, .n_globs = n, .rank = rank };
	int r = 0;

	if (n > 1)
		return ARENA_PUSH(&s->arena, s->items, s->n_items, s->cap_items, item);
	for (size_t i = 0; r == 0 && i < globs->n; i++) {
		const struct glob_alternative *alt = &globs->alternatives[i];

		r = alt->kind == GLOB_TRUE ? add_glob(s, alt, rank) : add_path(s, alt, rank);
	}
	return r;
}

/* Building: groups and their automata */

static int by_key_and_rank(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
	int c = memcmp(a->key, b->key, least);

	if (c == 0)
		c = (a->key_len > b->key_len) - (a->key_len < b->key_len);
	return c ? c : (a->rank > b->rank) - (a->rank < b->rank);
}

static bool same_tokens(const struct item *a, const struct item *b)
{
	if (a->globs || b->globs || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct glob_token *s = &a->tokens[i], *t = &b->tokens[i];

		if (s->type != t->type || s->byte != t->byte)
			return false;
		if (s->type == GLOB_CLASS && memcmp(s->class, t->class, sizeof(*s->class)) != 0)
			return false;
	}
	return true;
}

static bool same_items(const struct item *a, const struct item *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!same_tokens(&a[i], &b[i]))
			return false;
	}
	return true;
}

static uint64_t hash_items(const struct pathset *s, const struct item *items, size_t n)
{
	uint64_t h = mix(s->seed, n);

	for (size_t i = 0; i < n; i++) {
		for (size_t t = 0; t < items[i].n; t++)
			h = mix(h, (uint64_t)items[i].tokens[t].type << 8 | items[i].tokens[t].byte);
	}
	return h;
}

static const struct dfa *find_shared(const struct pathset *s, const struct item *items, size_t n)
{
	uint32_t i = s->shared_heads[hash_items(s, items, n) & (s->n_shared_heads - 1)];

	for (; i != NONE; i = s->shared_next[i]) {
		if (s->shared[i].n == n && same_items(s->shared[i].items, items, n))
			return s->shared[i].dfa;
	}
	return NULL;
}

static int remember_shared(struct pathset *s, const struct item *items, size_t n, const struct dfa *d)
{
	struct shared entry = { .items = items, .n = n, .dfa = d };
	uint32_t *head = &s->shared_heads[hash_items(s, items, n) & (s->n_shared_heads - 1)];
	size_t count = s->n_shared;

	if (ARENA_PUSH(&s->arena, s->shared_next, count, s->cap_shared_next, *head) < 0 ||
		ARENA_PUSH(&s->arena, s->shared, s->n_shared, s->cap_shared, entry) < 0)
		return -ENOMEM;
	*head = (uint32_t)s->n_shared - 1;
	return 0;
}

static int fill_automaton(struct automaton *a, const struct item *items, size_t n)
{
	int r = 0;

	/* Inside the automaton an item's rank is its place: the items are sorted by rank. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (items[i].globs)
			r = automaton_add_all(a, items[i].globs, items[i].n_globs, (uint32_t)i);
		else
			r = automaton_add(a, items[i].tokens, items[i].n, (uint32_t)i);
	}
	return r;
}

static int make_dfa(struct pathset *s, const struct item *items, size_t n, const struct dfa **ret)
{
	auto_automaton *a = automaton_new();
	struct dfa *d = NULL;
	size_t limit;
	int r = a ? fill_automaton(a, items, n) : -ENOMEM;

	if (r < 0)
		return r;
	limit = automaton_tokens(a) * 8 + 1024;
	r = automaton_build(a, limit < STATES_MAX ? limit : STATES_MAX);
	if (r == 0)
		r = dfa_new(a, &d);
	if (r < 0)
		return r;
	if (ARENA_PUSH(&s->arena, s->dfas, s->n_dfas, s->cap_dfas, d) < 0) {
		dfa_free(d);
		return -ENOMEM;
	}
	*ret = d;
	return remember_shared(s, items, n, d);
}

static int add_machine(struct pathset *s, const struct item *items, size_t n, const struct dfa *d)
{
	struct machine m = { .dfa = d };
	uint32_t *ranks = d ? arena_calloc(&s->arena, n, sizeof(*ranks)) : NULL;

	if (d && !ranks)
		return -ENOMEM;
	for (size_t i = 0; d && i < n; i++)
		ranks[i] = items[i].rank;
	m.ranks = ranks;
	if (!d) {
		m.alone = items;
		if (++s->n_alone > ALONE_MAX)
			return -E2BIG;
	}
	return ARENA_PUSH(&s->arena, s->machines, s->n_machines, s->cap_machines, m);
}

/* One automaton for n items, or two for the halves if it explodes. The recursion is log n deep. */
static int add_machines(struct pathset *s, const struct item *items, size_t n)
{
	const struct dfa *d = find_shared(s, items, n);
	int r = d ? 0 : make_dfa(s, items, n, &d);

	if (r == 0)
		return add_machine(s, items, n, d);
	if (r != -E2BIG)
		return r;
	if (n == 1)
		return add_machine(s, items, 1, NULL);
	r = add_machines(s, items, n / 2);
	return r < 0 ? r : add_machines(s, items + n / 2, n - n / 2);
}

/* All items with one key. */
static int add_group(struct pathset *s, const struct item *items, size_t n)
{
	struct slot *slot = slot_for(s, items->key, items->key_len);
	struct group g = { .first = (uint32_t)s->n_machines };
	int r;

	if (!slot)
		return -ENOMEM;
	r = add_machines(s, items, n);
	if (r < 0)
		return r;
	g.n = (uint32_t)s->n_machines - g.first;
	/* slot_for may have moved the table, but nothing was added since. */
	slot->group = (uint32_t)s->n_groups;
	return ARENA_PUSH(&s->arena, s->groups, s->n_groups, s->cap_groups, g);
}

static int add_groups(struct pathset *s)
{
	size_t i = 0;

	if (s->n_items)
		qsort(s->items, s->n_items, sizeof(*s->items), by_key_and_rank);
	while (i < s->n_items) {
		const struct item *first = &s->items[i];
		size_t n = 1;
		int r;

		while (i + n < s->n_items && first[n].key_len == first->key_len &&
			memcmp(first[n].key, first->key, first->key_len) == 0)
			n++;
		r = add_group(s, first, n);
		if (r < 0)
			return r;
		i += n;
	}
	return 0;
}

static int make_shared_heads(struct pathset *s)
{
	size_t n = 16;

	while (n < s->n_items)
		n *= 2;
	s->shared_heads = arena_calloc(&s->arena, n, sizeof(*s->shared_heads));
	if (!s->shared_heads)
		return -ENOMEM;
	memset(s->shared_heads, 0xff, n * sizeof(*s->shared_heads));
	s->n_shared_heads = n;
	return 0;
}

int pathset_build(struct pathset *s, struct error *e)
{
	int r = make_shared_heads(s);

	if (r == 0)
		r = add_groups(s);
	if (r == 0)
		r = make_filter(s);
	if (r == -E2BIG) {
		error_set(e, r, NULL, "more than %d patterns are too complex to be compiled", ALONE_MAX);
		error_hint(e, "patterns with many ? behind a * are costly: write them more simply");
	}
	return r;
}

/* Matching */

static bool alone_matches(const struct item *item, const char *rest, size_t len)
{
	const struct glob_alternative alt = { .tokens = item->tokens, .n = item->n };

	if (!item->globs)
		return glob_alternative_match(&alt, rest, len);
	for (size_t i = 0; i < item->n_globs; i++) {
		if (!glob_match(&item->globs[i], rest, len))
			return false;
	}
	return true;
}

static uint32_t match_group(const struct pathset *s, uint32_t group, const char *rest, size_t len)
{
	const struct machine *m = s->machines + s->groups[group].first;
	uint32_t best = RANK_NONE;

	for (uint32_t i = 0; i < s->groups[group].n; i++, m++) {
		if (m->dfa) {
			uint32_t place = dfa_match(m->dfa, rest, len);

			if (place != RANK_NONE)
				best = rank_best(best, m->ranks[place]);
		} else if (m->alone->rank < best && alone_matches(m->alone, rest, len)) {
			best = m->alone->rank;
		}
	}
	return best;
}

static uint32_t match_slot(
	const struct pathset *s, const struct slot *slot, const char *path, size_t len, size_t at)
{
	uint32_t best = slot->subtree;

	if (at == len)
		best = rank_best(best, slot->exact);
	if (slot->group != NONE)
		best = rank_best(best, match_group(s, slot->group, path + at, len - at));
	return best;
}

static const struct slot *find(const struct pathset *s, uint64_t hash, const char *key, size_t len)
{
	uint64_t bit = hash >> 20 & s->filter_mask;

	if (!(s->filter[bit >> 6] >> (bit & 63) & 1))
		return NULL;
	for (size_t i = slot_index(s, hash); s->slots[i].key_len != NONE;
		i = (i + 1) & (s->n_slots - 1)) {
		if (slot_is(&s->slots[i], hash, key, len))
			return &s->slots[i];
	}
	return NULL;
}

uint32_t pathset_match(const struct pathset *s, const char *path, size_t len)
{
	struct walk w = { .path = path, .len = len, .hash = s->seed };
	uint32_t best = match_slot(s, &s->root, path, len, 0);

	/* The root is "/" as a path and "" as a key. */
	if (len == 1)
		return rank_best(best, s->root.exact);
	while (walk_next(&w)) {
		const struct slot *slot = find(s, w.hash, path, w.at);

		if (slot)
			best = rank_best(best, match_slot(s, slot, path, len, w.at));
	}
	return best;
}
