/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that was text becomes tokens, prefixes and words here, and variables get their values,
 * so that deciding only ever compares bytes.
 *
 * Programs: one given by name or by its path is put into one set together with its arguments
 * (command.h); the resolver adds every file that the name leads to. A glob over program files
 * goes into a set of its own, and only a glob with arguments has to be tried one by one.
 *
 * Environment: NAME (maybe a glob) lets the host's value in, NAME=value sets that value and nothing
 * else. Both are matched as paths of one component: "/NAME", "/NAME=value".
 */
#include "policy/compiler.h"

#include <errno.h>
#include <string.h>

#include "policy/match/command.h"
#include "policy/variable.h"

/* A path pattern with its variable replaced, parsed. */
static int compiler_parse_path(
	struct compiler *c, const char *text, const struct location *where, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(c->vars, text, c->arena, &expanded, where, c->error);

	return r < 0 ? r : glob_parse(ret, c->arena, expanded, where, c->error);
}

/* The glob covers every file there is. A program that is asked for by name is some file, too. */
static bool compiler_is_everything(const struct glob *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->alternatives[i].kind == GLOB_SUBTREE && g->alternatives[i].literal_len == 0)
			return true;
	}
	return false;
}

/* Adds a glob that is just these bytes (copied), or the folder of that name with all below it. */
static int compiler_add_bytes(struct compiler *c, struct pathset *set, const char *bytes,
	size_t len, bool subtree, uint32_t rank)
{
	struct glob_alternative *alt = arena_alloc(c->arena, sizeof(*alt));
	struct glob *g = arena_alloc(c->arena, sizeof(*g));
	char *copy = arena_strndup(c->arena, bytes, len);

	if (!alt || !g || !copy)
		return -ENOMEM;
	alt->kind = subtree ? GLOB_SUBTREE : GLOB_LITERAL;
	alt->literal = copy;
	alt->literal_len = len;
	*g = (struct glob){ .alternatives = alt, .n = 1 };
	return pathset_add(set, g, 1, rank);
}

/* *ret_everything (may be NULL): the entry covers every file. */
static int compiler_add_globs(struct compiler *c, struct pathset *set, const struct grant *g,
	uint32_t rank, bool *ret_everything)
{
	struct glob *globs = arena_calloc(c->arena, g->n, sizeof(*globs));
	bool everything = true;

	if (!globs)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		int r = compiler_parse_path(c, g->all[i], &g->where, &globs[i]);

		if (r < 0)
			return r;
		everything = everything && compiler_is_everything(&globs[i]);
	}
	if (ret_everything)
		*ret_everything = everything;
	return pathset_add(set, globs, g->n, rank);
}

int compiler_add_path(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	struct pathset *set = c->layer->paths[op == OPERATION_FS_WRITE];
	bool everything = false;
	int r = compiler_add_globs(c, set, s->grant, rank, &everything);

	if (everything && op == OPERATION_FS_READ)
		c->layer->any_file = rank_best(c->layer->any_file, rank);
	return r;
}

int compiler_add_dangerous(struct compiler *c, const struct grant *g)
{
	return compiler_add_globs(c, c->layer->dangerous, g, 0, NULL);
}

int compiler_add_host(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	bool allows = s->verdict == VERDICT_ALLOW;
	struct host_pattern *patterns = arena_calloc(c->arena, s->grant->n, sizeof(*patterns));
	unsigned methods = 0;

	if (!patterns)
		return -ENOMEM;
	for (size_t i = 0; s->methods && i < s->methods->n; i++)
		methods |= host_method(s->methods->items[i].all[0]);
	for (size_t i = 0; i < s->grant->n; i++) {
		int r = host_pattern_parse(
			&patterns[i], c->arena, s->grant->all[i], &s->where, c->error);

		if (r < 0)
			return r;
		patterns[i].methods = methods;
		patterns[i].wide = !allows;
	}
	return hostset_add(
		allows ? c->layer->hosts : c->layer->forbidden, patterns, s->grant->n, rank);
}

/* Programs */

/* The parts of an entry: one command pattern, narrowed by globs over the program's file. */
struct command_entry {
	struct command_pattern pattern;
	struct glob *globs; /* what the program's path must match */
	size_t n_globs;
};

static int compiler_add_part(struct compiler *c, struct command_entry *entry, const char *text,
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
	if (!p.is_name) {
		struct glob *g = &entry->globs[entry->n_globs];

		/* A glob over every file narrows nothing, not even a name. */
		r = compiler_parse_path(c, p.program, where, g);
		entry->n_globs += r == 0 && !compiler_is_everything(g);
		return r;
	}
	/* Two names meet only if they are the same. */
	if (entry->pattern.is_name && strcmp(entry->pattern.program, p.program) != 0)
		*ret_empty = true;
	entry->pattern.program = p.program;
	entry->pattern.is_name = true;
	return 0;
}

