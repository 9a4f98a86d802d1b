/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first look: places of the table, of repositories, of shells and of what lies above, then what
 * links and hard links lead to from them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "cli/profile/places.h"

static const char runs_later_too_many[] =
	"has too many folders to look for symbolic links in all of them: what such a link leads to "
	"is neither protected nor reported";
static const char runs_later_too_many_twins[] =
	"has too many protected files to look for hard links of all of them: a change by another "
	"name is not prevented";
static const char runs_later_closed[] =
	"cannot be listed, so what other programs run in folders below it is neither protected nor "
	"reported (give the right to read it: chmod u+r)";
static const char runs_later_closed_links[] =
	"cannot be listed, so what symbolic links in it lead to is neither protected nor reported "
	"(give the right to read it: chmod u+r)";

/* Not looked through for links: git's objects in its own folders, and packages and
 * repositories where agents install some. Elsewhere such a name is as good as any. */
static const char *const runs_later_skipped_git[] = { "objects", "refs", "logs", "lfs", NULL };
static const char *const runs_later_skipped_packages[] = { "node_modules", ".git/objects",
	".git/refs", ".git/logs", ".git/lfs", NULL };
static const char *const runs_later_skipped_none[] = { NULL };

static int runs_later_add(struct runs_later *d, const char *path, const char *what, unsigned uses,
	enum runs_later_kind kind)
{
	struct runs_later_places *p = d->places;
	struct runs_later_place place = { .what = what, .uses = uses, .kind = kind };
	ssize_t i = look_index_find(&p->index, p->items, sizeof(place), path);
	int r;

	if (i >= 0) {
		p->items[i].uses |= uses;
		return 0;
	}
	if (runs_later_is_inside(p, path))
		return 0;
	place.before = runs_later_state(d, *path ? path : ".", runs_later_uses(kind, uses));
	if (!place.before.exists && kind != PLACE_LEAD && kind != PLACE_PROGRAMS)
		return 0;
	if (p->n == RUNS_LATER_PLACES) {
		p->is_full = true;
		return 0;
	}
	place.path = arena_strdup(&p->look.arena, path);
	r = place.path ? ARENA_PUSH(&p->look.arena, p->items, p->n, p->cap, place) : -ENOMEM;
	return r < 0 ? r
		     : look_index_add(&p->index, &p->look.arena, p->items, sizeof(place), p->n - 1);
}

/* Something was not looked at. path: absolute. */
static int runs_later_miss(struct runs_later *d, const char *path, const char *why)
{
	struct runs_later_places *p = d->places;
	struct runs_later_miss miss = { arena_strdup(&p->look.arena, path), why };

	if (!miss.path)
		return -ENOMEM;
	if (p->n_missed < ROWS(p->missed))
		p->missed[p->n_missed++] = miss;
	else
		p->is_cut = true;
	return 0;
}

/* A folder that cannot be listed: path below the place, which is absolute. */
static int runs_later_miss_closed(struct runs_later *d, const char *place, const char *path)
{
	char full[PATH_BYTES];

	return runs_later_join(place, path, full)
		       ? runs_later_miss(d, full, runs_later_closed_links)
		       : 0;
}

/* What a link is followed for. */
struct runs_later_from {
	struct runs_later *files;
	const char *what;
	unsigned uses;
	const char *path; /* of the place; NULL: it lies outside */
};

static int runs_later_add_row(
	void *data, const struct look_folder *f, const char *path, const struct threat *row)
{
	(void)f;
	return runs_later_add(data, path, threat_what(row), row->uses, PLACE_ROW);
}

static int runs_later_add_lead(void *data, const char *path, const char *who, unsigned uses)
{
	return runs_later_add(data, path, who, uses, PLACE_LEAD);
}

static int runs_later_add_shell(
	void *data, const char *path, const char *who, enum profile_shell_kind kind)
{
	/* What is sourced runs unasked; the rest is changed by work. */
	if (kind == PROFILE_SHELL_HOP)
		return runs_later_add(data, path, who, THREAT_REPORT | THREAT_SOON, PLACE_HOP);
	if (kind == PROFILE_SHELL_PROGRAMS)
		return runs_later_add(data, path, who, THREAT_REPORT | THREAT_SOON, PLACE_PROGRAMS);
	return runs_later_add(data, path, who,
		THREAT_SOON | (kind == PROFILE_SHELL_SOURCED ? THREAT_PROTECT : THREAT_REPORT),
		PLACE_LEAD);
}

