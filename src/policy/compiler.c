/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compiler.h"

#include "policy/variable.h"

int compiler_parse_path(
	struct compiler *c, const char *text, const struct location *where, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(c->vars, text, c->arena, &expanded, where, c->error);

	return r < 0 ? r : glob_parse(ret, c->arena, expanded, where, c->error);
}

bool compiler_is_everything(const struct glob *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->alternatives[i].kind == GLOB_SUBTREE && g->alternatives[i].literal_len == 0)
			return true;
	}
	return false;
}

struct glob *compiler_literal(struct compiler *c, const char *bytes, size_t len, bool subtree)
{
	struct glob_alternative *alt = arena_alloc(c->arena, sizeof(*alt));
	struct glob *g = arena_alloc(c->arena, sizeof(*g));
	char *copy = arena_strndup(c->arena, bytes, len);

	if (!alt || !g || !copy)
		return NULL;
	alt->kind = subtree ? GLOB_SUBTREE : GLOB_LITERAL;
	alt->literal = copy;
	alt->literal_len = len;
	*g = (struct glob){ .alternatives = alt, .n = 1 };
	return g;
}
