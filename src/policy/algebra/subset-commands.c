/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands. What follows the program falls into finitely many classes: not known, nothing, a word
 * that no pattern has, and for each pattern its own words, alone and with one more. For every class
 * the program files are compared as paths (subset-paths.c), with only those entries that take such
 * arguments. Programs given by name are tried one by one: each that is mentioned, and a fresh one.
 *
 * A name and a path that must both match ({all: [curl, /usr/**]}) mean files that only the file
 * system knows. Such an entry of A is covered by layers of B that run the name, or all the files of
 * that path, or have the very same entry; else it is too complex. On B's side it counts as nothing.
 */
#include <errno.h>
#include <string.h>

#include "policy/match/command.h"
#include "policy/algebra/internal.h"

enum { CLASSES_MAX = 96, NAMES_MAX = 2048 };

struct args_class {
	const char *const *words; /* NULL: not known */
	size_t n;
};

struct classes {
	struct arena arena;
	const char *fresh;
	struct args_class items[CLASSES_MAX];
	size_t n;
};

static bool subset_commands_same_class(
	const struct args_class *c, const char *const *words, size_t n)
{
	if (!c->words || c->n != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(c->words[i], words[i]) != 0)
			return false;
	}
	return true;
}

static int add_class(struct classes *c, const char *const *words, size_t n, bool one_more)
{
	const char **copy = arena_calloc(&c->arena, n + 2, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		copy[i] = words[i];
	if (one_more)
		copy[n++] = c->fresh;
	for (size_t i = 0; i < c->n; i++) {
		if (subset_commands_same_class(&c->items[i], copy, n))
			return 0;
	}
	if (c->n == CLASSES_MAX)
		return -E2BIG;
	c->items[c->n++] = (struct args_class){ .words = copy, .n = n };
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

static int subset_commands_make_classes(struct classes *c, const struct subset_compare *compare)
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
static int subset_commands_fill(struct subset_machines *m, struct subset_machine *machine,
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

static int subset_commands_add_layer(struct subset_machines *m, const struct subset_compare *c,
	const struct layer *l, const struct args_class *args)
{
	size_t max = l->sources[OPERATION_FS_READ].n + l->sources[OPERATION_EXEC].n;
	struct subset_machine *machine =
		subset_machine_new(m, max, l->mode == MODE_ENFORCE ? l->fallback : VERDICT_ALLOW);

	if (!machine)
		return -ENOMEM;
	return l->mode == MODE_MONITOR ? 0 : subset_commands_fill(m, machine, c, l, args);
}

static int subset_commands_add_side(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, const struct args_class *args)
{
	for (size_t i = 0; i < side->n; i++) {
		int r = subset_commands_add_layer(m, c, policy_layer(side->policy, i), args);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Words as command patterns have them: a blank inside one has a backslash. */
static void subset_commands_add_word(struct buffer *out, const char *word)
{
	for (; *word; word++) {
		if (*word == ' ' || *word == '\\')
			buffer_addc(out, '\\');
		buffer_addc(out, *word);
	}
}

static int subset_commands_found(
	struct subset_compare *c, const char *program, const struct args_class *args)
{
	auto_buffer witness = { 0 };

	subset_commands_add_word(&witness, program);
	for (size_t i = 0; args->words && i < args->n; i++) {
		buffer_addc(&witness, ' ');
		subset_commands_add_word(&witness, args->words[i]);
	}
	return witness.failed ? -ENOMEM : subset_found(c, "exec", buffer_text(&witness));
}

static int subset_commands_compare_files(struct subset_compare *c, const struct args_class *args)
{
	auto_subset_machines m = { 0 };
	auto_buffer witness = { 0 };
	int r = subset_commands_add_side(&m, c, &c->a, args);

	m.n_a = m.n;
	if (r == 0)
		r = subset_commands_add_side(&m, c, &c->b, args);
	if (r == 0)
		r = subset_machines_search(c, &m, PRODUCT_PATHS, &witness);
	return r <= 0 ? r : subset_commands_found(c, buffer_text(&witness), args);
}

/* Names */

struct names {
	const char **items;
	size_t n, cap;
};

static int subset_commands_add_name(struct names *names, struct arena *a, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i], name) == 0)
			return 0;
	}
	if (names->n == NAMES_MAX)
		return -E2BIG;
	return ARENA_PUSH(a, names->items, names->n, names->cap, name);
}

static int subset_commands_add_names(struct names *names, struct arena *a, const struct grant *g)
{
	for (size_t k = 0; k < g->n; k++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, a, g->all[k], NULL, NULL);

		if (r == 0 && p.is_name)
			r = subset_commands_add_name(names, a, p.program);
		if (r < 0)
			return r;
	}
	return 0;
}

static int list_names(struct names *names, struct arena *a, const struct subset_side *side)
{
	for (size_t l = 0; l < side->n; l++) {
		const struct sources *s = &policy_layer(side->policy, l)->sources[OPERATION_EXEC];

		for (size_t i = 0; i < s->n; i++) {
			int r = subset_commands_add_names(names, a, s->items[i].grant);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int subset_commands_try_name(
	struct subset_compare *c, const char *name, const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = name, .args = args->words, .n_args = args->n
	};

	int a = subset_decide(&c->a, &r), b = subset_decide(&c->b, &r);

	if (a < 0 || b < 0)
		return subset_too_complex(c, "exec");
	return a > b ? subset_commands_found(c, name, args) : 0;
}

static int subset_commands_compare_names(struct subset_compare *c, struct classes *classes)
{
	struct names names = { 0 };
	int r = subset_commands_add_name(&names, &classes->arena, c->fresh);

	if (r == 0)
		r = list_names(&names, &classes->arena, &c->a);
	if (r == 0)
		r = list_names(&names, &classes->arena, &c->b);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		for (size_t k = 0; r == 0 && k < classes->n; k++)
			r = subset_commands_try_name(c, names.items[i], &classes->items[k]);
	}
	return r;
}

/* Names with paths */

/* An entry taken apart. */
struct mixed {
	const struct source *source;
	const char *name; /* NULL: none */
	struct grant paths;
	bool taken; /* such arguments */
};

static int take_apart(
	struct mixed *ret, struct arena *a, const struct source *s, const struct args_class *args)
{
	const char **paths = arena_calloc(a, s->grant->n, sizeof(*paths));

	*ret = (struct mixed){ .source = s, .paths.all = paths, .taken = true };
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < s->grant->n; i++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, a, s->grant->all[i], NULL, NULL);

		if (r < 0)
			return r;
		ret->taken = ret->taken && takes(&p, args);
		if (p.is_name)
			ret->name = p.program;
		else
			paths[ret->paths.n++] = p.program;
	}
	return 0;
}

static bool layer_has(const struct layer *l, const struct source *s)
{
	const struct sources *all = &l->sources[OPERATION_EXEC];

	for (size_t i = 0; i < all->n; i++) {
		const struct grant *g = all->items[i].grant;
		size_t n = 0;

		if (all->items[i].verdict < s->verdict || g->n != s->grant->n)
			continue;
		while (n < g->n && strcmp(g->all[n], s->grant->all[n]) == 0)
			n++;
		if (n == g->n)
			return true;
	}
	return false;
}

/* 1: the layer runs all that the entry can stand for; 0: perhaps not. */
static int subset_commands_covers(
	struct subset_compare *c, size_t i, const struct mixed *x, const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = x->name, .args = args->words, .n_args = args->n
	};
	const struct layer *l = policy_layer(c->b.policy, i);
	auto_subset_machines m = { 0 };
	struct subset_machine *paths;
	struct decision d;
	int err;

	if (policy_decide_layer(c->b.policy, i, &r, &d) == 0 && d.verdict >= x->source->verdict)
		return 1;
	if (layer_has(l, x->source))
		return 1;
	paths = subset_machine_new(&m, 1, VERDICT_DENY);
	err = paths ? subset_machine_add(&m, paths, c->vars, &x->paths, 0, x->source->verdict)
		    : -ENOMEM;
	m.n_a = 1;
	if (err == 0)
		err = subset_commands_add_layer(&m, c, l, args);
	if (err == 0)
		err = subset_machines_search(c, &m, PRODUCT_PATHS, NULL);
	return err < 0 ? err : err == 0;
}

