/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/runs-later.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"
#include "host/links.h"
#include "policy/match/glob.h"

/* Rules of the layer: a grant by name is judged before the denial. */
enum { PRIORITY_DENY = 0, PRIORITY_ALLOW = 1 };
/* Names in all of the folders that are compared as a whole, and their depth. */
enum { SEARCHED_MAX = 4096, DEPTH_MAX = 8 };

static const char runs_later_repository[] = "git runs its hooks and commands";
static const char runs_later_twin[] = "it is a hard link of a file that other programs run";
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
static const char runs_later_made_closed[] =
	"it cannot be listed now, so not all that is in it was looked at";
static const char runs_later_bare[] =
	"git treats it as a repository and runs its hooks and commands";

/* How a path was found: enough to notice that it is another one now. */
struct runs_later_state {
	bool exists, is_folder;
	uint64_t dev, ino, size;
	struct timespec changed; /* ctime: a file that is moved away and back has another */
	uint64_t inside;         /* what is in a folder, as a number */
	struct timespec newest;  /* the latest of it and all in it */
	bool is_twinned;         /* it, or a file in it, has more names than one */
	bool is_closed;          /* it, or a folder in it, cannot be listed */
};

enum runs_later_kind {
	PLACE_ROW,
	PLACE_REPOSITORY, /* what counts is that it is there; its parts are places of their own */
	PLACE_LEAD,     /* git's settings or links lead there, whether there is something or not */
	PLACE_PROGRAMS, /* a folder of PATH, likewise: its executable files count */
	PLACE_HOP,      /* a link, by itself: what it leads to is a place of its own */
};

struct runs_later_place {
	const char *path; /* below the folder */
	const char *real; /* where it is, absolute; NULL: not known */
	const char *what;
	unsigned uses;
	enum runs_later_kind kind;
	struct runs_later_state before;
};

struct runs_later_places {
	struct look look;
	struct profile_git_user user;
	struct runs_later_place *items;
	size_t n, cap;
	struct look_index index;
	unsigned names;   /* left of SEARCHED_MAX */
	bool is_full;     /* there are more places */
	bool is_cut;      /* by the second look */
	bool is_closed;   /* after the command, something could not be listed */
	const char *base; /* the last name of the folder: it may be part of a path of the table */
	struct linked linked;       /* bounds of the search for links */
	size_t followed;            /* of the items: links of those before were followed */
	struct profile_twins twins; /* files with other names that are to be kept, too */
	struct runs_later_outside *outside;
	size_t n_outside, cap_outside;
	struct runs_later_miss missed[RUNS_LATER_MISSED];
	size_t n_missed;
	struct news news;
};

/* A link from here leads there. */
struct runs_later_outside {
	const char *path; /* absolute */
	const char *what;
	unsigned uses;
};

/* Not looked through for links: git's objects in its own folders, and packages and
 * repositories where agents install some. Elsewhere such a name is as good as any. */
static const char *const runs_later_skipped_git[] = { "objects", "refs", "logs", "lfs", NULL };
static const char *const runs_later_skipped_packages[] = { "node_modules", ".git/objects",
	".git/refs", ".git/logs", ".git/lfs", NULL };
static const char *const runs_later_skipped_none[] = { NULL };

/* Looking at one path */

static struct timespec runs_later_later(struct timespec a, struct timespec b)
{
	return look_is_since(&a, &b) ? a : b;
}

static uint64_t runs_later_hash(const struct stat *st)
{
	uint64_t hash = hash_mix(HASH_START, (uint64_t)st->st_ino);

	hash = hash_mix(hash, (uint64_t)st->st_size);
	hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
	return hash_mix(hash, (uint64_t)st->st_ctim.tv_nsec);
}

/*
 * Adds up what is in a folder, by times, sizes and inodes; at most *names are looked at, which
 * counts them down. A folder that is kept read-only by a mount can still change under it: a file in
 * it may have a second name, a hard link, in a place that can be written, made in a session before
 * the folder was kept. A sum, since the order of names is nobody's promise.
 */
