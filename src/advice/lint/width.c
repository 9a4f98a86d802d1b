/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How wide is a pattern? It is tried on names that nobody gives a file: a pattern that matches
 * those takes whatever lies there. Homes need one more thought, because their folders have names of
 * their own: /home/alice/** is as much a home as $HOME/**. Folders are judged by a few paths; only
 * true globs need a search.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "advice/lint/internal.h"

bool lint_takes_all_below(const struct lint_globs *g, const char *folder)
{
	char path[PATH_BYTES];

	/* Two depths: "/srv/*" takes all that lies directly in a folder, and that is not all. */
	(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE, folder);
	if (!lint_all_match(g, path, strlen(path)))
		return false;
	(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE "/" LINT_ANY, folder);
	return lint_all_match(g, path, strlen(path));
}

/* One of the folders that g names is a home. */
static bool names_home(const struct lint *l, const struct glob *g)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < g->n; i++) {
		if (g->alternatives[i].kind != GLOB_SUBTREE)
			continue;
		(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE, g->alternatives[i].literal);
		if (glob_match(&l->homes, path, strlen(path)))
			return true;
	}
	return false;
}

static bool holds_home(const struct lint *l, const struct lint_globs *g)
{
	const char *homes[] = { "/home/" LINT_ANY, "/Users/" LINT_ANY, "/root",
		l->vars->values[VARIABLE_HOME] };

	for (size_t i = 0; i < ROWS(homes); i++) {
		if (lint_takes_all_below(g, homes[i]))
			return true;
	}
	return false;
}

static bool lint_width_is_plain(const struct lint_globs *g)
{
	for (size_t i = 0; g->n == 1 && i < g->items[0].n; i++) {
		if (g->items[0].alternatives[i].kind == GLOB_TRUE)
			return false;
	}
	return g->n == 1;
}

static int reaches_home(struct lint *l, const struct lint_globs *g)
{
	struct glob in[LINT_PARTS_MAX + 1];
	int r;

	if (holds_home(l, g) || (g->n == 1 && names_home(l, &g->items[0])))
		return 1;
	if (lint_width_is_plain(g))
		return 0;
	memcpy(in, g->items, g->n * sizeof(in[0]));
	in[g->n] = l->homes;
	r = lint_exists(l, PRODUCT_PATHS, &(struct lint_globs){ in, g->n + 1 }, NULL, 0);
	return r == -E2BIG ? 0 : r;
}

int lint_width_of(struct lint *l, const struct lint_globs *g, enum lint_width *ret)
{
	int r;

	if (lint_takes_all_below(g, "")) {
		*ret = LINT_EVERYTHING;
		return 0;
	}
	r = reaches_home(l, g);
	if (r < 0)
		return r;
	*ret = r ? LINT_HOME : LINT_NARROW;
	return 0;
}
