/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First a trie: patterns that start with the same tokens share nodes, so ten thousand patterns
 * below "/**" + "/" share the one place where "**" loops. Then subsets: a state of the automaton is
 * the set of (node, phase) pairs that the bytes so far can lead to.
 *
 * A node stands for "the tokens up to here are matched". Phase 1 exists for GLOB_TREE and GLOB_TAIL
 * only and means "inside": the token has begun and takes any bytes. What needs no byte (a STAR or a
 * TAIL that follows) is added when a node is reached, so sets are always closed.
 *
 * Entries that must match several patterns (`all`) put a mark on the last node of each part; a
 * state accepts such an entry if it holds marks of all its parts. A set of states is exactly what
 * is needed to see that.
 */
#include "policy/match/automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

#define NONE UINT32_MAX
#define UNKNOWN UINT32_MAX

struct trie_node {
	struct glob_token token;
	uint32_t child, sibling;
	uint32_t rank;
	uint32_t mark; /* first of its marks */
};

struct automaton_mark {
	uint32_t entry, part, next;
};

/* An entry of several parts. */
struct automaton_joint {
	uint32_t rank;
	uint64_t parts, seen;
};

struct automaton_state {
	const uint32_t *set;
	uint32_t n, rank;
	uint32_t *next; /* by class */
};

struct automaton {
	struct arena arena;
	struct trie_node *nodes;
	size_t n_nodes, cap_nodes;
	struct automaton_mark *marks;
	size_t n_marks, cap_marks;
	struct automaton_joint *joints;
	size_t n_joints, cap_joints;

	unsigned char classes[256], bytes[256];
	size_t n_classes;

	struct automaton_state *states;
	size_t n_states, cap_states, max_states;
	uint32_t *buckets; /* open addressing over states, by set */
	size_t n_buckets;
	uint32_t start;
	size_t *budget; /* NULL: no bound */

	/* The set being collected; stamps say who is in it already. */
	uint32_t *work, *stamps;
	uint32_t n_work, stamp;
};

struct automaton *automaton_new(void)
{
	struct automaton *a = calloc(1, sizeof(*a));
	struct trie_node root = { .child = NONE, .sibling = NONE, .rank = RANK_NONE, .mark = NONE };

	if (a && ARENA_PUSH(&a->arena, a->nodes, a->n_nodes, a->cap_nodes, root) == 0)
		return a;
	automaton_free(a);
	return NULL;
}

void automaton_free(struct automaton *a)
{
	if (!a)
		return;
	arena_deinit(&a->arena);
	free(a);
}

/* The trie */

/* The child of `parent` for this token, made if there is none; NONE when out of memory. */
static uint32_t child_for(struct automaton *a, uint32_t parent, const struct glob_token *t)
{
	struct trie_node node = { .token = *t, .child = NONE, .rank = RANK_NONE, .mark = NONE };

	for (uint32_t c = a->nodes[parent].child; c != NONE; c = a->nodes[c].sibling) {
		if (glob_token_equal(&a->nodes[c].token, t))
			return c;
	}
	if (t->type == GLOB_CLASS) {
		struct glob_class *copy = arena_alloc(&a->arena, sizeof(*copy));

		if (!copy)
			return NONE;
		*copy = *t->class;
		node.token.class = copy;
	}
	node.sibling = a->nodes[parent].child;
	if (a->n_nodes >= NONE / 4 ||
		ARENA_PUSH(&a->arena, a->nodes, a->n_nodes, a->cap_nodes, node) < 0)
		return NONE;
	a->nodes[parent].child = (uint32_t)a->n_nodes - 1;
	return (uint32_t)a->n_nodes - 1;
}

static uint32_t automaton_insert(struct automaton *a, const struct glob_token *tokens, size_t n)
{
	uint32_t at = 0;

	for (size_t i = 0; i < n && at != NONE; i++)
		at = child_for(a, at, &tokens[i]);
	return at;
}

int automaton_add(struct automaton *a, const struct glob_token *tokens, size_t n, uint32_t rank)
{
	uint32_t at = automaton_insert(a, tokens, n);

	if (at == NONE)
		return -ENOMEM;
	a->nodes[at].rank = rank_best(a->nodes[at].rank, rank);
	return 0;
}

