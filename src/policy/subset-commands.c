/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands. What follows the program falls into finitely many classes: not known, nothing, a word
 * that no pattern has, and for each pattern its own words, alone and with one more. For every class
 * the program files are compared as paths (subset-paths.c), with only those entries that take such
 * arguments. Programs given by name are tried one by one.
 *
 * A name and a path that must both match ({all: [curl, /usr/**]}) cannot be judged without looking
 * at the file system. On A's side such an entry counts as the bare name, on B's side as nothing,
 * unless both sides have the very same entry.
 */
#include <errno.h>
#include <string.h>

#include "policy/command.h"
#include "policy/subset-part.h"

enum { CLASSES_MAX = 96 };

struct args_class {
	const char *const *words; /* NULL: not known */
	size_t n;
};

struct classes {
	struct arena arena;
	struct args_class items[CLASSES_MAX];
	size_t n;
};

static int add_class(struct classes *c, const char *const *words, size_t n, bool one_more)
{
	const char **copy = arena_calloc(&c->arena, n + 2, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (c->n == CLASSES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		copy[i] = words[i];
	if (one_more)
		copy[n] = "corral-witness";
	c->items[c->n++] = (struct args_class){ .words = copy, .n = n + one_more };
	return 0;
}

static int add_classes(struct classes *c, const struct subset_side *side)
{
	for (size_t l = 0; l < side->n; l++) {
		const struct sources *s = &policy_layer(side->policy, l)->sources[OPERATION_EXEC];

		for (size_t i = 0; i < s->n; i++) {
			for (size_t k = 0; k < s->items[i].grant->n; k++) {
				struct command_pattern p;
				int r = command_pattern_parse(
					&p, &c->arena, s->items[i].grant->all[k], NULL, NULL);

				if (r == 0 && p.n_args) {
					r = add_class(c, p.args, p.n_args, false);
					if (r == 0)
						r = add_class(c, p.args, p.n_args, true);
				}
				if (r < 0)
					return r;
			}
		}
	}
	return 0;
}

static int make_classes(struct classes *c, const struct subset_compare *compare)
{
	int r;

	c->items[c->n++] = (struct args_class){ 0 };
	r = add_class(c, NULL, 0, false);
	if (r == 0)
		r = add_class(c, NULL, 0, true);
	if (r == 0)
		r = add_classes(c, &compare->a);
	return r < 0 ? r : add_classes(c, &compare->b);
}

/* Does a pattern take these arguments? Unknown ones only if it takes any. */
static bool takes(const struct command_pattern *p, const struct args_class *args)
{
	return args->words ? command_pattern_matches_args(p, args->words, args->n)
			   : !command_pattern_is_fine(p);
}

/* The paths of an entry that takes these arguments; n is 0 if it does not, or has a name in it. */
static int entry_paths(struct subset_machines *m, const struct grant *g,
	const struct args_class *args, struct grant *ret)
{
	const char **paths = arena_calloc(&m->arena, g->n, sizeof(*paths));

	*ret = (struct grant){ .all = paths };
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, &m->arena, g->all[i], NULL, NULL);

		if (r < 0)
			return r;
		if (p.is_name || !takes(&p, args)) {
			ret->n = 0;
			return 0;
		}
		paths[ret->n++] = p.program;
	}
	return 0;
}

/* fs.deny first, then the exec entries (or, without a list, what may be read). */
static int fill(struct subset_machines *m, struct subset_machine *machine,
	const struct subset_compare *c, const struct layer *l, const struct args_class *args)
{
	const struct sources *reads = &l->sources[OPERATION_FS_READ];
	const struct sources *execs = &l->sources[OPERATION_EXEC];
	uint32_t rank = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < reads->n; i++) {
		if (i < l->n_denied_paths || layer_exec_is_open(l))
			r = subset_machine_add(m, machine, c->vars, reads->items[i].grant, rank++,
				reads->items[i].verdict);
	}
	for (size_t i = 0; r == 0 && i < execs->n; i++) {
		struct grant paths;

		r = entry_paths(m, execs->items[i].grant, args, &paths);
		if (r == 0 && paths.n)
			r = subset_machine_add(
				m, machine, c->vars, &paths, rank++, execs->items[i].verdict);
	}
	return r;
}

static int add_side(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, const struct args_class *args)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct layer *l = policy_layer(side->policy, i);
		size_t max = l->sources[OPERATION_FS_READ].n + l->sources[OPERATION_EXEC].n;
		struct subset_machine *machine = subset_machine_new(
			m, max, l->mode == MODE_ENFORCE ? l->fallback : VERDICT_ALLOW);
		int r = machine ? 0 : -ENOMEM;

		if (r == 0 && l->mode != MODE_MONITOR)
			r = fill(m, machine, c, l, args);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_files(struct subset_compare *c, const struct args_class *args)
{
	auto_subset_machines m = { 0 };
	auto_buffer witness = { 0 };
	int r = add_side(&m, c, &c->a, args);

	m.n_a = m.n;
	if (r == 0)
		r = add_side(&m, c, &c->b, args);
	if (r == 0)
		r = subset_machines_search(&m, PRODUCT_PATHS, &witness);
	if (r <= 0)
		return r;
	for (size_t i = 0; args->words && i < args->n; i++)
		buffer_printf(&witness, " %s", args->words[i]);
	return subset_found(c, "exec", buffer_text(&witness));
}

/* Names */

static bool same_grant(const struct grant *a, const struct grant *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->all[i], b->all[i]) != 0)
			return false;
	}
	return true;
}

