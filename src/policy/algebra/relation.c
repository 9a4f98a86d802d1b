/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/algebra/relation.h"

#include <errno.h>
#include <string.h>

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
	struct automaton *both[] = { x, y };
	struct relation_sight sight = { 0 };
	size_t tokens, states;
	int r;

	if (!x || !y || automaton_add_all(x, a, 1, 0) < 0 || automaton_add_all(y, b, 1, 0) < 0)
		return -ENOMEM;
	tokens = automaton_tokens(x) + automaton_tokens(y);
	states = TOKENS_TIMES_STATES / (tokens + 1);
	states = states > STATES_MAX ? STATES_MAX : states < STATES_MIN ? STATES_MIN : states;
	r = automaton_build(x, states);
	if (r == 0)
		r = automaton_build(y, states);
	if (r == 0)
		r = product_search(both, 2, domain, states, relation_note, &sight, NULL);
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
