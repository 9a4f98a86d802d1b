/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Several automata fed with the same text, every text at once: a search through the combinations of
 * their states. This is how sets of patterns are compared exactly, and how a witness is found.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/match/automaton.h"

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
