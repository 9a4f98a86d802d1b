/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Many ranked patterns as one deterministic automaton over bytes, made on demand: a state exists
 * once it was asked for. pathset.h asks for all of them and keeps a table (struct dfa); the
 * algebra walks the products of several automata and only ever sees the states it reaches.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/match/glob.h"
#include "policy/rank.h"

struct automaton;

/* State 0 is the dead one: nothing can match any more. */
#define AUTOMATON_DEAD 0u

struct automaton *automaton_new(void);
void automaton_free(struct automaton *a);
static inline void automaton_freep(struct automaton **a)
{
	automaton_free(*a);
}
#define auto_automaton __attribute__((cleanup(automaton_freep))) struct automaton

/* A sequence of tokens; they are copied. */
int automaton_add(struct automaton *a, const struct glob_token *tokens, size_t n, uint32_t rank);
/* An entry that must match all n globs (at most 64). */
int automaton_add_all(struct automaton *a, const struct glob *globs, size_t n, uint32_t rank);

/*
 * Ends adding. At most max_states states will ever be made: past that, automaton_next says -E2BIG.
 * A limit that is linear in the size of the patterns is enough for all but patterns made to
 * explode.
 */
int automaton_build(struct automaton *a, size_t max_states);
/* Work is charged to *budget (in steps; states cost their rows); when it is used up, -E2BIG too. */
void automaton_charge(struct automaton *a, size_t *budget);
uint32_t automaton_start(const struct automaton *a);
int automaton_next(struct automaton *a, uint32_t state, unsigned char byte, uint32_t *ret);
/* The strongest entry that ends in this state. */
uint32_t automaton_rank(const struct automaton *a, uint32_t state);

/* No text that leads there is the beginning of a match. */
bool automaton_is_dead(const struct automaton *a, uint32_t state);
size_t automaton_states(const struct automaton *a);
/* Bytes that no pattern tells apart are one class; a representative of each, and the class of each
 * byte. */
size_t automaton_classes(const struct automaton *a);
unsigned char automaton_byte(const struct automaton *a, size_t class);
unsigned char automaton_class(const struct automaton *a, unsigned char byte);
/* Total number of tokens that were added, for choosing a limit. */
size_t automaton_tokens(const struct automaton *a);

/* A complete automaton as a table: one load per byte, no allocation, shareable between threads. */
struct dfa;

/* Makes all states of a, which must be built. -E2BIG if its limit is reached. The caller frees
 * *ret. */
int dfa_new(struct automaton *a, struct dfa **ret);
void dfa_free(struct dfa *d);
uint32_t dfa_match(const struct dfa *d, const char *text, size_t len);
