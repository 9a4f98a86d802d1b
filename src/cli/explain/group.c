/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From many paths to few lines. A line should be enough for the program and no wider than it has to
 * be: a folder that the program itself asked for stands for what is in it, several files of one
 * folder for the folder, a library or module for its folder, since a loader gives up at the first.
 * Nothing is ever gathered into the home, the root, or what holds them.
 *
 * What came last before the end is most likely why it ended, so it comes first; that something is
 * missing was heard by who opened it rather than by who asked whether it is there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explain/internal.h"

enum {
	FILES_MIN = 3,   /* of one folder */
	FOLDERS_MIN = 4, /* in one folder */
	ROUNDS = 4,
};

/* Grows as entries are merged: those that were have no path. */
static void explain_group_merge(struct denial *into, struct denial *from)
{
	into->count += from->count;
	if (from->last > into->last) {
		into->last = from->last;
		into->program = from->program;
	}
	into->is_look = into->is_look && from->is_look;
	into->is_quiet = into->is_quiet && from->is_quiet;
	from->path = NULL;
}

static bool is_file_kind(const struct denial *d)
{
	return d->path && !d->is_fixed && (d->kind == DENIAL_READ || d->kind == DENIAL_WRITE);
}

/* Writing includes reading. */
static bool explain_group_covers(const struct denial *a, const struct denial *b)
{
	if (!is_file_kind(a) || !is_file_kind(b) || a->kind < b->kind)
		return false;
	return a->is_folder ? path_is_below(b->path, a->path) : strcmp(a->path, b->path) == 0;
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (const char *p = path; *p; p++)
		n += *p == '/' && p[1];
	return n;
}

/* Too much to be gathered into. */
static bool is_wide(const struct run *r, const char *folder)
{
	const char *work = r->load.variables.values[VARIABLE_WORK_DIR];

	return depth_of(folder) < 2 || run_explain_is_protected(r, folder) ||
	       (work && path_is_below(work, folder));
}

/* Where the homes are, or one of them, whoever's it is: HOME may be another, or be set to another.
 */
static bool is_home(const char *folder)
{
	return strcmp(folder, "/root") == 0 ||
	       (path_is_below(folder, "/home") && depth_of(folder) <= 2);
}

bool run_explain_is_protected(const struct run *r, const char *folder)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];

	return strcmp(folder, "/") == 0 || is_home(folder) || (home && path_is_below(home, folder));
}

/* Somebody passed through, on the way to something that is known better. */
static void drop_steps(struct denials *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct denial *step = &l->items[i];

		if (!is_file_kind(step) || !step->is_folder || !step->is_look)
			continue;
		for (size_t k = 0; k < l->n && step->path; k++) {
			const struct denial *d = &l->items[k];

			if (k != i && d->path && d->kind != DENIAL_CONNECT &&
				path_is_below(d->path, step->path) &&
				strcmp(d->path, step->path) != 0)
				step->path = NULL;
		}
	}
}

static void absorb(struct denials *l)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->n; k++)
			if (i != k && explain_group_covers(&l->items[i], &l->items[k]))
				explain_group_merge(&l->items[i], &l->items[k]);
}

static const char *explain_group_folder_of(const char *path, struct arena *a)
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	return arena_strndup(a, path, len ? len : 1);
}

static bool is_in(const struct denial *d, const char *folder, enum denial_kind kind, bool folders)
{
	size_t len = strlen(folder);

	return is_file_kind(d) && d->kind == kind && d->is_folder == folders &&
	       strncmp(d->path, folder, len) == 0 && d->path[len] == '/' &&
	       !strchr(d->path + len + 1, '/');
}

/* What is loaded, and goes on to load what lies beside it: "libm.so.6", "part.js"; and files that
 * say what their folder is. */
static bool is_loaded(const char *path)
{
	static const char *const ends[] = { ".js", ".cjs", ".mjs", ".py", ".pm", ".rb", ".lua",
		".php", "package.json", "Cargo.toml", "go.mod", "pyproject.toml", NULL };
	const char *name = run_explain_name(path), *so = strstr(name, ".so");
	size_t len = strlen(name);

	for (size_t i = 0; ends[i]; i++) {
		size_t end = strlen(ends[i]);

		if (len >= end && strcmp(name + len - end, ends[i]) == 0)
			return true;
	}
	return so && (so[3] == '\0' || so[3] == '.');
}

