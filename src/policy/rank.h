/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Every set of patterns in a compiled policy answers the same question: which is the strongest
 * entry that this request matches? Entries are ranked before they are added, 0 strongest, so "deny
 * beats allow" and "highest priority first" are both just an order, and a set never needs to know
 * about verdicts.
 */
#include <stdint.h>

#define RANK_NONE UINT32_MAX

static inline uint32_t rank_best(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}
