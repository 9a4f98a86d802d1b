/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "host/resolver.h"
#include "lib/sandbox/parts.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/permissions-text.h"

_Static_assert((int)CHANGE_PORTS_MAX >= PLAN_PORTS_MAX && (int)CHANGE_DOORS_MAX >= PLAN_SOCKETS_MAX,
	"what a plan has fits into a frame");

struct sandbox_reach {
	struct permissions *permissions;
	struct policy *policy;
	struct plan *plan;
	char *text;
};

static int plan(struct sandbox_reach *r, const struct variables *variables, struct error *e)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	const struct policy_options o = { .variables = variables, .resolver = &resolver_system };
	struct plan_options options = {
		.layers = layers, .variables = variables, .resolver = &resolver_system
	};
	int n = permissions_layers(r->permissions, layers, SANDBOX_LAYERS_MAX);
	int result = n < 0 ? n : policy_new(&r->policy, layers, (size_t)n, &o, e);

	if (result < 0)
		return result;
	options.policy = r->policy;
	options.n_layers = (size_t)n;
	return plan_new(&r->plan, &options, e);
}

/*
 * For the relay, which has no values for variables. Only paths have some, and what is left of those
 * here, the exceptions from the baseline, is the plan's matter: a connection is no path.
 */
static int sandbox_reach_print(struct sandbox_reach *r)
{
	auto_permissions *p = permissions_copy(r->permissions);
	auto_buffer out = { 0 };

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_all_of; i++)
		p->all_of[i]->dangerously_allow.n = 0;
	permissions_print_json(p, &out);
	r->text = out.failed ? NULL : buffer_take(&out);
	return r->text ? 0 : -ENOMEM;
}

int sandbox_reach_new(struct sandbox_reach **ret, const struct permissions *p,
	const struct variables *variables, struct error *e)
{
	struct sandbox_reach *r = calloc(1, sizeof(*r));
	int result = r ? 0 : -ENOMEM;

	if (r)
		r->permissions = sandbox_parts_take(p, CORRAL_PART_NETWORK);
	if (result == 0)
		result = r->permissions ? plan(r, variables, e) : -ENOMEM;
	if (result == 0)
		result = sandbox_reach_print(r);
	if (result < 0)
		sandbox_reach_free(r);
	else
		*ret = r;
	return result;
}

void sandbox_reach_free(struct sandbox_reach *r)
{
	if (!r)
		return;
	plan_free(r->plan);
	policy_free(r->policy);
	permissions_free(r->permissions);
	free(r->text);
	free(r);
}

void sandbox_reach_describe(const struct sandbox_reach *r, struct change *ret)
{
	const struct plan *p = r->plan;

	*ret = (struct change){ .n_ports = (uint32_t)p->n_ports, .text = r->text };
	memcpy(ret->ports, p->ports, p->n_ports * sizeof(p->ports[0]));
	for (size_t i = 0; i < p->n; i++)
		if (p->entries[i].kind == PLAN_SOCKET)
			ret->doors[ret->n_doors++] = p->entries[i].path;
}

bool sandbox_reach_has_relay(const struct sandbox_reach *r)
{
	return r->plan->network == PLAN_NETWORK_RELAY;
}

static bool sandbox_reach_has_port(const struct plan *p, uint16_t port)
{
	for (size_t i = 0; i < p->n_ports; i++)
		if (p->ports[i] == port)
			return true;
	return false;
}

static bool has_range(const struct plan *p, const struct plan_range *range)
{
	for (size_t i = 0; i < p->n_loopback; i++) {
		const struct plan_range *its = &p->loopback[i];

		if (its->lo <= range->lo && its->hi >= range->hi &&
			(its->families & range->families) == range->families)
			return true;
	}
	return false;
}

static bool has_doors(const struct plan *p, const struct plan *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct plan_entry *its, *e = &of->entries[i];

		if (e->kind != PLAN_SOCKET)
			continue;
		its = plan_find(p, e->path);
		if (!its || its->kind != PLAN_SOCKET || strcmp(its->path, e->path) != 0)
			return false;
	}
	return true;
}

bool sandbox_reach_fits(const struct sandbox_reach *built, const struct sandbox_reach *now,
	const struct sandbox_reach *next)
{
	const struct plan *p = next->plan;

	if (!sandbox_reach_has_relay(built) || p->network == PLAN_NETWORK_HOST)
		return false;
	/* One that was given up is another program's by now. */
	for (size_t i = 0; i < p->n_ports; i++)
		if (!sandbox_reach_has_port(now->plan, p->ports[i]))
			return false;
	for (size_t i = 0; i < p->n_loopback; i++)
		if (!has_range(built->plan, &p->loopback[i]))
			return false;
	return has_doors(built->plan, p);
}
