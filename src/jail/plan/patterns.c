/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places from what was written. Whether a pattern allows or denies hardly matters here: it says
 * that answers may change at its path, and the policy will be asked what they are. Only true globs
 * are another matter. Those that allow reading are replaced before by what they match; those that
 * allow writing are refused; those that forbid are kept and checked at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "host/links.h"
#include "host/planted.h"
#include "jail/plan/internal.h"

/* Of the name that no pattern has. */
enum { PROBE_BYTE = FOLDERS_FREE_BYTE };
enum { PLACES_FIRST = 96 };
enum { FILE_OPERATIONS = 1 << OPERATION_FS_READ | 1 << OPERATION_FS_WRITE };

/* A list of patterns, and what it does. */
struct pattern_role {
	enum verdict verdict;
	bool write;
	bool is_masked; /* a true glob that denies: what it matches is masked */
};

int plan_patterns_parse(
	struct planner *p, const char *text, const struct location *where, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(p->options->variables, text, &p->arena, &expanded, where, p->error);

	return r < 0 ? r : glob_parse(ret, &p->arena, expanded, where, p->error);
}

int plan_patterns_each(
	struct planner *p, const struct grant_list *list, plan_patterns_one *one, const void *data)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = one(p, g->all[k], &g->where, data);
	}
	return r;
}

static int plan_patterns_add_glob(
	struct planner *p, const struct plan_glob *g, const struct pattern_role *role)
{
	if (role->verdict != VERDICT_ALLOW)
		return ARENA_PUSH(&p->arena, p->globs, p->n_globs, p->cap_globs, *g);
	(void)error_set(p->error, -EOPNOTSUPP, g->where,
		"%s allows %sby a pattern: a mount can only enforce a path or a folder", g->text,
		role->write ? "writing " : "");
	error_hint(p->error, "list the files, or a whole folder (DIR/**)%s",
		role->write ? "; a pattern holds where Corral writes itself: fs_write of an enclave"
			    : "");
	return -EOPNOTSUPP;
}

/*
 * Most rules of a long list are about what is not there: not even the folder that it would be in. A
 * look at that folder is enough for all of them, and they become places only if commands see what
 * is around it: only there a rule that denies has something to say. (One that lets write says that
 * the path is not there.)
 */

static bool plan_patterns_is_parent(const struct plan_parent *parent, const char *path, size_t len)
{
	return parent->len == len && memcmp(parent->path, path, len) == 0;
}

/* Where it is in the table, or belongs. */
static struct plan_parent **plan_patterns_probe(
	const struct planner *p, const char *path, size_t len)
{
	size_t i = hash_keyed(&p->parents_key, 0, path, len) & (p->cap_parents - 1);

	while (p->parents[i] && !plan_patterns_is_parent(p->parents[i], path, len))
		i = (i + 1) & (p->cap_parents - 1);
	return &p->parents[i];
}

static int plan_patterns_grow_parents(struct planner *p)
{
	struct planner old = *p;

	p->parents_key = hash_key_make();
	p->cap_parents = old.cap_parents ? old.cap_parents * 2 : 64;
	p->parents = arena_calloc(&p->arena, p->cap_parents, sizeof(*p->parents));
	if (!p->parents)
		return -ENOMEM;
	for (size_t i = 0; i < old.cap_parents; i++) {
		if (old.parents[i])
			*plan_patterns_probe(p, old.parents[i]->path, old.parents[i]->len) =
				old.parents[i];
	}
	return 0;
}

/* The folder text[0..len) of a pattern, which is looked at once for all that are in it. */
static struct plan_parent *plan_patterns_parent(struct planner *p, const char *text, size_t len)
{
	struct plan_place place = { 0 };
	struct plan_parent **at, *parent;
	char path[PATH_BYTES];
	int r;