static int compare_mixed(struct subset_compare *c, struct classes *classes, const struct source *s)
{
	for (size_t k = 0; k < classes->n; k++) {
		struct mixed x;
		int r = take_apart(&x, &classes->arena, s, &classes->items[k]);

		if (r < 0)
			return r;
		if (!x.name || !x.paths.n || !x.taken)
			continue;
		for (size_t i = 0; i < c->b.n; i++) {
			r = subset_commands_covers(c, i, &x, &classes->items[k]);
			if (r <= 0)
				return r < 0 ? r : -E2BIG;
		}
	}
	return 0;
}

static int compare_all_mixed(struct subset_compare *c, struct classes *classes)
{
	for (size_t l = 0; l < c->a.n; l++) {
		const struct sources *s = &policy_layer(c->a.policy, l)->sources[OPERATION_EXEC];

		for (size_t i = 0; i < s->n; i++) {
			int r = 0;

			if (s->items[i].verdict != VERDICT_DENY && s->items[i].grant->n > 1)
				r = compare_mixed(c, classes, &s->items[i]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int subset_commands(struct subset_compare *c, enum operation op)
{
	struct classes classes = { .fresh = c->fresh };
	int r = subset_commands_make_classes(&classes, c);

	(void)op;
	for (size_t i = 0; r == 0 && i < classes.n; i++)
		r = subset_commands_compare_files(c, &classes.items[i]);
	if (r == 0)
		r = subset_commands_compare_names(c, &classes);
	if (r == 0)
		r = compare_all_mixed(c, &classes);
	if (r == -E2BIG)
		r = subset_too_complex(c, "exec");
	arena_deinit(&classes.arena);
	return r;
}
