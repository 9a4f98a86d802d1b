/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment entries: NAME (maybe a glob) lets the host's value in, NAME=value sets that value and
 * nothing else. Names and assignments are matched as paths of one component: "/NAME",
 * "/NAME=value".
 */
#include <errno.h>
#include <string.h>

#include "policy/compiler.h"

static int compiler_env_parse_name(
	struct compiler *c, const char *text, const struct location *where, struct glob *ret)
{
	const char *path = arena_printf(c->arena, "/%s", text);

	return path ? glob_parse(ret, c->arena, path, where, c->error) : -ENOMEM;
}

/* An assignment counts if its name matches all the names that stand beside it. */
static int compiler_env_add_value(
	struct compiler *c, const char *text, const struct glob *names, size_t n, uint32_t rank)
{
	const char *path = arena_printf(c->arena, "/%s", text);
	const struct glob *g;

	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!glob_match(&names[i], path, (size_t)(strchr(path, '=') - path)))
			return 0;
	}
	g = compiler_literal(c, path, strlen(path), false);
	return g ? pathset_add(c->layer->values, g, 1, rank) : -ENOMEM;
}

int compiler_add_env(struct compiler *c, uint32_t rank)
{
	const struct source *s = &c->layer->sources[OPERATION_ENV].items[rank];
	struct glob *names = arena_calloc(c->arena, s->grant->n, sizeof(*names));
	const char *value = NULL;
	size_t n = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->grant->n; i++) {
		const char *text = s->grant->all[i];
		int r = strchr(text, '=')
				? 0
				: compiler_env_parse_name(c, text, &s->where, &names[n++]);

		if (r < 0)
			return r;
		if (!strchr(text, '='))
			continue;
		if (value && strcmp(value, text) != 0)
			return 0; /* two values at once: nothing */
		value = text;
	}
	return value ? compiler_env_add_value(c, value, names, n, rank)
		     : pathset_add(c->layer->names, names, n, rank);
}
