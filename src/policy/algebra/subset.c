/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and names of variables are compared by automata (subset-files.c): the product of all layers
 * of both sides is searched for a state where A allows more than B. Hosts, services and words of
 * commands are compared by trying one representative of each class of targets that no pattern tells
 * apart (subset-representatives.c, subset-commands.c).
 *
 * Amounts: of a side's layers the narrowest counts, so A is within B if it is within each layer of
 * B.
 */
#include "policy/algebra/subset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/algebra/internal.h"
#include "policy/service-table.h"

int subset_found(struct subset_compare *c, const char *what, const char *witness)
{
	c->result->answer = SUBSET_NO;
	c->result->what = what;
	buffer_clear(&c->result->witness);
	buffer_adds(&c->result->witness, witness);
	return 1;
}

int subset_too_complex(struct subset_compare *c, const char *what)
{
	c->result->answer = SUBSET_TOO_COMPLEX;
	buffer_clear(&c->result->reason);
	buffer_adds(&c->result->reason, what);
	return 1;
}

/* The verdict of all layers of a side together; negative: the target is malformed. */
static int subset_decide(const struct subset_side *side, const struct request *r)
{
	enum verdict v = side->n ? VERDICT_ALLOW : VERDICT_DENY;

	for (size_t i = 0; i < side->n; i++) {
		struct decision d;
		int err = policy_decide_layer(side->policy, i, r, &d);

		if (err < 0)
			return err;
		v = verdict_strictest(v, d.verdict);
	}
	return (int)v;
}

int subset_try(struct subset_compare *c, const struct request *r)
{
	int a = subset_decide(&c->a, r), b = subset_decide(&c->b, r);

	if (a == -ENOMEM || b == -ENOMEM)
		return -ENOMEM;
	if (a < 0 || b < 0)
		return subset_too_complex(c, operation_name(r->op));
	return a <= b ? 0
		      : subset_found(c,
				r->to_private ? list_rows[LIST_NETWORK_PRIVATE].name
					      : operation_name(r->op),
				r->target);
}

static int subset_try_secret(void *data, const struct source *s)
{
	struct subset_compare *c = data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->grant->n; i++)
		r = subset_try(
			c, &(struct request){ .op = OPERATION_SECRET, .target = s->grant->all[i] });
	return r;
}

/* There are no patterns, and no default counts: what a side allows, it has written. */
int subset_secrets(struct subset_compare *c, enum operation op)
{
	return subset_each_source(c, op, subset_try_secret, c);
}

int subset_each_source(const struct subset_compare *c, enum operation op,
	int (*visit)(void *data, const struct source *s), void *data)
{
	const struct subset_side *const sides[] = { &c->a, &c->b };
	int r = 0;

	for (size_t k = 0; k < 2; k++) {
		for (size_t l = 0; l < sides[k]->n; l++) {
			const struct sources *s = &policy_layer(sides[k]->policy, l)->sources[op];

			for (size_t i = 0; r == 0 && i < s->n; i++)
				r = visit(data, &s->items[i]);
		}
	}
	return r;
}

/* A fresh word */

static bool list_mentions(const struct grant_list *list, const char *word)
{
	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; k < list->items[i].n; k++) {
			if (strcasestr(list->items[i].all[k], word))
				return true;
		}
	}
	return false;
}

static bool side_mentions(const struct subset_side *side, const char *word)
{
	bool found = false;

	for (size_t l = 0; l < side->n; l++) {
		const struct permissions *p = side->layers[l];

		for (int i = 0; i < LIST_COUNT; i++)
			found = found || list_mentions(permissions_list(p, i), word);
		for (size_t i = 0; i < p->n_rules; i++)
			found = found || list_mentions(&p->rules[i].patterns, word);
		for (size_t i = 0; !found && i < p->n_services; i++) {
			const struct service *s = &p->services[i];

			found = strcasestr(s->name, word) != NULL;
			for (size_t k = 0; k < s->n_scopes; k++)
				found = found || list_mentions(&s->scopes[k].values, word);
		}
	}
	return found;
}

/*
 * Who writes A must not be able to guess the word that stands for all others: a denial of just that
 * word would hide everything else. So it is one that no pattern holds, not even as a part.
 */
