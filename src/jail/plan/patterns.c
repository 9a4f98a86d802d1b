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
struct role {
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

static int plan_patterns_refuse_glob(
	struct planner *p, const char *text, const struct location *where, const struct role *role)
{
	(void)error_set(p->error, -EOPNOTSUPP, where,
		"%s allows %sby a pattern: a mount holds a path or a folder, not a pattern", text,
		role->write ? "writing " : "");
	error_hint(p->error, "name the files, or a folder with all below it (DIR/**)");
	return -EOPNOTSUPP;
}

static int keep_glob(struct planner *p, const struct glob_alternative *alt, const char *text,
	const struct location *where)
{
	struct plan_glob g = { .alternative = alt, .text = text, .where = where };

	if (ARENA_PUSH(&p->arena, p->globs, p->n_globs, p->cap_globs, g) < 0)
		return plan_no_memory(p);
	return 0;
}

static int add_alternative(struct planner *p, const struct glob_alternative *alt, const char *text,
	const struct location *where, const struct role *role)
{
	struct plan_place place = { .origin = PLAN_FROM_POLICY, .text = text, .where = where };

	if (alt->kind == GLOB_TRUE)
		return role->verdict == VERDICT_ALLOW
			       ? plan_patterns_refuse_glob(p, text, where, role)
			       : keep_glob(p, alt, text, where);
	if (alt->literal_len >= PATH_BYTES)
		return 0;
	place.path =
		alt->literal_len ? arena_strndup(&p->arena, alt->literal, alt->literal_len) : "/";
	return place.path ? plan_add_place(p, place) : plan_no_memory(p);
}

static int add_pattern(
	struct planner *p, const char *text, const struct location *where, const struct role *role)
{
	struct glob g;
	int r = plan_patterns_parse(p, text, where, &g);

	for (size_t i = 0; r == 0 && i < g.n; i++)
		r = add_alternative(p, &g.alternatives[i], text, where, role);
	return r == -ENOMEM ? plan_no_memory(p) : r;
}

static int add_list(struct planner *p, const struct grant_list *list, const struct role *role)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = add_pattern(p, g->all[k], &g->where, role);
	}
	return r;
}

static int add_rules(struct planner *p, const struct permissions *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];
		struct role role = { rule->action, rule->operations >> OPERATION_FS_WRITE & 1 };

		if (!rule->disabled && rule->operations & FILE_OPERATIONS)
			r = add_list(p, &rule->patterns, &role);
	}
	return r;
}

static int add_guest_paths(struct planner *p, const struct permissions *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const struct guest_path *g = &from->guest_paths[i];
		struct role role = { VERDICT_ALLOW, g->writable };
		const char *text = arena_printf(&p->arena, "%s/**", g->host);

		r = text ? add_pattern(p, text, &g->where, &role) : plan_no_memory(p);
	}
	return r;
}

static int add_layer(struct planner *p, const struct permissions *from)
{
	const struct {
		const struct grant_list *list;
		struct role role;
	} rows[] = {
		{ &from->fs_read, { VERDICT_ALLOW, false } },
		{ &from->fs_write, { VERDICT_ALLOW, true } },
		{ &from->fs_deny, { VERDICT_DENY, true } },
		{ &from->dangerously_allow, { VERDICT_ALLOW, false } },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = add_list(p, rows[i].list, &rows[i].role);
	if (r == 0)
		r = add_rules(p, from);
	return r < 0 ? r : add_guest_paths(p, from);
}

/* A name that no pattern has: the answer for it is the answer for all that nobody names. */
static bool is_taken(const struct planner *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strstr(p->places[i].path, name))
			return true;
	}
	return false;
}

static int choose_probe(struct planner *p)
{
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(p->probe, sizeof(p->probe), ".corral-\x01%u", i);
		if (!is_taken(p, p->probe))
			return 0;
	}
	return error_set(p->error, -E2BIG, NULL, "the policy names too much");
}

static int plan_patterns_by_path(const void *a, const void *b)
{
	return plan_compare_paths(
		((const struct plan_place *)a)->path, ((const struct plan_place *)b)->path);
}

/* Layers often name the same places. */
static void drop_duplicates(struct planner *p)
{
	size_t n = 0;

	qsort(p->places, p->n, sizeof(*p->places), plan_patterns_by_path);
	for (size_t i = 0; i < p->n; i++) {
		if (n == 0 || strcmp(p->places[n - 1].path, p->places[i].path) != 0)
			p->places[n++] = p->places[i];
	}
	p->n = n;
}

int plan_patterns_collect(struct planner *p)
{
	/* The root is always a place: a default may allow everything. */
	int r = plan_add_place(p, (struct plan_place){ .path = "/" });

	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = add_layer(p, p->layers[i]);
	if (r < 0)
		return r;
	drop_duplicates(p);
	return choose_probe(p);
}
