/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nearly all patterns that people write are a path, or a folder with all below it; most of the
 * others are a glob inside a fixed folder (/srv/app/logs/*.log), or float and name a component
 * (/srv/**, then /node_modules, then anything). So the set is a hash table of places
 * (place-table.h), and a match walks the path once:
 *
 *   - at every slash the part so far is looked up as a fixed folder;
 *   - every component is looked up by its name below each folder with floating patterns so far.
 *
 * A place knows the strongest entry that is this very path, the strongest that is this folder with
 * all below it, and the globs that go on from here. Those are one automaton (struct dfa) that runs
 * over the rest of the path; places with the same globs share it.
 *
 * Patterns made to explode (`*a??????????????`) hit a limit on states that is linear in their
 * length. Their group is then halved until the rest fits, and what explodes alone is matched by
 * itself (glob.h, linear in pattern x path); at most ALONE_MAX such patterns are taken, so the cost
 * of a decision stays bounded.
 */
#include "policy/match/pathset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "policy/match/automaton.h"
#include "policy/match/place-table.h"

#define NONE PLACE_NONE

/* BASES_MAX: folders with floating patterns that may lie on one path. */
enum { ALONE_MAX = 256, STATES_MAX = 1 << 18, BASES_MAX = 8 };
/* What compiling may cost: about a tenth of a second, and more with the length of the patterns. */
enum { BUDGET_MIN = 4 << 20, BUDGET_PER_TOKEN = 64 };

/* A glob after a place, or an entry of several globs, before it is compiled. */
struct pathset_item {
	struct place_key key;
	const struct glob_token *tokens; /* what follows the place */
	size_t n;
	const struct glob *globs; /* an entry of several: the place is the root */
	size_t n_globs;
	uint32_t rank;
};

/* One matcher of a group: an automaton with ranks of its own, or one entry by itself. */
struct pathset_machine {
	const struct dfa *dfa;
	const uint32_t *ranks;
	const struct pathset_item *alone;
};

struct pathset_group {
	uint32_t first, n; /* of machines */
};

/* A group's patterns in order are the name of its automaton. */
struct pathset_shared {
	const struct pathset_item *items;
	size_t n;
	const struct dfa *dfa;
	uint32_t next; /* of the same bucket */
};

struct pathset {
	struct arena arena;
	struct place_table table;

	struct pathset_item *items;
	size_t n_items, cap_items;
	struct pathset_machine *machines;
	size_t n_machines, cap_machines;
	struct pathset_group *groups;
	size_t n_groups, cap_groups;
	struct pathset_shared *shared;
	size_t n_shared, cap_shared;
	uint32_t *shared_heads; /* buckets, by hash of the patterns */
	size_t n_shared_heads;
	struct dfa **dfas;
	size_t n_dfas, cap_dfas;
	size_t n_alone;
	size_t budget; /* steps that all automata together may still take */
};

struct pathset *pathset_new(void)
{
	struct pathset *s = calloc(1, sizeof(*s));

	if (s)
		place_table_init(&s->table, &s->arena);
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

/* Adding */

/* A plain path or folder, or the end of a floating pattern: no automaton. */
static int pathset_add_plain(struct place *place, bool subtree, uint32_t rank)
{
	if (!place)
		return -ENOMEM;
	if (subtree)
		place->subtree = rank_best(place->subtree, rank);
	else
		place->exact = rank_best(place->exact, rank);
	return 0;
}

int pathset_add_path(struct pathset *s, const char *path, size_t len, bool subtree, uint32_t rank,
	struct pathset_folder *ret_folder)
{
	struct pathset_folder folder = { 0, s->table.seed };
	struct place_walk w;

	/* "/" is the root, whose folder is "". */
	place_walk_start(&w, &s->table, path, len == 1 ? 0 : len);
	while (place_walk_next(&w) && w.at < len)
		folder = (struct pathset_folder){ w.at, w.hash };
	if (ret_folder)
		*ret_folder = folder;
	return pathset_add_plain(
		place_table_put_path(&s->table, path, w.len, w.hash), subtree, rank);
}

int pathset_add_path_in(struct pathset *s, const char *path, size_t len, bool subtree,
	uint32_t rank, const struct pathset_folder *folder)
{
	return pathset_add_plain(
		place_table_put_path_in(&s->table, path, len, folder->len, folder->hash), subtree,
		rank);
}

int pathset_reserve(struct pathset *s, size_t n)
{
	return place_table_reserve(&s->table, n);
}

int pathset_add(struct pathset *s, const struct glob *globs, size_t n, uint32_t rank)
{
	struct pathset_item item = {
		.key = { .folder = "" }, .globs = globs, .n_globs = n, .rank = rank
	};
	int r = 0;

	if (n > 1)
		return ARENA_PUSH(&s->arena, s->items, s->n_items, s->cap_items, item);
	for (size_t i = 0; r == 0 && i < globs->n; i++) {
		const struct glob_alternative *alt = &globs->alternatives[i];
		struct place_key key = { .folder = alt->literal, .folder_len = alt->literal_len };

		if (alt->kind == GLOB_TRUE) {
			/* The fixed folder ends at the last slash; a "**" brings its own. */
			const struct glob_token *wild = &alt->tokens[key.folder_len];
			size_t len = key.folder_len;

			if (wild->type != GLOB_TREE && wild->type != GLOB_TAIL) {
				while (len > 0 && alt->literal[len - 1] != '/')
					len--;
				len -= len > 0;
			}
			key.folder_len = len;
			item = (struct pathset_item){
				.key = key,
				.tokens = alt->tokens + key.folder_len,
				.n = alt->n - key.folder_len,
				.rank = rank,
			};
			r = ARENA_PUSH(&s->arena, s->items, s->n_items, s->cap_items, item);
		} else {
			r = pathset_add_path(s, alt->literal, alt->literal_len,
				alt->kind == GLOB_SUBTREE, rank, NULL);
		}
	}
	return r;
}

/* Building: floating patterns, found by name */

/* Folder, "**", name: found by the name below the folder. Turns the item into what follows the
 * name. */
static int float_item(struct pathset *s, struct pathset_item *item)
{
	const struct glob_token *t, *end;
	size_t len = 0;
	struct place *base;
	char *name;

	if (item->globs || item->tokens[0].type != GLOB_TREE)
		return 0;
	t = item->tokens + 1;
	while (1 + len < item->n && t[len].type == GLOB_BYTE && t[len].byte != '/')
		len++;
	/* No name if a wildcard is part of it. */
	end = 1 + len < item->n ? &t[len] : NULL;
	if (end && end->type != GLOB_BYTE && end->type != GLOB_TREE && end->type != GLOB_TAIL)
		return 0;
	if (len == 0 || place_table_bases(&s->table, item->key.folder, item->key.folder_len) >=
				BASES_MAX - 1)
		return 0;
	base = place_table_put(&s->table, &item->key);
	name = arena_alloc(&s->arena, len + 1);
	if (!base || !name)
		return -ENOMEM;
	base->floats = true;
	for (size_t i = 0; i < len; i++)
		name[i] = (char)t[i].byte;
	item->key.name = name;
	item->key.name_len = len;
	item->tokens += 1 + len;
	item->n -= 1 + len;
	return 0;
}

/*
 * In the order of folders, so that those above come first: whether a folder may be a base depends
 * on how many above it are. What is a plain path or folder after that leaves the list.
 */
static int float_items(struct pathset *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n_items; i++) {
		struct pathset_item *item = &s->items[i];
		bool tail;
		int r = float_item(s, item);

		tail = item->n == 1 && item->tokens[0].type == GLOB_TAIL;
		if (r == 0 && !item->globs && (item->n == 0 || tail))
			r = pathset_add_plain(
				place_table_put(&s->table, &item->key), tail, item->rank);
		else
			s->items[kept++] = *item;
		if (r < 0)
			return r;
	}
	s->n_items = kept;
	return 0;
}

/* Building: groups and their automata */

static int by_key_and_rank(const void *x, const void *y)
{
	const struct pathset_item *a = x, *b = y;
	int c = place_key_compare(&a->key, &b->key);

	return c ? c : (a->rank > b->rank) - (a->rank < b->rank);
}

/* The bucket of a group's automaton. */
static uint32_t *shared_head(const struct pathset *s, const struct pathset_item *items, size_t n)
{
	uint64_t h = hash_mix(s->table.seed, n);

	for (size_t i = 0; i < n; i++) {
		for (size_t t = 0; t < items[i].n; t++)
			h = hash_mix(h,
				(uint64_t)items[i].tokens[t].type << 8 | items[i].tokens[t].byte);
	}
	return &s->shared_heads[h & (s->n_shared_heads - 1)];
}

static const struct dfa *pathset_find_shared(
	const struct pathset *s, const struct pathset_item *items, size_t n)
{
	for (uint32_t i = *shared_head(s, items, n); i != NONE; i = s->shared[i].next) {
		const struct pathset_shared *other = &s->shared[i];
		bool same = other->n == n;

		for (size_t k = 0; same && k < n; k++) {
			const struct pathset_item *a = &other->items[k], *b = &items[k];

			same = !a->globs && !b->globs && a->n == b->n;
			for (size_t t = 0; same && t < a->n; t++)
				same = glob_token_equal(&a->tokens[t], &b->tokens[t]);
		}
		if (same)
			return other->dfa;
	}
	return NULL;
}

static int make_dfa(
	struct pathset *s, const struct pathset_item *items, size_t n, const struct dfa **ret)
{
	auto_automaton *a = automaton_new();
	uint32_t *head = shared_head(s, items, n);
	struct pathset_shared entry = { .items = items, .n = n, .next = *head };
	struct dfa *d = NULL;
	size_t limit;
	int r = a ? 0 : -ENOMEM;

	/* Inside the automaton an item's rank is its place: the items are sorted by rank. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (items[i].globs)
			r = automaton_add_all(a, items[i].globs, items[i].n_globs, (uint32_t)i);
		else
			r = automaton_add(a, items[i].tokens, items[i].n, (uint32_t)i);
	}
	if (r < 0)
		return r;
	automaton_charge(a, &s->budget);
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
	*ret = entry.dfa = d;
	if (ARENA_PUSH(&s->arena, s->shared, s->n_shared, s->cap_shared, entry) < 0)
		return -ENOMEM;
	*head = (uint32_t)s->n_shared - 1;
	return 0;
}

static int add_machine(
	struct pathset *s, const struct pathset_item *items, size_t n, const struct dfa *d)
{
	uint32_t *ranks = d ? arena_calloc(&s->arena, n, sizeof(*ranks)) : NULL;
	struct pathset_machine m = { .dfa = d, .ranks = ranks, .alone = d ? NULL : items };

	if (d && !ranks)
		return -ENOMEM;
	for (size_t i = 0; d && i < n; i++)
		ranks[i] = items[i].rank;
	if (!d && ++s->n_alone > ALONE_MAX)
		return -E2BIG;
	return ARENA_PUSH(&s->arena, s->machines, s->n_machines, s->cap_machines, m);
}

/* One automaton for n items, or two for the halves if it explodes. The recursion is log n deep. */
static int add_machines(struct pathset *s, const struct pathset_item *items, size_t n)
{
	const struct dfa *d = pathset_find_shared(s, items, n);
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

static void pathset_sort_items(struct pathset *s)
{
	if (s->n_items)
		qsort(s->items, s->n_items, sizeof(*s->items), by_key_and_rank);
}

/* One group for all items after one place. */
static int add_groups(struct pathset *s)
{
	for (size_t i = 0, n; i < s->n_items; i += n) {
		const struct pathset_item *first = &s->items[i];
		struct pathset_group g = { .first = (uint32_t)s->n_machines };
		struct place *place = place_table_put(&s->table, &first->key);
		int r = place ? 0 : -ENOMEM;

		for (n = 1;
			i + n < s->n_items && place_key_compare(&first[n].key, &first->key) == 0;)
			n++;
		if (r == 0)
			r = add_machines(s, first, n);
		if (r < 0)
			return r;
		g.n = (uint32_t)s->n_machines - g.first;
		if (s->n_groups >= PLACE_NO_GROUP)
			return -ENOMEM;
		place->group = (uint32_t)s->n_groups & PLACE_NO_GROUP;
		if (ARENA_PUSH(&s->arena, s->groups, s->n_groups, s->cap_groups, g) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pathset_build(struct pathset *s, struct error *e)
{
	int r;

	for (s->n_shared_heads = 16; s->n_shared_heads < s->n_items;)
		s->n_shared_heads *= 2;
	s->shared_heads = arena_calloc(&s->arena, s->n_shared_heads, sizeof(*s->shared_heads));
	if (!s->shared_heads)
		return -ENOMEM;
	memset(s->shared_heads, 0xff, s->n_shared_heads * sizeof(*s->shared_heads));
	s->budget = BUDGET_MIN;
	for (size_t i = 0; i < s->n_items; i++)
		s->budget += (s->items[i].n + 8) * BUDGET_PER_TOKEN;
	pathset_sort_items(s);
	r = float_items(s);
	pathset_sort_items(s);
	if (r == 0)
		r = add_groups(s);
	if (r == 0)
		r = place_table_finish(&s->table);
	if (r == -E2BIG) {
		error_set(e, r, NULL, "more than %d patterns are too complex to be compiled",
			ALONE_MAX);
		error_hint(e, "use simpler patterns: a * followed by many ? is expensive");
	}
	return r;
}

/* Matching */

static bool alone_matches(const struct pathset_item *item, const char *rest, size_t len)
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
	const struct pathset_machine *m = s->machines + s->groups[group].first;
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

/* The path has come to a place; `at` is the end of the part that led there. */
static uint32_t match_place(
	const struct pathset *s, const struct place *place, const char *path, size_t len, size_t at)
{
	uint32_t best = place->subtree;

	if (at == len)
		best = rank_best(best, place->exact);
	if (place->group != PLACE_NO_GROUP)
		best = rank_best(best, match_group(s, place->group, path + at, len - at));
	return best;
}

/* Folders passed so far that have floating patterns. */
struct pathset_bases {
	const struct place *items[BASES_MAX];
	uint64_t hashes[BASES_MAX];
	size_t n;
};

static void bases_add(struct pathset_bases *b, const struct place *place, uint64_t hash)
{
	if (!place->floats)
		return;
	b->hashes[b->n] = hash;
	b->items[b->n++] = place;
}

static uint32_t match_floating(const struct pathset *s, const struct pathset_bases *b,
	const struct place_walk *w, size_t before)
{
	uint32_t best = RANK_NONE;

	for (size_t i = 0; i < b->n; i++) {
		const struct place *place =
			place_table_find_name(&s->table, b->items[i], b->hashes[i], w, before);

		if (place)
			best = rank_best(best, match_place(s, place, w->path, w->len, w->at));
	}
	return best;
}

uint32_t pathset_match(const struct pathset *s, const char *path, size_t len)
{
	struct place_walk w;
	struct pathset_bases bases = { .n = 0 };
	const struct place *root = &s->table.root;
	uint32_t best = match_place(s, root, path, len, 0);
	size_t before = 0;

	/* The root is "/" as a path and "" as a folder. */
	if (len == 1)
		return rank_best(best, root->exact);
	place_walk_start(&w, &s->table, path, len);
	bases_add(&bases, root, w.hash);
	while (place_walk_next(&w)) {
		const struct place *place = place_table_find(&s->table, &w);

		if (bases.n)
			best = rank_best(best, match_floating(s, &bases, &w, before));
		if (place) {
			best = rank_best(best, match_place(s, place, path, len, w.at));
			bases_add(&bases, place, w.hash);
		}
		before = w.at;
	}
	return best;
}