static int choose_fresh(struct subset_compare *c)
{
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(c->fresh, sizeof(c->fresh), "corral-witness%.0u", i);
		if (!side_mentions(&c->a, c->fresh) && !side_mentions(&c->b, c->fresh))
			return 0;
	}
	return subset_too_complex(c, "names made to look like a witness");
}

/* All the layers of a side have the word in a list; `empty`: what a list without words counts as.
 */
static bool all_list(
	const struct subset_side *side, enum permission_list which, const char *word, bool empty)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct grant_list *list = permissions_list(side->layers[i], which);
		size_t k = 0;

		while (k < list->n && strcmp(list->items[k].all[0], word) != 0)
			k++;
		if (k == list->n && !(empty && list->n == 0))
			return false;
	}
	return side->n > 0 || empty;
}

/* The words of A's lists; "any other" counts where a list without words stands for all. */
static int compare_words(struct subset_compare *c, enum permission_list which, bool empty)
{
	for (size_t l = 0; l < c->a.n; l++) {
		const struct grant_list *list = permissions_list(c->a.layers[l], which);

		for (size_t i = 0; i <= list->n; i++) {
			const char *word = i ? list->items[i - 1].all[0] : "any other";

			if (all_list(&c->a, which, word, empty) &&
				!all_list(&c->b, which, word, empty))
				return subset_found(c, list_rows[which].name, word);
		}
	}
	return 0;
}

/* Amounts */

/* The least of an amount, which is a member of struct permissions. */
static uint64_t side_least(const struct subset_side *side, size_t member)
{
	uint64_t value = LIMIT_NONE;

	for (size_t i = 0; i < side->n; i++) {
		uint64_t one = *(const uint64_t *)((const char *)side->layers[i] + member);

		value = one < value ? one : value;
	}
	return value;
}

static int compare_amount(
	struct subset_compare *c, const char *what, const char *name, size_t member)
{
	uint64_t a = side_least(&c->a, member), b = side_least(&c->b, member);
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

static int compare_rates(struct subset_compare *c)
{
	for (size_t i = 0; i < c->b.n; i++) {
		const struct rate *b = &c->b.layers[i]->network.rate;
		size_t limited = 0, k = 0;
		auto_buffer text = { 0 };

		while (k < c->a.n && !service_rate_within(&c->a.layers[k]->network.rate, b))
			limited += c->a.layers[k++]->network.rate.count > 0;
		if (k < c->a.n)
			continue;
		/* Several rates together are not compared. */
		if (limited > 1)
			return subset_too_complex(c, "several rate limits");
		buffer_printf(&text, "rate_limit is more than %llu in %llu s",
			(unsigned long long)b->count, (unsigned long long)b->seconds);
		return subset_found(c, "network", buffer_text(&text));
	}
	return 0;
}

/*
 * Hosts whose TLS one of the sides opens: a connection there is allowed if some requests are. And
 * where B opens it and A does not, A lets pass there what no request of HTTP is.
 */
static int compare_inspected(struct subset_compare *c)
{
	const struct subset_side *const sides[] = { &c->a, &c->b };
	int r = 0;

	for (size_t k = 0; k < 2; k++) {
		size_t n, n_other;
		const char *const *hosts = policy_opened(sides[k]->policy, &n);
		const char *const *other = policy_opened(sides[!k]->policy, &n_other);

		for (size_t i = 0; r == 0 && i < n; i++) {
			const struct request q = { .op = OPERATION_NET_CONNECT,
				.target = hosts[i] };
			size_t j = 0;

			while (j < n_other && strcmp(other[j], hosts[i]) != 0)
				j++;
			r = subset_try(c, &q);
			if (r == 0 && k == 1 && j == n_other &&
				subset_decide(&c->a, &q) == VERDICT_ALLOW)
				r = subset_found(c, list_rows[LIST_INSPECT].name, hosts[i]);
		}
	}
	return r;
}

/* Limits of what one may not do at all are no matter. */
static bool has_network(const struct subset_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct permissions *p = side->layers[i];

		if (!p->network_allow.n && !p->network_private.n &&
			!permissions_has_rules(p, OPERATION_NET_CONNECT) &&
			p->fallback == VERDICT_DENY && p->mode == MODE_ENFORCE)
			return false;
	}
	return true;
}