static int runs_later_add_envrc(struct runs_later *d, const struct look_folder *f)
{
	char path[PATH_BYTES];
	int r = 0;

	if (snprintf(path, sizeof(path), "%s/%s%s.envrc", d->folder, f->path, *f->path ? "/" : "") <
		(int)sizeof(path))
		r = profile_shell_envrc(d->folder, path, runs_later_add_shell, d);
	d->places->is_full = d->places->is_full || r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

static int runs_later_add_module(void *data, const char *path, const char *who, unsigned uses)
{
	struct runs_later *d = data;

	(void)who;
	(void)uses;
	return look_push(&d->places->look, "", path, false);
}

/* What has too much for us must not stop all work. */
static int runs_later_miss_settings(struct runs_later *d)
{
	const char *why = d->places->user.why;

	d->places->user.why = NULL;
	return why ? runs_later_miss(d, d->places->user.missed, why) : 0;
}

/* Its repository, what that leads to, and its submodules. */
static int runs_later_add_repository(struct runs_later *d, const struct look_folder *f)
{
	char worktree[PATH_BYTES], path[PATH_BYTES];
	bool is_top = !*f->path;
	int r = 0;

	if (snprintf(worktree, sizeof(worktree), "%s%s%s", d->folder, is_top ? "" : "/", f->path) >=
		(int)sizeof(worktree))
		return 0;
	if (f->is_bare)
		r = runs_later_add(
			d, f->path, runs_later_bare, THREAT_REPORT | THREAT_SOON, PLACE_REPOSITORY);
	else if (runs_later_join(f->path, ".git", path))
		r = runs_later_add(d, path, runs_later_repository, THREAT_REPORT | THREAT_SOON,
			PLACE_REPOSITORY);
	if (r == 0)
		r = profile_git_leads(
			d->folder, worktree, f->is_bare, &d->places->user, runs_later_add_lead, d);
	if (r == 0)
		r = profile_git_environment(
			d->folder, worktree, &d->places->user, runs_later_add_lead, d);
	if (r == 0)
		r = profile_git_modules(
			d->folder, worktree, &d->places->user, runs_later_add_module, d);
	return r < 0 ? r : runs_later_miss_settings(d);
}

/* Links */

static bool runs_later_is_named(const char *path, const char (*names)[24], size_t n)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i = 0;

	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i < n;
}

/* Text that agents write themselves, by another name: `.cursorrules -> AGENTS.md`. */
static bool runs_later_is_text(const struct runs_later_from *from, const char *path)
{
	static const char links[][24] = { ".cursorrules", ".windsurfrules",
		"copilot-instructions.md" };
	static const char texts[][24] = { "AGENTS.md", "CLAUDE.md", "GEMINI.md" };

	return from->path && runs_later_is_named(from->path, links, ROWS(links)) &&
	       runs_later_is_named(path, texts, ROWS(texts));
}

static int runs_later_add_linked(void *data, const char *path, enum profile_linked_kind kind)
{
	const struct runs_later_from *from = data;
	struct runs_later_places *p = from->files->places;
	const bool is_kept = from->uses & THREAT_PROTECT && !runs_later_is_text(from, path);
	const unsigned uses = is_kept ? THREAT_PROTECT : THREAT_REPORT;
	struct runs_later_outside outside = { .what = from->what, .uses = uses };

	switch (kind) {
	case PROFILE_LINKED_END:
		return runs_later_add(from->files, path, from->what, uses, PLACE_LEAD);
	case PROFILE_LINKED_HOP:
	case PROFILE_LINKED_WIDE:
		return runs_later_add(from->files, path, from->what, THREAT_REPORT, PLACE_LEAD);
	case PROFILE_LINKED_FOLDER:
		return runs_later_add(
			from->files, path, from->what, THREAT_REPORT, PLACE_REPOSITORY);
	case PROFILE_LINKED_OUTSIDE:
		if (p->n_outside == RUNS_LATER_PLACES)
			return 0;
		outside.path = arena_strdup(&p->look.arena, path);
		return outside.path ? ARENA_PUSH(&p->look.arena, p->outside, p->n_outside,
					      p->cap_outside, outside)
				    : -ENOMEM;
	}
	return 0;
}

