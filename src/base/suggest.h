/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* "did you mean …?": the known word nearest to a misspelt one. */
#include <stddef.h>

/* The nearest of n words, or NULL if none is near enough to be worth saying. */
const char *suggest(const char *word, const char *const *known, size_t n);