/* Whatever entry of a layer a request would use, its bound lies within those of another layer. */
static bool bounds_within(const struct permissions *a, const struct permissions *b,
	const char *name, const struct service_scope_row *scope)
{
	for (size_t i = 0; i < a->n_services; i++) {
		const struct service *s = &a->services[i];

		if (strcmp(s->name, name) != 0 || s->access == SERVICE_NONE)
			continue;
		for (size_t k = 0; k < b->n_services; k++) {
			const struct service *t = &b->services[k];

			if (strcmp(t->name, name) == 0 &&
				!scope->bound->within(
					service_bound_at(s, scope), service_bound_at(t, scope)))
				return false;
		}
	}
	return true;
}

/* Which of several entries a request would use is not looked into: in doubt it is too complex. */
static int compare_bounds(struct subset_compare *c, const struct service_row *row)
{
	for (size_t i = 0; row->scopes[i].key; i++) {
		const struct service_scope_row *scope = &row->scopes[i];

		for (size_t l = 0; scope->bound && l < c->b.n; l++) {
			size_t k = 0;

			while (k < c->a.n &&
				!bounds_within(c->a.layers[k], c->b.layers[l], row->name, scope))
				k++;
			if (k == c->a.n)
				return subset_too_complex(c, "bounds of services");
		}
	}
	return 0;
}

static int compare_limits(struct subset_compare *c)
{
	int r = 0;

	for (int l = 0; r == 0 && l < LIMIT_COUNT; l++)
		r = compare_amount(c, "limits", limit_name((enum limit)l),
			offsetof(struct permissions, limits.values) + (size_t)l * sizeof(uint64_t));
	if (r == 0 && has_network(&c->a)) {
		r = compare_amount(
			c, "network", "max_bytes", offsetof(struct permissions, network.max_bytes));
		if (r == 0)
			r = compare_amount(c, "network", "max_request_size",
				offsetof(struct permissions, network.max_request_size));
		if (r == 0)
			r = compare_rates(c);
		if (r == 0)
			r = compare_words(c, LIST_METHODS, true);
	}
	for (size_t i = 0; r == 0 && i < SERVICE_COUNT; i++)
		r = compare_bounds(c, &service_rows[i]);
	return r;
}

static int subset_prepare(struct subset_side *side, const struct permissions *p,
	const struct policy_options *options, struct error *e)
{
	/* Without a resolver a program's name is a word like any other, the same on both sides. */
	struct policy_options plain = { .variables = options ? options->variables : NULL };
	int n = permissions_layers(p, side->layers, SUBSET_LAYERS_MAX);
	auto_arena scratch = { 0 };

	if (n < 0)
		return n;
	side->n = (size_t)n;
	n = policy_inspected(&p, 1, &scratch, &plain.opened, &plain.n_opened);
	return n < 0 ? n : policy_new(&side->policy, &p, 1, &plain, e);
}

int subset_compare(struct subset *ret, const struct permissions *a, const struct permissions *b,
	const struct policy_options *options, struct error *e)
{
	struct subset_compare c = {
		.vars = options ? options->variables : NULL,
		.result = ret,
		.error = e,
		.budget = SUBSET_BUDGET,
	};
	int r;

	*ret = (struct subset){ .answer = SUBSET_TOO_COMPLEX };
	r = subset_prepare(&c.a, a, options, e);
	if (r == 0)
		r = subset_prepare(&c.b, b, options, e);
	if (r == 0)
		r = choose_fresh(&c);
	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++)
		r = operation_rows[op].subset(&c, (enum operation)op);
	if (r == 0)
		r = compare_inspected(&c);
	if (r == 0)
		r = compare_words(&c, LIST_LISTEN, false);
	if (r == 0)
		r = compare_limits(&c);
	if (r == -E2BIG)
		r = subset_too_complex(&c, "too many layers or patterns");
	else if (r == 0)
		ret->answer = SUBSET_YES;
	if (r >= 0 && (ret->witness.failed || ret->reason.failed))
		r = -ENOMEM;
	policy_free(c.a.policy);
	policy_free(c.b.policy);
	if (r < 0)
		subset_deinit(ret);
	return r < 0 ? r : 0;
}

void subset_deinit(struct subset *s)
{
	buffer_deinit(&s->witness);
	buffer_deinit(&s->reason);
	*s = (struct subset){ 0 };
}
