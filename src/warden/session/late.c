/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forbidden paths are no list: the baseline has hundreds of them for every home, and most are never
 * there. Its tree of names is walked along with the folders that exist, from each folder of the
 * host that is mounted: a folder below which something is forbidden is watched, and its names that
 * matter are looked at; what is forbidden itself is masked. An event names a folder and a name in
 * it, and asks the same question again. First the watch, then the look, so nothing falls between
 * the two.
 *
 *   created, or moved there     the folder's watch tells
 *   a folder with it inside     a folder that leads to something is watched, and looked through
 *   a folder that was away      is looked through again: its events came under another name
 *   replaced, removed and made  the folder's watch tells again; a mask that stands is left alone
 *   a link                      where it leads is masked, and is a forbidden path from then on
 *   a folder with links in it   where they lead is masked, too, as it is when the folder appears
 *   a link on the way           the folder it leads to is watched, and that one's place, too
 *   a folder that may not be    is masked as a whole: what is in it could not be watched
 *   listed
 *
 * Where commands may write, nothing forbidden may be missing (jail/plan/check.c refuses that).
 */
#include "warden/session/late.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "host/linked.h"
#include "host/links.h"
#include "host/names.h"
#include "policy/baseline.h"
#include "warden/session/late-paths.h"

enum { FOLDERS_MAX = 16384, LINKS_HELD_MAX = 1024 };

enum { EVENTS = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR };

/* Watched. path: as the baseline knows it; real: where it is, if links lead there. */
struct late_folder {
	int wd;
	const char *path, *real;
};

/* A link on the way to something: what is at `end` stands for `path`. */
struct late_way {
	const char *path, *end;
};

struct late {
	const struct plan *plan;
	struct baseline_home home;
	struct late_paths literal; /* of the plan */
	struct changes *changes;
	struct late_folder *folders;
	size_t n, cap;
	const char **ends; /* of links at forbidden paths: forbidden as well */
	size_t n_ends, cap_ends;
	struct late_way *ways;
	size_t n_ways, cap_ways;
};

/* One literal path: forbids it, lies on the way to it, or neither. */
static unsigned late_judge_one(const char *at, const char *forbidden)
{
	return path_is_below(at, forbidden)   ? BASELINE_HERE
	       : path_is_below(forbidden, at) ? BASELINE_BELOW
					      : 0;
}

/* BASELINE_HERE: it is forbidden; BASELINE_BELOW: something in it could be. */
static unsigned late_judge(const struct late *l, const char *path)
{
	const struct plan *p = l->plan;
	unsigned found = baseline_paths_reach(&l->home, path, strlen(path));

	for (size_t i = 0; found && i < p->n_spared; i++)
		if (path_is_below(path, p->spared[i]))
			found = 0;
	if (late_paths_have(&l->literal, path))
		found |= BASELINE_HERE;
	if (late_paths_reach(&l->literal, path))
		found |= BASELINE_BELOW;
	for (size_t i = 0; i < l->n_ends; i++)
		found |= late_judge_one(path, l->ends[i]);
	for (size_t i = 0; i < l->n_ways; i++)
		found |= path_is_below(l->ways[i].end, path) ? BASELINE_BELOW : 0;
	return found;
}

int late_new(struct late **ret, const struct plan *plan)
{
	struct late *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	if (late_paths_new(&l->literal, plan->late, plan->n_late) < 0) {
		free(l);
		return -ENOMEM;
	}
	l->plan = plan;
	l->home = baseline_paths_home(plan->home_real);
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *entry = &plan->entries[i];

		if (entry->kind == PLAN_BIND && entry->is_dir && !entry->writable &&
			late_judge(l, entry->path) & BASELINE_BELOW) {
			*ret = l;
			return 0;
		}
	}
	late_free(l);
	*ret = NULL;
	return 0;
}

static void late_forget_folders(struct late *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free((void *)l->folders[i].path);
		free((void *)l->folders[i].real);
	}
	l->n = 0;
}

