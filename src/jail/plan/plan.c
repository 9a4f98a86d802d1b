/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of planning, as data. Places are collected first; then each is looked at (does it
 * exist, where do its links lead) and the policy is asked about it; then places that turn out to be
 * one become nodes. Only now it is known what a command could see at all, and so which of the
 * hundreds of the baseline's places matter: those become places as well, and the nodes are built
 * again. What mounts cannot hold is refused before the first entry is written.
 */
#include "jail/plan/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/plan/internal.h"
#include "jail/privilege.h"

/* More layers than anybody writes; what is nested counts too. */
enum { LAYERS_MAX = 1024 };

int plan_add_place(struct planner *p, struct plan_place place)
{
	return ARENA_PUSH(&p->arena, p->places, p->n, p->cap, place);
}

int plan_add_copy(struct planner *p, const char *path, struct plan_place place)
{
	place.path = arena_strdup(&p->arena, path);
	return place.path ? plan_add_place(p, place) : -ENOMEM;
}

int plan_add_note(struct planner *p, const struct location *where, const char *format, ...)
{
	struct plan *plan = p->plan;
	struct plan_note note = { .where = where ? *where : (struct location){ 0 } };
	char text[PATH_BYTES + 256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note.text = arena_strdup(&plan->arena, text);
	if (note.where.file)
		note.where.file = arena_strdup(&plan->arena, note.where.file);
	if (!note.text || (where && where->file && !note.where.file))
		return -ENOMEM;
	return ARENA_PUSH(&plan->arena, plan->notes, plan->n_notes, plan->cap_notes, note);
}

/* Variables that a plan cannot do without. */
static int plan_take_variables(struct planner *p)
{
	const char *home = p->options->variables->values[VARIABLE_HOME];
	const char *work = p->options->variables->values[VARIABLE_WORK_DIR];
	char real[PATH_BYTES];
	int r;

	if (!home || !path_is_normal(home, strlen(home))) {
		(void)error_set(p->error, -EINVAL, NULL, "HOME is not set or not an absolute path");
		error_hint(p->error, "set the environment variable HOME (or --set HOME=DIR)");
		return -EINVAL;
	}
	if (work && !path_is_normal(work, strlen(work)))
		return error_set(p->error, -EINVAL, NULL, "WORK_DIR is not an absolute path");
	p->plan->home = arena_strdup(&p->plan->arena, home);
	r = plan_seen_walk(p, home, NULL, real);
	p->plan->home_real = r < 0 ? p->plan->home : arena_strdup(&p->plan->arena, real);
	return r != -ENOMEM && p->plan->home && p->plan->home_real ? 0 : -ENOMEM;
}

static int plan_take_layers(struct planner *p)
{
	const struct plan_options *o = p->options;
	int r = 0;

	p->layers = arena_calloc(&p->arena, LAYERS_MAX, sizeof(const struct permissions *));
	if (!p->layers)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < o->n_layers; i++) {
		r = permissions_layers(
			o->layers[i], p->layers + p->n_layers, LAYERS_MAX - p->n_layers);
		p->n_layers += r > 0 ? (size_t)r : 0;
	}
	if (r < 0)
		return error_set(p->error, r, NULL, "the policy has too many layers");
	p->written = arena_calloc(&p->arena, p->n_layers + 1, sizeof(*p->written));
	for (size_t i = 0; p->written && i < p->n_layers; i++)
		p->written[i] = p->layers[i];
	return p->written ? 0 : -ENOMEM;
}

/* Commands start in WORK_DIR if they can see it. */
static int plan_choose_work_dir(struct planner *p)
{
	const char *work = p->options->variables->values[VARIABLE_WORK_DIR];
	struct plan_place place = { 0 };
	const struct plan_node *node;
	char real[PATH_BYTES];
	int r = work ? plan_seen_walk(p, work, NULL, real) : -ENOENT;

	if (r == 0)
		r = plan_seen_at(p, real, &place);
	if (r < 0 || !place.is_dir)
		return r == -ENOMEM ? r : 0;
	node = plan_nodes_find(p, real);
	if (node->kind != PLAN_BIND && (node->kind != PLAN_TMP || strcmp(node->path, real) != 0))
		return 0;
	p->plan->work_dir = arena_strdup(&p->plan->arena, real);
	return p->plan->work_dir ? 0 : -ENOMEM;
}

static int (*const steps[])(struct planner *p) = {
	plan_take_variables,
	plan_take_layers,
	plan_globs_rewrite,
	plan_patterns_collect,
	plan_sockets_grant,
	plan_network_decide,
	plan_exec_collect,
	plan_extras_collect,
	plan_skill_collect,
	plan_look,
	plan_nodes_build,
	plan_patterns_settle,
	plan_found_collect,
	plan_baseline_collect,
	plan_linked_collect,
	plan_sockets_hide,
	plan_look,
	plan_linked_inside,
	plan_nodes_build,
	plan_aliases_collect,
	plan_check,
	plan_baseline_defer,
	plan_found_note,
	plan_found_defer,
	plan_skill_note,
	plan_stand_ins_find,
	plan_nodes_make_entries,
	plan_exec_list,
	plan_broker_decide,
	plan_worker_decide,
	plan_choose_work_dir,
};

int plan_new(struct plan **ret, const struct plan_options *o, struct error *e)
{
	auto_plan *plan = calloc(1, sizeof(*plan));
	struct planner p = { .plan = plan,
		.options = o,
		.policy = o->policy,
		.error = e,
		.root_names = names_of("/") };
	/* What commands cannot reach needs no mount, and the tree, which is made with their rights,
	 * could not make one: for root that is what other users keep to themselves. */
	uint32_t suspended = privilege_suspend();
	int r = plan ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < ROWS(steps); i++)
		r = steps[i](&p);
	privilege_resume(suspended);
	policy_free(p.own_policy);
	for (size_t i = 0; i < p.n_copies; i++)
		permissions_free(p.copies[i]);
	arena_deinit(&p.arena);
	if (r < 0)
		return r == -ENOMEM ? error_no_memory(e) : r;
	policy_limits(o->policy, &plan->limits);
	plan->policy = o->policy;
	plan->is_watched = o->explain;
	*ret = plan;
	plan = NULL;
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	arena_deinit(&p->arena);
	free(p);
}

/* All entries from the returned one on come after path. */
static size_t plan_behind(const struct plan *p, const char *path)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (plan_compare_paths(p->entries[mid].path, path) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return hi;
}

const struct plan_entry *plan_at(const struct plan *p, const char *path)
{
	size_t i = plan_behind(p, path);

	return i > 0 && strcmp(p->entries[i - 1].path, path) == 0 ? &p->entries[i - 1] : NULL;
}

struct timespec plan_stand_in_time(struct timespec host)
{
	if (host.tv_nsec > 0)
		return (struct timespec){ host.tv_sec, host.tv_nsec - 1 };
	return (struct timespec){ host.tv_sec - 1, 999999999 };
}

const struct plan_entry *plan_find(const struct plan *p, const char *path)
{
	for (size_t i = plan_behind(p, path); i > 0; i--) {
		const struct plan_entry *entry = &p->entries[i - 1];
		bool solid = entry->kind != PLAN_DIR && entry->kind != PLAN_LINK;

		if (strcmp(entry->path, path) == 0 || (solid && path_is_below(path, entry->path)))
			return entry;
	}
	return NULL;
}
