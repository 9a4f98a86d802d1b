/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the working folder before a run, and chooses what is kept: at most UNDO_NAMES_MAX names,
 * and as many bytes as the limit says.
 *
 * Most projects are kept whole. Where that is too much, parts are left out in this order: folders
 * that programs generate (node_modules, target …), the largest first; single files, the largest
 * first; git's folders, each as a whole, since half a repository is none. If it still is too much,
 * the run is refused. What is left out is named before the command starts, and never touched by an
 * undo: it is an entry with a reason.
 *
 * Folders of the first and the last kind are units. They are read last, so that a million names in
 * one of them do not take the room of the project's own files; each is read up to the bound, and
 * all of them together read no more than twice as many names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/undo/internal.h"

/* Smaller files are not left out one by one. */
enum { LARGE_FILE = 1 << 20 };

static const char *const walk_generated[] = { "node_modules", "bower_components", "target", ".venv",
	"venv", "build", "builddir", "dist", "out", "_build", "cmake-build-*", ".next", ".nuxt",
	".svelte-kit", ".turbo", ".parcel-cache", ".cache", "__pycache__", ".tox", ".nox",
	".mypy_cache", ".pytest_cache", ".ruff_cache", ".eggs", ".gradle", ".terraform",
	"zig-cache", ".zig-cache", "DerivedData", "Pods", "coverage", ".corral-cache" };

static const char why_limit[] = "over the limit";
static const char why_names[] = "too many names";
static const char why_secret[] = "the command may not read it";
static const char why_mount[] = "another file system";
static const char why_closed[] = "it cannot be read";
static const char why_kind[] = "no file, folder or link";
static const char why_deep[] = "nested too deep";

/* A folder that is still to be read. */
struct walk_folder {
	size_t entry;
	unsigned depth;
};

struct walk_unit {
	struct walk_folder top;
	bool is_git;
	size_t first, n; /* its entries, which stand one after the other */
	uint64_t bytes;
	bool is_dropped;
};

struct walk {
	struct undo *undo;
	const struct undo_options *options;
	dev_t device;
	struct walk_folder *folders; /* a queue */
	size_t n_folders, cap_folders;
	struct walk_unit *units;
	size_t n_units, cap_units;
	size_t names_left;
	bool in_unit;
};

