/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling happens in two passes over the same entries in the same order. The first makes the list
 * of sources, strongest first; the second puts each source's patterns into the set that matches its
 * operation, under its place in that list. Everything that was text becomes tokens, prefixes and
 * words there, and variables get their values, so that deciding only ever compares bytes.
 *
 * Programs: one given by name or by its path is put into one set together with its arguments
 * (command.h); the resolver adds every file that the name leads to. A glob over program files
 * goes into a set of its own, and only a glob with arguments has to be tried one by one.
 *
 * Environment: NAME (maybe a glob) lets the host's value in, NAME=value sets that value and nothing
 * else. Both are matched as paths of one component: "/NAME", "/NAME=value".
 */
#include "policy/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/match/command.h"
#include "policy/match/pattern.h"

struct compiler {
	struct layer *layer;
	struct arena *arena;
	const struct permissions *from;
	const struct variables *vars;
	const struct resolver *resolver;
	struct error *error;
};

/* The first pass: sources, strongest first */

/* In the room that was made for all. */
static int layer_add_grants(struct compiler *c, enum operation op, const struct source_list *in,
	const struct grant *grants, size_t n)
{
	struct sources *s = &c->layer->sources[op];

	if (n > s->cap - s->n)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->items[s->n + i] = (struct source){ in, &grants[i] };
		s->verdicts[s->n + i] = (uint8_t)in->verdict;
	}
	s->n += n;
	return 0;
}

static const struct source_list *layer_add_list(struct compiler *c, struct source_list in)
{
	struct source_list *list = arena_alloc(c->arena, sizeof(*list));

	if (list)
		*list = in;
	return list;
}

static int layer_by_strength(const void *x, const void *y)
{
	return rule_compare(*(const struct rule *const *)x, *(const struct rule *const *)y);
}

static int collect_rule(struct compiler *c, const struct rule *rule)
{
	const struct source_list *in =
		layer_add_list(c, (struct source_list){ .verdict = rule->action,
					  .name = "rules",
					  .id = rule->id,
					  .is_granted = rule->is_granted,
					  .methods = &rule->methods });
	int r = in ? 0 : -ENOMEM;

	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++) {
		if (rule->operations >> op & 1)
			r = layer_add_grants(
				c, (enum operation)op, in, rule->patterns.items, rule->patterns.n);
	}
	return r;
}

static int collect_rules(struct compiler *c)
{
	size_t n = c->from->n_rules;
	const struct rule **sorted = arena_calloc(c->arena, n + 1, sizeof(const struct rule *));
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		sorted[i] = &c->from->rules[i];
	if (r == 0 && n)
		qsort(sorted, n, sizeof(const struct rule *), layer_by_strength);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!sorted[i]->disabled)
			r = collect_rule(c, sorted[i]);
	}
	return r;
}

