/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of paths in which a folder comes right before what is in it, and the node that decides
 * about a path by that order.
 */
#include "jail/plan/internal.h"

int plan_compare_paths(const char *a, const char *b)
{
	size_t i = 0;

	/* Neighbours often are one string. */
	if (a == b)
		return 0;
	while (a[i] && a[i] == b[i])
		i++;
	if (a[i] == b[i])
		return 0;
	/* The end of a name comes first, then what is in the folder of that name. */
	if (!a[i] || !b[i])
		return a[i] ? 1 : -1;
	if (a[i] == '/' || b[i] == '/')
		return a[i] == '/' ? -1 : 1;
	return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}

const struct plan_node *plan_nodes_find(const struct planner *p, const char *path)
{
	size_t lo = 0, hi = p->n_nodes;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (plan_compare_paths(p->nodes[mid].path, path) <= 0)
			lo = mid;
		else
			hi = mid;
	}
	while (lo > 0 && !path_is_below(path, p->nodes[lo].path))
		lo = p->nodes[lo].up;
	return &p->nodes[lo];
}
