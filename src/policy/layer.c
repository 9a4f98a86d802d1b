/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling happens in two passes over the same entries in the same order. The first makes the list
 * of sources, strongest first; the second (compiler.c) puts each source's patterns into the set
 * that matches its operation, under its place in that list.
 */
#include "policy/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/compiler.h"

/* Sources, strongest first */

static int layer_add_source(struct compiler *c, enum operation op, struct source s)
{
	struct sources *list = &c->layer->sources[op];

	s.text = s.grant->all[0];
	s.where = s.grant->where;
	return ARENA_PUSH(c->arena, list->items, list->n, list->cap, s);
}

static int layer_by_strength(const void *x, const void *y)
{
	return rule_compare(*(const struct rule *const *)x, *(const struct rule *const *)y);
}

static int collect_rule(struct compiler *c, const struct rule *rule)
{
	for (int op = 0; op < OPERATION_COUNT; op++) {
		if (!(rule->operations >> op & 1))
			continue;
		for (size_t i = 0; i < rule->patterns.n; i++) {
			struct source s = {
				.verdict = rule->action,
				.list = "rules",
				.id = rule->id,
				.grant = &rule->patterns.items[i],
				.methods = &rule->methods,
			};
			int r = layer_add_source(c, (enum operation)op, s);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int collect_rules(struct compiler *c)
{
	size_t n = c->from->n_rules;
	const struct rule **sorted = arena_calloc(c->arena, n + 1, sizeof(const struct rule *));
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		sorted[i] = &c->from->rules[i];
	if (r == 0 && n)
		qsort(sorted, n, sizeof(const struct rule *), layer_by_strength);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!sorted[i]->disabled)
			r = collect_rule(c, sorted[i]);
	}
	return r;
}

/* A guest path grants its folder on the host, as fs.read and fs.write do. */
static int collect_guest_paths(struct compiler *c)
{
	for (size_t i = 0; i < c->from->n_guest_paths; i++) {
		const struct guest_path *g = &c->from->guest_paths[i];
		struct grant *grant = arena_alloc(c->arena, sizeof(*grant));
		const char **text = arena_alloc(c->arena, sizeof(*text));
		struct source s = { .verdict = VERDICT_ALLOW, .list = "guest_paths" };
		int r;

		if (!grant || !text)
			return -ENOMEM;
		*text = arena_printf(c->arena, "%s/**", g->host);
		if (!*text)
			return -ENOMEM;
		*grant = (struct grant){ .all = text, .n = 1, .where = g->where };
		s.grant = grant;
		r = layer_add_source(c, OPERATION_FS_READ, s);
		if (r == 0 && g->writable)
			r = layer_add_source(c, OPERATION_FS_WRITE, s);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The lists that say `verdict`, in the order of list_rows, for each operation that they decide. */
static int collect_lists(struct compiler *c, enum verdict verdict)
{
	int r = 0;

	for (int which = 0; which < LIST_COUNT; which++) {
		const struct list_row *row = &list_rows[which];
		const struct grant_list *grants = permissions_list(c->from, which);

		for (int op = 0; row->verdict == verdict && op < OPERATION_COUNT; op++) {
			for (size_t i = 0; r == 0 && row->decides >> op & 1 && i < grants->n; i++) {
				struct source s = {
					.verdict = verdict,
					.list = row->name,
					.grant = &grants->items[i],
				};

				r = layer_add_source(c, (enum operation)op, s);
			}
		}
	}
	return r;
}

/* Sets */

static int layer_add_sources(struct compiler *c)
{
	const struct grant_list *dangerous = &c->from->dangerously_allow;
	int r = 0;

	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++) {
		struct sources *s = &c->layer->sources[op];
		uint8_t *verdicts = arena_alloc(c->arena, s->n + 1);

		if (!verdicts)
			return -ENOMEM;
		for (size_t i = 0; i < s->n; i++)
			verdicts[i] = (uint8_t)s->items[i].verdict;
		s->verdicts = verdicts;
		for (size_t i = 0; r == 0 && operation_rows[op].compile && i < s->n; i++)
			r = operation_rows[op].compile(c, (enum operation)op, (uint32_t)i);
	}
	for (size_t i = 0; r == 0 && i < dangerous->n; i++)
		r = compiler_add_dangerous(c, &dangerous->items[i]);
	return r;
}

/* The sets of a layer, for making, building and freeing them alike. */
static const size_t path_sets[] = {
	offsetof(struct layer, paths[0]),
	offsetof(struct layer, paths[1]),
	offsetof(struct layer, dangerous),
	offsetof(struct layer, commands),
	offsetof(struct layer, programs),
	offsetof(struct layer, names),
	offsetof(struct layer, values),
};

static struct pathset **layer_set(struct layer *l, size_t i)
{
	return (void *)((char *)l + path_sets[i]);
}

static int make_sets(struct layer *l)
{
	for (size_t i = 0; i < ROWS(path_sets); i++) {
		*layer_set(l, i) = pathset_new();
		if (!*layer_set(l, i))
			return -ENOMEM;
	}
	l->hosts = hostset_new();
	l->forbidden = hostset_new();
	return l->hosts && l->forbidden ? 0 : -ENOMEM;
}

static int build_sets(struct layer *l, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(path_sets); i++)
		r = pathset_build(*layer_set(l, i), e);
	if (r == 0)
		r = hostset_build(l->hosts);
	return r == 0 ? hostset_build(l->forbidden) : r;
}

void layer_deinit(struct layer *l)
{
	for (size_t i = 0; i < ROWS(path_sets); i++)
		pathset_free(*layer_set(l, i));
	hostset_free(l->hosts);
	hostset_free(l->forbidden);
	*l = (struct layer){ 0 };
}

int layer_compile(struct layer *l, struct arena *a, const struct permissions *p,
	const struct variables *vars, const struct resolver *resolver, struct error *e)
{
	struct compiler c = { l, a, p, vars, resolver, e };
	int r;

	*l = (struct layer){
		.origin = p->origin,
		.fallback = p->fallback,
		.mode = p->mode,
		.exec_listed = p->exec_listed,
		.services = p->services,
		.n_services = p->n_services,
		.any_file = RANK_NONE,
		.limits = p->limits,
		.network = p->network,
	};
	r = make_sets(l);
	if (r == 0)
		r = collect_lists(&c, VERDICT_DENY);
	l->n_denied_paths = l->sources[OPERATION_FS_READ].n;
	if (r == 0)
		r = collect_rules(&c);
	if (r == 0)
		r = collect_lists(&c, VERDICT_ALLOW);
	if (r == 0)
		r = collect_guest_paths(&c);
	if (r == 0)
		r = layer_add_sources(&c);
	if (r == 0)
		r = build_sets(l, e);
	if (r < 0)
		layer_deinit(l);
	return r;
}
