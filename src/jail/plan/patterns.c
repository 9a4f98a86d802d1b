/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places from what was written. Whether a pattern allows or denies hardly matters here: it says
 * that answers may change at its path, and the policy will be asked what they are. Only true globs
 * are another matter. Those that allow reading were replaced by what they match before
 * (plan/globs.c); those that allow writing are refused; those that forbid are kept and checked at
 * the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "jail/plan/internal.h"

enum { FILE_OPERATIONS = 1 << OPERATION_FS_READ | 1 << OPERATION_FS_WRITE };

/* A list of patterns, and what it does. */
struct pattern_role {
	enum verdict verdict;
	bool write;
};

int plan_patterns_parse(
	struct planner *p, const char *text, const struct location *where, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(p->options->variables, text, &p->arena, &expanded, where, p->error);

	return r < 0 ? r : glob_parse(ret, &p->arena, expanded, where, p->error);
}

int plan_patterns_each(
	struct planner *p, const struct grant_list *list, plan_patterns_one *one, const void *data)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = one(p, g->all[k], &g->where, data);
	}
	return r;
}

static int plan_patterns_add_glob(
	struct planner *p, const struct plan_glob *g, const struct pattern_role *role)
{
	if (role->verdict != VERDICT_ALLOW)
		return ARENA_PUSH(&p->arena, p->globs, p->n_globs, p->cap_globs, *g);
	(void)error_set(p->error, -EOPNOTSUPP, g->where,
		"%s allows %sby a pattern: a mount holds a path or a folder, not a pattern",
		g->text, role->write ? "writing " : "");
	error_hint(p->error, "name the files, or a folder with all below it (DIR/**)");
	return -EOPNOTSUPP;
}

static int plan_patterns_add(
	struct planner *p, const char *text, const struct location *where, const void *role)
{
	struct glob g;
	int r = plan_patterns_parse(p, text, where, &g);

	for (size_t i = 0; r == 0 && i < g.n; i++) {
		const struct glob_alternative *alt = &g.alternatives[i];
		struct plan_place place = {
			.path = "/", .origin = PLAN_FROM_POLICY, .text = text, .where = where
		};

		if (alt->kind == GLOB_TRUE) {
			r = plan_patterns_add_glob(
				p, &(struct plan_glob){ alt, text, where }, role);
			continue;
		}
		if (alt->literal_len >= PATH_BYTES)
			continue;
		if (alt->literal_len)
			place.path = arena_strndup(&p->arena, alt->literal, alt->literal_len);
		r = place.path ? plan_add_place(p, place) : -ENOMEM;
	}
	return r;
}

static int plan_patterns_add_layer(struct planner *p, const struct permissions *from)
{
	const struct {
		const struct grant_list *list;
		struct pattern_role role;
	} rows[] = {
		{ &from->fs_read, { VERDICT_ALLOW, false } },
		{ &from->fs_write, { VERDICT_ALLOW, true } },
		{ &from->fs_deny, { VERDICT_DENY, true } },
		{ &from->dangerously_allow, { VERDICT_ALLOW, false } },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = plan_patterns_each(p, rows[i].list, plan_patterns_add, &rows[i].role);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];
		struct pattern_role role = { rule->action,
			rule->operations >> OPERATION_FS_WRITE & 1 };

		if (plan_is_about(rule, FILE_OPERATIONS))
			r = plan_patterns_each(p, &rule->patterns, plan_patterns_add, &role);
	}
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const struct guest_path *g = &from->guest_paths[i];
		struct pattern_role role = { VERDICT_ALLOW, g->writable };
		const char *text = arena_printf(&p->arena, "%s/**", g->host);

		r = text ? plan_patterns_add(p, text, &g->where, &role) : -ENOMEM;
	}
	return r;
}

static int plan_patterns_by_path(const void *a, const void *b)
{
	return plan_compare_paths(
		((const struct plan_place *)a)->path, ((const struct plan_place *)b)->path);
}

/* Layers often name the same places. */
static void plan_patterns_drop_duplicates(struct planner *p)
{
	size_t n = 0;

	qsort(p->places, p->n, sizeof(*p->places), plan_patterns_by_path);
	for (size_t i = 0; i < p->n; i++) {
		if (n == 0 || strcmp(p->places[n - 1].path, p->places[i].path) != 0)
			p->places[n++] = p->places[i];
	}
	p->n = n;
}

/* A name that no pattern has: the answer for it is the answer for all that nobody names. */
static int plan_patterns_choose_probe(struct planner *p)
{
	for (unsigned i = 0; i < 1000; i++) {
		size_t k = 0;

		(void)snprintf(p->probe, sizeof(p->probe), ".corral-\x01%u", i);
		while (k < p->n && !strstr(p->places[k].path, p->probe))
			k++;
		if (k == p->n)
			return 0;
	}
	return error_set(p->error, -E2BIG, NULL, "the policy names too much");
}

int plan_patterns_collect(struct planner *p)
{
	/* The root is always a place: a default may allow everything. */
	int r = plan_add_place(p, (struct plan_place){ .path = "/" });

	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_patterns_add_layer(p, p->layers[i]);
	if (r < 0)
		return r;
	plan_patterns_drop_duplicates(p);
	return plan_patterns_choose_probe(p);
}
