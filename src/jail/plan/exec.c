/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. Where no layer lists any, what can be read can run, and only what a rule denies is
 * hidden. Where some layer does, everything is mounted so that nothing runs, and the listed
 * programs are mounted once more, each by itself, so that it does.
 *
 * Candidates are what the patterns of all layers name; the policy decides about each. Of a command
 * only the program counts here, so a pattern that speaks of arguments is refused.
 *
 * A program brings along what it cannot run without: the interpreter that a script names in its
 * first line, and the companions of data/companions.conf. Those may have some of their own, so what
 * was added once is not added again, and there is a bound.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/shebang.h"
#include "host/links.h"
#include "jail/companions.h"
#include "jail/essentials.h"
#include "jail/plan/internal.h"
#include "policy/match/command.h"

/* Far more than anybody lists; each is a mount. */
enum { PROGRAMS_MAX = 4096 };

/* Programs as places */

static bool plan_exec_has(const struct planner *p, const char *path, enum plan_runs runs)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->origin == PLAN_FROM_EXEC && place->runs == runs &&
			strcmp(place->path, path) == 0)
			return true;
	}
	return false;
}

static int plan_exec_put(struct planner *p, const char *path, struct plan_place place)
{
	if (place.origin == PLAN_FROM_EXEC && plan_exec_has(p, path, place.runs))
		return 0;
	if (++p->n_programs > PROGRAMS_MAX)
		return error_set(p->error, -E2BIG, place.where, "too many programs are listed");
	return plan_add_copy(p, path, place);
}

static bool plan_exec_allows(const struct planner *p, const char *path)
{
	struct request r = { .op = OPERATION_EXEC, .target = path };

	return policy_allows(p->policy, &r);
}

bool plan_exec_is_denied(const struct planner *p, const char *path)
{
	struct request r = { .op = OPERATION_EXEC, .target = path };

	for (size_t i = 0; i < policy_layers(p->policy); i++) {
		struct decision d;

		if (policy_decide_layer(p->policy, i, &r, &d) < 0 ||
			(d.verdict != VERDICT_ALLOW && d.why == DECISION_RULE))
			return true;
	}
	return false;
}

static int plan_exec_add_program(void *data, const char *path);

/* What comes along with a program is left out where a rule denies it by name. */
static int plan_exec_add_implied(void *data, const char *path)
{
	return plan_exec_is_denied(data, path) ? 0 : plan_exec_add_program(data, path);
}

static int plan_exec_add_by_name(struct planner *p, const char *name)
{
	const struct resolver *resolver = p->options->resolver;
	int r = resolver ? resolver->programs(resolver->context, name, plan_exec_add_implied, p)
			 : 0;

	return r == -ENOENT ? 0 : r;
}

/* The first line of a script; negative: it has none. Of a skill it is the copy's. */
static int plan_exec_first_line(const struct planner *p, const char *path, struct shebang *ret)
{
	char real[PATH_BYTES];
	auto_fd fd = -1;

	if (plan_skill_part(p, path) == PLAN_SKILL_COPIED)
		return plan_skill_script(p, path, ret);
	if (p->options->skill && links_follow(path, NULL, NULL, real) == 0 &&
		plan_skill_part(p, real) == PLAN_SKILL_COPIED)
		return plan_skill_script(p, real, ret);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : shebang_read(ret, fd);
}

/* Of a script; with "env -S NAME=value program" that program, too. */
static int plan_exec_add_interpreter(struct planner *p, const char *path)
{
	struct shebang s = { .program = "" };
	char *line = s.argument, *word;
	int r;

	if (plan_exec_first_line(p, path, &s) < 0 || s.program[0] != '/')
		return 0;
	r = plan_exec_add_by_name(p, s.program);
	if (r < 0 || strcmp(strrchr(s.program, '/'), "/env") != 0)
		return r;
	do
		word = strsep(&line, " \t");
	while (word && (word[0] == '\0' || word[0] == '-' || strchr(word, '=')));
	return word ? plan_exec_add_by_name(p, word) : 0;
}

static int plan_exec_add_folder_found(void *data, const char *path, bool subtree)
{
	struct plan_place place = { .origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS };

	(void)subtree;
	return plan_exec_is_denied(data, path) ? 0 : plan_exec_put(data, path, place);
}

static int plan_exec_add_companions(struct planner *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name);
	struct glob g;
	int r = 0;

	/* "python3.11" is called python, and "gcc-12" gcc. */
	while (len > 1 && (isdigit((unsigned char)name[len - 1]) || strchr(".-", name[len - 1])))
		len--;
	for (size_t i = 0; r == 0 && i < companions_n; i++) {
		const char *what = companions_texts + companions[i].what;
		const char *program = companions_texts + companions[i].program;

		if (strcmp(name, program) != 0 &&
			(strlen(program) != len || memcmp(name, program, len) != 0))
			continue;
		if (what[0] != '/') {
			r = plan_exec_add_by_name(p, what);
			continue;
		}
		r = glob_parse(&g, &p->arena, what, NULL, p->error);
		if (r == 0)
			r = plan_globs_expand(p, &g.alternatives[0], plan_exec_add_folder_found, p);
	}
	return r;
}

