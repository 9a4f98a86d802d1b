/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States that only lead to themselves come first: the dead one, and those behind a "/**" that
 * matched. Matching stops there, so a path that leaves all patterns early costs only its first
 * bytes.
 */
#include "policy/match/dfa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dfa {
	unsigned char classes[256];
	uint32_t n_classes, n_sinks, start;
	uint32_t *ranks;
	uint32_t next[]; /* by state and class; ranks follow */
};

static int dfa_complete(struct automaton *a)
{
	/* automaton_states() grows while we go. */
	for (uint32_t s = 0; s < automaton_states(a); s++) {
		for (size_t c = 0; c < automaton_classes(a); c++) {
			uint32_t next;
			int r = automaton_next(a, s, automaton_byte(a, c), &next);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static uint32_t dfa_next_of(struct automaton *a, uint32_t s, size_t class)
{
	uint32_t next = AUTOMATON_DEAD;

	(void)automaton_next(a, s, automaton_byte(a, class), &next);
	return next;
}

static bool is_sink(struct automaton *a, uint32_t s)
{
	for (size_t c = 0; c < automaton_classes(a); c++) {
		if (dfa_next_of(a, s, c) != s)
			return false;
	}
	return true;
}

/* Numbers the states anew, sinks first; returns how many those are. */
static uint32_t dfa_number(struct automaton *a, uint32_t *numbers)
{
	uint32_t n = (uint32_t)automaton_states(a), low = 0, high;

	for (uint32_t s = 0; s < n; s++) {
		numbers[s] = UINT32_MAX;
		if (is_sink(a, s))
			numbers[s] = low++;
	}
	high = low;
	for (uint32_t s = 0; s < n; s++) {
		if (numbers[s] == UINT32_MAX)
			numbers[s] = high++;
	}
	return low;
}

static void dfa_fill(struct dfa *d, struct automaton *a, const uint32_t *numbers)
{
	for (uint32_t s = 0; s < automaton_states(a); s++) {
		uint32_t *row = d->next + (size_t)numbers[s] * d->n_classes;

		for (size_t c = 0; c < d->n_classes; c++)
			row[c] = numbers[dfa_next_of(a, s, c)];
		d->ranks[numbers[s]] = automaton_rank(a, s);
	}
	for (unsigned b = 0; b < 256; b++)
		d->classes[b] = automaton_class(a, (unsigned char)b);
	d->start = numbers[automaton_start(a)];
}

int dfa_new(struct automaton *a, struct dfa **ret)
{
	int r = dfa_complete(a);
	size_t states = automaton_states(a), classes = automaton_classes(a);
	uint32_t *numbers;
	struct dfa *d;

	if (r < 0)
		return r;
	numbers = calloc(states, sizeof(*numbers));
	d = calloc(1, sizeof(*d) + states * (classes + 1) * sizeof(uint32_t));
	if (!numbers || !d) {
		free(numbers);
		free(d);
		return -ENOMEM;
	}
	d->n_classes = (uint32_t)classes;
	d->ranks = d->next + states * classes;
	d->n_sinks = dfa_number(a, numbers);
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
