/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exec entries. A program given by name or by its path is put into one set together with its
 * arguments (command-key.h); the resolver adds every file that the name leads to. A glob over
 * program files goes into a set of its own, and only a glob with arguments has to be tried one by
 * one.
 */
#include <errno.h>
#include <string.h>

#include "policy/match/command-key.h"
#include "policy/match/command.h"
#include "policy/compiler.h"

/* The parts of an entry: one command pattern, narrowed by globs over the program's file. */
struct command_entry {
	struct command_pattern pattern;
	bool has_name;      /* the program is given by name */
	struct glob *globs; /* what the program's path must match */
	size_t n_globs;
};

/* A glob over every file narrows nothing, not even a name. */
static int compiler_command_add_glob(struct compiler *c, struct command_entry *entry,
	const char *text, const struct location *where)
{
	struct glob *g = &entry->globs[entry->n_globs];
	int r = compiler_parse_path(c, text, where, g);

	if (r == 0 && !compiler_is_everything(g))
		entry->n_globs++;
	return r;
}

static int add_command_part(struct compiler *c, struct command_entry *entry, const char *text,
	const struct location *where, bool *ret_empty)
{
	struct command_pattern p, met = entry->pattern;
	int r = command_pattern_parse(&p, c->arena, text, where, c->error);

	if (r < 0)
		return r;
	r = command_pattern_meet_args(&entry->pattern, &p, &met);
	if (r <= 0)
		*ret_empty = true;
	met.program = entry->pattern.program;
	met.is_name = entry->pattern.is_name;
	entry->pattern = met;
	if (!p.is_name)
		return compiler_command_add_glob(c, entry, p.program, where);
	/* Two names meet only if they are the same. */
	if (entry->has_name && strcmp(entry->pattern.program, p.program) != 0)
		*ret_empty = true;
	entry->pattern.program = p.program;
	entry->has_name = entry->pattern.is_name = true;
	return 0;
}

/* Puts a pattern whose program is known by its bytes into the set. */
static int add_literal_command(
	struct compiler *c, const char *program, const struct command_pattern *p, uint32_t rank)
{
	struct command_key key;
	const struct glob *g;

	command_key_start(&key, program);
	for (size_t i = 0; i < p->n_args; i++)
		command_key_add(&key, p->args[i]);
	if (key.full)
		return error_set(c->error, -E2BIG, NULL, "a command pattern is too long");
	g = compiler_literal(c, key.text, key.len, p->more);
	return g ? pathset_add(c->layer->commands, g, 1, rank) : -ENOMEM;
}

/* The files that a name was found to be. */
struct found {
	struct compiler *compiler;
	const struct command_entry *entry;
	uint32_t rank;
};

static bool all_match(const struct command_entry *entry, const char *path)
{
	for (size_t i = 0; i < entry->n_globs; i++) {
		if (!glob_match(&entry->globs[i], path, strlen(path)))
			return false;
	}
	return true;
}

static int compiler_command_add_found(void *data, const char *path)
{
	struct found *f = data;

	if (!all_match(f->entry, path))
		return 0;
	return add_literal_command(f->compiler, path, &f->entry->pattern, f->rank);
}

static int compiler_command_resolve(
	struct compiler *c, const struct command_entry *entry, const char *program, uint32_t rank)
{
	struct found f = { .compiler = c, .entry = entry, .rank = rank };
	int r;

	if (!c->resolver)
		return 0;
	r = c->resolver->programs(c->resolver->context, program, compiler_command_add_found, &f);
	return r == -ENOENT ? 0 : r;
}

/* A name: itself (unless a path must match as well), and the files that it is found to be. */
static int add_named_command(struct compiler *c, const struct command_entry *entry, uint32_t rank)
{
	int r = 0;

	if (entry->n_globs == 0)
		r = add_literal_command(c, entry->pattern.program, &entry->pattern, rank);
	return r < 0 ? r : compiler_command_resolve(c, entry, entry->pattern.program, rank);
}

static int add_fine(struct compiler *c, const struct command_entry *entry, uint32_t rank)
{
	struct layer *l = c->layer;
	struct command_pattern *p = arena_alloc(c->arena, sizeof(*p));
	struct fine_command fine = {
		.programs = entry->globs, .n_programs = entry->n_globs, .pattern = p, .rank = rank
	};

	if (!p)
		return -ENOMEM;
	*p = entry->pattern;
	return ARENA_PUSH(c->arena, l->fine, l->n_fine, l->cap_fine, fine);
}

/* Any program, whether it is known by name or by file. */
static int add_any_command(struct compiler *c, const struct command_entry *entry, uint32_t rank)
{
	const struct glob *g;

	if (command_pattern_is_fine(&entry->pattern))
		return add_fine(c, entry, rank);
	g = compiler_literal(c, "", 0, true);
	return g ? pathset_add(c->layer->commands, g, 1, rank) : -ENOMEM;
}

/* One path pattern: literal files are words of a command, and resolved like names; globs stay
 * globs. */
static int add_path_command(struct compiler *c, const struct command_entry *entry, uint32_t rank)
{
	const struct glob *g = &entry->globs[0];
	bool literal = entry->n_globs == 1;
	int r = 0;

	for (size_t i = 0; i < g->n; i++)
		literal = literal && g->alternatives[i].kind == GLOB_LITERAL;
	if (!literal && command_pattern_is_fine(&entry->pattern))
		return add_fine(c, entry, rank);
	if (!literal)
		return pathset_add(c->layer->programs, entry->globs, entry->n_globs, rank);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		const char *path = g->alternatives[i].literal;
		struct command_entry hops = { .pattern = entry->pattern };

		r = add_literal_command(c, path, &entry->pattern, rank);
		if (r == 0)
			r = compiler_command_resolve(c, &hops, path, rank);
	}
	return r;
}

int compiler_add_command(struct compiler *c, uint32_t rank)
{
	const struct source *s = &c->layer->sources[OPERATION_EXEC].items[rank];
	struct command_entry entry = { .pattern = { .more = true } };
	bool empty = false;

	entry.globs = arena_calloc(c->arena, s->grant->n, sizeof(*entry.globs));
	if (!entry.globs)
		return -ENOMEM;
	for (size_t i = 0; i < s->grant->n; i++) {
		int r = add_command_part(c, &entry, s->grant->all[i], &s->where, &empty);

		if (r < 0)
			return r;
	}
	if (empty)
		return 0;
	if (!entry.has_name && entry.n_globs == 0)
		return add_any_command(c, &entry, rank);
	return entry.has_name ? add_named_command(c, &entry, rank)
			      : add_path_command(c, &entry, rank);
}
