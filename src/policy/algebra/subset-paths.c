/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as automata, and the search for a path that A allows and B does not. */
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

static enum verdict subset_paths_strictest(
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

	return subset_paths_strictest(m->items, ranks, m->n_a) >
	       subset_paths_strictest(m->items + m->n_a, ranks + m->n_a, m->n - m->n_a);
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

/* Where nothing matches, and where monitoring lets all pass. */
static enum verdict fallback_of(const struct layer *l)
{
	return l->mode == MODE_ENFORCE ? l->fallback : VERDICT_ALLOW;
}

static int subset_paths_add_layer(struct subset_machines *m, const struct subset_compare *c,
	const struct layer *l, enum operation op)
{
	const struct sources *s = &l->sources[op];
	struct subset_machine *machine = subset_machine_new(m, s->n, fallback_of(l));
	int r = machine ? 0 : -ENOMEM;

	/* A layer that only watches lets everything pass: no pattern matters. */
	for (size_t i = 0; r == 0 && l->mode != MODE_MONITOR && i < s->n; i++)
		r = subset_machine_add(
			m, machine, c->vars, s->items[i].grant, (uint32_t)i, s->items[i].verdict);
	return r;
}

static int subset_paths_add_side(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, enum operation op)
{
	for (size_t i = 0; i < side->n; i++) {
		int r = subset_paths_add_layer(m, c, policy_layer(side->policy, i), op);

		if (r < 0)
			return r;
	}
	return 0;
}

static int subset_paths_compare_files(struct subset_compare *c, enum operation op)
{
	auto_subset_machines m = { 0 };
	auto_buffer witness = { 0 };
	int r = subset_paths_add_side(&m, c, &c->a, op);

	m.n_a = m.n;
	if (r == 0)
		r = subset_paths_add_side(&m, c, &c->b, op);
	if (r == 0)
		r = subset_machines_search(c, &m, PRODUCT_PATHS, &witness);
	if (r == -E2BIG)
		return subset_too_complex(c, operation_name(op));
	return r <= 0 ? r : subset_found(c, operation_name(op), buffer_text(&witness));
}

/* dangerously_allow: a plain list, denied where it says nothing. */
static int add_dangerous(
	struct subset_machines *m, const struct subset_compare *c, const struct subset_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct grant_list *list = &side->layers[i]->dangerously_allow;
		struct subset_machine *machine = subset_machine_new(m, list->n, VERDICT_DENY);
		int r = machine ? 0 : -ENOMEM;

		for (size_t k = 0; r == 0 && k < list->n; k++)
			r = subset_machine_add(
				m, machine, c->vars, &list->items[k], (uint32_t)k, VERDICT_ALLOW);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_dangerous(struct subset_compare *c)
{
	auto_subset_machines m = { 0 };
	auto_buffer witness = { 0 };
	int r = add_dangerous(&m, c, &c->a);

	m.n_a = m.n;
	if (r == 0)
		r = add_dangerous(&m, c, &c->b);
	if (r == 0)
		r = subset_machines_search(c, &m, PRODUCT_PATHS, &witness);
	if (r == -E2BIG)
		return subset_too_complex(c, "dangerously_allow");
	return r <= 0 ? r : subset_found(c, "dangerously_allow", buffer_text(&witness));
}

int subset_files(struct subset_compare *c, enum operation op)
{
	int r = subset_paths_compare_files(c, op);

	return r == 0 && op == OPERATION_FS_WRITE ? compare_dangerous(c) : r;
}
