/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/rights.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "policy/format/permissions-text.h"

/* Sockets of files, and datagrams, are nothing to fetch from. */
static bool rights_is_fetched_from(const struct grant *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (strncasecmp(g->all[i], "unix:", 5) == 0 ||
			strncasecmp(g->all[i], "udp://", 6) == 0)
			return false;
	}
	return true;
}

static int rights_add_hosts(struct permissions *p, const struct permissions *from)
{
	int r = permissions_add_list(p, &p->network_deny, &from->network_deny);

	if (r == 0)
		r = permissions_add_list(p, &p->network_private, &from->network_private);
	for (size_t i = 0; r == 0 && i < from->network_allow.n; i++) {
		const struct grant *g = &from->network_allow.items[i];

		if (rights_is_fetched_from(g))
			r = permissions_add_all(p, &p->network_allow, g->all, g->n, &g->where);
	}
	return r;
}

static int rights_add_rules(struct permissions *p, const struct permissions *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		struct rule rule = from->rules[i];

		rule.operations &= 1U << OPERATION_NET_CONNECT;
		if (rule.operations && !rule.disabled)
			r = permissions_add_rule(p, &rule);
	}
	return r;
}

/* The host of a request that was judged; all but what is denied outright stands behind it. */
static int rights_add_origin(struct permissions *p, const char *origin, struct error *e)
{
	struct rule rule = { .id = "fetch",
		.action = VERDICT_ALLOW,
		.priority = INT32_MAX,
		.operations = 1U << OPERATION_NET_CONNECT };
	const char *pattern;
	int r = permissions_canonical(OPERATION_NET_CONNECT, origin, p->arena, &pattern, NULL, e);

	if (r == 0)
		r = permissions_add(p, &rule.patterns, pattern, NULL);
	return r < 0 ? r : permissions_add_rule(p, &rule);
}

static int rights_add_file(
	struct permissions *p, enum permission_list list, const char *folder, const char *name)
{
	const char *path = arena_printf(p->arena, "$%s/%s", folder, name);

	return path ? permissions_add(p, permissions_list(p, list), path, NULL) : -ENOMEM;
}

static int rights_add_own(struct permissions *p, const struct rights_own *own, struct error *e)
{
	int r;

	p->exec_listed = true;
	r = rights_add_file(p, LIST_EXEC, RIGHTS_PROGRAM_FOLDER, own->program);
	if (r == 0)
		r = rights_add_file(p, LIST_FS_READ, RIGHTS_PROGRAM_FOLDER, own->program);
	if (r == 0 && own->authorities)
		r = rights_add_file(p, LIST_FS_READ, RIGHTS_AUTHORITIES_FOLDER, own->authorities);
	/* The baseline denies it anyway; but with a denial no policy is so wide that commands have
	 * the host's own network, in which no relay looks. */
	if (r == 0)
		r = permissions_add(p, &p->network_deny, "169.254.169.254", NULL);
	if (r == 0 && own->origin)
		r = rights_add_origin(p, own->origin, e);
	return r;
}

static int rights_fill_layer(
	struct permissions *p, const struct permissions *from, const void *own, struct error *e)
{
	/* Layers that only watch deny nothing, and some allow what no rule is about. Files are not
	 * to be had by that. */
	const bool is_open = from->mode != MODE_ENFORCE || from->fallback == VERDICT_ALLOW;
	int r = 0;

	p->origin = from->origin ? arena_strdup(p->arena, from->origin) : NULL;
	p->network = from->network;
	p->network.methods = (struct grant_list){ 0 };
	if (from->mode != MODE_MONITOR)
		r = permissions_add_list(p, &p->network.methods, &from->network.methods);
	if (r == 0 && from->mode != MODE_MONITOR)
		r = rights_add_hosts(p, from);
	if (r == 0 && from->mode != MODE_MONITOR)
		r = rights_add_rules(p, from);
	if (r == 0 && is_open)
		r = permissions_add(p, &p->network_allow, "*", NULL);
	return r < 0 ? r : rights_add_own(p, own, e);
}

int rights_new(struct permissions **ret, const struct permissions *from,
	const struct rights_own *own, struct error *e)
{
	return permissions_derive(ret, from, rights_fill_layer, own, e);
}
