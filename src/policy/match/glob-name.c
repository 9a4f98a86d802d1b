/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/glob-name.h"

static bool glob_name_starts(const struct glob_token *t)
{
	return t->type == GLOB_TREE || (t->type == GLOB_BYTE && t->byte == '/');
}

struct glob_name glob_name_of(const struct glob_alternative *alt)
{
	struct glob_name g = { .alt = *alt };
	const struct glob_token *t = alt->tokens;

	if (g.alt.n > 0 && t[g.alt.n - 1].type == GLOB_TAIL)
		g.alt.n--;
	g.alt.kind = GLOB_TRUE;
	g.component = g.alt.n;
	while (g.component > 0 && !glob_name_starts(&t[g.component - 1]))
		g.component--;
	while (g.component + g.head < g.alt.n && t[g.component + g.head].type == GLOB_BYTE)
		g.head++;
	while (g.tail < g.alt.n - g.component && t[g.alt.n - 1 - g.tail].type == GLOB_BYTE)
		g.tail++;
	return g;
}

bool glob_name_match(const struct glob_name *g, const char *path, size_t len, const char *name)
{
	const struct glob_token *first = g->alt.tokens + g->component;
	const struct glob_token *last = g->alt.tokens + g->alt.n;
	size_t n = (size_t)(path + len - name);

	if (n < g->head || n < g->tail)
		return false;
	for (size_t i = 0; i < g->head; i++) {
		if (first[i].byte != (unsigned char)name[i])
			return false;
	}
	for (size_t i = 1; i <= g->tail; i++) {
		if (last[-(ptrdiff_t)i].byte != (unsigned char)name[n - i])
			return false;
	}
	return glob_alternative_match(&g->alt, path, len);
}