/* Makes d stand for its folder, if that is not too much. */
static int widen(const struct run *r, struct denial *d, struct arena *a)
{
	const char *folder = explain_group_folder_of(d->path, a);

	if (!folder)
		return -ENOMEM;
	if (is_wide(r, folder))
		return 0;
	d->path = folder;
	d->is_folder = true;
	return 0;
}

static int widen_loaded(const struct run *r, struct denials *l, struct arena *a)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < l->n; i++) {
		struct denial *d = &l->items[i];

		if (is_file_kind(d) && d->kind == DENIAL_READ && !d->is_folder &&
			is_loaded(d->path))
			ret = widen(r, d, a);
	}
	return ret;
}

/* Those that have many of their kind beside them. */
static int widen_crowds(
	const struct run *r, struct denials *l, struct arena *a, bool folders, size_t min)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < l->n; i++) {
		struct denial *d = &l->items[i];
		const char *folder;
		size_t n = 0;

		if (!is_file_kind(d) || d->is_folder != folders)
			continue;
		folder = explain_group_folder_of(d->path, a);
		if (!folder)
			return -ENOMEM;
		for (size_t k = 0; n < min && k < l->n; k++)
			n += is_in(&l->items[k], folder, d->kind, folders);
		if (n >= min)
			ret = widen(r, d, a);
	}
	return ret;
}

/* By a rule, or by what no grant lifts: no folder around it helps. And what is not to be granted at
 * all does not stand for others. */
static bool is_fixed(const struct run *r, const struct denial *d)
{
	struct request request = {
		.op = d->kind == DENIAL_WRITE ? OPERATION_FS_WRITE : OPERATION_FS_READ,
		.target = d->path,
	};
	struct decision decision;

	if (d->kind != DENIAL_READ && d->kind != DENIAL_WRITE)
		return false;
	if (run_explain_is_protected(r, d->path))
		return true;
	return policy_decide(r->policy, &request, &decision) == 0 &&
	       decision.verdict != VERDICT_ALLOW &&
	       (decision.why == DECISION_BASELINE || decision.source);
}

/* Somebody looked along PATH, and went on to the next folder. */
static bool was_found(const struct run *r, const struct denial *d)
{
	return d->kind != DENIAL_WRITE && d->kind != DENIAL_CONNECT && !d->is_folder &&
	       run_explain_found(r, run_explain_name(d->path)) && access(d->path, X_OK) == 0;
}

static int explain_group_copy(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret)
{
	ret->items = arena_calloc(a, from->n + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		ret->items[i] = from->items[i];
		ret->items[i].is_fixed = is_fixed(r, &from->items[i]);
		if (was_found(r, &from->items[i]))
			ret->items[i].is_quiet = true;
	}
	ret->n = from->n;
	return 0;
}

static int explain_group_compare(const void *a, const void *b)
{
	const struct denial *x = a, *y = b;

	if (x->is_quiet != y->is_quiet)
		return x->is_quiet ? 1 : -1;
	if (x->is_look != y->is_look)
		return x->is_look ? 1 : -1;
	return x->last < y->last ? 1 : x->last > y->last ? -1 : 0;
}

static void explain_group_sort(struct denials *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].path)
			l->items[n++] = l->items[i];
	l->n = n;
	qsort(l->items, n, sizeof(*l->items), explain_group_compare);
}

int run_explain_group(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret)
{
	int err = explain_group_copy(r, from, a, ret);

	if (err < 0)
		return err;
	drop_steps(ret);
	err = widen_loaded(r, ret, a);
	absorb(ret);
	if (err == 0)
		err = widen_crowds(r, ret, a, false, FILES_MIN);
	absorb(ret);
	for (int i = 0; err == 0 && i < ROUNDS; i++) {
		err = widen_crowds(r, ret, a, true, FOLDERS_MIN);
		absorb(ret);
	}
	explain_group_sort(ret);
	return err;
}
