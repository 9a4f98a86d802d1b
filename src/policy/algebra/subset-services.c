/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: for every service that one side names, each way of access, without a value, with every
 * value that one side names, and with a fresh one. Wildcards in values have no finite set of
 * classes; they are compared as the words they are, and anything more is too complex.
 */
#include <errno.h>
#include <string.h>

#include "policy/match/service.h"
#include "policy/algebra/internal.h"

/* Each try goes through all rules. */
enum { TRIES_TIMES_RULES_MAX = 1 << 21 };

struct words {
	struct arena arena;
	const char **names, **values;
	size_t n_names, cap_names, n_values, cap_values, n_rules;
	bool wild, several;
};

static int subset_services_add_word(
	struct arena *a, const char ***words, size_t *n, size_t *cap, const char *word)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp((*words)[i], word) == 0)
			return 0;
	}
	return ARENA_PUSH(a, *words, *n, *cap, word);
}

static int subset_services_add_value(struct words *w, const char *value)
{
	w->wild |= strpbrk(value, "*?") != NULL;
	return subset_services_add_word(&w->arena, &w->values, &w->n_values, &w->cap_values, value);
}

static int subset_services_add_service(struct words *w, const struct service *s)
{
	int r = subset_services_add_word(&w->arena, &w->names, &w->n_names, &w->cap_names, s->name);

	w->several |= s->n_scopes > 1;
	for (size_t i = 0; r == 0 && i < s->n_scopes; i++) {
		const struct grant_list *values = &s->scopes[i].values;

		for (size_t k = 0; r == 0 && k < values->n; k++) {
			w->several |= values->items[k].n > 1;
			r = subset_services_add_value(w, values->items[k].all[0]);
		}
	}
	return r;
}

/* A rule's pattern: its service, and its value if it has one. */
static int subset_services_add_rule(struct words *w, const struct grant *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct service_request p;
		const char *name;
		int r;

		/* "*" is every service, and none is called so. */
		if (strcmp(g->all[i], "*") == 0 || service_request_parse(&p, g->all[i]) < 0)
			continue;
		name = arena_strndup(&w->arena, p.name, p.name_len);
		r = name ? subset_services_add_word(
				   &w->arena, &w->names, &w->n_names, &w->cap_names, name)
			 : -ENOMEM;
		if (r == 0 && p.value)
			r = subset_services_add_value(w, p.value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int subset_services_add_side(struct words *w, const struct subset_side *side)
{
	int r = 0;

	for (size_t l = 0; r == 0 && l < side->n; l++) {
		const struct layer *layer = policy_layer(side->policy, l);
		const struct sources *rules = &layer->sources[OPERATION_SERVICE];

		w->n_rules += rules->n + layer->n_services;
		for (size_t i = 0; r == 0 && i < layer->n_services; i++)
			r = subset_services_add_service(w, &layer->services[i]);
		for (size_t i = 0; r == 0 && i < rules->n; i++)
			r = subset_services_add_rule(w, rules->items[i].grant);
	}
	return r;
}

static int subset_services_try_one(struct subset_compare *c, struct words *w, const char *name,
	const char *access, const char *value)
{
	const char *target = arena_printf(
		&w->arena, "%s.%s%s%s", name, access, value ? ":" : "", value ? value : "");
	struct request r = { .op = OPERATION_SERVICE, .target = target };

	return target ? subset_try(c, &r) : -ENOMEM;
}

static int try_service(struct subset_compare *c, struct words *w, const char *name)
{
	for (unsigned left = SERVICE_ALL; left; left &= left - 1) {
		const char *access = service_access_name(left & -left);
		int r = subset_services_try_one(c, w, name, access, NULL);

		for (size_t v = 0; r == 0 && v < w->n_values; v++)
			r = subset_services_try_one(c, w, name, access, w->values[v]);
		if (r)
			return r;
	}
	return 0;
}

static int subset_services_compare(struct subset_compare *c, struct words *w)
{
	int r = subset_services_add_side(w, &c->a);

	if (r == 0)
		r = subset_services_add_side(w, &c->b);
	if (r == 0)
		r = subset_services_add_word(
			&w->arena, &w->names, &w->n_names, &w->cap_names, c->fresh);
	if (r == 0)
		r = subset_services_add_word(
			&w->arena, &w->values, &w->n_values, &w->cap_values, c->fresh);
	if (r == 0 && w->n_names * w->n_values > TRIES_TIMES_RULES_MAX / (w->n_rules + 1))
		return -E2BIG;
	for (size_t i = 0; r == 0 && i < w->n_names; i++)
		r = try_service(c, w, w->names[i]);
	return r == 0 && (w->wild || w->several) ? -E2BIG : r;
}

int subset_services(struct subset_compare *c, enum operation op)
{
	struct words w = { 0 };
	int r = subset_services_compare(c, &w);

	(void)op;
	if (r == -E2BIG)
		r = subset_too_complex(c, "services with wildcards or several scopes");
	arena_deinit(&w.arena);
	return r;
}