	if (p->n_parents * 2 >= p->cap_parents && plan_patterns_grow_parents(p) < 0)
		return NULL;
	at = plan_patterns_probe(p, text, len);
	parent = *at;
	if (parent)
		return parent;
	parent = arena_calloc(&p->arena, 1, sizeof(*parent));
	if (!parent)
		return NULL;
	memcpy(path, text, len);
	path[len] = '\0';
	r = plan_seen_at(p, path, &place);
	if (r == -ENOMEM)
		return NULL;
	*parent = (struct plan_parent){
		.path = text, .len = len, .is_absent = r == -ENOENT || r == -ENOTDIR
	};
	p->n_parents++;
	*at = parent;
	return parent;
}

/* 1: it was put aside. */
static int plan_patterns_put_aside(
	struct planner *p, const char *text, size_t len, const struct location *where)
{
	struct plan_absent absent = { text, where, len, p->last_parent };
	size_t folder = len;

	while (folder > 0 && text[folder - 1] != '/')
		folder--;
	/* In the root; or with the byte of the name that no pattern has. */
	if (folder < 2 || len >= PATH_BYTES || memchr(text, PROBE_BYTE, len))
		return 0;
	folder--;
	/* Lists are mostly in order. */
	if (!absent.parent || !plan_patterns_is_parent(absent.parent, text, folder))
		absent.parent = p->last_parent = plan_patterns_parent(p, text, folder);
	if (!absent.parent)
		return -ENOMEM;
	if (!absent.parent->is_absent)
		return 0;
	return ARENA_PUSH(&p->arena, p->absent, p->n_absent, p->cap_absent, absent) < 0 ? -ENOMEM
											: 1;
}

/* Whether commands see what is around it: 1, or 0. */
static int plan_patterns_is_seen(struct planner *p, struct plan_parent *parent)
{
	if (!parent->is_settled) {
		const char *path = arena_strndup(&p->arena, parent->path, parent->len);

		if (!path)
			return -ENOMEM;
		parent->is_seen = plan_nodes_find(p, path)->kind == PLAN_BIND;
		parent->is_settled = true;
	}
	return parent->is_seen;
}

/* One that was put aside. */
static int plan_patterns_settle_one(struct planner *p, const struct plan_absent *a)
{
	struct plan_place place = {
		.origin = PLAN_FROM_POLICY, .text = a->text, .where = a->where
	};
	int r = plan_patterns_is_seen(p, a->parent);

	if (r <= 0)
		return r;
	place.path = arena_strndup(&p->arena, a->text, a->len);
	return place.path ? plan_add_place(p, place) : -ENOMEM;
}

static int plan_patterns_settle_list(struct planner *p, const struct plan_aside *a)
{
	bool any = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->folders->n; i++) {
		if (a->parents[i] && a->parents[i]->is_absent)
			r = plan_patterns_is_seen(p, a->parents[i]);
		any = any || r > 0;
		r = r < 0 ? r : 0;
	}
	for (size_t i = 0; r == 0 && any && i < a->list->n; i++) {
		const struct grant *g = &a->list->items[i];
		uint32_t folder = folders_of(a->folders, i);
		struct plan_absent absent = { .text = g->all[0], .where = &g->where };
		enum glob_kind kind;

		if (folder == FOLDERS_NONE || !a->parents[folder]->is_absent ||
			!glob_plain(absent.text, &absent.len, &kind))
			continue;
		absent.parent = a->parents[folder];
		r = plan_patterns_settle_one(p, &absent);
	}
	return r;
}

int plan_patterns_settle(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_aside; i++)
		r = plan_patterns_settle_list(p, &p->aside[i]);
	for (size_t i = 0; r == 0 && i < p->n_absent; i++)
		r = plan_patterns_settle_one(p, &p->absent[i]);
	return r;
}

static int plan_patterns_add(
	struct planner *p, const char *text, const struct location *where, const void *data)
{
	const struct pattern_role *role = data;
	const struct plan_place named = { .path = "/",
		.origin = PLAN_FROM_POLICY,
		.text = text,
		.where = where,
		.writes = role->write && role->verdict == VERDICT_ALLOW };
	struct plan_place place = named;
	enum glob_kind kind;
	struct glob g;
	size_t len;
	int r;

