/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts: of a side's layers the narrowest counts, so A is within B if it is within each layer of
 * B. */
#include <errno.h>
#include <string.h>

#include "policy/algebra/internal.h"
#include "policy/service-table.h"

typedef uint64_t amount_fn(const struct permissions *p, int which);

static uint64_t subset_limits_limit_of(const struct permissions *p, int which)
{
	return p->limits.values[which];
}

static uint64_t network_limit_of(const struct permissions *p, int which)
{
	return which == 0 ? p->network.max_bytes : p->network.max_request_size;
}

static uint64_t subset_limits_least(const struct subset_side *side, amount_fn *of, int which)
{
	uint64_t value = LIMIT_NONE;

	for (size_t i = 0; i < side->n; i++) {
		uint64_t one = of(side->layers[i], which);

		value = one < value ? one : value;
	}
	return value;
}

static int compare_amount(
	struct subset_compare *c, const char *what, const char *name, amount_fn *of, int which)
{
	uint64_t a = subset_limits_least(&c->a, of, which),
		 b = subset_limits_least(&c->b, of, which);
	auto_buffer text = { 0 };

	if (a <= b)
		return 0;
	if (a == LIMIT_NONE)
		buffer_printf(&text, "%s has no limit", name);
	else
		buffer_printf(&text, "%s %llu is more than %llu", name, (unsigned long long)a,
			(unsigned long long)b);
	return subset_found(c, what, buffer_text(&text));
}

/* Everything that rate a lets through in one of b's windows, b does. */
static bool rate_within(const struct rate *a, const struct rate *b)
{
	__uint128_t windows;

	if (b->count == 0)
		return true;
	if (a->count == 0 || a->seconds == 0)
		return false;
	windows = ((__uint128_t)b->seconds + a->seconds - 1) / a->seconds;
	return windows * a->count <= b->count;
}

static bool side_within(const struct subset_side *a, const struct rate *b)
{
	for (size_t i = 0; i < a->n; i++) {
		if (rate_within(&a->layers[i]->network.rate, b))
			return true;
	}
	return false;
}

/* Several rates together are not compared. */
static bool has_rates(const struct subset_side *side)
{
	size_t n = 0;

	for (size_t i = 0; i < side->n; i++)
		n += side->layers[i]->network.rate.count > 0;
	return n > 1;
}

static int compare_rates(struct subset_compare *c)
{
	for (size_t i = 0; i < c->b.n; i++) {
		const struct rate *b = &c->b.layers[i]->network.rate;
		auto_buffer text = { 0 };

		if (side_within(&c->a, b))
			continue;
		if (has_rates(&c->a))
			return subset_too_complex(c, "several rate limits");
		buffer_printf(&text, "rate_limit is more than %llu in %llu s",
			(unsigned long long)b->count, (unsigned long long)b->seconds);
		return subset_found(c, "network", buffer_text(&text));
	}
	return 0;
}

/* No list means all methods. */
static bool has_method(const struct permissions *p, const char *method)
{
	for (size_t i = 0; i < p->network.methods.n; i++) {
		if (strcmp(p->network.methods.items[i].all[0], method) == 0)
			return true;
	}
	return p->network.methods.n == 0;
}

static bool all_have_method(const struct subset_side *side, const char *method)
{
	for (size_t i = 0; i < side->n; i++) {
		if (!has_method(side->layers[i], method))
			return false;
	}
	return true;
}

static int try_method(struct subset_compare *c, const char *method)
{
	if (!all_have_method(&c->a, method) || all_have_method(&c->b, method))
		return 0;
	return subset_found(c, "network.methods", method);
}

static int compare_methods(struct subset_compare *c)
{
	int r = try_method(c, "any other");

	for (size_t i = 0; i < c->a.n; i++) {
		const struct grant_list *methods = &c->a.layers[i]->network.methods;

		for (size_t k = 0; r == 0 && k < methods->n; k++)
			r = try_method(c, methods->items[k].all[0]);
	}
	return r;
}

static bool has_net_rules(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled && p->rules[i].operations >> OPERATION_NET_CONNECT & 1)
			return true;
	}
	return false;
}

/* Limits of what one may not do at all are no matter. */
static bool has_network(const struct subset_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct permissions *p = side->layers[i];

		if (!p->network_allow.n && !has_net_rules(p) && p->fallback == VERDICT_DENY &&
			p->mode == MODE_ENFORCE)
			return false;
	}
	return true;
}

static int compare_network(struct subset_compare *c)
{
	int r;

	if (!has_network(&c->a))
		return 0;
	r = compare_amount(c, "network", "max_bytes", network_limit_of, 0);
	if (r == 0)
		r = compare_amount(c, "network", "max_request_size", network_limit_of, 1);
	if (r == 0)
		r = compare_rates(c);
	return r == 0 ? compare_methods(c) : r;
}

/* The least bound of a service in B's layer; 0: none. */
static uint64_t least_bound(
	const struct permissions *p, const char *name, const struct service_scope_row *scope)
{
	uint64_t least = 0;

	for (size_t i = 0; i < p->n_services; i++) {
		uint64_t bound = *service_bound(&p->services[i], scope);

		if (strcmp(p->services[i].name, name) == 0 && bound && (!least || bound < least))
			least = bound;
	}
	return least;
}

/* All that a layer grants of a service lies within the bound. */
static bool within_bound(const struct permissions *p, const char *name,
	const struct service_scope_row *scope, uint64_t bound)
{
	for (size_t i = 0; i < p->n_services; i++) {
		const struct service *s = &p->services[i];
		uint64_t own = *service_bound(s, scope);

		if (strcmp(s->name, name) == 0 && s->access != SERVICE_NONE &&
			(!own || own > bound))
			return false;
	}
	return true;
}

/* Which of several entries a request would use is not looked into: in doubt it is too complex. */
static int compare_bounds(struct subset_compare *c, const struct service_row *row)
{
	for (size_t i = 0; row->scopes[i].key; i++) {
		const struct service_scope_row *scope = &row->scopes[i];

		for (size_t l = 0; !scope->spell && l < c->b.n; l++) {
			uint64_t bound = least_bound(c->b.layers[l], row->name, scope);
			size_t k = 0;

			while (bound && k < c->a.n &&
				!within_bound(c->a.layers[k], row->name, scope, bound))
				k++;
			if (bound && k == c->a.n)
				return subset_too_complex(c, "ranges of services");
		}
	}
	return 0;
}

int subset_limits(struct subset_compare *c)
{
	int r = 0;

	for (int l = 0; r == 0 && l < LIMIT_COUNT; l++)
		r = compare_amount(
			c, "limits", limit_name((enum limit)l), subset_limits_limit_of, l);
	if (r == 0)
		r = compare_network(c);
	for (size_t i = 0; r == 0 && i < SERVICE_COUNT; i++)
		r = compare_bounds(c, &service_rows[i]);
	return r;
}
