/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places with one real path become one node, and nodes a tree; see plan/internal.h for the
 * arithmetic. Sorted, a folder stands before what is in it, so the nearest node above is found by
 * going up from the node before, and one pass decides all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "jail/plan/internal.h"

static int by_real(const void *a, const void *b)
{
	const struct plan_place *x = *(const struct plan_place *const *)a;
	const struct plan_place *y = *(const struct plan_place *const *)b;

	return plan_compare_paths(x->real, y->real);
}

static void take_look(struct plan_node *node, const struct plan_place *place)
{
	if (!place->exists)
		return;
	node->exists = true;
	node->is_dir = place->is_dir;
	node->dev = place->dev;
	node->ino = place->ino;
}

static void plan_nodes_merge(struct plan_node *node, const struct plan_place *place)
{
	const struct plan_answer *a = &place->answer;

	if (place->special != PLAN_ORDINARY) {
		node->special = place->special;
		node->text = place->text;
	}
	if (place->special == PLAN_PRIVATE)
		return;
	take_look(node, place);
	/* Its answer is about connecting, not about the file. */
	if (place->special == PLAN_DOOR)
		return;
	if (place->runs == PLAN_RUNS_NOT || node->runs == PLAN_RUNS_AS_AROUND)
		node->runs = place->runs;
	if (a->grant > node->grant) {
		node->grant = a->grant;
		node->granter = place;
	}
	if (a->limit < node->limit) {
		node->limit = a->limit;
		node->limiter = place;
	}
	node->hidden = node->hidden || place->hidden;
	node->named = node->named || (place->exists && place->self.grant > PLAN_NONE);
}

/* In /proc and /dev the tree makes what every program has; single devices may be granted beside. */
static bool is_made_by_tree(const char *path)
{
	static const char *const made[] = { "/proc", "/dev/console", "/dev/fd", "/dev/full",
		"/dev/mqueue", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/shm",
		"/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/tty", "/dev/urandom",
		"/dev/zero" };

	for (size_t i = 0; i < ROWS(made); i++) {
		if (path_is_below(path, made[i]))
			return true;
	}
	return false;
}

static bool counts(const struct plan_place *place)
{
	if (place->special != PLAN_PRIVATE && is_made_by_tree(place->real))
		return false;
	return place->special != PLAN_ORDINARY || place->exists ||
	       place->origin == PLAN_FROM_POLICY || place->origin == PLAN_FROM_BASELINE ||
	       place->runs == PLAN_RUNS_NOT;
}

static int plan_nodes_merge_all(struct planner *p)
{
	const struct plan_place **sorted =
		arena_calloc(&p->arena, p->n, sizeof(const struct plan_place *));
	size_t n = 0;

	p->nodes = arena_calloc(&p->arena, p->n, sizeof(*p->nodes));
	p->n_nodes = 0;
	if (!sorted || !p->nodes)
		return plan_no_memory(p);
	for (size_t i = 0; i < p->n; i++) {
		if (counts(&p->places[i]))
			sorted[n++] = &p->places[i];
	}
	qsort(sorted, n, sizeof(const struct plan_place *), by_real);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(sorted[i]->real, sorted[i - 1]->real) != 0)
			p->nodes[p->n_nodes++] =
				(struct plan_node){ .path = sorted[i]->real, .limit = PLAN_WRITE };
		plan_nodes_merge(&p->nodes[p->n_nodes - 1], sorted[i]);
	}
	return 0;
}

/* Where a list of programs exists, nothing that can be written can run. */
static bool plan_nodes_may_run(
	const struct planner *p, const struct plan_node *node, const struct plan_node *up)
{
	if (!p->plan->exec_listed)
		return true;
	if (node->access == PLAN_WRITE || node->runs == PLAN_RUNS_NOT)
		return false;
	return node->runs == PLAN_RUNS || (up->kind == PLAN_BIND && up->exec);
}

static void as_around(struct plan_node *node, const struct plan_node *up)
{
	node->kind = up->kind == PLAN_FILE ? PLAN_DIR : up->kind;
	node->access = up->access;
	node->exec = up->exec;
	node->mount = up->mount;
}

/* On the skeleton, or in a folder of the session's own. */
static void settle_outside(
	const struct planner *p, struct plan_node *node, size_t i, const struct plan_node *up)
{
	as_around(node, up);
	node->access = PLAN_NONE;
	if (node->special == PLAN_OWN)
		node->kind = PLAN_TMP;
	else if ((node->special == PLAN_TEXT || node->special == PLAN_COVER) &&
		 node->limit > PLAN_NONE)
		node->kind = PLAN_FILE;
	else if (node->special == PLAN_PRIVATE)
		node->kind = PLAN_DIR;
	else
		return;
	node->exec = node->kind == PLAN_TMP && !p->plan->exec_listed;
	node->mount = i;
}

/* Whatever is around it, and whoever else names it. */
static void settle_own(struct plan_node *node, size_t i, enum plan_kind kind)
{
	node->kind = kind;
	node->access = PLAN_NONE;
	node->exec = false;
	node->mount = i;
}

static void plan_nodes_settle(const struct planner *p, size_t i)
{
	struct plan_node *node = &p->nodes[i];
	const struct plan_node *up = &p->nodes[node->up];
	/* What is around the root is nothing. */
	enum plan_access around = i > 0 && up->kind == PLAN_BIND ? up->access : PLAN_NONE;

	if (node->special == PLAN_DOOR) {
		settle_own(node, i, PLAN_SOCKET);
		return;
	}
	if (node->special == PLAN_COVER && node->limit > PLAN_NONE && node->exists) {
		settle_own(node, i, PLAN_FILE);
		return;
	}
	node->access = plan_least(node->limit, plan_most(node->grant, around));
	if (node->special == PLAN_PRIVATE || !node->exists || node->access == PLAN_NONE) {
		if (node->special != PLAN_PRIVATE && node->exists && around > PLAN_NONE) {
			node->kind = PLAN_MASK;
			node->mount = i;
		} else if (around > PLAN_NONE && node->special != PLAN_PRIVATE) {
			as_around(node, up);
		} else {
			settle_outside(p, node, i, up);
		}
		return;
	}
	node->kind = PLAN_BIND;
	node->exec = plan_nodes_may_run(p, node, up);
	node->mount = around == node->access && node->exec == up->exec ? up->mount : i;
}

static void settle_all(struct planner *p)
{
	size_t up = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		while (up > 0 && !path_is_below(p->nodes[i].path, p->nodes[up].path))
			up = p->nodes[up].up;
		p->nodes[i].up = up;
		plan_nodes_settle(p, i);
		up = i;
	}
}

int plan_nodes_build(struct planner *p)
{
	int r = plan_nodes_merge_all(p);

	if (r == 0)
		settle_all(p);
	return r;
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
