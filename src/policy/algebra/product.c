/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breadth first, so that the first witness is a shortest one. A combination is one state of each
 * automaton plus a `shape`: how much of a normal path the text is so far. Bytes that no automaton
 * and no shape tells apart are tried once, by a representative that reads well.
 */
#include "policy/algebra/product.h"

#include <ctype.h>
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

static bool shape_ends(enum shape s, enum product_domain domain)
{
	return s == SHAPE_NAME || (s == SHAPE_ROOT && domain == PRODUCT_PATHS);
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
	return islower(b) ? 4 : isalnum(b) ? 3 : b == '_' || b == '-' ? 2 : isgraph(b) ? 1 : 0;
}

static bool product_same_class(const struct product *s, unsigned char x, unsigned char y)
{
	if (x == '/' || y == '/' || x == '.' || y == '.' || x == '\0' || y == '\0')
		return x == y;
	/* An '=' would make an assignment out of a variable's name. */
	if (s->domain == PRODUCT_NAMES && (x == '=' || y == '='))
		return x == y;
	for (size_t i = 0; i < s->n; i++) {
		if (automaton_class(s->automata[i], x) != automaton_class(s->automata[i], y))
			return false;
	}
	return true;
}

static void choose_bytes(struct product *s)
{
	for (unsigned b = 1; b < 256; b++) {
		size_t i = 0;

		if (s->domain == PRODUCT_NAMES && b == '=')
			continue;
		while (i < s->n_bytes && !product_same_class(s, s->bytes[i], (unsigned char)b))
			i++;
		if (i == s->n_bytes)
			s->bytes[s->n_bytes++] = (unsigned char)b;
		else if (reads_well((unsigned char)b) > reads_well(s->bytes[i]))
			s->bytes[i] = (unsigned char)b;
	}
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
	return product_keep(s);
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
	uint32_t ranks[PRODUCT_AUTOMATA_MAX];
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
		bool ends = shape_ends((enum shape)c->shape, s->domain);

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