/* A guest path grants its folder on the host, as fs.read and fs.write do. */
static int collect_guest_paths(struct compiler *c)
{
	const struct source_list *in;

	if (c->from->n_guest_paths == 0)
		return 0;
	in = layer_add_list(
		c, (struct source_list){ .verdict = VERDICT_ALLOW, .name = "guest_paths" });
	if (!in)
		return -ENOMEM;
	for (size_t i = 0; i < c->from->n_guest_paths; i++) {
		const struct guest_path *g = &c->from->guest_paths[i];
		struct grant *grant = arena_alloc(c->arena, sizeof(*grant));
		const char **text = arena_alloc(c->arena, sizeof(*text));
		int r;

		if (!grant || !text)
			return -ENOMEM;
		*text = arena_printf(c->arena, "%s/**", g->host);
		if (!*text)
			return -ENOMEM;
		*grant = (struct grant){ .all = text, .n = 1, .where = g->where };
		r = layer_add_grants(c, OPERATION_FS_READ, in, grant, 1);
		if (r == 0 && g->writable)
			r = layer_add_grants(c, OPERATION_FS_WRITE, in, grant, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The lists that say `verdict`, in the order of list_rows, for each operation that they decide. */
static int collect_lists(struct compiler *c, enum verdict verdict)
{
	int r = 0;

	for (int which = 0; which < LIST_COUNT; which++) {
		const struct list_row *row = &list_rows[which];
		const struct grant_list *grants = permissions_list(c->from, which);
		const struct source_list *in;

		if (r < 0 || row->verdict != verdict || !row->decides || grants->n == 0)
			continue;
		in = layer_add_list(
			c, (struct source_list){ .verdict = verdict, .name = row->name });
		r = in ? 0 : -ENOMEM;
		for (int op = 0; r == 0 && op < OPERATION_COUNT; op++) {
			if (row->decides >> op & 1)
				r = layer_add_grants(
					c, (enum operation)op, in, grants->items, grants->n);
		}
	}
	return r;
}

/* Room for all at once: with many entries, lists that grow would leave as much again behind. */
static int layer_reserve_sources(struct compiler *c)
{
	for (int op = 0; op < OPERATION_COUNT; op++) {
		struct sources *s = &c->layer->sources[op];
		bool is_file = op == OPERATION_FS_READ || op == OPERATION_FS_WRITE;
		size_t n = is_file ? c->from->n_guest_paths : 0;

		for (int which = 0; which < LIST_COUNT; which++) {
			if (list_rows[which].decides >> op & 1)
				n += permissions_list(c->from, which)->n;
		}
		for (size_t i = 0; i < c->from->n_rules; i++) {
			if (c->from->rules[i].operations >> op & 1)
				n += c->from->rules[i].patterns.n;
		}
		s->items = arena_room(c->arena, n, sizeof(*s->items));
		s->verdicts = arena_room(c->arena, n, sizeof(*s->verdicts));
		if (!s->items || !s->verdicts)
			return -ENOMEM;
		s->cap = n;
		if (is_file && pathset_reserve(c->layer->paths[op == OPERATION_FS_WRITE], n) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The second pass: paths and hosts */

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
	const char *copy = arena_strndup(c->arena, bytes, len);

	return copy ? pathset_add_path(set, copy, len, subtree, rank, NULL) : -ENOMEM;
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

/* The folders of the list that the entry stands in; NULL: it is of no list of paths. */
static struct folders *compiler_folders(struct compiler *c, const struct grant *g)
{
	for (size_t i = 0; i < ROWS(c->layer->folders); i++) {
		struct folders *f = &c->layer->folders[i];
		const struct grant *items = f->list->items;

		if (f->n_entries && g >= items && g < items + f->n_entries)
			return f;
	}
	return NULL;
}

int layer_add_path(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct grant *g = c->layer->sources[op].items[rank].grant;
	struct pathset *set = c->layer->paths[op == OPERATION_FS_WRITE];
	struct folders *f = compiler_folders(c, g);
	const size_t i = f ? (size_t)(g - f->list->items) : 0;
	const struct path_folder *known;
	struct pathset_folder in;
	bool everything = false;
	enum glob_kind kind;
	size_t len;
	int r;

	/* The text of a plain path is the compiled permissions' own. */
	known = f && g->n == 1 ? folders_know(f, i, g->all[0], &len, &kind) : NULL;
	if (known)
		return pathset_add_path_in(
			set, g->all[0], len, kind == GLOB_SUBTREE, rank, &known->in);
	if (g->n == 1 && glob_plain(g->all[0], &len, &kind)) {
		everything = kind == GLOB_SUBTREE && len == 0;
		r = pathset_add_path(set, g->all[0], len, kind == GLOB_SUBTREE, rank, &in);
		if (r == 0 && f)
			r = folders_put(f, c->arena, i, g->all[0], len, &in);
	} else {
		r = compiler_add_globs(c, set, g, rank, &everything);
	}
	if (everything && op == OPERATION_FS_READ)
		c->layer->any_file = rank_best(c->layer->any_file, rank);
	return r;
}

/* Where only the text of a host or a command is known, all else that must match is not. */
static int compiler_add_text_glob(struct compiler *c, struct text_globs *to, const struct source *s,
	const char *glob, uint32_t rank)
{
	struct text_glob one = { glob, rank };

	if (s->in->verdict == VERDICT_ALLOW || s->grant->n > 1) {
		(void)error_set(c->error, -EINVAL, &s->grant->where,
			"%s: a pattern over the whole text can only deny or ask, and must be the "
			"only pattern",
			s->grant->all[0]);
		error_hint(c->error, "list what is allowed instead");
		return -EINVAL;
	}
	return ARENA_PUSH(c->arena, to->items, to->n, to->cap, one);
}

int layer_add_host(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	bool allows = s->in->verdict == VERDICT_ALLOW;
	struct host_pattern *patterns = arena_calloc(c->arena, s->grant->n, sizeof(*patterns));
	unsigned methods = 0;

	if (!patterns)
		return -ENOMEM;
	for (size_t i = 0; s->in->methods && i < s->in->methods->n; i++)
		methods |= host_method(s->in->methods->items[i].all[0]);
	for (size_t i = 0; i < s->grant->n; i++) {
		int r = host_pattern_parse(
			&patterns[i], c->arena, s->grant->all[i], &s->grant->where, c->error);

		if (r < 0)
			return r;
		if (patterns[i].kind == HOST_GLOB)
			return compiler_add_text_glob(
				c, &c->layer->host_globs, s, patterns[i].name, rank);
		patterns[i].methods = methods;
		patterns[i].wide = !allows;
	}
	if (s->in->name == list_rows[LIST_NETWORK_PRIVATE].name) {
		int r = 0;

		for (size_t i = 0; r == 0 && i < s->grant->n; i++)
			r = pattern_private(
				op, s->grant->all[i], NULL, NULL, &s->grant->where, c->error);
		if (r == 0)
			r = hostset_add(c->layer->private_names, patterns, s->grant->n, rank);
		if (r < 0)
			return r;
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
	entry->pattern.line = p.line;
	if (p.line)
		return 0;
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

int layer_add_command(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	struct command_entry entry = { .pattern = { .more = true } };
	bool empty = false;
	int r = 0;

	entry.globs = arena_calloc(c->arena, s->grant->n, sizeof(*entry.globs));
	if (!entry.globs)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->grant->n; i++) {
		r = compiler_add_part(c, &entry, s->grant->all[i], &s->grant->where, &empty);
		if (r == 0 && entry.pattern.line)
			return compiler_add_text_glob(
				c, &c->layer->command_globs, s, entry.pattern.line, rank);
	}
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

/* "/TEXT", as names and values are matched; NULL: no memory. */
static const char *layer_env_path(struct compiler *c, const char *text)
{
	size_t len = strlen(text);
	char *path = arena_alloc(c->arena, len + 2);

	if (path) {
		path[0] = '/';
		memcpy(path + 1, text, len + 1);
	}
	return path;
}

int layer_add_name(struct compiler *c, enum operation op, uint32_t rank)
{
	const struct source *s = &c->layer->sources[op].items[rank];
	const char *value = NULL, *path;
	struct glob *names;
	enum glob_kind kind;
	size_t n = 0, len;

	/* Most entries are one name without wildcards. */
	if (s->grant->n == 1 && !strpbrk(s->grant->all[0], "=/")) {
		path = layer_env_path(c, s->grant->all[0]);
		if (!path)
			return -ENOMEM;
		if (glob_plain(path, &len, &kind) && kind == GLOB_LITERAL)
			return pathset_add_path(c->layer->names[op], path, len, false, rank, NULL);
	}
	names = arena_calloc(c->arena, s->grant->n, sizeof(*names));
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
		path = layer_env_path(c, text);
		r = path ? glob_parse(&names[n++], c->arena, path, &s->grant->where, c->error)
			 : -ENOMEM;
		if (r < 0)
			return r;
	}
	if (!value)
		return pathset_add(c->layer->names[op], names, n, rank);
	path = layer_env_path(c, value);
	if (!path)
		return -ENOMEM;
	/* An assignment counts if its name matches all the names that stand beside it. */
	for (size_t i = 0; i < n; i++) {
		if (!glob_match(&names[i], path, strcspn(path, "=")))
			return 0;
	}
	return compiler_add_bytes(c, c->layer->values[op], path, strlen(path), false, rank);
}

/* All sets */

static int layer_add_sources(struct compiler *c)
{
	const struct grant_list *dangerous = &c->from->dangerously_allow;
	int r = 0;

	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++) {
		const struct sources *s = &c->layer->sources[op];

		for (size_t i = 0; r == 0 && operation_rows[op].compile && i < s->n; i++)
			r = operation_rows[op].compile(c, (enum operation)op, (uint32_t)i);
	}
	for (size_t i = 0; r == 0 && i < dangerous->n; i++)
		r = compiler_add_globs(c, c->layer->dangerous, &dangerous->items[i], 0, NULL);
	return r;
}

static int layer_init_folders(struct compiler *c)
{
	const struct grant_list *const lists[] = { &c->from->fs_read, &c->from->fs_write,
		&c->from->fs_deny };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(lists); i++)
		r = folders_init(&c->layer->folders[i], c->arena, lists[i]);
	return r;
}

/* The sets of a layer, for making, building and freeing them alike. */
static const size_t path_sets[] = {
	offsetof(struct layer, paths[0]),
	offsetof(struct layer, paths[1]),
	offsetof(struct layer, dangerous),
	offsetof(struct layer, commands),
	offsetof(struct layer, programs),
};

enum { LAYER_SETS = ROWS(path_sets) + 2 * OPERATION_COUNT };

/* NULL: there is no such set, since the targets of the operation are no names. */
static struct pathset **layer_set(struct layer *l, size_t i)
{
	const size_t op = (i - ROWS(path_sets)) / 2;

	if (i < ROWS(path_sets))
		return (void *)((char *)l + path_sets[i]);
	if (operation_rows[op].target != TARGET_NAME)
		return NULL;
	return (i - ROWS(path_sets)) % 2 ? &l->values[op] : &l->names[op];
}

static int make_sets(struct layer *l)
{
	for (size_t i = 0; i < LAYER_SETS; i++) {
		struct pathset **set = layer_set(l, i);

		if (!set)
			continue;
		*set = pathset_new();
		if (!*set)
			return -ENOMEM;
	}
	l->hosts = hostset_new();
	l->forbidden = hostset_new();
	l->private_names = hostset_new();
	return l->hosts && l->forbidden && l->private_names ? 0 : -ENOMEM;
}

static int build_sets(struct layer *l, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < LAYER_SETS; i++)
		r = layer_set(l, i) ? pathset_build(*layer_set(l, i), e) : 0;
	if (r == 0)
		r = hostset_build(l->hosts);
	if (r == 0)
		r = hostset_build(l->forbidden);
	return r == 0 ? hostset_build(l->private_names) : r;
}

void layer_deinit(struct layer *l)
{
	for (size_t i = 0; i < LAYER_SETS; i++)
		if (layer_set(l, i))
			pathset_free(*layer_set(l, i));
	hostset_free(l->hosts);
	hostset_free(l->forbidden);
	hostset_free(l->private_names);
	*l = (struct layer){ 0 };
}

int layer_compile(struct layer *l, struct arena *a, const struct permissions *p,
	const struct variables *vars, const struct resolver *resolver, struct error *e)
{
	struct compiler c = { l, a, p, vars, resolver, e };
	int r;

	*l = (struct layer){
		.origin = p->origin,
		.line_place = p->line_place,
		.fallback = p->fallback,
		.mode = p->mode,
		.exec_listed = p->exec_listed,
		.services = p->services,
		.n_services = p->n_services,
		.any_file = RANK_NONE,
		.limits = p->limits,
		.network = p->network,
	};
	r = make_sets(l);
	if (r == 0)
		r = layer_init_folders(&c);
	if (r == 0)
		r = layer_reserve_sources(&c);
	if (r == 0)
		r = collect_lists(&c, VERDICT_DENY);
	l->n_denied_paths = l->sources[OPERATION_FS_READ].n;
	if (r == 0)
		r = collect_rules(&c);
	if (r == 0)
		r = collect_lists(&c, VERDICT_ALLOW);
	if (r == 0)
		r = collect_guest_paths(&c);
	if (r == 0)
		r = layer_add_sources(&c);
	if (r == 0)
		r = build_sets(l, e);
	if (r < 0)
		layer_deinit(l);
	return r;
}
