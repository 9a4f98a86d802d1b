/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and names of variables are compared by automata (subset-paths.c): the product of all layers
 * of both sides is searched for a state where A allows more than B. Hosts, services and words of
 * commands are compared by trying one representative of each class of targets that no pattern tells
 * apart (subset-hosts.c and the rest).
 */
#include "policy/algebra/subset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "policy/algebra/internal.h"

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

int subset_decide(const struct subset_side *side, const struct request *r)
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

	if (a < 0 || b < 0)
		return subset_too_complex(c, operation_name(r->op));
	return a <= b ? 0 : subset_found(c, operation_name(r->op), r->target);
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

static bool services_mention(const struct permissions *p, const char *word)
{
	for (size_t i = 0; i < p->n_services; i++) {
		if (strcasestr(p->services[i].name, word))
			return true;
		for (size_t k = 0; k < p->services[i].n_scopes; k++) {
			if (list_mentions(&p->services[i].scopes[k].values, word))
				return true;
		}
	}
	return false;
}

static bool side_mentions(const struct subset_side *side, const char *word)
{
	for (size_t l = 0; l < side->n; l++) {
		const struct permissions *p = side->layers[l];

		if (list_mentions(&p->network_allow, word) ||
			list_mentions(&p->network_deny, word) || list_mentions(&p->exec, word) ||
			services_mention(p, word))
			return true;
		for (size_t i = 0; i < p->n_rules; i++) {
			if (list_mentions(&p->rules[i].patterns, word))
				return true;
		}
	}
	return false;
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

static bool subset_listens(const struct permissions *p, const char *port)
{
	for (size_t i = 0; i < p->listen.n; i++) {
		if (strcmp(p->listen.items[i].all[0], port) == 0)
			return true;
	}
	return false;
}

static bool all_listen(const struct subset_side *side, const char *port)
{
	for (size_t i = 0; i < side->n; i++) {
		if (!subset_listens(side->layers[i], port))
			return false;
	}
	return side->n > 0;
}

static int compare_listen(struct subset_compare *c)
{
	const struct permissions *first = c->a.layers[0];

	for (size_t i = 0; c->a.n && i < first->listen.n; i++) {
		const char *port = first->listen.items[i].all[0];

		if (all_listen(&c->a, port) && !all_listen(&c->b, port))
			return subset_found(c, "network.listen", port);
	}
	return 0;
}

static int subset_prepare(struct subset_side *side, const struct permissions *p,
	const struct policy_options *options, struct error *e)
{
	/* Without a resolver a program's name is a word like any other, the same on both sides. */
	struct policy_options plain = { .variables = options ? options->variables : NULL };
	int n = permissions_layers(p, side->layers, SUBSET_LAYERS_MAX);

	if (n < 0)
		return n;
	side->n = (size_t)n;
	return policy_new(&side->policy, &p, 1, &plain, e);
}

static int compare_operations(struct subset_compare *c)
{
	int r = 0;

	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++)
		r = operation_rows[op].subset(c, (enum operation)op);
	return r;
}

static int (*const parts[])(struct subset_compare *c) = {
	choose_fresh,
	compare_operations,
	compare_listen,
	subset_limits,
};

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
	for (size_t i = 0; r == 0 && i < ROWS(parts); i++)
		r = parts[i](&c);
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
