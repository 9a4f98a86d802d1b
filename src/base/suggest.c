/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 48 };

/* Edit distance with transpositions, ignoring case; words are at most WORD_MAX long. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		row[1][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *cur = row[(i + 1) % 3], *prev = row[i % 3], *prev2 = row[(i + 2) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			int ca = tolower((unsigned char)a[i - 1]);
			int cb = tolower((unsigned char)b[j - 1]);
			unsigned best = prev[j - 1] + (ca != cb);

			if (prev[j] + 1 < best)
				best = prev[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
				cb == tolower((unsigned char)a[i - 2]) && prev2[j - 2] + 1 < best)
				best = prev2[j - 2] + 1;
			cur[j] = best;
		}
	}
	return row[(na + 1) % 3][nb];
}

const char *suggest(const char *word, const char *const *known, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(word);
	unsigned least = len < 4 ? 2 : (unsigned)(len / 3 + 2);

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t klen = strlen(known[i]);
		unsigned d;

		if (klen > WORD_MAX)
			continue;
		d = distance(word, len, known[i], klen);
		/* A word of which no letter is right is no misspelling. */
		if (d < least && d < len) {
			least = d;
			best = known[i];
		}
	}
	return best;
}