/* Folders that are not entered in a place. */
static const char *const *runs_later_skipped(const struct runs_later_place *place)
{
	const char *slash = strrchr(place->path, '/');
	const char *name = slash ? slash + 1 : place->path;
	bool is_large = place->uses & THREAT_LARGE;

	if (strcmp(name, ".git") == 0 ||
		(is_large && (strcmp(name, "modules") == 0 || strcmp(name, "worktrees") == 0)))
		return runs_later_skipped_git;
	return is_large || strcmp(name, ".opencode") == 0 ? runs_later_skipped_packages
							  : runs_later_skipped_none;
}

/* Files in it with more names than one. What is large was not added up, so it is looked through. */
static int runs_later_collect_twins(struct runs_later *d, const struct runs_later_place *place)
{
	struct profile_twins *t = &d->places->twins;
	bool is_large = place->before.is_folder && place->uses & THREAT_LARGE;

	if (!(place->uses & THREAT_PROTECT) || (!is_large && !place->before.is_twinned))
		return 0;
	t->is_large = is_large;
	t->skipped = runs_later_skipped(place);
	return profile_twins_collect(t, d->fd, place->path);
}

static int runs_later_add_from_above(
	void *data, const char *path, const char *who, unsigned uses, enum profile_linked_kind kind)
{
	struct runs_later_from from = { data, who, uses, NULL };

	return runs_later_add_linked(&from, path, kind);
}

/* The repository that the folder is a part of, and what else above it leads here. */
static int runs_later_add_above(struct runs_later *d)
{
	struct linked linked = linked_start(runs_later_skipped_git);
	const struct profile_above above = { .folder = d->folder,
		.user = &d->places->user,
		.linked = &linked,
		.found = runs_later_add_from_above,
		.shell = runs_later_add_shell,
		.data = d };
	int r = profile_above_each(&above);

	d->places->is_full = d->places->is_full || r == -E2BIG;
	r = r == -E2BIG ? 0 : r;
	if (r == 0)
		r = profile_home_each(&above);
	return r == 0 ? runs_later_miss_settings(d) : r;
}

static int runs_later_follow_place(struct runs_later *d, size_t i)
{
	struct runs_later_places *p = d->places;
	const struct runs_later_place place = p->items[i]; /* more may come, and move them */
	struct runs_later_from from = { d, place.what, place.uses, place.path };
	char real[PATH_BYTES];
	int r;

	if (place.kind == PLACE_REPOSITORY || place.kind == PLACE_HOP || !*place.path)
		return 0;
	p->linked = linked_start(runs_later_skipped(&place));
	r = profile_linked_each(&p->linked, d->folder, place.path, place.before.is_folder,
		runs_later_add_linked, &from, real);
	if (r < 0)
		return r;
	if (real[0] && !runs_later_is_text(&from, real)) {
		p->items[i].real = arena_strdup(&p->look.arena, real);
		if (!p->items[i].real)
			return -ENOMEM;
	}
	if (p->linked.is_cut || (p->linked.is_deep && !(place.uses & THREAT_LARGE)))
		r = runs_later_miss(d, real, runs_later_too_many);
	if (r == 0 && p->linked.is_closed)
		r = runs_later_miss_closed(d, real, p->linked.closed);
	return r < 0 ? r : runs_later_collect_twins(d, &place);
}

/* All places that came since; those that links lead to come behind them. */
static int runs_later_follow(struct runs_later *d)
{
	struct runs_later_places *p = d->places;
	int r = 0;

	while (r == 0 && p->followed < p->n)
		r = runs_later_follow_place(d, p->followed++);
	return r;
}

