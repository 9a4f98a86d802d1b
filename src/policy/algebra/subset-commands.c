/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands. What follows the program falls into finitely many classes: not known, nothing, a word
 * that no pattern has, and for each pattern its own words, alone and with one more. For every class
 * the program files are compared as paths (subset-files.c), with only those entries that take such
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

/* What is to be tried: every class of arguments, and every name. */
struct command_trials {
	struct arena arena;
	const char *fresh;
	struct args_class classes[CLASSES_MAX];
	size_t n_classes;
	struct subset_words names;
};

static int commands_add_class(
	struct command_trials *c, const char *const *words, size_t n, bool one_more)
{
	const char **copy = arena_calloc(&c->arena, n + 2, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		copy[i] = words[i];
	if (one_more)
		copy[n++] = c->fresh;
	for (size_t i = 0; i < c->n_classes; i++) {
		const struct args_class *old = &c->classes[i];
		size_t same = 0;

		while (old->words && old->n == n && same < n &&
			strcmp(old->words[same], copy[same]) == 0)
			same++;
		if (old->words && old->n == n && same == n)
			return 0;
	}
	if (c->n_classes == CLASSES_MAX)
		return -E2BIG;
	c->classes[c->n_classes++] = (struct args_class){ .words = copy, .n = n };
	return 0;
}

static int commands_add_source(void *data, const struct source *s)
{
	struct command_trials *c = data;

	for (size_t i = 0; i < s->grant->n; i++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, &c->arena, s->grant->all[i], NULL, NULL);

		/* What the text of a command may be falls into no classes. */
		if (r == 0 && p.line)
			r = -E2BIG;
		if (r == 0 && p.n_args)
			r = commands_add_class(c, p.args, p.n_args, false);
		if (r == 0 && p.n_args)
			r = commands_add_class(c, p.args, p.n_args, true);
		/* One too many is enough to say so. */
		if (r == 0 && p.is_name && c->names.n <= NAMES_MAX)
			r = subset_words_add(&c->names, &c->arena, p.program);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An entry taken apart. */
struct command_parts {
	const struct source *source;
	const char *name; /* NULL: none */
	struct grant paths;
	bool taken; /* such arguments; unknown ones only if it takes any */
};

static int entry_parse(struct command_parts *ret, struct arena *a, const struct source *s,
	const struct args_class *args)
{
	const char **paths = arena_calloc(a, s->grant->n, sizeof(*paths));

	*ret = (struct command_parts){ .source = s, .paths.all = paths, .taken = true };
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < s->grant->n; i++) {
		struct command_pattern p;
		int r = command_pattern_parse(&p, a, s->grant->all[i], NULL, NULL);

		if (r < 0)
			return r;
		if (args->words ? !command_pattern_matches_args(&p, args->words, args->n)
				: command_pattern_is_fine(&p))
			ret->taken = false;
		if (p.is_name)
			ret->name = p.program;
		else
			paths[ret->paths.n++] = p.program;
	}
	return 0;
}

/* fs.deny first, then the exec entries (or, without a list, what may be read). */
static int fill_programs(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, size_t layer, const void *how)
{
	const struct layer *l = policy_layer(side->policy, layer);
	const struct sources *reads = &l->sources[OPERATION_FS_READ];
	const struct sources *execs = &l->sources[OPERATION_EXEC];
	struct subset_machine *machine =
		subset_machine_new(m, reads->n + execs->n, subset_fallback(l));
	uint32_t rank = 0;
	int r = machine ? 0 : -ENOMEM;

	if (r < 0 || l->mode == MODE_MONITOR)
		return r;
	for (size_t i = 0; r == 0 && i < reads->n; i++) {
		if (i < l->n_denied_paths || layer_exec_is_open(l))
			r = subset_machine_add(m, machine, c->vars, reads->items[i].grant, rank++,
				reads->items[i].in->verdict);
	}
	for (size_t i = 0; r == 0 && i < execs->n; i++) {
		struct command_parts entry;

		r = entry_parse(&entry, &m->arena, &execs->items[i], how);
		if (r == 0 && entry.taken && !entry.name)
			r = subset_machine_add(m, machine, c->vars, &entry.paths, rank++,
				execs->items[i].in->verdict);
	}
	return r;
}

/* The witness is written as command patterns have words: a blank inside one has a backslash. */
static int commands_found(
	struct subset_compare *c, const char *program, const struct args_class *args)
{
	auto_buffer witness = { 0 };
	size_t n = args->words ? args->n : 0;

