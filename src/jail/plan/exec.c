/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. Where no layer lists any, what can be read can run, and only what a rule denies is
 * hidden. Where some layer does, everything is mounted so that nothing runs, and the listed
 * programs are mounted once more, each by itself, so that it does (plan/programs.c).
 *
 * Candidates are what the patterns of all layers name; the policy decides about each. Of a command
 * only the program counts here, so a pattern that speaks of arguments is refused.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "jail/essentials.h"
#include "host/links.h"
#include "jail/plan/internal.h"
#include "policy/match/command.h"

static enum verdict plan_exec_decide(const struct planner *p, const char *path)
{
	struct request r = { .op = OPERATION_EXEC, .target = path };
	struct decision d;

	return policy_decide(p->policy, &r, &d) < 0 ? VERDICT_DENY : d.verdict;
}

/* The pattern stands for every program, not just for one that happens to match. */
static bool plan_exec_is_everything(struct planner *p, const struct source *s)
{
	struct command_pattern pattern;
	struct glob g;

	if (s->grant->n != 1 || command_pattern_parse(&pattern, &p->arena, s->text, NULL, NULL) < 0)
		return false;
	if (pattern.is_name || command_pattern_is_fine(&pattern) ||
		plan_patterns_parse(p, pattern.program, NULL, &g) < 0)
		return false;
	for (size_t i = 0; i < g.n; i++) {
		if (g.alternatives[i].kind == GLOB_SUBTREE && g.alternatives[i].literal_len == 0)
			return true;
	}
	return false;
}

/* Does a layer deny programs that nobody names? */
static bool is_listed_in(struct planner *p, size_t layer)
{
	char path[sizeof(p->probe) + 1] = "/";
	struct request r = { .op = OPERATION_EXEC, .target = path };
	struct decision d;

	if (layer_exec_is_open(policy_layer(p->policy, layer)))
		return false;
	memcpy(path + 1, p->probe, strlen(p->probe) + 1);
	if (policy_decide_layer(p->policy, layer, &r, &d) < 0 || d.verdict != VERDICT_ALLOW)
		return true;
	return d.source && !d.monitored && !plan_exec_is_everything(p, d.source);
}

static bool plan_exec_is_listed(struct planner *p)
{
	for (size_t i = 0; i < policy_layers(p->policy); i++) {
		if (is_listed_in(p, i))
			return true;
	}
	return false;
}

/* Candidates */

struct candidate {
	struct planner *planner;
	const struct location *where;
	const char *text;
};

/* With a list, what is not granted does not run anyway; only what a rule denies is kept out. */
static int plan_exec_deny(const struct candidate *c, const char *path, const char *asked)
{
	if (c->planner->plan->exec_listed && !plan_programs_is_denied(c->planner, asked))
		return 0;
	return plan_programs_deny(c->planner, path, c->where, c->text);
}

/* A file that a pattern names. */
static int plan_exec_add_file(void *data, const char *path)
{
	const struct candidate *c = data;

	if (plan_exec_decide(c->planner, path) == VERDICT_ALLOW)
		return c->planner->plan->exec_listed ? plan_programs_add(c->planner, path) : 0;
	return plan_exec_deny(c, path, path);
}

static int plan_exec_add_folder(const struct candidate *c, const char *path)
{
	struct planner *p = c->planner;
	char below[PATH_BYTES];

	if (strlen(path) + strlen(p->probe) + 2 > sizeof(below))
		return 0;
	(void)stpcpy(stpcpy(stpcpy(below, path[1] ? path : ""), "/"), p->probe);
	if (plan_exec_decide(p, below) != VERDICT_ALLOW)
		return plan_exec_deny(c, path, below);
	if (!p->plan->exec_listed || !path[1])
		return 0;
	path = arena_strdup(&p->arena, path);
	if (!path || ARENA_PUSH(&p->arena, p->exec_folders, p->n_exec_folders, p->cap_exec_folders,
			     path) < 0)
		return plan_no_memory(p);
	return plan_programs_add_folder(p, path);
}

static int plan_exec_add_found(void *data, const char *path, bool subtree)
{
	return subtree ? plan_exec_add_folder(data, path) : plan_exec_add_file(data, path);
}

/* All the files that a name or a path leads to. */
static int plan_exec_add_program(struct candidate *c, const char *name)
{
	const struct resolver *resolver = c->planner->options->resolver;
	int r = -ENOENT;

	if (resolver)
		r = resolver->programs(resolver->context, name, plan_exec_add_file, c);
	if (r == -ENOENT && name[0] == '/')
		return plan_exec_decide(c->planner, name) == VERDICT_ALLOW
			       ? 0
			       : plan_exec_deny(c, name, name);
	return r == -ENOENT ? 0 : r;
}

static int plan_exec_refuse_glob(const struct candidate *c)
{
	(void)error_set(c->planner->error, -EOPNOTSUPP, c->where,
		"%s: a mount holds a program or a folder of programs, not a pattern", c->text);
	error_hint(c->planner->error, "name the programs, or a folder with all below it (DIR/**)");
	return -EOPNOTSUPP;
}

static int add_alternative(struct candidate *c, const struct glob_alternative *alt, bool allows)
{
	const char *path = alt->literal_len ? alt->literal : "/";
	struct plan_glob g = { .alternative = alt, .text = c->text, .where = c->where };
	struct planner *p = c->planner;

	switch (alt->kind) {
	case GLOB_LITERAL:
		return plan_exec_add_program(c, path);
	case GLOB_SUBTREE:
		return plan_exec_add_folder(c, path);
	case GLOB_TRUE:
		break;
	}
	/* What matches later: a list holds, as new files cannot run; a denial does not. */
	if (!plan_globs_can_expand(alt) || (!allows && !c->planner->plan->exec_listed))
		return plan_exec_refuse_glob(c);
	if (ARENA_PUSH(&p->arena, p->exec_globs, p->n_exec_globs, p->cap_exec_globs, g) < 0)
		return plan_no_memory(p);
	return plan_globs_expand(p, alt, plan_exec_add_found, c);
}