int automaton_add_all(struct automaton *a, const struct glob *globs, size_t n, uint32_t rank)
{
	struct automaton_joint j = { .rank = rank };
	const uint32_t entry = (uint32_t)a->n_joints;
	int r = 0;

	if (n == 0 || n > 64)
		return -E2BIG;
	if (n == 1) {
		for (size_t i = 0; r == 0 && i < globs[0].n; i++)
			r = automaton_add(a, globs[0].alternatives[i].tokens,
				globs[0].alternatives[i].n, rank);
		return r;
	}
	j.parts = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
	if (ARENA_PUSH(&a->arena, a->joints, a->n_joints, a->cap_joints, j) < 0)
		return -ENOMEM;
	for (uint32_t part = 0; part < n; part++) {
		for (size_t i = 0; i < globs[part].n; i++) {
			const struct glob_alternative *alt = &globs[part].alternatives[i];
			uint32_t at = automaton_insert(a, alt->tokens, alt->n);
			struct automaton_mark m = { .entry = entry, .part = part };

			if (at == NONE)
				return -ENOMEM;
			m.next = a->nodes[at].mark;
			if (ARENA_PUSH(&a->arena, a->marks, a->n_marks, a->cap_marks, m) < 0)
				return -ENOMEM;
			a->nodes[at].mark = (uint32_t)a->n_marks - 1;
		}
	}
	return 0;
}

/* Byte classes */

/* Splits the classes that hold both bytes that t takes and bytes that it does not. */
static void refine(struct automaton *a, const struct glob_token *t)
{
	/* For each old class: the new one that its bytes outside t move to, 0 if not yet needed. */
	unsigned char moved[256] = { 0 };
	bool inside[256] = { false };

	for (unsigned b = 0; b < 256; b++)
		inside[a->classes[b]] |= glob_token_has(t, (unsigned char)b);
	for (unsigned b = 0; b < 256; b++) {
		unsigned char c = a->classes[b];

		if (!inside[c] || glob_token_has(t, (unsigned char)b))
			continue;
		if (!moved[c])
			moved[c] = (unsigned char)a->n_classes++;
		a->classes[b] = moved[c];
	}
	/* A class that lies wholly outside t was not touched, one wholly inside neither. */
}

/* Sets of (node, phase) */

static void automaton_collect(struct automaton *a, uint32_t node, uint32_t phase)
{
	uint32_t item = node * 2 + phase;

	if (a->stamps[item] == a->stamp)
		return;
	a->stamps[item] = a->stamp;
	a->work[a->n_work++] = item;
	if (phase != 0)
		return;
	for (uint32_t c = a->nodes[node].child; c != NONE; c = a->nodes[c].sibling) {
		enum glob_type type = a->nodes[c].token.type;

		if (type == GLOB_STAR || type == GLOB_TAIL)
			automaton_collect(a, c, 0);
	}
}

/* From a node that is matched over one byte: to its children. */
static void step_children(struct automaton *a, uint32_t node, unsigned char b)
{
	for (uint32_t c = a->nodes[node].child; c != NONE; c = a->nodes[c].sibling) {
		const struct glob_token *t = &a->nodes[c].token;

		if (t->type == GLOB_TREE) {
			if (b != '/')
				continue;
			automaton_collect(a, c, 1);
			automaton_collect(a, c, 0);
		} else if (t->type != GLOB_STAR && t->type != GLOB_TAIL && glob_token_has(t, b)) {
			automaton_collect(a, c, 0);
		}
	}
}

static void step_item(struct automaton *a, uint32_t item, unsigned char b)
{
	uint32_t node = item / 2, phase = item % 2;
	enum glob_type type = a->nodes[node].token.type;

	if (node != 0 && type == GLOB_TAIL) {
		if (phase || b == '/')
			automaton_collect(a, node, 1);
		return;
	}
	if (phase) {
		automaton_collect(a, node, 1);
		if (b == '/')
			automaton_collect(a, node, 0);
		return;
	}
	if (node != 0 && type == GLOB_STAR && b != '/')
		automaton_collect(a, node, 0);
	step_children(a, node, b);
}

/* The strongest entry that the collected set accepts. */
static uint32_t accepted(struct automaton *a)
{
	uint32_t best = RANK_NONE;

	for (uint32_t i = 0; i < a->n_work; i++) {
		const struct trie_node *node = &a->nodes[a->work[i] / 2];

		if (a->work[i] % 2 && node->token.type != GLOB_TAIL)
			continue;
		best = rank_best(best, node->rank);
		for (uint32_t m = node->mark; m != NONE; m = a->marks[m].next) {
			struct automaton_joint *j = &a->joints[a->marks[m].entry];

			j->seen |= (uint64_t)1 << a->marks[m].part;
			if (j->seen == j->parts)
				best = rank_best(best, j->rank);
		}
	}
	for (uint32_t i = 0; i < a->n_work; i++) {
		for (uint32_t m = a->nodes[a->work[i] / 2].mark; m != NONE; m = a->marks[m].next)
			a->joints[a->marks[m].entry].seen = 0;
	}
	return best;
}

/* States */

