/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers as automata, and the search for a path that A allows and B does not. Names of variables
 * are paths of one component; assignments are tried one by one.
 */
#include <errno.h>
#include <string.h>

#include "policy/algebra/internal.h"

void subset_machines_deinit(struct subset_machines *m)
{
	for (size_t i = 0; i < m->n; i++)
		automaton_free(m->items[i].automaton);
	arena_deinit(&m->arena);
	*m = (struct subset_machines){ 0 };
}

struct subset_machine *subset_machine_new(struct subset_machines *m, size_t max, enum verdict none)
{
	struct subset_machine *new = &m->items[m->n];

	*new = (struct subset_machine){ .none = none };
	new->verdicts = arena_calloc(&m->arena, max + 1, sizeof(*new->verdicts));
	new->automaton = automaton_new();
	if (!new->verdicts || !new->automaton) {
		automaton_free(new->automaton);
		return NULL;
	}
	m->automata[m->n++] = new->automaton;
	return new;
}

int subset_machine_add(struct subset_machines *m, struct subset_machine *to,
	const struct variables *vars, const struct grant *g, uint32_t rank, enum verdict verdict)
{
	struct glob *globs = arena_calloc(&m->arena, g->n, sizeof(*globs));
	int r = globs ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < g->n; i++) {
		const char *text;

		r = variable_expand(vars, g->all[i], &m->arena, &text, NULL, NULL);
		if (r == 0)
			r = glob_parse(&globs[i], &m->arena, text, NULL, NULL);
	}
	if (r < 0)
		return r;
	to->verdicts[rank] = verdict;
	return automaton_add_all(to->automaton, globs, g->n, rank);
}

static enum verdict machines_strictest(
	const struct subset_machine *m, const uint32_t *ranks, size_t n)
{
	enum verdict v = n ? VERDICT_ALLOW : VERDICT_DENY;

	for (size_t i = 0; i < n; i++)
		v = verdict_strictest(
			v, ranks[i] == RANK_NONE ? m[i].none : m[i].verdicts[ranks[i]]);
	return v;
}

static int a_allows_more(void *data, const uint32_t *ranks)
{
	const struct subset_machines *m = data;

	return machines_strictest(m->items, ranks, m->n_a) >
	       machines_strictest(m->items + m->n_a, ranks + m->n_a, m->n - m->n_a);
}

int subset_machines_search(struct subset_compare *c, struct subset_machines *m,
	enum product_domain domain, struct buffer *witness)
{
	/* A combination of many states costs more than one of two. */
	size_t max = 2 * (size_t)SUBSET_STATES_MAX / (m->n ? m->n : 1);

	for (size_t i = 0; i < m->n; i++) {
		int r;

		automaton_charge(m->automata[i], &c->budget);
		r = automaton_build(m->automata[i], SUBSET_STATES_MAX);
		if (r < 0)
			return r;
	}
	return product_search(m->automata, m->n, domain, max, a_allows_more, m, witness);
}

int subset_search(struct subset_compare *c, subset_fill *fill, const void *how,
	enum product_domain domain, struct buffer *witness)
{
	auto_subset_machines m = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->a.n; i++)
		r = fill(&m, c, &c->a, i, how);
	m.n_a = m.n;
	for (size_t i = 0; r == 0 && i < c->b.n; i++)
		r = fill(&m, c, &c->b, i, how);
	return r == 0 ? subset_machines_search(c, &m, domain, witness) : r;
}

enum verdict subset_fallback(const struct layer *l)
{
	return l->mode == MODE_ENFORCE ? l->fallback : VERDICT_ALLOW;
}

/* Files */

static int fill_files(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, size_t layer, const void *how)
{
	const struct layer *l = policy_layer(side->policy, layer);
	const struct sources *s = &l->sources[*(const enum operation *)how];
	struct subset_machine *machine = subset_machine_new(m, s->n, subset_fallback(l));
	int r = machine ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && l->mode != MODE_MONITOR && i < s->n; i++)
		r = subset_machine_add(m, machine, c->vars, s->items[i].grant, (uint32_t)i,
			s->items[i].in->verdict);
	return r;
}

/* dangerously_allow: a plain list, denied where it says nothing. */
static int fill_dangerous(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, size_t layer, const void *how)
{
	const struct grant_list *list = &side->layers[layer]->dangerously_allow;
	struct subset_machine *machine = subset_machine_new(m, list->n, VERDICT_DENY);
	int r = machine ? 0 : -ENOMEM;

	(void)how;
	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = subset_machine_add(
			m, machine, c->vars, &list->items[i], (uint32_t)i, VERDICT_ALLOW);
	return r;
}

static int subset_texts(struct subset_compare *c, const char *what, subset_fill *fill,
	const void *how, enum product_domain domain)
{
	auto_buffer witness = { 0 };
	int r = subset_search(c, fill, how, domain, &witness);

	if (r == -E2BIG)
		return subset_too_complex(c, what);
	/* A name is found as "/NAME". */
	return r <= 0 ? r
		      : subset_found(c, what, buffer_text(&witness) + (domain == PRODUCT_NAMES));
}

int subset_files(struct subset_compare *c, enum operation op)
{
	int r = subset_texts(c, operation_name(op), fill_files, &op, PRODUCT_PATHS);

	if (r == 0 && op == OPERATION_FS_WRITE)
		r = subset_texts(c, "dangerously_allow", fill_dangerous, NULL, PRODUCT_PATHS);
	return r;
}

/* Names: variables of the environment */

/* The names of an entry as paths; n is 0 if it sets a value. */
static int entry_names(struct subset_machines *m, const struct grant *g, struct grant *ret)
{
	const char **names = arena_calloc(&m->arena, g->n, sizeof(*names));

	*ret = (struct grant){ .all = names };
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		if (strchr(g->all[i], '=')) {
			ret->n = 0;
			return 0;
		}
		names[i] = arena_printf(&m->arena, "/%s", g->all[i]);
		if (!names[i])
			return -ENOMEM;
		ret->n++;
	}
	return 0;
}

static int fill_names(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, size_t layer, const void *how)
{
	const struct layer *l = policy_layer(side->policy, layer);
	const struct sources *s = &l->sources[*(const enum operation *)how];
	struct subset_machine *machine = subset_machine_new(m, s->n, subset_fallback(l));
	int r = machine ? 0 : -ENOMEM;

	(void)c;
	for (size_t i = 0; r == 0 && l->mode != MODE_MONITOR && i < s->n; i++) {
		struct grant names;

		r = entry_names(m, s->items[i].grant, &names);
		if (r == 0 && names.n)
			r = subset_machine_add(
				m, machine, NULL, &names, (uint32_t)i, s->items[i].in->verdict);
	}
	return r;
}

struct assignments {
	struct subset_compare *compare;
	enum operation op;
};

/* Every assignment that a side mentions: B may forbid one that A allows by its name. */
static int try_assignments(void *data, const struct source *s)
{
	const struct assignments *t = data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->grant->n; i++) {
		struct request q = { .op = t->op, .target = s->grant->all[i] };

		r = strchr(q.target, '=') ? subset_try(t->compare, &q) : 0;
	}
	return r;
}

int subset_names(struct subset_compare *c, enum operation op)
{
	struct assignments tries = { c, op };
	int r = subset_texts(c, operation_name(op), fill_names, &op, PRODUCT_NAMES);

	return r == 0 ? subset_each_source(c, op, try_assignments, &tries) : r;
}