static int plan_exec_add_path(struct candidate *c, const char *text, bool allows)
{
	struct glob g;
	int r = plan_patterns_parse(c->planner, text, c->where, &g);

	for (size_t i = 0; r == 0 && i < g.n; i++)
		r = add_alternative(c, &g.alternatives[i], allows);
	return r;
}

static int plan_exec_add_pattern(
	struct planner *p, const char *text, const struct location *where, bool allows)
{
	struct candidate c = { p, where, text };
	struct command_pattern pattern;
	int r = command_pattern_parse(&pattern, &p->arena, text, where, p->error);

	if (r == 0 && command_pattern_is_fine(&pattern)) {
		(void)error_set(p->error, -EOPNOTSUPP, where,
			"%s speaks of arguments, and inside a jail only the program counts", text);
		error_hint(p->error, "name the program alone, or leave it out");
		return -EOPNOTSUPP;
	}
	if (r == 0)
		r = pattern.is_name ? plan_exec_add_program(&c, pattern.program)
				    : plan_exec_add_path(&c, pattern.program, allows);
	return r == -ENOMEM ? plan_no_memory(p) : r;
}

static int plan_exec_add_list(struct planner *p, const struct grant_list *list, bool allows)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = plan_exec_add_pattern(p, g->all[k], &g->where, allows);
	}
	return r;
}

static int plan_exec_add_layer(struct planner *p, const struct permissions *l)
{
	int r = plan_exec_add_list(p, &l->exec, true);

	for (size_t i = 0; r == 0 && i < l->n_rules; i++) {
		const struct rule *rule = &l->rules[i];

		if (!rule->disabled && rule->operations >> OPERATION_EXEC & 1)
			r = plan_exec_add_list(p, &rule->patterns, rule->action == VERDICT_ALLOW);
	}
	return r;
}

/*
 * Whether a folder of programs was allowed as a whole was asked of one name in it; a true glob may
 * have answered for that name alone.
 */
static int check_folders(struct planner *p)
{
	for (size_t i = 0; i < p->n_exec_globs * p->n_exec_folders; i++) {
		const struct plan_glob *g = &p->exec_globs[i / p->n_exec_folders];
		const char *folder = p->exec_folders[i % p->n_exec_folders];
		struct candidate c = { p, g->where, g->text };
		char real[PATH_BYTES], fixed[PATH_BYTES];

		plan_globs_folder(g->alternative, fixed);
		if (links_follow(folder, NULL, NULL, real) < 0 || path_is_below(real, fixed) ||
			path_is_below(fixed, real))
			return plan_exec_refuse_glob(&c);
	}
	return 0;
}

/* What every program needs in order to run */

static int add_library(void *data, const char *path, bool subtree)
{
	(void)subtree;
	return plan_programs_add_essential(data, path);
}

static int plan_exec_add_essential(struct planner *p, const struct essential *e)
{
	struct glob g;
	int r;

	if (!strpbrk(e->path, "*?"))
		return plan_programs_add_essential(p, e->path);
	r = glob_parse(&g, &p->arena, e->path, NULL, p->error);
	return r < 0 ? r : plan_globs_expand(p, &g.alternatives[0], add_library, p);
}

static int plan_exec_add_essentials(struct planner *p)
{
	struct plan_place other = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < essentials_n; i++) {
		const struct essential *e = &essentials[i];

		if (e->kind != ESSENTIAL_LIBRARY && e->kind != ESSENTIAL_LOADER)
			continue;
		if (!e->condition || plan_look_at(e->condition, &other) == 0)
			r = plan_exec_add_essential(p, e);
	}
	return r;
}

static int add_shell(void *data, const char *path)
{
	return plan_programs_add(data, path);
}

int plan_exec_collect(struct planner *p)
{
	const struct resolver *resolver = p->options->resolver;
	int r = 0;

	p->plan->exec_listed = plan_exec_is_listed(p);
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_exec_add_layer(p, p->layers[i]);
	if (r == 0)
		r = check_folders(p);
	if (r == 0 && p->options->shell && resolver)
		r = resolver->programs(resolver->context, "/bin/sh", add_shell, p);
	if (r == -ENOENT)
		r = 0;
	if (r == 0 && p->plan->exec_listed)
		r = plan_exec_add_essentials(p);
	return r;
}

/* Landlock's list: what is visible, may run, and is not there to be mapped only. */

static bool plan_exec_is_program(const struct planner *p, const struct plan_place *place)
{
	const struct plan_node *node;

	if (place->runs != PLAN_RUNS || !place->exists ||
		(place->origin == PLAN_FROM_ESSENTIALS && place->is_dir))
		return false;
	node = plan_nodes_find(p, place->real);
	return node->kind == PLAN_BIND && node->exec;
}

static bool has_program(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_programs; i++) {
		if (strcmp(plan->programs[i], path) == 0)
			return true;
	}
	return false;
}

int plan_exec_list(struct planner *p)
{
	struct plan *plan = p->plan;

	for (size_t i = 0; plan->exec_listed && i < p->n; i++) {
		const char *path;

		if (!plan_exec_is_program(p, &p->places[i]) || has_program(plan, p->places[i].real))
			continue;
		path = arena_strdup(&plan->arena, p->places[i].real);
		if (!path || ARENA_PUSH(&plan->arena, plan->programs, plan->n_programs,
				     plan->cap_programs, path) < 0)
			return plan_no_memory(p);
	}
	return 0;
}