static uint64_t hash_set(const uint32_t *set, uint32_t n)
{
	uint64_t h = hash_mix(HASH_START, n);

	for (uint32_t i = 0; i < n; i++)
		h = hash_mix(h, set[i]);
	return h;
}

/* Twice as many buckets, all states put in again. */
static int grow_buckets(struct automaton *a)
{
	size_t n = a->n_buckets ? a->n_buckets * 2 : 64;
	uint32_t *buckets = arena_calloc(&a->arena, n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	memset(buckets, 0xff, n * sizeof(*buckets));
	for (size_t s = 0; s < a->n_states; s++) {
		size_t i = hash_set(a->states[s].set, a->states[s].n) & (n - 1);

		while (buckets[i] != NONE)
			i = (i + 1) & (n - 1);
		buckets[i] = (uint32_t)s;
	}
	a->buckets = buckets;
	a->n_buckets = n;
	return 0;
}

static bool automaton_pays(struct automaton *a, size_t cost)
{
	if (!a->budget)
		return true;
	if (*a->budget < cost)
		return false;
	*a->budget -= cost;
	return true;
}

static int new_state(struct automaton *a, uint32_t *bucket, uint32_t *ret)
{
	uint32_t *set = arena_calloc(&a->arena, a->n_work ? a->n_work : 1, sizeof(*set));
	struct automaton_state s = { .set = set, .n = a->n_work };

	if (a->n_states >= a->max_states || !automaton_pays(a, a->n_classes))
		return -E2BIG;
	s.next = arena_calloc(&a->arena, a->n_classes, sizeof(*s.next));
	if (!set || !s.next)
		return -ENOMEM;
	memcpy(set, a->work, a->n_work * sizeof(*set));
	memset(s.next, 0xff, a->n_classes * sizeof(*s.next));
	s.rank = accepted(a);
	if (ARENA_PUSH(&a->arena, a->states, a->n_states, a->cap_states, s) < 0)
		return -ENOMEM;
	*ret = *bucket = (uint32_t)a->n_states - 1;
	return 0;
}

/*
 * Sorts the collected set. Of a large part of all items the stamps give the order in one pass; few
 * items, mostly in order already, are inserted.
 */
static void automaton_sort(struct automaton *a)
{
	const size_t n_items = a->n_nodes * 2;
	uint32_t n = 0;

	if (a->n_work > 24 && a->n_work > n_items / 16) {
		for (uint32_t item = 0; n < a->n_work; item++)
			if (a->stamps[item] == a->stamp)
				a->work[n++] = item;
		return;
	}
	if (a->n_work > 24) {
		qsort(a->work, a->n_work, sizeof(*a->work), array_compare_u32);
		return;
	}
	for (uint32_t i = 1; i < a->n_work; i++) {
		const uint32_t item = a->work[i];
		uint32_t k = i;

		for (; k > 0 && a->work[k - 1] > item; k--)
			a->work[k] = a->work[k - 1];
		a->work[k] = item;
	}
}

/* The state for the collected set. */
static int intern(struct automaton *a, uint32_t *ret)
{
	size_t i;

	if (a->n_states * 2 >= a->n_buckets && grow_buckets(a) < 0)
		return -ENOMEM;
	automaton_sort(a);
	i = hash_set(a->work, a->n_work) & (a->n_buckets - 1);
	for (; a->buckets[i] != NONE; i = (i + 1) & (a->n_buckets - 1)) {
		const struct automaton_state *s = &a->states[a->buckets[i]];

		if (s->n == a->n_work && memcmp(s->set, a->work, s->n * sizeof(*s->set)) == 0) {
			*ret = a->buckets[i];
			return 0;
		}
	}
	return new_state(a, &a->buckets[i], ret);
}

static void automaton_begin(struct automaton *a)
{
	a->n_work = 0;
	a->stamp++;
}

int automaton_build(struct automaton *a, size_t max_states)
{
	uint32_t dead;
	int r;

	a->max_states = max_states;
	a->work = arena_calloc(&a->arena, a->n_nodes * 2, sizeof(*a->work));
	a->stamps = arena_calloc(&a->arena, a->n_nodes * 2, sizeof(*a->stamps));
	if (!a->work || !a->stamps)
		return -ENOMEM;
	/*
	 * A byte that a pattern names is a class of its own. Bytes first: they are most of the
	 * tokens, and none is alone yet, as class 0 keeps the NUL.
	 */
	a->classes['/'] = 1;
	a->n_classes = 2;
	for (size_t i = 1; i < a->n_nodes; i++) {
		const struct glob_token *t = &a->nodes[i].token;

		if (t->type == GLOB_BYTE && a->classes[t->byte] == 0)
			a->classes[t->byte] = (unsigned char)a->n_classes++;
	}
	for (size_t i = 1; i < a->n_nodes; i++) {
		if (a->nodes[i].token.type == GLOB_CLASS)
			refine(a, &a->nodes[i].token);
	}
	for (unsigned b = 256; b-- > 0;)
		a->bytes[a->classes[b]] = (unsigned char)b;
	automaton_begin(a);
	r = intern(a, &dead);
	if (r < 0)
		return r;
	automaton_begin(a);
	automaton_collect(a, 0, 0);
	return intern(a, &a->start);
}

void automaton_charge(struct automaton *a, size_t *budget)
{
	a->budget = budget;
}

uint32_t automaton_start(const struct automaton *a)
{
	return a->start;
}

int automaton_next(struct automaton *a, uint32_t state, unsigned char byte, uint32_t *ret)
{
	uint32_t class = a->classes[byte];
	const struct automaton_state *s = &a->states[state];
	uint32_t next = s->next[class];
	int r;

	if (next == UNKNOWN) {
		if (!automaton_pays(a, s->n + 1))
			return -E2BIG;
		automaton_begin(a);
		for (uint32_t i = 0; i < s->n; i++)
			step_item(a, s->set[i], byte);
		r = intern(a, &next);
		if (r < 0)
			return r;
		a->states[state].next[class] = next;
	}
	*ret = next;
	return 0;
}

uint32_t automaton_rank(const struct automaton *a, uint32_t state)
{
	return a->states[state].rank;
}

bool automaton_is_dead(const struct automaton *a, uint32_t state)
{
	return a->states[state].n == 0;
}

size_t automaton_states(const struct automaton *a)
{
	return a->n_states;
}

size_t automaton_classes(const struct automaton *a)
{
	return a->n_classes;
}

unsigned char automaton_byte(const struct automaton *a, size_t class)
{
	return a->bytes[class];
}

unsigned char automaton_class(const struct automaton *a, unsigned char byte)
{
	return a->classes[byte];
}

size_t automaton_tokens(const struct automaton *a)
{
	return a->n_nodes;
}

/*
 * The table. States that only lead to themselves come first: the dead one, and those after a "/**"
 * that matched. Matching stops there, so a path that leaves all patterns early costs only its first
 * bytes.
 */
struct dfa {
	unsigned char classes[256];
	uint32_t n_classes, n_sinks, start;
	uint32_t *ranks;
	uint32_t next[]; /* by state and class; ranks follow */
};

static bool is_sink(const struct automaton *a, uint32_t s)
{
	size_t c = 0;

	while (c < a->n_classes && a->states[s].next[c] == s)
		c++;
	return c == a->n_classes;
}

static void dfa_fill(struct dfa *d, const struct automaton *a, uint32_t *numbers)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < a->n_states; s++) {
		if (is_sink(a, s))
			numbers[s] = n++;
	}
	d->n_sinks = n;
	for (uint32_t s = 0; s < a->n_states; s++) {
		if (!is_sink(a, s))
			numbers[s] = n++;
	}
	for (uint32_t s = 0; s < a->n_states; s++) {
		uint32_t *row = d->next + (size_t)numbers[s] * a->n_classes;

		for (size_t c = 0; c < a->n_classes; c++)
			row[c] = numbers[a->states[s].next[c]];
		d->ranks[numbers[s]] = a->states[s].rank;
	}
	memcpy(d->classes, a->classes, sizeof(d->classes));
	d->start = numbers[a->start];
}