static int plan_exec_add_program(void *data, const char *path)
{
	struct planner *p = data;
	struct plan_place place = {
		.origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS, .is_program = true
	};
	int r;

	if (plan_exec_has(p, path, PLAN_RUNS))
		return 0;
	r = plan_exec_put(p, path, place);
	if (r == 0)
		r = plan_exec_add_interpreter(p, path);
	return r < 0 || !p->plan->exec_listed ? r : plan_exec_add_companions(p, path);
}

/* Are programs listed? */

/* The pattern stands for every program, not just for one that happens to match. */
static bool plan_exec_is_everything(struct planner *p, const struct source *s)
{
	struct command_pattern pattern;
	struct glob g;

	if (s->grant->n != 1 ||
		command_pattern_parse(&pattern, &p->arena, s->grant->all[0], NULL, NULL) < 0)
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

/* Does a layer deny programs that no entry names? */
static bool plan_exec_is_listed_in(struct planner *p, size_t layer)
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

/* Candidates */

struct exec_candidate {
	struct planner *planner;
	const struct location *where;
	const char *text;
};

/* With a list, what is not granted does not run anyway; only what a rule denies is kept out. */
static int plan_exec_deny(const struct exec_candidate *c, const char *path, const char *asked)
{
	struct plan_place place = {
		.origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS_NOT, .where = c->where, .text = c->text
	};

	if (c->planner->plan->exec_listed && !plan_exec_is_denied(c->planner, asked))
		return 0;
	return plan_exec_put(c->planner, path, place);
}

/* A file that a pattern names. */
static int plan_exec_add_file(void *data, const char *path)
{
	const struct exec_candidate *c = data;
	struct planner *p = c->planner;

	if (!plan_exec_allows(p, path))
		return plan_exec_deny(c, path, path);
	return p->plan->exec_listed ? plan_exec_add_program(p, path) : 0;
}

static int plan_exec_add_folder(const struct exec_candidate *c, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS };
	struct planner *p = c->planner;
	char below[PATH_BYTES];

	if (strlen(path) + strlen(p->probe) + 2 > sizeof(below))
		return 0;
	(void)stpcpy(stpcpy(stpcpy(below, path[1] ? path : ""), "/"), p->probe);
	if (!plan_exec_allows(p, below))
		return plan_exec_deny(c, path, below);
	if (!p->plan->exec_listed || !path[1])
		return 0;
	path = arena_strdup(&p->arena, path);
	if (!path || ARENA_PUSH(&p->arena, p->exec_folders, p->n_exec_folders, p->cap_exec_folders,
			     path) < 0)
		return -ENOMEM;
	return plan_exec_put(p, path, place);
}

static int plan_exec_add_found(void *data, const char *path, bool subtree)
{
	return subtree ? plan_exec_add_folder(data, path) : plan_exec_add_file(data, path);
}

/* All the files that a name or a path leads to. */
static int plan_exec_add_named(struct exec_candidate *c, const char *name)
{
	const struct resolver *resolver = c->planner->options->resolver;
	int r = -ENOENT;

	if (resolver)
		r = resolver->programs(resolver->context, name, plan_exec_add_file, c);
	if (r != -ENOENT)
		return r;
	if (name[0] != '/' || plan_exec_allows(c->planner, name))
		return 0;
	return plan_exec_deny(c, name, name);
}

static int plan_exec_refuse_glob(const struct exec_candidate *c)
{
	(void)error_set(c->planner->error, -EOPNOTSUPP, c->where,
		"%s: a mount can only enforce a program or a folder of programs, not a pattern",
		c->text);
	error_hint(c->planner->error, "list the programs, or a whole folder (DIR/**)");
	return -EOPNOTSUPP;
}

static int plan_exec_add_alternative(
	struct exec_candidate *c, const struct glob_alternative *alt, bool allows)
{
	const char *path = alt->literal_len ? alt->literal : "/";
	struct plan_glob g = { .alternative = alt, .text = c->text, .where = c->where };
	struct planner *p = c->planner;

	if (alt->kind != GLOB_TRUE)
		return alt->kind == GLOB_LITERAL ? plan_exec_add_named(c, path)
						 : plan_exec_add_folder(c, path);
	/* What matches later: a list holds, as new files cannot run; a denial does not. */
	if (!plan_globs_can_expand(alt) || (!allows && !p->plan->exec_listed))
		return plan_exec_refuse_glob(c);
	if (ARENA_PUSH(&p->arena, p->exec_globs, p->n_exec_globs, p->cap_exec_globs, g) < 0)
		return -ENOMEM;
	return plan_globs_expand(p, alt, plan_exec_add_found, c);
}

/* allows: a bool. */
static int plan_exec_add_pattern(
	struct planner *p, const char *text, const struct location *where, const void *allows)
{
	struct exec_candidate c = { p, where, text };
	struct command_pattern pattern;
	struct glob g;
	int r = command_pattern_parse(&pattern, &p->arena, text, where, p->error);