static bool walk_is_generated(const char *name)
{
	for (size_t i = 0; i < ROWS(walk_generated); i++)
		if (fnmatch(walk_generated[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

static int walk_queue(struct walk *w, size_t entry, unsigned depth, const char *name)
{
	const struct walk_unit unit = { .top = { entry, depth },
		.is_git = strcmp(name, ".git") == 0 };

	if (!w->in_unit && (unit.is_git || walk_is_generated(name)))
		return ARRAY_PUSH(w->units, w->n_units, w->cap_units, unit);
	return ARRAY_PUSH(w->folders, w->n_folders, w->cap_folders, unit.top);
}

/* Why an entry is not kept; NULL: it is. */
static const char *walk_judge(const struct walk *w, int folder, const char *name,
	const struct undo_entry *e, unsigned depth)
{
	const struct undo_options *o = w->options;
	char full[PATH_BYTES];
	struct stat st;

	if (e->is.kind == UNDO_OTHER)
		return why_kind;
	if (snprintf(full, sizeof(full), "%s/%s", o->folder, e->path) >= (int)sizeof(full) ||
		depth >= UNDO_DEPTH_MAX)
		return why_deep;
	if (o->may_read && !o->may_read(o->context, full))
		return why_secret;
	if (e->is.kind == UNDO_FOLDER &&
		(fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != w->device))
		return why_mount;
	return NULL;
}

static int walk_take(
	struct walk *w, int folder, const char *parent, const char *name, unsigned depth)
{
	struct undo *u = w->undo;
	struct undo_entry e = { .path = arena_printf(
					&u->arena, "%s%s%s", parent, *parent ? "/" : "", name) };
	int r = e.path ? undo_look_at(folder, name, &u->arena, &e.is) : -ENOMEM;

	if (r < 0 || e.is.kind == UNDO_NONE)
		return r == -ENOMEM ? r : 0;
	e.why = walk_judge(w, folder, name, &e, depth);
	r = ARRAY_PUSH(u->before.items, u->before.n, u->before.cap, e);
	if (r == 0 && e.is.kind == UNDO_FOLDER && !e.why)
		r = walk_queue(w, u->before.n - 1, depth, name);
	return r;
}

/* 1: too many names. */
static int walk_read(struct walk *w, const struct walk_folder *f)
{
	struct undo_list *l = &w->undo->before;
	const char *path = f->entry == SIZE_MAX ? "" : l->items[f->entry].path;
	auto_fd fd = undo_open_folder(w->undo->root, path);
	const struct dirent *d;
	DIR *dir;
	int r = 0;

	if (fd < 0 || !(dir = fdopendir(dup(fd)))) {
		if (f->entry == SIZE_MAX)
			return fd < 0 ? fd : -errno;
		l->items[f->entry].why = fd == -EXDEV ? why_mount : why_closed;
		return 0;
	}
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (w->names_left == 0 || l->n >= w->undo->names_max) {
			r = 1;
			break;
		}
		w->names_left--;
		r = walk_take(w, fd, path, d->d_name, f->depth + 1);
	}
	(void)closedir(dir);
	return r;
}

static int walk_all(struct walk *w)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->n_folders; i++) {
		const struct walk_folder next = w->folders[i];

		r = walk_read(w, &next);
	}
	w->n_folders = 0;
	return r;
}

static uint64_t walk_bytes(const struct undo_list *l, size_t first)
{
	uint64_t bytes = 0;

	for (size_t i = first; i < l->n; i++)
		bytes += l->items[i].is.kind == UNDO_FILE && !l->items[i].why ? l->items[i].is.size
									      : 0;
	return bytes;
}

static void walk_drop_unit(struct walk *w, struct walk_unit *unit, const char *why)
{
	w->undo->before.items[unit->top.entry].why = why;
	w->undo->before.items[unit->top.entry].is.size = unit->bytes;
	unit->is_dropped = true;
}

/* One unit; without it, if it has too many names. */
static int walk_unit(struct walk *w, struct walk_unit *unit)
{
	struct undo_list *l = &w->undo->before;
	int r;

	unit->first = l->n;
	w->n_folders = 0;
	r = ARRAY_PUSH(w->folders, w->n_folders, w->cap_folders, unit->top);
	w->in_unit = true;
	if (r == 0)
		r = walk_all(w);
	w->in_unit = false;
	unit->bytes = walk_bytes(l, unit->first);
	unit->n = l->n - unit->first;
	if (r != 1)
		return r;
	walk_drop_unit(w, unit, why_names);
	l->n = unit->first;
	unit->n = 0;
	return 0;
}

/* Choosing */

static struct walk_unit *walk_largest_unit(struct walk *w, bool is_git)
{
	struct walk_unit *found = NULL;

	for (size_t i = 0; i < w->n_units; i++) {
		struct walk_unit *unit = &w->units[i];

		if (!unit->is_dropped && unit->is_git == is_git && unit->bytes > 0 &&
			(!found || unit->bytes > found->bytes))
			found = unit;
	}
	return found;
}

static int walk_by_size(const void *a, const void *b)
{
	const struct undo_entry *const *x = a, *const *y = b;

	return (*x)->is.size < (*y)->is.size ? 1 : (*x)->is.size > (*y)->is.size ? -1 : 0;
}

/* Leaves out large files that are in no unit, the largest first. */
static int walk_drop_files(struct walk *w, size_t n_own, uint64_t *bytes)
{
	struct undo_list *l = &w->undo->before;
	struct undo_entry **large = calloc(n_own + 1, sizeof(struct undo_entry *));
	size_t n = 0;

	if (!large)
		return -ENOMEM;
	for (size_t i = 0; i < n_own; i++)
		if (l->items[i].is.kind == UNDO_FILE && !l->items[i].why &&
			l->items[i].is.size >= LARGE_FILE)
			large[n++] = &l->items[i];
	qsort(large, n, sizeof(struct undo_entry *), walk_by_size);
	for (size_t i = 0; i<n && * bytes> w->undo->limit; i++) {
		large[i]->why = why_limit;
		*bytes -= large[i]->is.size;
	}
	free(large);
	return 0;
}

/* Takes out the entries of units that are left out. */
static void walk_squeeze(struct walk *w)
{
	struct undo_list *l = &w->undo->before;
	size_t n = w->n_units ? w->units[0].first : l->n;

	for (size_t i = 0; i < w->n_units; i++) {
		const struct walk_unit *unit = &w->units[i];

		if (unit->is_dropped || unit->n == 0)
			continue;
		memmove(l->items + n, l->items + unit->first, unit->n * sizeof(*l->items));
		n += unit->n;
	}
	l->n = n;
}

static int walk_choose(struct walk *w, size_t n_own)
{
	uint64_t bytes = walk_bytes(&w->undo->before, 0);
	struct walk_unit *unit;
	int r = 0;

	while (bytes > w->undo->limit && (unit = walk_largest_unit(w, false))) {
		bytes -= unit->bytes;
		walk_drop_unit(w, unit, why_limit);
	}
	if (bytes > w->undo->limit)
		r = walk_drop_files(w, n_own, &bytes);
	while (r == 0 && bytes > w->undo->limit && (unit = walk_largest_unit(w, true))) {
		bytes -= unit->bytes;
		walk_drop_unit(w, unit, why_limit);
	}
	walk_squeeze(w);
	w->undo->bytes = bytes;
	return r < 0 ? r : bytes > w->undo->limit;
}

/* The walk */

static int walk_refuse(const struct undo *u, bool is_names, struct error *e)
{
	auto_buffer limit = { 0 };

	if (is_names) {
		(void)error_set(e, -E2BIG, NULL,
			"--undo: %s has more than %zu names besides generated folders, and nothing "
			"was run",
			u->folder, u->names_max);
		error_hint(e, "run it in a smaller folder (--work-dir DIR), or without --undo");
		return -E2BIG;
	}
	undo_print_bytes(u->limit, &limit);
	(void)error_set(e, -E2BIG, NULL,
		"--undo: %s has more than %s in small files, and nothing was run", u->folder,
		buffer_text(&limit));
	error_hint(e, "--undo-limit SIZE raises the limit; or run it without --undo");
	return -E2BIG;
}

/* The working folder has a mode and a time of its own. */
static int walk_take_root(struct walk *w)
{
	struct undo_list *l = &w->undo->before;
	struct undo_entry e = { .path = UNDO_ROOT };
	int r = undo_look_fd(w->undo->root, &e.is);

	return r < 0 ? r : ARRAY_PUSH(l->items, l->n, l->cap, e);
}

static int walk_run(struct walk *w, struct error *e)
{
	const struct walk_folder top = { .entry = SIZE_MAX };
	struct undo_list *l = &w->undo->before;
	int r = ARRAY_PUSH(w->folders, w->n_folders, w->cap_folders, top);
	size_t n_own;

	if (r == 0)
		r = walk_take_root(w);
	if (r == 0)
		r = walk_all(w);
	if (r == 1)
		return walk_refuse(w->undo, true, e);
	n_own = l->n;
	w->names_left = 2 * w->undo->names_max;
	for (size_t i = 0; r == 0 && i < w->n_units; i++)
		r = walk_unit(w, &w->units[i]);
	if (r == 0)
		r = walk_choose(w, n_own);
	return r == 1 ? walk_refuse(w->undo, false, e) : r;
}

int undo_walk(struct undo *u, const struct undo_options *o, struct error *e)
{
	struct walk w = { .undo = u, .options = o, .names_left = u->names_max };
	struct stat st;
	int r = fstat(u->root, &st) < 0 ? -errno : 0;

	w.device = st.st_dev;
	if (r == 0)
		r = walk_run(&w, e);
	if (r == 0)
		r = undo_list_index(&u->before);
	free(w.folders);
	free(w.units);
	if (r < 0 && e && !e->text[0])
		(void)error_set(e, r, NULL, "--undo: cannot read %s: %s", u->folder, strerror(-r));
	return r;
}