	for (size_t i = 0; i <= n; i++) {
		const char *word = i ? args->words[i - 1] : program;

		if (i)
			buffer_addc(&witness, ' ');
		for (; *word; word++) {
			if (*word == ' ' || *word == '\\')
				buffer_addc(&witness, '\\');
			buffer_addc(&witness, *word);
		}
	}
	return witness.failed ? -ENOMEM : subset_found(c, "exec", buffer_text(&witness));
}

static int compare_programs(struct subset_compare *c, const struct args_class *args)
{
	auto_buffer file = { 0 };
	int r = subset_search(c, fill_programs, args, PRODUCT_PATHS, &file);

	return r <= 0 ? r : commands_found(c, buffer_text(&file), args);
}

static int compare_named(struct subset_compare *c, const char *name, const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = name, .args = args->words, .n_args = args->n
	};
	int found = subset_try(c, &r);

	return found <= 0 || c->result->answer != SUBSET_NO ? found : commands_found(c, name, args);
}

/* Names with paths */

static bool layer_has(const struct layer *l, const struct source *s)
{
	const struct sources *all = &l->sources[OPERATION_EXEC];

	for (size_t i = 0; i < all->n; i++) {
		const struct grant *g = all->items[i].grant;
		size_t n = 0;

		if (all->items[i].in->verdict < s->in->verdict || g->n != s->grant->n)
			continue;
		while (n < g->n && strcmp(g->all[n], s->grant->all[n]) == 0)
			n++;
		if (n == g->n)
			return true;
	}
	return false;
}

/* 1: the layer of B runs all that the entry can stand for; 0: perhaps not. */
static int layer_covers(struct subset_compare *c, size_t i, const struct command_parts *x,
	const struct args_class *args)
{
	const struct request r = {
		.op = OPERATION_EXEC, .target = x->name, .args = args->words, .n_args = args->n
	};
	auto_subset_machines m = { 0 };
	struct subset_machine *paths;
	struct decision d;
	int err;

	if (policy_decide_layer(c->b.policy, i, &r, &d) == 0 && d.verdict >= x->source->in->verdict)
		return 1;
	if (layer_has(policy_layer(c->b.policy, i), x->source))
		return 1;
	paths = subset_machine_new(&m, 1, VERDICT_DENY);
	err = paths ? subset_machine_add(&m, paths, c->vars, &x->paths, 0, x->source->in->verdict)
		    : -ENOMEM;
	m.n_a = 1;
	if (err == 0)
		err = fill_programs(&m, c, &c->b, i, args);
	if (err == 0)
		err = subset_machines_search(c, &m, PRODUCT_PATHS, NULL);
	return err < 0 ? err : err == 0;
}

static int compare_mixed(
	struct subset_compare *c, struct command_trials *all, const struct source *s)
{
	for (size_t k = 0; k < all->n_classes; k++) {
		struct command_parts x;
		int r = entry_parse(&x, &all->arena, s, &all->classes[k]);

		if (r < 0)
			return r;
		if (!x.name || !x.paths.n || !x.taken)
			continue;
		for (size_t i = 0; i < c->b.n; i++) {
			r = layer_covers(c, i, &x, &all->classes[k]);
			if (r <= 0)
				return r < 0 ? r : -E2BIG;
		}
	}
	return 0;
}

static int compare_all_mixed(struct subset_compare *c, struct command_trials *all)
{
	int r = 0;

	for (size_t l = 0; l < c->a.n; l++) {
		const struct sources *s = &policy_layer(c->a.policy, l)->sources[OPERATION_EXEC];

		for (size_t i = 0; r == 0 && i < s->n; i++) {
			if (s->items[i].in->verdict != VERDICT_DENY && s->items[i].grant->n > 1)
				r = compare_mixed(c, all, &s->items[i]);
		}
	}
	return r;
}

int subset_commands(struct subset_compare *c, enum operation op)
{
	/* The first class of arguments: not known. */
	struct command_trials all = { .fresh = c->fresh, .n_classes = 1 };
	int r = commands_add_class(&all, NULL, 0, false);

	if (r == 0)
		r = commands_add_class(&all, NULL, 0, true);
	if (r == 0)
		r = subset_words_add(&all.names, &all.arena, c->fresh);
	if (r == 0)
		r = subset_each_source(c, op, commands_add_source, &all);
	for (size_t i = 0; r == 0 && i < all.n_classes; i++)
		r = compare_programs(c, &all.classes[i]);
	if (r == 0 && all.names.n > NAMES_MAX)
		r = -E2BIG;
	for (size_t i = 0; r == 0 && i < all.names.n; i++) {
		for (size_t k = 0; r == 0 && k < all.n_classes; k++)
			r = compare_named(c, all.names.items[i], &all.classes[k]);
	}
	if (r == 0)
		r = compare_all_mixed(c, &all);
	if (r == -E2BIG)
		r = subset_too_complex(c, operation_name(op));
	arena_deinit(&all.arena);
	return r;
}