void late_free(struct late *l)
{
	if (!l)
		return;
	late_forget_folders(l);
	for (size_t i = 0; i < l->n_ends; i++)
		free((void *)l->ends[i]);
	for (size_t i = 0; i < l->n_ways; i++) {
		free((void *)l->ways[i].path);
		free((void *)l->ways[i].end);
	}
	late_paths_deinit(&l->literal);
	free(l->folders);
	free(l->ends);
	free(l->ways);
	free(l);
}

/* Walking */

struct late_walk {
	struct late *late;
	const struct tree *tree;
};

static int late_look(const struct late_walk *w, const struct late_folder *folder, const char *name);

/* What went away meanwhile is no failure. */
static int late_mask(const struct late_walk *w, const char *path)
{
	int r = tree_mask(w->tree, path);

	return r < 0 ? r : 0;
}

/* A name in a folder that the baseline, or a literal path, knows. */
struct late_child {
	const struct late_walk *walk;
	const struct late_folder *folder;
	int fd; /* the folder */
	struct names names;
	struct arena arena; /* of the names */
};

static int late_look_child(void *data, const char *name, size_t len)
{
	struct late_child *c = data;
	char text[256];
	struct stat st;

	/* Most are not there. */
	if (len >= sizeof(text) || !names_may_have(&c->names, name, len))
		return 0;
	memcpy(text, name, len);
	text[len] = '\0';
	if (fstatat(c->fd, text, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? names_miss(&c->names, &c->arena, c->fd, ".") : 0;
	return late_look(c->walk, c->folder, text);
}

/* The next name on the way to a literal path. */
static int late_look_towards(struct late_child *c, const char *forbidden)
{
	const char *folder = c->folder->path;
	const char *name = forbidden + (folder[1] ? strlen(folder) : 0) + 1;

	return late_judge_one(folder, forbidden) == BASELINE_BELOW
		       ? late_look_child(c, name, strcspn(name, "/"))
		       : 0;
}

/* All names that are there: where a pattern says which of them matter. */
static int late_look_all(struct late_child *c)
{
	DIR *dir = opendir(c->folder->real);
	const struct dirent *d;
	int r = 0;

	while (dir && r == 0 && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			r = late_look_child(c, d->d_name, strlen(d->d_name));
	if (dir)
		(void)closedir(dir);
	return r;
}

static int late_scan(const struct late_walk *w, const struct late_folder *folder)
{
	struct late *l = w->late;
	auto_fd fd = open(folder->real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct late_child c = {
		.walk = w, .folder = folder, .fd = fd, .names = names_of(folder->path)
	};
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	r = baseline_paths_children(
		&l->home, folder->path, strlen(folder->path), late_look_child, &c);
	if (r == 1)
		r = late_look_all(&c);
	if (r == 0)
		r = late_paths_children(&l->literal, folder->path, late_look_child, &c);
	for (size_t i = 0; r == 0 && i < l->n_ends; i++)
		r = late_look_towards(&c, l->ends[i]);
	for (size_t i = 0; r == 0 && i < l->n_ways; i++)
		r = late_look_towards(&c, l->ways[i].end);
	arena_deinit(&c.arena);
	return r;
}

/* A folder is known under one name and place once; another may be there by now. */
static int late_record(struct late *l, struct late_folder *f)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->folders[i].path, f->path) == 0 &&
			strcmp(l->folders[i].real, f->real) == 0) {
			changes_drop(l->changes, l->folders[i].wd);
			l->folders[i].wd = f->wd;
			return 0;
		}
	if (l->n == FOLDERS_MAX)
		return -E2BIG;
	f->path = strdup(f->path);
	f->real = strdup(f->real);
	if (f->path && f->real && ARRAY_PUSH(l->folders, l->n, l->cap, *f) == 0)
		return 0;
	free((void *)f->path);
	free((void *)f->real);
	return -ENOMEM;
}

/*
 * One that is watched already is looked through as well: while it had another name, what came into
 * it, or into a folder in it, was looked for here in vain.
 */
static int late_watch(const struct late_walk *w, const char *path, const char *real)
{
	struct late_folder f = { .path = path, .real = real };
	int r;

	f.wd = changes_watch(w->late->changes, real, EVENTS);
	if (f.wd == -EACCES && real[1])
		return late_mask(w, real);
	if (f.wd < 0)
		return f.wd == -ENOENT || f.wd == -ENOTDIR || f.wd == -ELOOP ? 0 : f.wd;
	r = late_record(w->late, &f);
	return r < 0 ? r : late_scan(w, &f);
}

/* From the folder of the host that shows it. */
static int late_start(const struct late_walk *w, const struct plan_entry *entry)
{
	/* What lies where commands may write was there, or the plan was refused. */
	if (entry->kind != PLAN_BIND || !entry->is_dir || entry->writable ||
		!(late_judge(w->late, entry->path) & BASELINE_BELOW))
		return 0;
	return late_watch(w, entry->path, entry->path);
}

bool late_has(const struct late *l, const char *path)
{
	for (size_t i = 0; i < l->n_ends; i++)
		if (strcmp(l->ends[i], path) == 0)
			return true;
	return false;
}

/* The folder of the host in which a path lies. */
static const struct plan_entry *late_ground(const struct late *l, const char *path)
{
	const struct plan_entry *ground = NULL;

	for (size_t i = 0; i < l->plan->n; i++) {
		const struct plan_entry *entry = &l->plan->entries[i];

		if (entry->kind == PLAN_BIND && strcmp(entry->path, path) != 0 &&
			path_is_below(path, entry->path))
			ground = entry;
	}
	return ground;
}

int late_forbid(struct late *l, const struct tree *t, const char *path)
{
	const struct late_walk w = { l, t };
	const struct plan_entry *ground = late_ground(l, path);
	const char *copy;

	if (late_has(l, path))
		return 0;
	if (!ground || ground->writable)
		return -ESTALE;
	copy = l->n_ends < LINKS_HELD_MAX ? strdup(path) : NULL;
	if (!copy || ARRAY_PUSH(l->ends, l->n_ends, l->cap_ends, copy) < 0) {
		free((void *)copy);
		return -ENOMEM;
	}
	return late_start(&w, ground);
}

/* The folders above the end, for another to take its place; as far as they are there. */
static int late_watch_towards(struct late *l, const char *ground, const char *end)
{
	char folder[PATH_BYTES];

	for (const char *p = end + (ground[1] ? strlen(ground) : 0); p; p = strchr(p + 1, '/')) {
		struct late_folder f = { .path = folder, .real = folder };
		size_t len = p == end ? 1 : (size_t)(p - end);
		int r;

		memcpy(folder, end, len);
		folder[len] = '\0';
		f.wd = changes_watch(l->changes, folder, EVENTS);
		if (f.wd < 0)
			return f.wd == -ENOSPC || f.wd == -ENOMEM || f.wd == -EMFILE ? f.wd : 0;
		r = late_record(l, &f);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whatever is at the end of such a link from now on. */
static int late_hold_way(struct late *l, const char *path, const char *end)
{
	const struct plan_entry *ground = late_ground(l, end);
	struct late_way way;

	for (size_t i = 0; i < l->n_ways; i++)
		if (strcmp(l->ways[i].path, path) == 0 && strcmp(l->ways[i].end, end) == 0)
			return 0;
	if (!ground || ground->writable)
		return 0;
	if (l->n_ways == LINKS_HELD_MAX)
		return -E2BIG;
	way = (struct late_way){ strdup(path), strdup(end) };
	if (!way.path || !way.end || ARRAY_PUSH(l->ways, l->n_ways, l->cap_ways, way) < 0) {
		free((void *)way.path);
		free((void *)way.end);
		return -ENOMEM;
	}
	return late_watch_towards(l, ground->path, end);
}

/* A link at a forbidden path, or on the way to one. */
static int late_follow(const struct late_walk *w, const char *path, const char *real, unsigned what)
{
	struct late *l = w->late;
	const struct plan_entry *entry;
	char end[PATH_BYTES];
	int r;

	if (links_follow(real, NULL, NULL, end) < 0)
		return 0;
	entry = plan_find(l->plan, end);
	if (!entry || entry->kind != PLAN_BIND)
		return 0;
	if (what & BASELINE_HERE)
		return late_forbid(l, w->tree, end);
	r = late_hold_way(l, path, end);
	return r < 0 ? r : late_watch(w, path, end);
}

/* A link in a forbidden folder. */
struct late_inside {
	const struct late_walk *walk;
	const char *folder;
};

static int late_follow_inside(void *data, const char *below)
{
	const struct late_inside *in = data;
	char link[PATH_BYTES], end[PATH_BYTES];
	const struct plan_entry *entry;

	if (!path_join(link, in->folder, below) || links_follow(link, NULL, NULL, end) < 0 ||
		path_is_below(end, in->folder) || path_is_below(in->folder, end))
		return 0;
	entry = plan_find(in->walk->late->plan, end);
	return entry && entry->kind == PLAN_BIND && !entry->writable
		       ? late_forbid(in->walk->late, in->walk->tree, end)
		       : 0;
}

/* A folder that appeared: first what links in it lead to, while they can be seen. */
static int late_mask_folder(const struct late_walk *w, const char *real)
{
	static const char *const none[] = { NULL };
	struct late_inside in = { w, real };
	struct linked bounds = linked_start(none);
	int r = linked_each(&bounds, real, LINKED_DEPTH_MAX, late_follow_inside, &in);

	/* As the plan does with one that was there. */
	if (r == 0 && bounds.is_closed && !bounds.closed[0])
		r = linked_each_known(late_follow_inside, &in);
	return r < 0 ? r : late_mask(w, real);
}

static int late_look_as(
	const struct late_walk *w, const char *path, const char *real, const struct stat *st)
{
	unsigned what = late_judge(w->late, path);

	if (S_ISLNK(st->st_mode))
		return late_follow(w, path, real, what);
	if (what & BASELINE_HERE)
		return S_ISDIR(st->st_mode) ? late_mask_folder(w, real) : late_mask(w, real);
	return S_ISDIR(st->st_mode) ? late_watch(w, path, real) : 0;
}

static int late_look(const struct late_walk *w, const struct late_folder *folder, const char *name)
{
	const struct late *l = w->late;
	char path[PATH_BYTES], real[PATH_BYTES];
	struct stat st;
	int r;

	if (!path_join(path, folder->path, name) || !path_join(real, folder->real, name))
		return 0;
	/* What has an entry is the plan's, and watched as a cover; until its folder is removed. */
	if (!late_judge(l, path) || (plan_at(l->plan, real) && !late_has(l, real)) ||
		strcmp(real, "/proc") == 0 || strcmp(real, "/dev") == 0 || lstat(real, &st) < 0)
		return 0;
	r = late_look_as(w, path, real, &st);
	for (size_t i = 0; r == 0 && strcmp(path, real) == 0 && i < l->n_ways; i++)
		if (strcmp(l->ways[i].end, real) == 0)
			r = late_look_as(w, l->ways[i].path, real, &st);
	return r;
}

int late_begin(struct late *l, const struct tree *t, struct changes *changes)
{
	const struct late_walk w = { l, t };
	int r = 0;

	late_forget_folders(l);
	l->changes = changes;
	for (size_t i = 0; r == 0 && i < l->plan->n; i++)
		r = late_start(&w, &l->plan->entries[i]);
	return r;
}

int late_hear(struct late *l, const struct tree *t, const struct session_changed *change)
{
	const struct late_walk w = { l, t };
	const size_t n = l->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		/* More may be recorded meanwhile. */
		const struct late_folder folder = l->folders[i];

		if (folder.wd != change->wd || !(change->mask & (IN_CREATE | IN_MOVED_TO)))
			continue;
		if (!change->name)
			r = late_scan(&w, &folder);
		else if (change->name[0])
			r = late_look(&w, &folder, change->name);
	}
	return r;
}
