/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How sets of paths lie to each other. Several automata are fed with the same text, every text at
 * once: a search through the combinations of their states. This is how sets of patterns are
 * compared exactly, and how a witness is found.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/match/automaton.h"
#include "policy/match/glob.h"

struct buffer;

/* Which texts count: all normal absolute paths, or only those of one component. */
enum product_domain { PRODUCT_PATHS, PRODUCT_NAMES };

/* Sees the ranks (by automaton) of one combination that a text can end in; 1 ends the search. */
typedef int product_visit(void *data, const uint32_t *ranks);

enum { PRODUCT_AUTOMATA_MAX = 32 };

/*
 * 1: visit said so; *witness is a shortest such text. 0: never. -E2BIG: more than max_states
 * combinations (or more states in one of the automata than it may have).
 */
int product_search(struct automaton *const *automata, size_t n, enum product_domain domain,
	size_t max_states, product_visit *visit, void *data, struct buffer *witness);

/* 1: there is a text that `in` accepts and `out` does not. 0: none. -E2BIG as above. */
int product_search_only(
	struct automaton *in, struct automaton *out, enum product_domain domain, size_t max_states);

/* How the paths that glob a matches lie to those of b. */
enum relation {
	RELATION_UNKNOWN, /* they overlap, or it would take too long to find out */
	RELATION_DISJOINT,
	RELATION_EQUAL,
	RELATION_INSIDE,  /* a lies within b */
	RELATION_OUTSIDE, /* b lies within a */
};

/* -ENOMEM, or one of the above. */
int relation_of_globs(const struct glob *a, const struct glob *b, enum product_domain domain);
/*
 * The same for one pair of many: *effort, in steps, is what all searches together may still cost.
 * Once it is 0, whatever needs a search is unknown.
 */
int relation_within_effort(
	const struct glob *a, const struct glob *b, enum product_domain domain, size_t *effort);
/* Takes cost from what is left; effort may be NULL. */
void relation_spend(size_t *effort, size_t cost);
