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

#include "base/array.h"
#include "cli/explain/internal.h"

enum {
	FILES_MIN = 3,   /* of one folder */
	FOLDERS_MIN = 4, /* in one folder */
	OWN_MIN = 2,     /* of a program's own folder in the home */
	ROUNDS = 4,
};

static bool is_file_kind(const struct denial *d)
{
	return d->path && !d->is_fixed && (d->kind == DENIAL_READ || d->kind == DENIAL_WRITE);
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (const char *p = path; *p; p++)
		n += *p == '/' && p[1];
	return n;
}

/* Folders of the home in which many programs have theirs: never as a whole either. */
static const char *const shared[] = { ".config", ".cache", ".local", ".local/share", ".local/state",
	".local/lib", ".local/bin" };

static bool is_shared(const char *home, const char *folder)
{
	const size_t len = home ? strlen(home) : 0;
	bool is = false;

	if (len <= 1 || strncmp(folder, home, len) != 0 || folder[len] != '/')
		return false;
	for (size_t i = 0; !is && i < ROWS(shared); i++)
		is = strcmp(folder + len + 1, shared[i]) == 0;
	return is;
}

bool explain_fold_is_protected(const struct explain_place *place, const char *folder)
{
	const char *home = place->home;

	/* Where the homes are, or one of them, whoever's it is: HOME may be another, or be set to
	 * another. */
	return strcmp(folder, "/") == 0 || strcmp(folder, "/root") == 0 ||
	       (path_is_below(folder, "/home") && depth_of(folder) <= 2) ||
	       (home && path_is_below(home, folder)) || is_shared(home, folder);
}

static struct explain_place place_of(const struct run *r)
{
	return (struct explain_place){ .home = r->load.variables.values[VARIABLE_HOME],
		.work = r->load.variables.values[VARIABLE_WORK_DIR] };
}

bool run_explain_is_protected(const struct run *r, const char *folder)
{
	const struct explain_place place = place_of(r);

	return explain_fold_is_protected(&place, folder);
}

/* A path was passed through, on the way to one that is known better. */
static void drop_steps(struct denials *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct denial *step = &l->items[i];

		if (!is_file_kind(step) || !step->is_folder || !step->is_look)
			continue;
		for (size_t k = 0; k < l->n && step->path; k++) {
			const struct denial *d = &l->items[k];

			if (k != i && d->path && d->kind < DENIAL_CONNECT &&
				path_is_below(d->path, step->path) &&
				strcmp(d->path, step->path) != 0)
				step->path = NULL;
		}
	}
}

/* What an entry covers joins it, and has no path any more. Writing includes reading. */
static void absorb(struct denials *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct denial *into = &l->items[i];

		for (size_t k = 0; k < l->n; k++) {
			struct denial *from = &l->items[k];

			if (i == k || !is_file_kind(into) || !is_file_kind(from) ||
				into->kind < from->kind ||
				(into->is_folder ? !path_is_below(from->path, into->path)
						 : strcmp(into->path, from->path) != 0))
				continue;
			into->count += from->count;
			if (from->last > into->last) {
				into->last = from->last;
				into->program = from->program;
			}
			into->is_look = into->is_look && from->is_look;
			into->is_quiet = into->is_quiet && from->is_quiet;
			into->is_moot = into->is_moot && from->is_moot;
			if (!from->fold && strcmp(from->path, into->path) == 0)
				into->fold = FOLD_NONE;
			from->path = NULL;
		}
	}
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
		".php", "package.json", "Cargo.toml", "go.mod", "pyproject.toml", "pyvenv.cfg",
		NULL };
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
static int widen(
	const struct explain_place *place, struct denial *d, enum denial_fold fold, struct arena *a)
{
	const char *work = place->work;
	const char *folder = explain_group_folder_of(d->path, a);

	if (!folder)
		return -ENOMEM;
	if (depth_of(folder) < 2 || explain_fold_is_protected(place, folder) ||
		(work && path_is_below(work, folder)))
		return 0;
	d->path = folder;
	d->is_folder = true;
	d->fold = fold;
	return 0;
}

/* Those that have many of their kind beside them. */
static int widen_crowds(const struct explain_place *place, struct denials *l, struct arena *a,
	bool folders, size_t min)
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
			ret = widen(place, d, folders ? FOLD_FOLDERS : FOLD_FILES, a);
	}
	return ret;
}

/*
 * A program's own folder in the home, "~/.claude" or "~/.config/tool", of a path below it: programs
 * keep more than one file there, and ask for them one after the other. NULL: it is in none.
 */
static const char *explain_group_own_folder(const char *home, const char *path, struct arena *a)
{
	const char *name, *end;
	size_t len = home ? strlen(home) : 0;

	if (len <= 1 || strncmp(path, home, len) != 0 || path[len] != '/' || path[len + 1] != '.')
		return NULL;
	name = path + len + 1;
	for (size_t i = 0; i < ROWS(shared); i++) {
		const size_t n = strlen(shared[i]);

		if (strncmp(name, shared[i], n) == 0 && name[n] == '/')
			name += n + 1;
	}
	end = strchr(name, '/');
	/* Nothing of what several programs share: .local/bin. */
	if (!end || strncmp(path + len + 1, ".local/bin/", 11) == 0 ||
		strncmp(name, ".local/", 7) == 0)
		return NULL;
	return arena_strndup(a, path, (size_t)(end - path));
}