/* Puts a pattern whose program is known by its bytes into the set. */
static int compiler_add_literal(
	struct compiler *c, const char *program, const struct command_pattern *p, uint32_t rank)
{
	struct command_key key;

	command_key_start(&key, program);
	for (size_t i = 0; i < p->n_args; i++)
		command_key_add(&key, p->args[i]);
	if (key.full)
		return error_set(c->error, -E2BIG, NULL, "a command pattern is too long");
	return compiler_add_bytes(c, c->layer->commands, key.text, key.len, p->more, rank);
}

/* The files that a name was found to be. */
struct found_file {
	struct compiler *compiler;
	const struct command_entry *entry;
	uint32_t rank;
};

static int compiler_add_found(void *data, const char *path)
{
	struct found_file *f = data;

	for (size_t i = 0; i < f->entry->n_globs; i++) {
		if (!glob_match(&f->entry->globs[i], path, strlen(path)))
			return 0;
	}
	return compiler_add_literal(f->compiler, path, &f->entry->pattern, f->rank);
}

static int compiler_resolve(
	struct compiler *c, const struct command_entry *entry, const char *program, uint32_t rank)
{
	struct found_file f = { .compiler = c, .entry = entry, .rank = rank };
	int r;

	if (!c->resolver)
		return 0;
	r = c->resolver->programs(c->resolver->context, program, compiler_add_found, &f);
	return r == -ENOENT ? 0 : r;
}

static int compiler_add_fine(struct compiler *c, const struct command_entry *entry, uint32_t rank)
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

/* One path pattern: literal files are words of a command, and resolved like names; globs stay
 * globs. */
static int compiler_add_program(
	struct compiler *c, const struct command_entry *entry, uint32_t rank)
{
	const struct glob *g = &entry->globs[0];
	bool literal = entry->n_globs == 1;
	int r = 0;

	for (size_t i = 0; i < g->n; i++)
		literal = literal && g->alternatives[i].kind == GLOB_LITERAL;
	if (!literal && command_pattern_is_fine(&entry->pattern))
		return compiler_add_fine(c, entry, rank);
	if (!literal)
		return pathset_add(c->layer->programs, entry->globs, entry->n_globs, rank);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		const char *path = g->alternatives[i].literal;
		struct command_entry hops = { .pattern = entry->pattern };

		r = compiler_add_literal(c, path, &entry->pattern, rank);
		if (r == 0)
			r = compiler_resolve(c, &hops, path, rank);
	}
	return r;
}

int compiler_add_command(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	struct command_entry entry = { .pattern = { .more = true } };
	bool empty = false;
	int r = 0;

	entry.globs = arena_calloc(c->arena, s->grant->n, sizeof(*entry.globs));
	if (!entry.globs)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->grant->n; i++)
		r = compiler_add_part(c, &entry, s->grant->all[i], &s->where, &empty);
	if (r < 0 || empty)
		return r;
	if (entry.pattern.is_name) {
		/* Itself (unless a path must match as well), and the files that it is found to be.
		 */
		if (entry.n_globs == 0)
			r = compiler_add_literal(c, entry.pattern.program, &entry.pattern, rank);
		return r < 0 ? r : compiler_resolve(c, &entry, entry.pattern.program, rank);
	}
	if (entry.n_globs)
		return compiler_add_program(c, &entry, rank);
	/* Any program, whether it is known by name or by file. */
	if (command_pattern_is_fine(&entry.pattern))
		return compiler_add_fine(c, &entry, rank);
	return compiler_add_bytes(c, c->layer->commands, "", 0, true, rank);
}

/* Environment */

int compiler_add_env(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	struct glob *names = arena_calloc(c->arena, s->grant->n, sizeof(*names));
	const char *value = NULL, *path;
	size_t n = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->grant->n; i++) {
		const char *text = s->grant->all[i];
		int r;

		if (strchr(text, '=')) {
			if (value && strcmp(value, text) != 0)
				return 0; /* two values at once: nothing */
			value = text;
			continue;
		}
		path = arena_printf(c->arena, "/%s", text);
		r = path ? glob_parse(&names[n++], c->arena, path, &s->where, c->error) : -ENOMEM;
		if (r < 0)
			return r;
	}
	if (!value)
		return pathset_add(c->layer->names, names, n, rank);
	path = arena_printf(c->arena, "/%s", value);
	if (!path)
		return -ENOMEM;
	/* An assignment counts if its name matches all the names that stand beside it. */
	for (size_t i = 0; i < n; i++) {
		if (!glob_match(&names[i], path, strcspn(path, "=")))
			return 0;
	}
	return compiler_add_bytes(c, c->layer->values, path, strlen(path), false, rank);
}
