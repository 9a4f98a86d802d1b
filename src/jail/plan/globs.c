/* SPDX-License-Identifier: Apache-2.0 */
/*
 * True globs. One that allows reading is replaced, before anything else, by the paths that it
 * matches now: the layer is copied with those paths in its place and compiled again, so that the
 * rest of the planner deals with paths and folders only, and asks a policy that agrees. Files that
 * come later are not seen, which is narrower than what was granted, and noted.
 *
 * Searching is bounded: so many names are read, so many matches taken, and "**" may stand at the
 * end only, where it means a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/path.h"
#include "host/links.h"
#include "jail/plan/internal.h"

enum { MATCHES_MAX = 1024, NAMES_MAX = 16384 };

struct search {
	struct planner *planner;
	const struct glob_token *tokens;
	size_t n;
	bool subtree;
	plan_globs_found *found;
	void *data;
	unsigned names, matches;
	char path[PATH_BYTES];
};

static bool plan_globs_is_slash(const struct glob_token *t)
{
	return t->type == GLOB_BYTE && t->byte == '/';
}

/* Where the component that starts with the slash at i ends. */
static size_t component_end(const struct search *s, size_t i)
{
	for (i++; i < s->n && !plan_globs_is_slash(&s->tokens[i]);)
		i++;
	return i;
}

static int plan_globs_too_many(struct search *s)
{
	return error_set(s->planner->error, -E2BIG, NULL,
		"a pattern would search more than %d names", NAMES_MAX);
}

static int search_from(struct search *s, size_t i, size_t len);

/* A name that may belong to the component at i; path has room for len bytes already used. */
static int plan_globs_try_name(struct search *s, size_t i, size_t len, const char *name)
{
	struct glob_alternative part = {
		.kind = GLOB_TRUE, .tokens = s->tokens + i, .literal = ""
	};
	size_t n = strlen(name), end = component_end(s, i);
	int r;

	part.n = end - i;
	if (n + 2 > PATH_BYTES - len)
		return 0;
	s->path[len] = '/';
	memcpy(s->path + len + 1, name, n + 1);
	if (!glob_alternative_match(&part, s->path + len, n + 1))
		return 0;
	r = search_from(s, end, len + 1 + n);
	s->path[len] = '\0';
	return r;
}