	if (glob_plain(text, &len, &kind)) {
		if (len >= PATH_BYTES)
			return 0;
		r = named.writes ? 0 : plan_patterns_put_aside(p, text, len, where);
		if (r != 0)
			return r < 0 ? r : 0;
		/* The layers outlive the planner. */
		if (len)
			place.path =
				kind == GLOB_LITERAL ? text : arena_strndup(&p->arena, text, len);
		return place.path ? plan_add_place(p, place) : -ENOMEM;
	}
	r = plan_patterns_parse(p, text, where, &g);
	for (size_t i = 0; r == 0 && i < g.n; i++) {
		const struct glob_alternative *alt = &g.alternatives[i];

		place = named;
		if (alt->kind == GLOB_TRUE) {
			r = plan_patterns_add_glob(
				p, &(struct plan_glob){ alt, text, where, role->is_masked }, role);
			continue;
		}
		if (alt->literal_len >= PATH_BYTES)
			continue;
		if (alt->literal_len)
			place.path = arena_strndup(&p->arena, alt->literal, alt->literal_len);
		r = place.path ? plan_add_place(p, place) : -ENOMEM;
	}
	return r;
}

/* A list: its entries in folders that are not there are put aside, without a look at each. */
static int plan_patterns_add_list(
	struct planner *p, const struct grant_list *list, const struct pattern_role *role)
{
	const bool writes = role->write && role->verdict == VERDICT_ALLOW;
	struct plan_aside aside = { .list = list };
	int r = 0;

	if (!writes)
		aside.folders = policy_folders(p->policy, list);
	if (!aside.folders || aside.folders->n == 0)
		return plan_patterns_each(p, list, plan_patterns_add, role);
	aside.parents = arena_calloc(&p->arena, aside.folders->n, sizeof(struct plan_parent *));
	if (!aside.parents)
		return -ENOMEM;
	for (size_t i = 0; i < aside.folders->n; i++) {
		const struct path_folder *folder = &aside.folders->items[i];

		aside.parents[i] = plan_patterns_parent(p, folder->path, folder->in.len);
		if (!aside.parents[i])
			return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];
		uint32_t folder = folders_of(aside.folders, i);

		if (folder != FOLDERS_NONE && aside.parents[folder]->is_absent)
			continue;
		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = plan_patterns_add(p, g->all[k], &g->where, role);
	}
	return r < 0 ? r : ARENA_PUSH(&p->arena, p->aside, p->n_aside, p->cap_aside, aside);
}

static int plan_patterns_add_layer(struct planner *p, const struct permissions *from)
{
	const struct {
		const struct grant_list *list;
		struct pattern_role role;
	} rows[] = {
		{ &from->fs_read, { VERDICT_ALLOW, false, false } },
		{ &from->fs_write, { VERDICT_ALLOW, true, false } },
		{ &from->fs_deny, { VERDICT_DENY, true, false } },
		{ &from->dangerously_allow, { VERDICT_ALLOW, false, false } },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = plan_patterns_add_list(p, rows[i].list, &rows[i].role);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];
		struct pattern_role role = { rule->action,
			rule->operations >> OPERATION_FS_WRITE & 1,
			from->is_shield && p->options->masks_matches };

		if (plan_is_about(rule, FILE_OPERATIONS))
			r = plan_patterns_each(p, &rule->patterns, plan_patterns_add, &role);
	}
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const struct guest_path *g = &from->guest_paths[i];
		struct pattern_role role = { VERDICT_ALLOW, g->writable, false };
		const char *text = arena_printf(&p->arena, "%s/**", g->host);

		r = text ? plan_patterns_add(p, text, &g->where, &role) : -ENOMEM;
	}
	return r;
}