int dfa_new(struct automaton *a, struct dfa **ret)
{
	uint32_t *numbers;
	struct dfa *d;
	int r = 0;

	/* There are ever more states while this goes on. */
	for (uint32_t s = 0; s < a->n_states; s++) {
		for (size_t c = 0; r == 0 && c < a->n_classes; c++)
			r = automaton_next(a, s, a->bytes[c], &(uint32_t){ 0 });
	}
	if (r < 0)
		return r;
	numbers = calloc(a->n_states + 1, sizeof(*numbers));
	d = calloc(1, sizeof(*d) + a->n_states * (a->n_classes + 1) * sizeof(uint32_t));
	if (!numbers || !d) {
		free(numbers);
		free(d);
		return -ENOMEM;
	}
	d->n_classes = (uint32_t)a->n_classes;
	d->ranks = d->next + a->n_states * a->n_classes;
	dfa_fill(d, a, numbers);
	free(numbers);
	*ret = d;
	return 0;
}

void dfa_free(struct dfa *d)
{
	free(d);
}

uint32_t dfa_match(const struct dfa *d, const char *text, size_t len)
{
	uint32_t s = d->start;

	for (size_t i = 0; i < len && s >= d->n_sinks; i++)
		s = d->next[(size_t)s * d->n_classes + d->classes[(unsigned char)text[i]]];
	return d->ranks[s];
}