static void runs_later_add_up(
	int at, const char *path, struct runs_later_state *s, unsigned *names, unsigned depth)
{
	auto_fd fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	s->is_closed = s->is_closed || (!dir && errno != ENOENT && errno != ENOTDIR);
	if (!dir)
		return;
	(void)fd_take(&fd); /* it has an owner now */
	while (*names > 0 && (d = readdir(dir))) {
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		--*names;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		s->inside += runs_later_hash(&st);
		s->newest = runs_later_later(s->newest, st.st_ctim);
		s->is_twinned = s->is_twinned || (S_ISREG(st.st_mode) && st.st_nlink > 1);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			runs_later_add_up(dirfd(dir), d->d_name, s, names, depth + 1);
	}
	(void)closedir(dir);
}

/* Of a place; what is in a repository or below a folder of programs is no matter of it. */
static unsigned runs_later_uses(enum runs_later_kind kind, unsigned uses)
{
	return kind == PLACE_REPOSITORY || kind == PLACE_HOP ? THREAT_LARGE
	       : kind == PLACE_PROGRAMS                      ? uses | THREAT_PROGRAMS
							     : uses;
}

static struct runs_later_state runs_later_state(
	const struct runs_later *d, const char *path, unsigned uses)
{
	struct runs_later_state s = { 0 };
	struct stat st;

	if (fstatat(d->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		(S_ISDIR(st.st_mode) && uses & THREAT_FILE))
		return s;
	s = (struct runs_later_state){
		.exists = true,
		.is_folder = S_ISDIR(st.st_mode),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed = st.st_ctim,
		.newest = st.st_ctim,
		.is_twinned = S_ISREG(st.st_mode) && st.st_nlink > 1,
	};
	if (s.is_folder && !(uses & THREAT_LARGE))
		runs_later_add_up(
			d->fd, path, &s, &d->places->names, uses & THREAT_PROGRAMS ? DEPTH_MAX : 0);
	return s;
}

static bool runs_later_is_same(const struct runs_later_place *p, const struct runs_later_state *now)
{
	const struct runs_later_state *a = &p->before;

	if (p->kind == PLACE_REPOSITORY)
		return a->is_folder == now->is_folder;
	return a->exists == now->exists && a->dev == now->dev && a->ino == now->ino &&
	       a->size == now->size && a->changed.tv_sec == now->changed.tv_sec &&
	       a->changed.tv_nsec == now->changed.tv_nsec && a->inside == now->inside;
}

/* Rows of the table in one folder */

static bool runs_later_join(const char *folder, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s%s%s", folder, *folder && *name ? "/" : "", name) <
	       PATH_BYTES;
}

static bool runs_later_has(
	const struct runs_later_places *p, const struct look_folder *f, const char *name)
{
	int head = look_heads_find(&p->look.heads, name, strlen(name));

	return head >= 0 && look_has(f, (size_t)head);
}

/* Where forges and hooks look: at the top of a working copy. */
static bool runs_later_is_checkout(const struct runs_later_places *p, const struct look_folder *f)
{
	return !*f->path || f->is_bare || runs_later_has(p, f, ".git") ||
	       runs_later_has(p, f, ".hg") || runs_later_has(p, f, ".jj") ||
	       runs_later_has(p, f, ".sl");
}

/* path: below the folder of all. Negative stops. */
typedef int runs_later_row(
	void *data, const struct look_folder *f, const char *path, const struct threat *row);

struct runs_later_rows {
	struct runs_later_places *places;
	const struct look_folder *folder;
	runs_later_row *one;
	void *data;
};

/* The rows of a first name, of which so many bytes are left out. */
static int runs_later_rows_of(const struct runs_later_rows *x, int head, size_t left_out)
{
	const struct look_heads *heads = &x->places->look.heads;
	bool is_checkout = runs_later_is_checkout(x->places, x->folder);
	char path[PATH_BYTES];
	int r = 0;

	for (uint16_t i = head < 0 ? 0 : heads->items[head].first; r == 0 && i;
		i = heads->next[i - 1]) {
		const struct threat *row = &threat_paths[i - 1];

		if ((row->uses & THREAT_CHECKOUT && !is_checkout) ||
			strlen(threat_name(row)) <= left_out ||
			!runs_later_join(x->folder->path, threat_name(row) + left_out, path))
			continue;
		r = x->one(x->data, x->folder, path, row);
	}
	return r;
}

/* All that the folder may have: by its names, as a repository, and by its own name at the top. */
static int runs_later_rows(const struct runs_later_rows *x)
{
	const struct look_heads *heads = &x->places->look.heads;
	const char *base = x->places->base;
	int r = 0;

	for (size_t i = 0; i < ROWS(x->folder->heads); i++) {
		for (uint64_t left = x->folder->heads[i]; r == 0 && left; left &= left - 1)
			r = runs_later_rows_of(x, (int)(i * 64) + __builtin_ctzll(left), 0);
	}
	if (r == 0 && x->folder->is_bare)
		r = runs_later_rows_of(
			x, look_heads_find(heads, ".git", strlen(".git")), strlen(".git/"));
	if (r == 0 && !*x->folder->path)
		r = runs_later_rows_of(
			x, look_heads_find(heads, base, strlen(base)), strlen(base) + 1);
	return r;
}

/* Before */

/* Does it lie in a folder that is kept as a whole? */
static bool runs_later_is_inside(const struct runs_later_places *p, const char *path)
{
	char folder[PATH_BYTES];
	char *slash;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	while ((slash = strrchr(folder, '/'))) {
		ssize_t i;

		*slash = '\0';
		i = look_index_find(&p->index, p->items, sizeof(*p->items), folder);
		if (i >= 0 && p->items[i].uses & THREAT_PROTECT &&
			p->items[i].kind != PLACE_REPOSITORY)
			return true;
	}
	return false;
}

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

static int runs_later_add_linked(void *data, const char *path, enum profile_linked_kind kind)
{
	const struct runs_later_from *from = data;
	struct runs_later_places *p = from->files->places;
	const unsigned uses = from->uses & THREAT_PROTECT ? THREAT_PROTECT : THREAT_REPORT;
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
	struct runs_later_from from = { data, who, uses };

	return runs_later_add_linked(&from, path, kind);
}

/* The repository that the folder is a part of, and what else above it leads here. */
static int runs_later_add_above(struct runs_later *d)
{
	struct linked linked = linked_start(runs_later_skipped_git);
	const struct profile_above above = { .folder = d->folder,
		.heads = &d->places->look.heads,
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
	struct runs_later_from from = { d, place.what, place.uses };
	char real[PATH_BYTES];
	int r;

	if (place.kind == PLACE_REPOSITORY || place.kind == PLACE_HOP || !*place.path)
		return 0;
	p->linked = linked_start(runs_later_skipped(&place));
	r = profile_linked_each(&p->linked, d->folder, place.path, place.before.is_folder,
		runs_later_add_linked, &from, real);
	if (r < 0)
		return r;
	if (real[0]) {
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
	if (r == 0 && runs_later_has(d->places, &f, ".envrc"))
		r = runs_later_add_envrc(d, &f);
	if (r == 0 && (f.is_bare || runs_later_has(d->places, &f, ".git")))
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
		d->places->names = SEARCHED_MAX;
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

/*
 * A link inside the folder is no thing that a mount can cover, but what it leads to is, if that
 * lies in the folder as well; elsewhere nothing is granted. A link that is replaced is noticed.
 */
static int deny_row(
	const struct runs_later *d, struct permissions *p, struct rule *rule, const char *real)
{
	auto_buffer pattern = { 0 };
	struct stat st;

	if (!path_is_below(real, d->folder) || strcmp(real, d->folder) == 0 || lstat(real, &st) < 0)
		return 0;
	glob_print_literal(real, strlen(real), &pattern);
	if (S_ISDIR(st.st_mode))
		buffer_adds(&pattern, "/**");
	return pattern.failed
		       ? -ENOMEM
		       : permissions_add(p, &rule->patterns, buffer_text(&pattern), &rule->where);
}

int runs_later_deny(const struct runs_later *d, struct permissions *p)
{
	struct rule rule = {
		.id = "runs-later",
		.name = "other programs run it later, outside of the sandbox",
		.action = VERDICT_DENY,
		.priority = PRIORITY_DENY,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = p->origin },
	};
	int r = 0;

	for (size_t i = 0; d->folder && r == 0 && i < d->places->n; i++) {
		if (d->places->items[i].uses & THREAT_PROTECT && d->places->items[i].real)
			r = deny_row(d, p, &rule, d->places->items[i].real);
	}
	/* In a folder that is kept as a whole, each by its name as well: the plan counts them. */
	for (size_t i = 0; d->folder && r == 0 && i < d->places->twins.n; i++) {
		char path[PATH_BYTES];

		if (profile_twins_is_whole(&d->places->twins, i) &&
			snprintf(path, sizeof(path), "%s/%s", d->folder,
				d->places->twins.items[i].path) < (int)sizeof(path))
			r = deny_row(d, p, &rule, path);
	}
	return r == 0 && rule.patterns.n ? permissions_add_rule(p, &rule) : r;
}

/* Is it kept, or does it lie in what is kept? path: absolute. */
static bool runs_later_is_kept(const struct runs_later *d, const char *path)
{
	char place[PATH_BYTES];

	for (size_t i = 0; i < d->places->n; i++) {
		if (d->places->items[i].uses & THREAT_PROTECT &&
			snprintf(place, sizeof(place), "%s/%s", d->folder,
				d->places->items[i].path) < (int)sizeof(place) &&
			path_is_below(path, place))
			return true;
	}
	return false;
}

int runs_later_allow(struct runs_later *d, struct permissions *p, const char *pattern)
{
	struct rule rule = {
		.id = "granted-by-name",
		.action = VERDICT_ALLOW,
		.priority = PRIORITY_ALLOW,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = "--write" },
	};
	auto_arena scratch = { 0 };
	bool is_kept = true;
	struct glob g;
	int r;

	if (!d->folder)
		return 0;
	r = glob_parse(&g, &scratch, pattern, NULL, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* with a variable: not by name */
	for (size_t i = 0; i < g.n; i++) {
		const char *literal = g.alternatives[i].literal;

		is_kept = is_kept && runs_later_is_kept(d, literal);
		if (d->n_granted < RUNS_LATER_GRANTS) {
			d->granted[d->n_granted] = arena_strdup(&d->places->look.arena, literal);
			if (!d->granted[d->n_granted++])
				return -ENOMEM;
		}
	}
	if (!is_kept)
		return 0;
	r = permissions_add(p, &rule.patterns, pattern, &rule.where);
	return r < 0 ? r : permissions_add_rule(p, &rule);
}

/* After */

struct runs_later_report {
	const struct runs_later *files;
	bool is_told; /* the repository of the folder is new: that is all there is to say of it */
};

/* Was it, or something in it, named by --write? Of a repository only itself counts. */
static bool runs_later_is_granted(const struct runs_later *d, const char *path, bool is_repository)
{
	char full[PATH_BYTES];

	if (snprintf(full, sizeof(full), "%s/%s", d->folder, path) >= (int)sizeof(full))
		return false;
	for (size_t i = 0; i < d->n_granted; i++) {
		if (is_repository ? strcmp(d->granted[i], full) == 0
				  : path_is_below(d->granted[i], full))
			return true;
	}
	return false;
}

static int runs_later_tell(
	const struct runs_later *d, const char *path, const char *who, unsigned uses, bool is_new)
{
	(void)news_add(&d->places->news, &(struct runs_later_news){ .path = *path ? path : ".",
						 .who = who,
						 .is_new = is_new,
						 .rank = news_rank(uses) });
	return 0;
}

static int runs_later_tell_link(void *data, const char *path, const char *who, unsigned uses)
{
	const struct runs_later_report *report = data;

	return runs_later_tell(report->files, path, who, uses | THREAT_SOON, false);
}

/*
 * What can be run in a folder of PATH and was made or changed meanwhile, by the times of files.
 * Where another folder is in its place, they say nothing: then it is the folder that is reported.
 */
static void runs_later_tell_programs(const struct runs_later *d,
	const struct runs_later_place *place, const struct runs_later_state *now)
{
	auto_fd fd = openat(d->fd, *place->path ? place->path : ".",
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool is_other = !place->before.exists || place->before.ino != now->ino;
	const struct dirent *e;

	if (dir)
		(void)fd_take(&fd);
	for (unsigned left = SEARCHED_MAX; dir && left && (e = readdir(dir)); left--) {
		char path[PATH_BYTES];
		struct stat st;

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_mode & 0111)) &&
			look_is_since(&st.st_ctim, &d->since) &&
			runs_later_join(place->path, e->d_name, path) &&
			!runs_later_is_granted(d, path, false))
			(void)runs_later_tell(d, path, place->what, place->uses, false);
	}
	if (is_other || !dir)
		(void)runs_later_tell(
			d, place->path, place->what, place->uses, !place->before.exists);
	if (dir)
		(void)closedir(dir);
}

/* In what is large, files with names elsewhere that are not known: only these are looked at. */
static void runs_later_tell_twins(const struct runs_later *d)
{
	const struct profile_twins *t = &d->places->twins;
	struct stat st;

	for (size_t i = 0; i < t->n; i++) {
		if (t->items[i].is_large && !profile_twins_is_whole(t, i) &&
			fstatat(d->fd, t->items[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			look_is_since(&st.st_ctim, &d->since) &&
			!runs_later_is_granted(d, t->items[i].path, false))
			(void)runs_later_tell(
				d, t->items[i].path, runs_later_twin, THREAT_PROTECT, false);
	}
}

/* One that was not there, or not seen, before. Of a folder that the first look did not see whole,
 * only times can tell. */
static int runs_later_tell_row(
	void *data, const struct look_folder *f, const char *path, const struct threat *row)
{
	struct runs_later_report *news = data;
	const struct runs_later *d = news->files;
	struct runs_later_places *p = d->places;
	bool is_sure = f->is_new || (f->is_known && !p->is_full);
	struct runs_later_state now;

	if ((news->is_told && strncmp(threat_name(row), ".git/", strlen(".git/")) == 0) ||
		look_index_find(&p->index, p->items, sizeof(*p->items), path) >= 0 ||
		runs_later_is_inside(p, path))
		return 0;
	now = runs_later_state(d, path, row->uses);
	p->is_closed = p->is_closed || now.is_closed;
	if (!now.exists || (!is_sure && !look_is_since(&now.newest, &d->since)) ||
		runs_later_is_granted(d, path, false))
		return 0;
	return runs_later_tell(d, path, threat_what(row), row->uses, is_sure);
}

/* A repository that was not there before. */
static int runs_later_tell_repository(struct runs_later_report *news, const struct look_folder *f)
{
	const struct runs_later *d = news->files;
	const struct runs_later_places *p = d->places;
	char path[PATH_BYTES];
	struct stat st;

	if ((!f->is_new && (!f->is_known || p->is_full)) ||
		!runs_later_join(f->path, f->is_bare ? "" : ".git", path) ||
		look_index_find(&p->index, p->items, sizeof(*p->items), path) >= 0 ||
		fstatat(d->fd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || runs_later_is_inside(p, path) ||
		runs_later_is_granted(d, path, true))
		return 0;
	news->is_told = true;
	return runs_later_tell(
		d, path, f->is_bare ? runs_later_bare : runs_later_repository, THREAT_SOON, true);
}

/* A folder that the command made, or changed, so that it cannot be listed. */
static int runs_later_tell_closed(struct runs_later_report *news, const struct look_folder *f)
{
	const struct runs_later *d = news->files;

	d->places->is_closed = true;
	if (!look_is_since(&f->changed, &d->since))
		return 0;
	return runs_later_tell(d, f->path, runs_later_made_closed, THREAT_SOON, f->is_new);
}

static int runs_later_visit_second(void *data, const struct look_folder *f)
{
	struct runs_later_report *news = data;
	const struct runs_later *d = news->files;
	const struct runs_later_rows rows = { d->places, f, runs_later_tell_row, news };
	bool has_git = runs_later_has(d->places, f, ".git");
	char worktree[PATH_BYTES];
	int r = 0;

	news->is_told = false;
	if (f->is_closed)
		r = runs_later_tell_closed(news, f);
	if (r == 0 && (f->is_bare || has_git))
		r = runs_later_tell_repository(news, f);
	if (r == 0)
		r = runs_later_rows(&rows);
	if (r == 0 && has_git &&
		snprintf(worktree, sizeof(worktree), "%s%s%s", d->folder, *f->path ? "/" : "",
			f->path) < (int)sizeof(worktree))
		r = profile_git_links(d->folder, worktree, &d->since, runs_later_tell_link, news);
	d->places->is_cut = d->places->is_cut || r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

/* Folders that a command has earned by its time. */
static unsigned runs_later_earned(const struct runs_later *d)
{
	struct timespec now = d->since;
	int64_t ms;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ms = (int64_t)(now.tv_sec - d->since.tv_sec) * 1000 +
	     (now.tv_nsec - d->since.tv_nsec) / 1000000 - LOOK_FREE_MS;
	return ms < 0      ? 0
	       : ms > 8192 ? 8192 * LOOK_FOLDERS_PER_MS
			   : (unsigned)ms * LOOK_FOLDERS_PER_MS;
}

size_t runs_later_check(const struct runs_later *d, const struct runs_later_news **ret)
{
	struct runs_later_report news = { .files = d };
	struct runs_later_places *p = d->places;

	*ret = NULL;
	if (!d->folder)
		return 0;
	p->names = SEARCHED_MAX;
	p->news = (struct news){ .arena = &p->look.arena };
	for (size_t i = 0; i < p->n; i++) {
		const struct runs_later_place *place = &p->items[i];
		bool is_repository = place->kind == PLACE_REPOSITORY;
		struct runs_later_state now = runs_later_state(d, *place->path ? place->path : ".",
			runs_later_uses(place->kind, place->uses));

		p->is_closed = p->is_closed || now.is_closed;
		if (!now.exists || runs_later_is_same(place, &now) ||
			runs_later_is_granted(d, place->path, is_repository))
			continue;
		if (place->kind == PLACE_PROGRAMS)
			runs_later_tell_programs(d, place, &now);
		else
			(void)runs_later_tell(
				d, place->path, place->what, place->uses, !place->before.exists);
	}
	runs_later_tell_twins(d);
	/* Out of memory: what was not seen is not passed over in silence. */
	if (look_second(&p->look, &d->since, runs_later_earned(d), runs_later_visit_second, &news) <
		0)
		p->is_cut = true;
	news_sort(&p->news);
	*ret = p->news.items;
	return p->news.n;
}

size_t runs_later_left(const struct runs_later *d)
{
	return d->folder ? d->places->news.left : 0;
}

size_t runs_later_missed(const struct runs_later *d, const struct runs_later_miss **ret)
{
	*ret = d->folder ? d->places->missed : NULL;
	return d->folder ? d->places->n_missed : 0;
}

bool runs_later_is_cut(const struct runs_later *d)
{
	return d->folder && (d->places->is_cut || d->places->is_full || d->places->look.is_cut ||
				    d->places->news.left);
}

bool runs_later_is_closed(const struct runs_later *d)
{
	return d->folder && d->places->is_closed;
}