static int plan_patterns_by_path(const void *a, const void *b)
{
	return plan_compare_paths(
		((const struct plan_place *)a)->path, ((const struct plan_place *)b)->path);
}

/* Layers often name the same places. */
static void plan_patterns_drop_duplicates(struct planner *p)
{
	size_t n = 0, sorted = 1;

	while (sorted < p->n &&
		plan_patterns_by_path(&p->places[sorted - 1], &p->places[sorted]) <= 0)
		sorted++;
	if (sorted < p->n)
		qsort(p->places, p->n, sizeof(*p->places), plan_patterns_by_path);
	for (size_t i = 0; i < p->n; i++) {
		if (n == 0 || strcmp(p->places[n - 1].path, p->places[i].path) != 0)
			p->places[n++] = p->places[i];
		else
			p->places[n - 1].writes |= p->places[i].writes;
	}
	p->n = n;
}

int plan_patterns_collect(struct planner *p)
{
	int r;

	/* Room for all of a small plan: each time that it grows, a copy stays behind. */
	p->places = arena_calloc(&p->arena, PLACES_FIRST, sizeof(*p->places));
	if (!p->places)
		return -ENOMEM;
	p->cap = PLACES_FIRST;
	/* The root is always a place: a default may allow everything. */
	r = plan_add_place(p, (struct plan_place){ .path = "/" });
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_patterns_add_layer(p, p->layers[i]);
	if (r < 0)
		return r;
	plan_patterns_drop_duplicates(p);
	/* A name that no pattern has: the answer for it is the answer for all names without a
	 * pattern. */
	for (unsigned i = 0; i < 1000; i++) {
		size_t k = 0;

		(void)snprintf(p->probe, sizeof(p->probe), ".corral-%c%u", PROBE_BYTE, i);
		while (k < p->n && !strstr(p->places[k].path, p->probe))
			k++;
		if (k == p->n)
			return 0;
	}
	return error_set(p->error, -E2BIG, NULL, "the policy lists too many paths");
}

/*
 * True globs. One that allows reading is replaced, before anything else, by the paths that it
 * matches now: the layer is copied with those paths in its place and compiled again, so that the
 * rest of the planner deals with paths and folders only, and asks a policy that agrees. Files that
 * come later are not seen, which is narrower than what was granted, and noted.
 *
 * Searching is bounded: so many names are read, so many matches taken, and "**" may stand at the
 * end only, where it means a folder.
 */

enum { MATCHES_MAX = 1024, NAMES_MAX = 16384 };

struct glob_search {
	struct planner *planner;
	const struct glob_token *tokens;
	size_t n;
	bool subtree;
	plan_globs_found *found;
	void *data;
	unsigned names, matches;
	char path[PATH_BYTES];
};

/* Names in the folder path[0..len) are tried on the component at token i. */
struct glob_component {
	struct glob_search *search;
	size_t i, len;
};

static bool plan_globs_is_slash(const struct glob_token *t)
{
	return t->type == GLOB_BYTE && t->byte == '/';
}

/* Where the component that starts with the slash at i ends. */
static size_t plan_globs_component_end(const struct glob_search *s, size_t i)
{
	for (i++; i < s->n && !plan_globs_is_slash(&s->tokens[i]);)
		i++;
	return i;
}

static int plan_globs_search(struct glob_search *s, size_t i, size_t len);

static int plan_globs_try_name(struct planner *p, const char *name, void *data)
{
	const struct glob_component *c = data;
	struct glob_search *s = c->search;
	size_t n = strlen(name), end = plan_globs_component_end(s, c->i);
	const struct glob_alternative part = {
		.kind = GLOB_TRUE, .tokens = s->tokens + c->i, .n = end - c->i, .literal = ""
	};
	int r = 0;

	if (++s->names > NAMES_MAX)
		return error_set(p->error, -E2BIG, NULL,
			"a pattern would search more than %d names", NAMES_MAX);
	if (n + 2 > PATH_BYTES - c->len)
		return 0;
	s->path[c->len] = '/';
	memcpy(s->path + c->len + 1, name, n + 1);
	if (glob_alternative_match(&part, s->path + c->len, n + 1))
		r = plan_globs_search(s, end, c->len + 1 + n);
	s->path[c->len] = '\0';
	return r;
}

