/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Denials as the host program sees them: each one block of memory with its strings behind it. */
#include <stdbool.h>

#include "corral/sandbox.h"
#include "policy/policy.h"

/* From a decision, in words. NULL when out of memory. */
struct corral_denial *denial_new(const struct request *r, const struct decision *d, bool exact);
struct corral_denial *denial_copy(const struct corral_denial *d);
void denial_free(struct corral_denial *d);
/* Copies a text to *at, which moves behind it; returns where it stands. */
const char *denial_put(char **at, const char *text);
static inline void denial_freep(struct corral_denial **d)
{
	denial_free(*d);
}
#define auto_denial __attribute__((cleanup(denial_freep))) struct corral_denial