/* Two or more of one program's folder are that folder. */
static void widen_own_folders(const struct explain_place *place, struct denials *l, struct arena *a)
{
	for (size_t i = 0; i < l->n; i++) {
		struct denial *d = &l->items[i];
		const char *folder =
			is_file_kind(d) ? explain_group_own_folder(place->home, d->path, a) : NULL;
		size_t n = 0;

		for (size_t k = 0; folder && k < l->n; k++)
			n += is_file_kind(&l->items[k]) && path_is_below(l->items[k].path, folder);
		if (n < OWN_MIN || explain_fold_is_protected(place, folder) ||
			access(folder, X_OK) < 0)
			continue;
		d->path = folder;
		d->is_folder = true;
		d->fold = FOLD_OWN;
	}
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

static int explain_group_compare(const void *a, const void *b)
{
	const struct denial *x = a, *y = b;

	if (x->is_quiet != y->is_quiet)
		return x->is_quiet ? 1 : -1;
	if (x->is_look != y->is_look)
		return x->is_look ? 1 : -1;
	return x->last < y->last ? 1 : x->last > y->last ? -1 : 0;
}

int explain_fold(const struct explain_place *place, struct denials *l, struct arena *a)
{
	struct denial *items = l->items;
	size_t n = 0;
	int err = 0;

	drop_steps(l);
	for (size_t i = 0; err == 0 && i < l->n; i++) {
		struct denial *d = &items[i];

		if (is_file_kind(d) && d->kind == DENIAL_READ && !d->is_folder &&
			is_loaded(d->path))
			err = widen(place, d, FOLD_LOADED, a);
	}
	absorb(l);
	widen_own_folders(place, l, a);
	absorb(l);
	if (err == 0)
		err = widen_crowds(place, l, a, false, FILES_MIN);
	absorb(l);
	for (int i = 0; err == 0 && i < ROUNDS; i++) {
		err = widen_crowds(place, l, a, true, FOLDERS_MIN);
		absorb(l);
	}
	for (size_t i = 0; i < l->n; i++)
		if (items[i].path)
			items[n++] = items[i];
	l->n = n;
	return err;
}

/* The command line has it: then it is what the command is about. */
static bool is_asked_for(const struct run *r, const char *path)
{
	bool is = false;

	for (size_t i = 0; !is && i < r->n_argv; i++)
		is = strstr(r->argv[i], run_explain_name(path)) != NULL;
	return is;
}

/*
 * Credentials in the home that a program looks up whenever it starts: most commands do without, and
 * none is advised while there is another reason. Of any other program they are reported: it was
 * after them.
 */
static bool is_done_without(const struct run *r, const struct denial *d)
{
	static const struct {
		const char *program, *file; /* the beginning of its name; below the home */
	} rows[] = { { "npm", ".npmrc" }, { "node", ".npmrc" }, { "pnpm", ".npmrc" },
		{ "yarn", ".npmrc" }, { "curl", ".netrc" }, { "git", ".netrc" },
		{ "pip", ".netrc" }, { "pip", ".pypirc" }, { "cargo", ".cargo/credentials" } };
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const size_t len = home ? strlen(home) : 0;
	bool is = false;

	if (d->kind != DENIAL_READ || len <= 1 || !path_is_below(d->path, home) ||
		d->path[len] != '/' || is_asked_for(r, d->path))
		return false;
	for (size_t i = 0; !is && i < ROWS(rows); i++)
		is = strncmp(d->program, rows[i].program, strlen(rows[i].program)) == 0 &&
		     strncmp(d->path + len + 1, rows[i].file, strlen(rows[i].file)) == 0;
	return is;
}

int run_explain_copy(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret)
{
	struct denial *items = arena_calloc(a, from->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		struct denial *d = &items[i];

		*d = from->items[i];
		d->is_fixed = is_fixed(r, d);
		/* A search along PATH went on to the next folder. */
		if ((d->kind == DENIAL_READ || d->kind == DENIAL_EXEC) && !d->is_folder &&
			!d->is_exact && run_explain_found(r, run_explain_name(d->path)) &&
			access(d->path, X_OK) == 0)
			d->is_quiet = true;
		/* On the way to something: no line would grant that. */
		if (d->is_look && d->is_folder && run_explain_is_protected(r, d->path))
			d->is_moot = true;
		d->is_quiet = d->is_quiet || d->is_moot || is_done_without(r, d);
	}
	*ret = (struct denials){ .items = items, .n = from->n };
	return 0;
}

int run_explain_group(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret)
{
	const struct explain_place place = place_of(r);
	int err = run_explain_copy(r, from, a, ret);

	if (err == 0)
		err = explain_fold(&place, ret, a);
	if (ret->items)
		qsort(ret->items, ret->n, sizeof(*ret->items), explain_group_compare);
	return err;
}