/* The path is path[0..len), and the components from token i on are to come. */
static int plan_globs_search(struct glob_search *s, size_t i, size_t len)
{
	struct glob_component component = { s, i, len };
	size_t end = plan_globs_component_end(s, i), next = len;
	struct stat st;

	if (i >= s->n) {
		if (lstat(s->path, &st) < 0)
			return 0;
		if (++s->matches > MATCHES_MAX)
			return error_set(s->planner->error, -E2BIG, NULL,
				"a pattern matches more than %d files", MATCHES_MAX);
		return s->found(s->data, s->path, s->subtree);
	}
	/* The component is written after the path, if it has no wildcard. */
	for (; i < end && s->tokens[i].type == GLOB_BYTE && next + 1 < PATH_BYTES; i++)
		s->path[next++] = (char)s->tokens[i].byte;
	s->path[i == end ? next : len] = '\0';
	if (i == end)
		return plan_globs_search(s, end, next);
	return plan_look_each(s->planner, len ? s->path : "/", plan_globs_try_name, &component);
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
	struct glob_search s = {
		.planner = p, .tokens = alt->tokens, .n = alt->n, .found = found, .data = data
	};

	if (s.n > 0 && s.tokens[s.n - 1].type == GLOB_TAIL) {
		s.subtree = true;
		s.n--;
	}
	return s.n > 0 && plan_globs_is_slash(&s.tokens[0]) ? plan_globs_search(&s, 0, 0) : 0;
}

/* Layers with such globs are written anew */

struct glob_rewrite {
	struct planner *planner;
	struct permissions *to;
	struct grant_list *list;
	const struct location *where;
};

static int plan_globs_add_text(const struct glob_rewrite *w, struct buffer *text)
{
	return text->failed ? -ENOMEM
			    : permissions_add(w->to, w->list, buffer_text(text), w->where);
}

/* What a link of an earlier command makes a pattern match is not what was meant. */
static int plan_globs_is_planted(const struct glob_rewrite *w, const char *path)
{
	struct plan_place place;
	struct planted planted;

	if (plan_look_at(path, &place) != -ELOOP ||
		planted_find(path, w->planner->plan->home, &planted) <= 0)
		return 0;
	return plan_add_note(w->planner, w->where,
		       "%s is left out: it resolves to %s through the symbolic link %s, which an "
		       "earlier command could have created",
		       path, planted.real, planted.link) < 0
		       ? -ENOMEM
		       : 1;
}

static int plan_globs_add_found(void *data, const char *path, bool subtree)
{
	auto_buffer text = { 0 };
	int r = plan_globs_is_planted(data, path);

	if (r != 0)
		return r < 0 ? r : 0;
	glob_print_literal(path, strlen(path), &text);
	if (subtree)
		buffer_adds(&text, "/**");
	return plan_globs_add_text(data, &text);
}

static int plan_globs_replace(
	struct glob_rewrite *w, const struct glob_alternative *alt, const char *text)
{
	struct planner *p = w->planner;
	auto_buffer one = { 0 };
	int r;

	if (alt->kind != GLOB_TRUE) {
		glob_print(alt, &one);
		return plan_globs_add_text(w, &one);
	}
	if (!plan_globs_can_expand(alt)) {
		(void)error_set(p->error, -EOPNOTSUPP, w->where,
			"%s allows by a pattern with ** in the middle: a mount can only enforce "
			"a path or a folder",
			text);
		error_hint(p->error, "list the folders (DIR/**), or use * for single names");
		return -EOPNOTSUPP;
	}
	r = plan_globs_expand(p, alt, plan_globs_add_found, w);
	return r < 0 ? r
		     : plan_add_note(p, w->where,
			       "%s: applies to files that exist now, not to files created later",
			       text);
}

