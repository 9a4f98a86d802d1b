/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search goes breadth first, so that the first witness is a shortest one. A combination is one
 * state of each automaton plus a `shape`: how much of a normal path the text is so far. Bytes that
 * no automaton and no shape tells apart are tried once, by a representative that reads well.
 */
#include "policy/algebra/relation.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"

/* What the text is so far. A path may end in SHAPE_ROOT and SHAPE_NAME only. */
enum shape { SHAPE_EMPTY, SHAPE_ROOT, SHAPE_SLASH, SHAPE_DOT, SHAPE_DOTS, SHAPE_NAME, SHAPE_NONE };

static enum shape shape_next(enum shape s, unsigned char b, enum product_domain domain)
{
	bool fresh = s == SHAPE_ROOT || s == SHAPE_SLASH;

	if (b == '\0')
		return SHAPE_NONE;
	if (s == SHAPE_EMPTY)
		return b == '/' ? SHAPE_ROOT : SHAPE_NONE;
	if (b == '/')
		return s == SHAPE_NAME && domain == PRODUCT_PATHS ? SHAPE_SLASH : SHAPE_NONE;
	if (b == '.' && fresh)
		return SHAPE_DOT;
	if (b == '.' && s == SHAPE_DOT)
		return SHAPE_DOTS;
	return SHAPE_NAME;
}

struct combination {
	uint32_t parent;
	unsigned char byte, shape;
	uint32_t states[]; /* n of them */
};

struct product {
	struct arena arena;
	struct automaton *const *automata;
	size_t n;
	enum product_domain domain;
	size_t n_needed; /* the first of the automata: where all of them are dead, nothing is found
			  */
	struct combination **items;
	size_t n_items, cap_items, max;
	uint32_t *buckets;
	size_t n_buckets;
	unsigned char bytes[256]; /* representatives */
	size_t n_bytes;
	struct combination *next; /* being made */
};

