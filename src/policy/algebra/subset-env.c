/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment: names as automata over one component, assignments one by one. */
#include <errno.h>
#include <string.h>

#include "policy/algebra/internal.h"

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

static int subset_env_add_layer(struct subset_machines *m, const struct layer *l)
{
	const struct sources *s = &l->sources[OPERATION_ENV];
	struct subset_machine *machine =
		subset_machine_new(m, s->n, l->mode == MODE_ENFORCE ? l->fallback : VERDICT_ALLOW);
	int r = machine ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && l->mode != MODE_MONITOR && i < s->n; i++) {
		struct grant names;

		r = entry_names(m, s->items[i].grant, &names);
		if (r == 0 && names.n)
			r = subset_machine_add(
				m, machine, NULL, &names, (uint32_t)i, s->items[i].verdict);
	}
	return r;
}

static int subset_env_compare_names(struct subset_compare *c)
{
	auto_subset_machines m = { 0 };
	auto_buffer witness = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->a.n; i++)
		r = subset_env_add_layer(&m, policy_layer(c->a.policy, i));
	m.n_a = m.n;
	for (size_t i = 0; r == 0 && i < c->b.n; i++)
		r = subset_env_add_layer(&m, policy_layer(c->b.policy, i));
	if (r == 0)
		r = subset_machines_search(c, &m, PRODUCT_NAMES, &witness);
	if (r == -E2BIG)
		return subset_too_complex(c, "env");
	return r <= 0 ? r : subset_found(c, "env", buffer_text(&witness) + 1);
}

/* Every assignment that a side mentions: B may forbid one that A allows by its name. */
static int try_assignments(struct subset_compare *c, const struct layer *l)
{
	const struct sources *s = &l->sources[OPERATION_ENV];
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		const struct grant *g = s->items[i].grant;

		for (size_t k = 0; r == 0 && k < g->n; k++) {
			struct request q = { .op = OPERATION_ENV, .target = g->all[k] };

			r = strchr(q.target, '=') ? subset_try(c, &q) : 0;
		}
	}
	return r;
}

int subset_env(struct subset_compare *c, enum operation op)
{
	int r = subset_env_compare_names(c);

	(void)op;
	for (size_t i = 0; r == 0 && i < c->a.n; i++)
		r = try_assignments(c, policy_layer(c->a.policy, i));
	for (size_t i = 0; r == 0 && i < c->b.n; i++)
		r = try_assignments(c, policy_layer(c->b.policy, i));
	return r;
}
