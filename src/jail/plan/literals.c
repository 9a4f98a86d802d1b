/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For kernels without nf_tables. There the relay can only listen at places that are known one by
 * one: at the ports of a name once its address was asked for, and at addresses that are granted
 * themselves. What the policy allows is no more than what each of its layers does, so it is enough
 * if one of them names nothing but such places.
 *
 * Whether the kernel is such a one is not known when a plan is made. So the plan has both: the
 * addresses, and the sentence to refuse it with if they are not all.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "jail/plan/internal.h"

enum { PORTS_MAX = 16 }; /* of one pattern */

/* What of a layer cannot be listened at. */
struct obstacle {
	const char *text; /* the pattern; NULL: what nobody denies */
	const char *why;
	const struct location *where;
};

/* NULL: single places. */
static const char *find_reason(const struct host_pattern *h)
{
	if (h->transport == TRANSPORT_UNIX)
		return NULL;
	if (h->transport == TRANSPORT_UDP)
		return "datagrams cannot be captured";
	if (h->kind == HOST_ANY)
		return "only hosts that are named can be captured";
	if (h->kind == HOST_PREFIX && h->prefix.length < h->prefix.address.bits)
		return "only single addresses can be captured";
	if (plan_network_is_loopback(h))
		return "the host's loopback cannot be reached";
	if (h->port_hi - h->port_lo >= PORTS_MAX)
		return "no more than 16 ports of a host can be captured";
	return NULL;
}

static bool plan_literals_is_taken(const struct plan *plan, const struct plan_literal *l)
{
	for (size_t i = 0; i < plan->n_literals; i++)
		if (plan->literals[i].port == l->port &&
			address_equal(&plan->literals[i].address, &l->address))
			return true;
	return false;
}

/* -E2BIG: there are too many. */
static int take_literals(struct planner *p, const struct host_pattern *h)
{
	struct plan *plan = p->plan;

	for (unsigned port = h->port_lo; port <= h->port_hi; port++) {
		const struct plan_literal l = { address_plain(&h->prefix.address), (uint16_t)port };

		if (plan_literals_is_taken(plan, &l))
			continue;
		if (plan->n_literals == PLAN_LITERALS_MAX)
			return -E2BIG;
		if (ARENA_PUSH(&plan->arena, plan->literals, plan->n_literals, plan->cap_literals,
			    l) < 0)
			return plan_no_memory(p);
	}
	return 0;
}

/* Names by a pattern are as many as a command asks for. */
static void count_ports(struct plan *plan, const struct host_pattern *h)
{
	size_t n = h->kind == HOST_SUBDOMAINS ? PLAN_LISTENERS_MAX
					      : (size_t)(h->port_hi - h->port_lo) + 1;

	plan->n_listeners += n;
	if (plan->n_listeners > PLAN_LISTENERS_MAX)
		plan->n_listeners = PLAN_LISTENERS_MAX;
}

/* A grant of several patterns, which must all match, is as single as one of them. */
static int plan_literals_look_at_grant(struct planner *p, const struct grant *g, struct obstacle *o)
{
	const char *why = NULL;
	int r;

	for (size_t i = 0; i < g->n; i++) {
		struct host_pattern h;

		r = host_pattern_parse(&h, &p->arena, g->all[i], &g->where, p->error);
		if (r < 0)
			return r;
		why = find_reason(&h);
		if (why)
			continue;
		r = h.kind == HOST_PREFIX ? take_literals(p, &h) : 0;
		if (h.kind == HOST_NAME || h.kind == HOST_SUBDOMAINS)
			count_ports(p->plan, &h);
		if (r != -E2BIG)
			return r;
		why = "that makes more addresses than can be captured";
		break;
	}
	*o = (struct obstacle){ g->all[0], why, &g->where };
	return 0;
}

static int look_at_list(struct planner *p, const struct grant_list *list, struct obstacle *o)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !o->why && i < list->n; i++)
		r = plan_literals_look_at_grant(p, &list->items[i], o);
	return r;
}

static int look_at_layer(struct planner *p, const struct permissions *l, struct obstacle *o)
{
	int r = look_at_list(p, &l->network_allow, o);

	for (size_t i = 0; r == 0 && i < l->n_rules; i++)
		if (plan_network_is_about_hosts(&l->rules[i]) &&
			l->rules[i].action == VERDICT_ALLOW)
			r = look_at_list(p, &l->rules[i].patterns, o);
	if (r == 0 && !o->why && plan_network_allows_by_default(l))
		*o = (struct obstacle){ .why = "only hosts that are named can be captured" };
	return r;
}

/* Printed by hand: an error's text is shortened where memory ends, and does not tell. */
static int plan_literals_refuse(struct planner *p, const struct obstacle *o)
{
	const char *what = o->text ? o->text : "a layer that allows every host by default";
	auto_buffer text = { 0 };
	struct error place = { 0 };

	(void)error_set(&place, 0, o->where, "%s", "");
	error_print(&place, &text);
	buffer_add_visible(&text, what, strlen(what));
	buffer_printf(
		&text, " cannot be held: this kernel lacks nf_tables, and without it %s", o->why);
	p->plan->unheld = text.failed ? NULL : arena_strdup(&p->plan->arena, buffer_text(&text));
	return p->plan->unheld ? 0 : plan_no_memory(p);
}

int plan_literals_collect(struct planner *p)
{
	struct obstacle o = { 0 };

	for (size_t i = 0; i < p->n_layers; i++) {
		int r;

		o = (struct obstacle){ 0 };
		p->plan->n_literals = p->plan->n_listeners = 0;
		r = look_at_layer(p, p->layers[i], &o);
		if (r < 0 || !o.why)
			return r;
	}
	p->plan->n_literals = p->plan->n_listeners = 0;
	return plan_literals_refuse(p, &o);
}