/* Letters first: a witness is for people. */
static int reads_well(unsigned char b)
{
	if (b >= 'a' && b <= 'z')
		return 4;
	if ((b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9'))
		return 3;
	return b == '_' || b == '-' ? 2 : b > ' ' && b < 0x7f;
}

/*
 * Splits the groups by the classes of one automaton: bytes stay together if they were and are of
 * one class. Groups are numbered by their first byte.
 */
static void product_split(const struct automaton *a, unsigned char *groups)
{
	unsigned char numbers[256][256]; /* by group and class, where is_known */
	uint64_t is_known[256][4] = { 0 };
	unsigned n = 0;

	for (unsigned b = 0; b < 256; b++) {
		const unsigned char group = groups[b], class = automaton_class(a, (unsigned char)b);

		if (!(is_known[group][class / 64] >> class % 64 & 1)) {
			is_known[group][class / 64] |= (uint64_t)1 << class % 64;
			numbers[group][class] = (unsigned char)n++;
		}
		groups[b] = numbers[group][class];
	}
}

/* Of each group of bytes that nothing tells apart, the one that reads best. */
static void choose_bytes(struct product *s)
{
	unsigned char groups[256] = { [0] = 1, ['/'] = 2, ['.'] = 3 };
	bool has_byte[256] = { false };
	unsigned char best[256];

	/* An '=' would make an assignment out of a variable's name. */
	if (s->domain == PRODUCT_NAMES)
		groups['='] = 4;
	for (size_t i = 0; i < s->n; i++)
		product_split(s->automata[i], groups);
	for (unsigned b = 1; b < 256; b++) {
		const unsigned char group = groups[b];

		if (s->domain == PRODUCT_NAMES && b == '=')
			continue;
		if (!has_byte[group] || reads_well((unsigned char)b) > reads_well(best[group]))
			best[group] = (unsigned char)b;
		has_byte[group] = true;
	}
	for (unsigned group = 0; group < 256; group++)
		if (has_byte[group])
			s->bytes[s->n_bytes++] = best[group];
}

static uint64_t product_hash(const struct product *s, const struct combination *c)
{
	uint64_t h = c->shape;

	for (size_t i = 0; i < s->n; i++) {
		h = (h ^ c->states[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 29;
	}
	return h;
}

static int product_grow(struct product *s)
{
	size_t n = s->n_buckets ? s->n_buckets * 2 : 256;

	s->buckets = arena_calloc(&s->arena, n, sizeof(*s->buckets));
	if (!s->buckets)
		return -ENOMEM;
	s->n_buckets = n;
	memset(s->buckets, 0xff, n * sizeof(*s->buckets));
	for (size_t i = 0; i < s->n_items; i++) {
		size_t at = product_hash(s, s->items[i]) & (n - 1);

		while (s->buckets[at] != UINT32_MAX)
			at = (at + 1) & (n - 1);
		s->buckets[at] = (uint32_t)i;
	}
	return 0;
}

/* Makes room for the next combination. */
static int product_blank(struct product *s)
{
	s->next = arena_alloc(&s->arena, sizeof(struct combination) + s->n * sizeof(uint32_t));
	return s->next ? 0 : -ENOMEM;
}

/* Keeps s->next if it is new. */
static int product_keep(struct product *s)
{
	size_t at;

	if (s->n_items * 2 >= s->n_buckets && product_grow(s) < 0)
		return -ENOMEM;
	at = product_hash(s, s->next) & (s->n_buckets - 1);
	for (; s->buckets[at] != UINT32_MAX; at = (at + 1) & (s->n_buckets - 1)) {
		const struct combination *old = s->items[s->buckets[at]];

		if (old->shape == s->next->shape &&
			memcmp(old->states, s->next->states, s->n * sizeof(uint32_t)) == 0)
			return 0;
	}
	if (s->n_items >= s->max)
		return -E2BIG;
	s->buckets[at] = (uint32_t)s->n_items;
	if (ARENA_PUSH(&s->arena, s->items, s->n_items, s->cap_items, s->next) < 0)
		return -ENOMEM;
	return product_blank(s);
}

static bool product_is_dead(const struct product *s)
{
	size_t i = 0;

	while (i < s->n_needed && automaton_is_dead(s->automata[i], s->next->states[i]))
		i++;
	return i > 0 && i == s->n_needed;
}

static int product_step(struct product *s, uint32_t from, unsigned char b)
{
	const struct combination *c = s->items[from];
	enum shape shape = shape_next((enum shape)c->shape, b, s->domain);

	if (shape == SHAPE_NONE)
		return 0;
	s->next->parent = from;
	s->next->byte = b;
	s->next->shape = (unsigned char)shape;
	for (size_t i = 0; i < s->n; i++) {
		int r = automaton_next(s->automata[i], c->states[i], b, &s->next->states[i]);

		if (r < 0)
			return r;
	}
	return product_is_dead(s) ? 0 : product_keep(s);
}

static void product_spell(const struct product *s, uint32_t at, struct buffer *out)
{
	size_t n = 0;

	for (uint32_t i = at; i != 0; i = s->items[i]->parent)
		n++;
	buffer_clear(out);
	for (size_t i = 0; i < n; i++)
		buffer_addc(out, ' ');
	for (uint32_t i = at; i != 0 && !out->failed; i = s->items[i]->parent)
		out->data[--n] = (char)s->items[i]->byte;
}

static int product_run(struct product *s, product_visit *visit, void *data, struct buffer *witness)
{
	uint32_t ranks[PRODUCT_AUTOMATA_MAX] = { 0 };
	int r = product_blank(s);

	if (r < 0)
		return r;
	choose_bytes(s);
	s->next->shape = SHAPE_EMPTY;
	for (size_t i = 0; i < s->n; i++)
		s->next->states[i] = automaton_start(s->automata[i]);
	r = product_keep(s);
	for (uint32_t at = 0; r == 0 && at < s->n_items; at++) {
		const struct combination *c = s->items[at];
		bool ends = c->shape == SHAPE_NAME ||
			    (c->shape == SHAPE_ROOT && s->domain == PRODUCT_PATHS);

		for (size_t i = 0; ends && i < s->n; i++)
			ranks[i] = automaton_rank(s->automata[i], c->states[i]);
		if (ends && visit(data, ranks)) {
			if (witness)
				product_spell(s, at, witness);
			return witness && witness->failed ? -ENOMEM : 1;
		}
		for (size_t b = 0; r == 0 && b < s->n_bytes; b++)
			r = product_step(s, at, s->bytes[b]);
	}
	return r;
}

int product_search(struct automaton *const *automata, size_t n, enum product_domain domain,
	size_t max_states, product_visit *visit, void *data, struct buffer *witness)
{
	struct product s = { .automata = automata, .n = n, .domain = domain, .max = max_states };
	int r = n > PRODUCT_AUTOMATA_MAX ? -E2BIG : product_run(&s, visit, data, witness);

	arena_deinit(&s.arena);
	return r;
}

static int only_first(void *data, const uint32_t *ranks)
{
	(void)data;
	return ranks[0] != RANK_NONE && ranks[1] == RANK_NONE;
}

int product_search_only(
	struct automaton *in, struct automaton *out, enum product_domain domain, size_t max_states)
{
	struct product s = { .automata = (struct automaton *const[]){ in, out },
		.n = 2,
		.n_needed = 1,
		.domain = domain,
		.max = max_states };
	int r = product_run(&s, only_first, NULL, NULL);

	arena_deinit(&s.arena);
	return r;
}

/* Two globs */

/* A state of a long pattern costs more to make, so there may be fewer of them. */
enum { STATES_MAX = 8192, STATES_MIN = 64, TOKENS_TIMES_STATES = 1 << 19 };

/* What some text was seen to be. */
enum { ONLY_A = 1, ONLY_B = 2, BOTH = 4 };

struct relation_sight {
	unsigned seen;
	size_t steps;
};

static int relation_note(void *data, const uint32_t *ranks)
{
	struct relation_sight *s = data;
	bool a = ranks[0] != RANK_NONE, b = ranks[1] != RANK_NONE;

	s->steps++;
	if (a || b)
		s->seen |= a && b ? BOTH : a ? ONLY_A : ONLY_B;
	return s->seen == (ONLY_A | ONLY_B | BOTH);
}

/* Is the path p the folder d, or below it? "" is the root. */
static bool relation_below(const struct glob_alternative *p, const struct glob_alternative *d)
{
	size_t n = d->literal_len;

	return p->literal_len >= n && memcmp(p->literal, d->literal, n) == 0 &&
	       (p->literal_len == n || p->literal[n] == '/' || n == 0);
}

/* Two paths or folders: no search is needed. */
static enum relation relation_of_plain(
	const struct glob_alternative *a, const struct glob_alternative *b)
{
	bool a_tree = a->kind == GLOB_SUBTREE, b_tree = b->kind == GLOB_SUBTREE;

	if (a_tree == b_tree && a->literal_len == b->literal_len && relation_below(a, b))
		return RELATION_EQUAL;
	if (b_tree && relation_below(a, b))
		return RELATION_INSIDE;
	if (a_tree && relation_below(b, a))
		return RELATION_OUTSIDE;
	return RELATION_DISJOINT;
}

void relation_spend(size_t *effort, size_t cost)
{
	if (effort)
		*effort -= cost < *effort ? cost : *effort;
}

static int relation_search(
	const struct glob *a, const struct glob *b, enum product_domain domain, size_t *effort)
{
	auto_automaton *x = automaton_new(), *y = automaton_new();
	struct product s = { .automata = (struct automaton *const[]){ x, y },
		.n = 2,
		.n_needed = 2,
		.domain = domain };
	struct relation_sight sight = { 0 };
	size_t tokens, states;
	int r;

	if (!x || !y || automaton_add_all(x, a, 1, 0) < 0 || automaton_add_all(y, b, 1, 0) < 0)
		return -ENOMEM;
	tokens = automaton_tokens(x) + automaton_tokens(y);
	states = TOKENS_TIMES_STATES / (tokens + 1);
	states = states > STATES_MAX ? STATES_MAX : states < STATES_MIN ? STATES_MIN : states;
	s.max = states;
	r = automaton_build(x, states);
	if (r == 0)
		r = automaton_build(y, states);
	if (r == 0)
		r = product_run(&s, relation_note, &sight, NULL);
	arena_deinit(&s.arena);
	relation_spend(
		effort, tokens + sight.steps +
				(automaton_states(x) + automaton_states(y)) * (1 + tokens / 32));
	if (r < 0)
		return r == -E2BIG ? RELATION_UNKNOWN : r;
	if (!(sight.seen & BOTH))
		return RELATION_DISJOINT;
	if (!(sight.seen & ONLY_A))
		return sight.seen & ONLY_B ? RELATION_INSIDE : RELATION_EQUAL;
	return sight.seen & ONLY_B ? RELATION_UNKNOWN : RELATION_OUTSIDE;
}

int relation_within_effort(
	const struct glob *a, const struct glob *b, enum product_domain domain, size_t *effort)
{
	const struct glob_alternative *x = &a->alternatives[0], *y = &b->alternatives[0];
	size_t least;

	if (a->n == 1 && b->n == 1 && x->kind != GLOB_TRUE && y->kind != GLOB_TRUE)
		return (int)relation_of_plain(x, y);
	/* What all matches of the one start with may rule out what those of the other do. */
	if (a->n == 1 && b->n == 1) {
		least = x->literal_len < y->literal_len ? x->literal_len : y->literal_len;
		if (memcmp(x->literal, y->literal, least) != 0)
			return RELATION_DISJOINT;
	}
	return effort && !*effort ? RELATION_UNKNOWN : relation_search(a, b, domain, effort);
}

int relation_of_globs(const struct glob *a, const struct glob *b, enum product_domain domain)
{
	return relation_within_effort(a, b, domain, NULL);
}
