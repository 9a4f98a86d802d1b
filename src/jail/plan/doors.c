/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that are granted by their path (unix:/run/x.sock). Commands never see the
 * host's own: in its place stands a socket of the sandbox's, on which the relay listens
 * (net/enter/doors.h). So a grant of the socket is none of the file, and says nothing about what
 * lies around it.
 */
#include <errno.h>
#include <string.h>

#include "jail/plan/internal.h"
#include "policy/network/host.h"

static bool plan_doors_is_known(const struct planner *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->places[i].special == PLAN_DOOR && strcmp(p->places[i].path, path) == 0)
			return true;
	return false;
}

/* Named by one layer; a door only if all of them allow it. */
static int add_door(struct planner *p, const char *path, const struct location *where)
{
	struct plan_place place = {
		.path = path, .origin = PLAN_FROM_POLICY, .special = PLAN_DOOR, .where = where
	};
	struct plan_answer a;
	int r;

	if (plan_doors_is_known(p, path))
		return 0;
	r = plan_ask_socket(p, path, &a);
	if (r < 0 || a.grant == PLAN_NONE)
		return r;
	if (++p->n_doors > PLAN_SOCKETS_MAX)
		return error_set(p->error, -E2BIG, where, "more than %d sockets cannot be granted",
			PLAN_SOCKETS_MAX);
	return plan_add_place(p, place);
}

static int plan_doors_add_list(struct planner *p, const struct grant_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		for (size_t k = 0; r == 0 && k < g->n; k++) {
			struct host_pattern h;

			r = host_pattern_parse(&h, &p->arena, g->all[k], &g->where, p->error);
			if (r == 0 && h.kind == HOST_SOCKET)
				r = add_door(p, h.name, &g->where);
		}
	}
	return r;
}

int plan_doors_collect(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_layers; i++) {
		const struct permissions *l = p->layers[i];

		r = plan_doors_add_list(p, &l->network_allow);
		for (size_t k = 0; r == 0 && k < l->n_rules; k++) {
			const struct rule *rule = &l->rules[k];

			if (!rule->disabled && rule->action == VERDICT_ALLOW &&
				rule->operations >> OPERATION_NET_CONNECT & 1)
				r = plan_doors_add_list(p, &rule->patterns);
		}
	}
	return r;
}

static int plan_doors_refuse(
	struct planner *p, const struct plan_place *place, int code, const char *why)
{
	(void)error_set(
		p->error, code, place->where, "unix:%s is granted, but %s", place->path, why);
	return code;
}

int plan_doors_check(struct planner *p, const struct plan_place *place)
{
	const struct plan_node *node = plan_nodes_find(p, place->real);
	int r;

	if (place->special != PLAN_DOOR)
		return 0;
	if (place->hidden)
		return plan_doors_refuse(p, place, -EACCES, "this user may not look at it");
	if (!place->exists) {
		r = plan_doors_refuse(p, place, -ENOENT, "there is no such socket");
		error_hint(p->error, "start what listens there first");
		return r;
	}
	if (!place->is_socket)
		return plan_doors_refuse(p, place, -ENOTSOCK, "that is no socket");
	if (strcmp(node->path, place->real) != 0 || node->kind != PLAN_SOCKET)
		return plan_doors_refuse(
			p, place, -EOPNOTSUPP, "the sandbox has files of its own there");
	return 0;
}