/* An entry that must match several patterns has no common form: true globs in it stay refused. */
static int plan_globs_rewrite_list(
	struct planner *p, struct permissions *to, struct grant_list *list)
{
	struct grant_list old = *list;
	int r = 0;

	*list = (struct grant_list){ 0 };
	for (size_t i = 0; r == 0 && i < old.n; i++) {
		const struct grant *grant = &old.items[i];
		struct glob_rewrite w = { p, to, list, &grant->where };
		struct glob g;

		if (grant->n != 1) {
			r = permissions_add_all(to, list, grant->all, grant->n, &grant->where);
			continue;
		}
		r = plan_patterns_parse(p, grant->all[0], &grant->where, &g);
		for (size_t k = 0; r == 0 && k < g.n; k++)
			r = plan_globs_replace(&w, &g.alternatives[k], grant->all[0]);
	}
	return r;
}

/* 1: the pattern has a true glob. */
static int plan_globs_has_glob(struct planner *p, const char *text, const struct location *where)
{
	enum glob_kind kind;
	struct glob g;
	size_t len;
	int r;

	if (glob_plain(text, &len, &kind))
		return 0;
	r = plan_patterns_parse(p, text, where, &g);
	for (size_t i = 0; r == 0 && i < g.n; i++)
		r = g.alternatives[i].kind == GLOB_TRUE;
	return r;
}

/* The same for a list. */
static int plan_globs_have_glob(struct planner *p, const struct grant_list *list)
{
	const struct folders *folders = policy_folders(p->policy, list);
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		if (folders_of(folders, i) != FOLDERS_NONE)
			continue;
		for (size_t k = 0; r == 0 && k < g->n; k++)
			r = plan_globs_has_glob(p, g->all[k], &g->where);
	}
	return r;
}

/* The lists of a layer that allow reading and nothing else, or lift what the baseline forbids. */
static struct grant_list *plan_globs_reading_list(struct permissions *l, size_t i)
{
	struct rule *rule = i > 1 ? &l->rules[i - 2] : NULL;

	if (!rule)
		return i == 0 ? &l->fs_read : &l->dangerously_allow;
	if (rule->action != VERDICT_ALLOW || !plan_is_about(rule, 1 << OPERATION_FS_READ) ||
		plan_is_about(rule, 1 << OPERATION_FS_WRITE))
		return NULL;
	return &rule->patterns;
}

static int plan_globs_rewrite_layer(struct planner *p, size_t layer)
{
	struct permissions *copy = NULL;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->layers[layer]->n_rules + 2; i++) {
		struct grant_list *list =
			plan_globs_reading_list((struct permissions *)p->layers[layer], i);

		r = list ? plan_globs_have_glob(p, list) : 0;
		if (r <= 0)
			continue;
		if (!copy) {
			copy = permissions_copy(p->layers[layer]);
			if (!copy)
				return -ENOMEM;
			p->layers[layer] = p->copies[p->n_copies++] = copy;
		}
		r = plan_globs_rewrite_list(p, copy, plan_globs_reading_list(copy, i));
	}
	return r;
}

int plan_globs_rewrite(struct planner *p)
{
	struct policy_options options = { .variables = p->options->variables,
		.resolver = p->options->resolver };
	int r = 0;

	options.opened = policy_opened(p->options->policy, &options.n_opened);
	p->copies = arena_calloc(&p->arena, p->n_layers + 1, sizeof(struct permissions *));
	if (!p->copies)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_globs_rewrite_layer(p, i);
	if (r < 0 || p->n_copies == 0)
		return r;
	r = policy_new(&p->own_policy, p->layers, p->n_layers, &options, p->error);
	if (r == 0)
		p->policy = p->own_policy;
	return r;
}