	if (r < 0)
		return r;
	if (command_pattern_is_fine(&pattern)) {
		(void)error_set(p->error, -EOPNOTSUPP, where,
			"%s depends on arguments, but in a sandbox only the program can be "
			"checked",
			text);
		error_hint(p->error, "list the program without arguments, or remove it");
		return -EOPNOTSUPP;
	}
	if (pattern.is_name)
		return plan_exec_add_named(&c, pattern.program);
	r = plan_patterns_parse(p, pattern.program, where, &g);
	for (size_t i = 0; r == 0 && i < g.n; i++)
		r = plan_exec_add_alternative(&c, &g.alternatives[i], *(const bool *)allows);
	return r;
}

/*
 * Whether a folder of programs was allowed as a whole was asked of one name in it; a true glob may
 * have answered for that name alone.
 */
static int plan_exec_check_folders(struct planner *p)
{
	for (size_t i = 0; i < p->n_exec_globs * p->n_exec_folders; i++) {
		const struct plan_glob *g = &p->exec_globs[i / p->n_exec_folders];
		const char *folder = p->exec_folders[i % p->n_exec_folders];
		struct exec_candidate c = { p, g->where, g->text };
		char real[PATH_BYTES], fixed[PATH_BYTES];

		plan_globs_folder(g->alternative, fixed);
		if (links_follow(folder, NULL, NULL, real) < 0 || path_is_below(real, fixed) ||
			path_is_below(fixed, real))
			return plan_exec_refuse_glob(&c);
	}
	return 0;
}

/* What every program needs in order to run */

static int plan_exec_add_essential(void *data, const char *path, bool subtree)
{
	struct plan_place place = { .origin = PLAN_FROM_ESSENTIALS, .runs = PLAN_RUNS };

	(void)subtree;
	return plan_exec_put(data, path, place);
}

static int plan_exec_add_essentials(struct planner *p)
{
	struct plan_place other = { 0 };
	struct glob g;
	int r = 0;

	for (size_t i = 0; r == 0 && i < essentials_n; i++) {
		const struct essential *e = &essentials[i];
		const char *path = essentials_texts + e->path;

		if ((e->kind != ESSENTIAL_LIBRARY && e->kind != ESSENTIAL_LOADER) ||
			(e->condition && plan_look_at(essentials_texts + e->condition, &other) < 0))
			continue;
		if (!strpbrk(path, "*?")) {
			r = plan_exec_add_essential(p, path, false);
			continue;
		}
		r = glob_parse(&g, &p->arena, path, NULL, p->error);
		if (r == 0)
			r = plan_globs_expand(p, &g.alternatives[0], plan_exec_add_essential, p);
	}
	return r;
}

int plan_exec_collect(struct planner *p)
{
	const struct resolver *resolver = p->options->resolver;
	int r = 0;

	for (size_t i = 0; !p->plan->exec_listed && i < policy_layers(p->policy); i++)
		p->plan->exec_listed = plan_exec_is_listed_in(p, i);
	for (size_t i = 0; r == 0 && i < p->n_layers; i++) {
		const struct permissions *l = p->layers[i];
		bool allows = true;

		r = plan_patterns_each(p, &l->exec, plan_exec_add_pattern, &allows);
		for (size_t k = 0; r == 0 && k < l->n_rules; k++) {
			allows = l->rules[k].action == VERDICT_ALLOW;
			if (plan_is_about(&l->rules[k], 1 << OPERATION_EXEC))
				r = plan_patterns_each(
					p, &l->rules[k].patterns, plan_exec_add_pattern, &allows);
		}
	}
	if (r == 0)
		r = plan_exec_check_folders(p);
	if (r == 0 && p->options->shell && resolver)
		r = resolver->programs(resolver->context, "/bin/sh", plan_exec_add_program, p);
	if (r == -ENOENT)
		r = 0;
	return r == 0 && p->plan->exec_listed ? plan_exec_add_essentials(p) : r;
}

/* Landlock's list: what is visible, may run, and is not there to be mapped only. */
int plan_exec_list(struct planner *p)
{
	struct plan *plan = p->plan;

	for (size_t i = 0; plan->exec_listed && i < p->n; i++) {
		const struct plan_place *place = &p->places[i];
		struct plan_node *node;
		const char *path;

		if (place->runs != PLAN_RUNS || !place->exists ||
			(place->origin == PLAN_FROM_ESSENTIALS && place->is_dir))
			continue;
		/* What exists has a node of its own, but where the tree makes all itself. */
		node = &p->nodes[plan_nodes_find(p, place->real) - p->nodes];
		if (node->kind != PLAN_BIND || !node->exec || node->listed ||
			strcmp(node->path, place->real) != 0)
			continue;
		node->listed = true;
		path = arena_strdup(&plan->arena, place->real);
		if (!path || ARENA_PUSH(&plan->arena, plan->programs, plan->n_programs,
				     plan->cap_programs, path) < 0)
			return -ENOMEM;
	}
	return 0;
}
