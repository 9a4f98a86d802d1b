/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/baseline.h"

#include <string.h>

#include "policy/baseline-data.h"
#include "policy/network/host.h"

/* There are too few names for anything better than looking at each. */
static const struct baseline_net *baseline_find_name(
	const struct baseline_group *g, const char *name)
{
	const struct baseline_net *nets = baseline_nets + g->first_name;
	size_t len = strlen(name);

	for (size_t i = 0; i < g->n_names; i++) {
		size_t n = strlen(nets[i].name);

		if (len >= n && memcmp(name + len - n, nets[i].name, n) == 0 &&
			(len == n || name[len - n - 1] == '.'))
			return &nets[i];
	}
	return NULL;
}

/* The prefixes do not overlap: if one holds p, it is the last that does not come behind it. */
static const struct baseline_net *baseline_find_prefix(
	const struct baseline_group *g, const struct prefix *p)
{
	const struct baseline_net *nets = baseline_nets + g->first_prefix;
	size_t lo = 0, hi = g->n_prefixes;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (prefix_compare(&nets[middle].prefix, p) <= 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo > 0 && prefix_contains(&nets[lo - 1].prefix, p) ? &nets[lo - 1] : NULL;
}

static const struct baseline_net *baseline_find(
	const struct baseline_group *g, const struct host_request *r)
{
	struct prefix p;

	if (r->transport == TRANSPORT_UNIX)
		return NULL;
	if (!r->is_address)
		return baseline_find_name(g, r->name);
	p = prefix_of(&r->address, r->address.bits);
	return baseline_find_prefix(g, &p);
}

const struct baseline_net *baseline_never(const struct host_request *r)
{
	return baseline_find(&baseline_never_group, r);
}

const struct baseline_net *baseline_guard(const struct host_request *r)
{
	return baseline_find(&baseline_guard_group, r);
}

const struct baseline_net *baseline_guard_of_prefix(const struct prefix *p)
{
	return baseline_find_prefix(&baseline_guard_group, p);
}

const struct baseline_net *baseline_guard_of_name(const char *name)
{
	return baseline_find_name(&baseline_guard_group, name);
}