static bool layer_has(const struct layer *l, const struct grant *g, enum verdict v)
{
	const struct sources *s = &l->sources[OPERATION_EXEC];

	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].verdict >= v && same_grant(s->items[i].grant, g))
			return true;
	}
	return false;
}

/* A layer without a list runs every file that it can read; if those are all, it runs every name. */
static bool reads_all(const struct layer *l)
{
	const struct sources *s = &l->sources[OPERATION_FS_READ];

	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].verdict != VERDICT_ALLOW)
			return false;
		if (strcmp(s->items[i].text, "/**") == 0 && s->items[i].grant->n == 1)
			return true;
	}
	return l->fallback == VERDICT_ALLOW || l->mode != MODE_ENFORCE;
}

static enum verdict decide_name(
	const struct layer *l, const struct subset_side *side, size_t i, const struct request *r)
{
	struct decision d;

	if (layer_exec_is_open(l))
		return reads_all(l) ? VERDICT_ALLOW : VERDICT_DENY;
	return policy_decide_layer(side->policy, i, r, &d) < 0 ? VERDICT_DENY : d.verdict;
}

static int try_name(struct subset_compare *c, const struct source *s, const char *name,
	const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = name, .args = args->words, .n_args = args->n
	};

	for (size_t i = 0; i < c->b.n; i++) {
		const struct layer *l = policy_layer(c->b.policy, i);

		if (decide_name(l, &c->b, i, &r) < s->verdict &&
			!layer_has(l, s->grant, s->verdict))
			return subset_found(c, "exec", name);
	}
	return c->b.n ? 0 : subset_found(c, "exec", name);
}

static bool has_path_entries(const struct layer *l)
{
	const struct sources *s = &l->sources[OPERATION_EXEC];

	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->items[i].grant->n; k++) {
			if (strchr("/$~*", s->items[i].grant->all[k][0]))
				return true;
		}
	}
	return false;
}

/* A layer of A that knows programs by name only, and not this one, takes it out of the
 * intersection. */
static bool ruled_out(const struct subset_compare *c, const char *name, enum verdict v,
	const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = name, .args = args->words, .n_args = args->n
	};

	for (size_t i = 0; i < c->a.n; i++) {
		const struct layer *l = policy_layer(c->a.policy, i);

		if (!layer_exec_is_open(l) && !has_path_entries(l) &&
			decide_name(l, &c->a, i, &r) < v)
			return true;
	}
	return false;
}

static int try_source(struct subset_compare *c, struct classes *classes, const struct source *s)
{
	for (size_t k = 0; k < s->grant->n; k++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, &classes->arena, s->grant->all[k], NULL, NULL);

		if (r < 0)
			return r;
		for (size_t i = 0; p.is_name && i < classes->n; i++) {
			if (!takes(&p, &classes->items[i]) ||
				ruled_out(c, p.program, s->verdict, &classes->items[i]))
				continue;
			r = try_name(c, s, p.program, &classes->items[i]);
			if (r)
				return r;
		}
	}
	return 0;
}

static int compare_names(struct subset_compare *c, struct classes *classes)
{
	for (size_t l = 0; l < c->a.n; l++) {
		const struct sources *s = &policy_layer(c->a.policy, l)->sources[OPERATION_EXEC];

		for (size_t i = 0; i < s->n; i++) {
			int r = s->items[i].verdict == VERDICT_DENY
					? 0
					: try_source(c, classes, &s->items[i]);

			if (r)
				return r;
		}
	}
	return 0;
}

int subset_commands(struct subset_compare *c)
{
	struct classes classes = { 0 };
	int r = make_classes(&classes, c);

	for (size_t i = 0; r == 0 && i < classes.n; i++)
		r = compare_files(c, &classes.items[i]);
	if (r == 0)
		r = compare_names(c, &classes);
	if (r == -E2BIG)
		r = subset_too_complex(c, "exec");
	arena_deinit(&classes.arena);
	return r;
}
