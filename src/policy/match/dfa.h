/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A complete automaton as a table: one load per byte, no allocation, shareable between threads. */
#include <stddef.h>
#include <stdint.h>

#include "policy/match/automaton.h"

struct dfa;

/* Makes all states of a (which must be built). -E2BIG if its limit is reached. The caller frees
 * *ret. */
int dfa_new(struct automaton *a, struct dfa **ret);
void dfa_free(struct dfa *d);
uint32_t dfa_match(const struct dfa *d, const char *text, size_t len);