static int search_folder(struct search *s, size_t i, size_t len)
{
	const char *folder = len ? s->path : "/";
	DIR *dir;
	int r = plan_look_open(s->planner, folder, &dir);

	while (r == 0 && dir) {
		const char *name;

		r = plan_look_next(s->planner, folder, dir, &name);
		if (r < 0 || !name)
			break;
		r = ++s->names > NAMES_MAX ? plan_globs_too_many(s)
					   : plan_globs_try_name(s, i, len, name);
		s->path[len] = '\0';
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

/* Writes the component at i, if it has no wildcard, behind the path. 0: it has one. */
static size_t plan_globs_add_literal(struct search *s, size_t i, size_t len)
{
	size_t end = component_end(s, i);

	for (size_t k = i; k < end; k++) {
		if (s->tokens[k].type != GLOB_BYTE || len + 1 >= PATH_BYTES)
			return 0;
		s->path[len++] = (char)s->tokens[k].byte;
	}
	return len;
}

static int search_from(struct search *s, size_t i, size_t len)
{
	struct stat st;
	size_t next;

	if (i >= s->n) {
		if (lstat(s->path, &st) < 0)
			return 0;
		if (++s->matches > MATCHES_MAX)
			return error_set(s->planner->error, -E2BIG, NULL,
				"a pattern matches more than %d files", MATCHES_MAX);
		return s->found(s->data, s->path, s->subtree);
	}
	next = plan_globs_add_literal(s, i, len);
	s->path[next ? next : len] = '\0';
	return next ? search_from(s, component_end(s, i), next) : search_folder(s, i, len);
}

bool plan_globs_can_expand(const struct glob_alternative *alt)
{
	for (size_t i = 0; i < alt->n; i++) {
		if (alt->tokens[i].type == GLOB_TREE)
			return false;
	}
	return true;
}

void plan_globs_folder(const struct glob_alternative *alt, char out[PATH_BYTES])
{
	size_t len = alt->literal_len;
	char folder[PATH_BYTES] = "/";

	/* "**" brings its own slash. */
	if (alt->tokens[len].type != GLOB_TREE && alt->tokens[len].type != GLOB_TAIL) {
		while (len > 0 && alt->literal[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	if (len > 0 && len < sizeof(folder)) {
		memcpy(folder, alt->literal, len);
		folder[len] = '\0';
	}
	if (len >= sizeof(folder) || links_follow(folder, NULL, NULL, out) < 0)
		memcpy(out, "/", 2);
}

int plan_globs_expand(
	struct planner *p, const struct glob_alternative *alt, plan_globs_found *found, void *data)
{
	struct search s = {
		.planner = p, .tokens = alt->tokens, .n = alt->n, .found = found, .data = data
	};

	if (s.n > 0 && s.tokens[s.n - 1].type == GLOB_TAIL) {
		s.subtree = true;
		s.n--;
	}
	return s.n > 0 && plan_globs_is_slash(&s.tokens[0]) ? search_from(&s, 0, 0) : 0;
}

/* Layers with such globs are written anew */

struct rewrite {
	struct planner *planner;
	struct permissions *to;
	struct grant_list *list;
	const struct location *where;
};

static int plan_globs_add_text(const struct rewrite *w, struct buffer *text)
{
	int r = text->failed ? -ENOMEM
			     : permissions_add(w->to, w->list, buffer_text(text), w->where);

	return r == -ENOMEM ? plan_no_memory(w->planner) : r;
}

static int plan_globs_add_found(void *data, const char *path, bool subtree)
{
	const struct rewrite *w = data;
	auto_buffer text = { 0 };

	glob_print_literal(path, strlen(path), &text);
	if (subtree)
		buffer_adds(&text, "/**");
	return plan_globs_add_text(w, &text);
}

static int refuse(struct rewrite *w, const char *text)
{
	(void)error_set(w->planner->error, -EOPNOTSUPP, w->where,
		"%s allows by a pattern with ** in the middle: a mount holds a path or a "
		"folder, not a pattern",
		text);
	error_hint(w->planner->error, "name the folders (DIR/**), or use * for single names");
	return -EOPNOTSUPP;
}

static int rewrite_pattern(struct rewrite *w, const char *text)
{
	struct glob g;
	int r = plan_patterns_parse(w->planner, text, w->where, &g);

	for (size_t i = 0; r == 0 && i < g.n; i++) {
		auto_buffer one = { 0 };

		if (g.alternatives[i].kind != GLOB_TRUE) {
			glob_print(&g.alternatives[i], &one);
			r = plan_globs_add_text(w, &one);
		} else if (!plan_globs_can_expand(&g.alternatives[i])) {
			r = refuse(w, text);
		} else {
			r = plan_globs_expand(
				w->planner, &g.alternatives[i], plan_globs_add_found, w);
			if (r == 0)
				r = plan_add_note(w->planner, w->where,
					"%s: holds for what exists now, not for what is made later",
					text);
		}
	}
	return r;
}

static int has_glob(struct planner *p, const struct grant_list *list, bool *ret)
{
	struct glob g;

	for (size_t i = 0; i < list->n; i++) {
		const struct grant *grant = &list->items[i];

		for (size_t k = 0; k < grant->n; k++) {
			int r = plan_patterns_parse(p, grant->all[k], &grant->where, &g);

			for (size_t a = 0; r == 0 && a < g.n; a++)
				*ret = *ret || g.alternatives[a].kind == GLOB_TRUE;
			if (r < 0)
				return r == -ENOMEM ? plan_no_memory(p) : r;
		}
	}
	return 0;
}

/* An entry that must match several patterns has no common form: true globs in it stay refused. */
static int rewrite_list(struct planner *p, struct permissions *to, struct grant_list *list)
{
	struct grant_list old = *list;
	int r = 0;

	*list = (struct grant_list){ 0 };
	for (size_t i = 0; r == 0 && i < old.n; i++) {
		const struct grant *g = &old.items[i];
		struct rewrite w = { p, to, list, &g->where };

		if (g->n == 1)
			r = rewrite_pattern(&w, g->all[0]);
		else if (permissions_add_all(to, list, g->all, g->n, &g->where) < 0)
			r = plan_no_memory(p);
	}
	return r;
}

/* The lists of a layer that allow reading and nothing else, or lift what the baseline forbids. */
static struct grant_list *reading_list(struct permissions *l, size_t i)
{
	struct rule *rule = i > 1 ? &l->rules[i - 2] : NULL;

	if (!rule)
		return i == 0 ? &l->fs_read : &l->dangerously_allow;
	if (rule->disabled || rule->action != VERDICT_ALLOW ||
		!(rule->operations >> OPERATION_FS_READ & 1) ||
		rule->operations >> OPERATION_FS_WRITE & 1)
		return NULL;
	return &rule->patterns;
}

static int rewrite_layer(struct planner *p, size_t layer)
{
	struct permissions *copy = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->layers[layer]->n_rules + 2; i++) {
		struct grant_list *list = reading_list((struct permissions *)p->layers[layer], i);
		bool found = false;

		r = list ? has_glob(p, list, &found) : 0;
		if (r < 0 || !found)
			continue;
		if (!copy) {
			copy = permissions_copy(p->layers[layer]);
			if (!copy)
				return plan_no_memory(p);
			p->layers[layer] = p->copies[p->n_copies++] = copy;
		}
		r = rewrite_list(p, copy, reading_list(copy, i));
	}
	return r;
}

int plan_globs_rewrite(struct planner *p)
{
	const struct policy_options options = { .variables = p->options->variables,
		.resolver = p->options->resolver };
	int r = 0;

	p->copies = arena_calloc(&p->arena, p->n_layers + 1, sizeof(struct permissions *));
	if (!p->copies)
		return plan_no_memory(p);
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = rewrite_layer(p, i);
	if (r < 0 || p->n_copies == 0)
		return r;
	r = policy_new(&p->own_policy, p->layers, p->n_layers, &options, p->error);
	if (r == 0)
		p->policy = p->own_policy;
	return r;
}
