/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Lists of words that end with NULL, as tables in the code have them. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The place of the word text[0..len) in the list, or -1. */
static inline int words_find(const char *const *words, const char *text, size_t len)
{
	for (int i = 0; words[i]; i++) {
		if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
			return i;
	}
	return -1;
}

static inline bool words_has(const char *const *words, const char *word)
{
	return words_find(words, word, strlen(word)) >= 0;
}