/* Other names of protected files: those that lie elsewhere are places. */
static int runs_later_find_twins(struct runs_later *d)
{
	struct runs_later_places *p = d->places;
	int r = 0;

	for (size_t i = 0; r == 0 && p->twins.n > 0 && i < p->look.n; i++) {
		if (p->look.folders[i].was_read)
			r = profile_twins_search(&p->twins, d->fd, p->look.folders[i].path);
	}
	for (size_t i = 0; r == 0 && i < p->twins.n; i++) {
		if (profile_twins_is_whole(&p->twins, i))
			r = runs_later_add(d, p->twins.items[i].path, runs_later_twin,
				THREAT_PROTECT, PLACE_LEAD);
	}
	if (r == 0 && p->twins.is_full)
		r = runs_later_miss(d, d->folder, runs_later_too_many_twins);
	return r < 0 ? r : runs_later_follow(d);
}

int runs_later_add_path(struct runs_later *d, const char *path, const char *what, bool is_protected)
{
	const unsigned uses = THREAT_SOON | (is_protected ? THREAT_PROTECT : THREAT_REPORT);
	int r = runs_later_add(d, path, what, uses, PLACE_LEAD);

	return r < 0 ? r : runs_later_follow(d);
}

int runs_later_meet(struct runs_later *d, const struct runs_later *from)
{
	const struct runs_later_places *p = from->places;
	size_t len = strlen(d->folder);
	int r = 0;

	for (size_t i = 0; r == 0 && d != from && i < p->n_outside; i++) {
		const struct runs_later_outside *o = &p->outside[i];

		if (path_is_below(o->path, d->folder) && o->path[len])
			r = runs_later_add(d, o->path + len + 1, o->what, o->uses, PLACE_LEAD);
	}
	return r < 0 ? r : runs_later_follow(d);
}

static int runs_later_visit_first(void *data, const struct look_folder *seen)
{
	struct runs_later *d = data;
	const struct look_folder f = *seen; /* more may come, and move them */
	const struct runs_later_rows rows = { d->places, &f, runs_later_add_row, d };
	char path[PATH_BYTES];
	int r = runs_later_rows(&rows);

	if (r == 0 && f.is_closed &&
		snprintf(path, sizeof(path), "%s%s%s", d->folder, *f.path ? "/" : "", f.path) <
			(int)sizeof(path))
		r = runs_later_miss(d, path, runs_later_closed);
	if (r == 0 && runs_later_has(&f, ".envrc"))
		r = runs_later_add_envrc(d, &f);
	if (r == 0 && (f.is_bare || runs_later_has(&f, ".git")))
		r = runs_later_add_repository(d, &f);
	return r < 0 ? r : runs_later_follow(d);
}

int runs_later_open(struct runs_later *d, const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	*d = (struct runs_later){
		.folder = folder, .fd = fd, .places = calloc(1, sizeof(*d->places))
	};
	/* The coarse clock is the one that files get their times from. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &d->since);
	if (d->places) {
		d->places->look.fd = fd;
		d->places->names = RUNS_LATER_SEARCHED;
		d->places->base = strrchr(folder, '/') + 1;
		d->places->twins.arena = &d->places->look.arena;
	}
	r = d->places ? look_first(&d->places->look, runs_later_visit_first, d) : -ENOMEM;
	if (r == 0)
		r = runs_later_add_above(d);
	if (r == 0)
		r = profile_shell_path(folder, getenv("PATH"), runs_later_add_shell, d);
	if (r == 0)
		r = runs_later_follow(d);
	if (r == 0)
		r = runs_later_find_twins(d);
	if (r == 0)
		d->places->is_full = d->places->is_full || d->places->names == 0;
	if (r < 0)
		runs_later_close(d);
	return r;
}

bool runs_later_idle(struct runs_later *d)
{
	/* Out of memory: the second look does without. */
	return look_idle(&d->places->look, runs_later_visit_first, d) == 1;
}

void runs_later_close(struct runs_later *d)
{
	if (d->folder)
		(void)close(d->fd);
	if (d->places)
		arena_deinit(&d->places->look.arena);
	free(d->places);
	*d = (struct runs_later){ 0 };
}
