/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each cover two things are watched: the file itself (renamed, deleted, or its link count
 * changed, as when something is renamed over it), and, while nothing is there, its folder. The
 * folders between a cover and the mount it stands on are watched for being moved: then the cover is
 * under another name, and nothing is left to do but to end the session.
 */
#include "warden/session/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "warden/session/appear.h"
#include "warden/session/changes.h"
#include "warden/session/late.h"

enum {
	FILE_EVENTS = CHANGES_SELF,
	FOLDER_EVENTS = IN_CREATE | IN_MOVED_TO,
	PATH_EVENTS = IN_MOVE_SELF | IN_DELETE_SELF,
	WAY_EVENTS = CHANGES_IN,
};

/* What a number of changes_watch() stands for. Several may have the same. */
struct target {
	int wd;
	int self; /* path and folder: the number of the folder on the way */
	uint32_t entry;
	bool folder; /* the entry's folder, in which it may appear */
	bool path;   /* a folder on the way; with `folder`: the one above that */
	size_t end;  /* path and folder: where the name on the way ends in the entry's path */
};

struct watch {
	const struct plan *plan;
	struct changes changes;
	struct target *targets;
	size_t n, cap;
	bool *pending; /* by entry: it has to be covered again */
	uint32_t n_pending;
	struct late *late;     /* NULL: nothing that is forbidden could appear */
	bool has_begun;        /* appear_begin() was called */
	const char *failed;    /* the cover that could not be watched */
	struct appear *appear; /* NULL: there are no denials by pattern to be masked */
	int both;              /* with it: readable if one of the two instances is */
};

/* The file itself, not what a link there leads to. Returns its number. */
static int watch_add(struct watch *w, const char *path, uint32_t mask, struct target target)
{
	int r;

	target.wd = changes_watch(&w->changes, path, mask);
	r = target.wd < 0 ? target.wd : ARRAY_PUSH(w->targets, w->n, w->cap, target);
	return r < 0 ? r : target.wd;
}

/* The entry's watch of one kind is replaced: its inode may be another now. */
static int watch_replace(struct watch *w, const char *path, uint32_t mask, struct target target)
{
	size_t i = 0;
	int wd;

	while (i < w->n &&
		(w->targets[i].entry != target.entry || w->targets[i].folder != target.folder ||
			w->targets[i].path != target.path))
		i++;
	if (i == w->n) {
		wd = watch_add(w, path, mask, target);
		return wd < 0 ? wd : 0;
	}
	/* First the new one: if it is the same, nothing is undone and done again. */
	wd = changes_watch(&w->changes, path, mask);
	changes_drop(&w->changes, w->targets[i].wd);
	if (wd < 0) {
		w->targets[i] = w->targets[--w->n];
		return wd;
	}
	w->targets[i].wd = wd;
	return 0;
}

static int watch_file(struct watch *w, uint32_t entry)
{
	const struct target target = { .entry = entry };

	return watch_replace(w, w->plan->entries[entry].path, FILE_EVENTS, target);
}

static int watch_folder(struct watch *w, uint32_t entry)
{
	const struct target target = { .entry = entry, .folder = true };
	const char *path = w->plan->entries[entry].path;
	const char *slash = strrchr(path, '/');
	char folder[PATH_BYTES];
	size_t len = slash == path ? 1 : (size_t)(slash - path);

	if (len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, len);
	folder[len] = '\0';
	return watch_replace(w, folder, FOLDER_EVENTS, target);
}

/* The mount that an entry stands on. */
static const struct plan_entry *ground(const struct plan *plan, uint32_t entry)
{
	const char *path = plan->entries[entry].path;

	for (size_t i = entry; i-- > 0;)
		if (plan->entries[i].kind == PLAN_BIND &&
			path_is_below(path, plan->entries[i].path))
			return &plan->entries[i];
	return NULL;
}

/*
 * One folder on the way, and its name in the folder above: a folder that somebody still has open
 * does not tell that it was removed.
 */
static int watch_step(struct watch *w, uint32_t entry, char *path, size_t end)
{
	struct target target = { .entry = entry, .path = true };
	char *slash;
	char rest = path[end];
	int r;

	path[end] = '\0';
	r = target.self = watch_add(w, path, PATH_EVENTS, target);
	slash = strrchr(path, '/');
	target.folder = true;
	target.end = end;
	*slash = '\0';
	if (r >= 0)
		r = watch_add(w, slash == path ? "/" : path, WAY_EVENTS, target);
	*slash = '/';
	path[end] = rest;
	return r < 0 ? r : 0;
}

static int watch_way(struct watch *w, uint32_t entry)
{
	const struct plan_entry *on = ground(w->plan, entry);
	const char *path = w->plan->entries[entry].path;
	char folder[PATH_BYTES];
	size_t len = on ? strlen(on->path) : 0;

	if (!on || strlen(path) >= sizeof(folder))
		return 0;
	len = len == 1 ? 0 : len;
	memcpy(folder, path, strlen(path) + 1);
	for (const char *p = strchr(path + len + 1, '/'); p; p = strchr(p + 1, '/')) {
		int r = watch_step(w, entry, folder, (size_t)(p - path));

		if (r < 0)
			return r;
	}
	return 0;
}

/* What this user may not read cannot be watched, but its folder can, for another file to appear. */
static int watch_entry(struct watch *w, uint32_t entry)
{
	int r = watch_way(w, entry);

	if (r == 0 && w->plan->entries[entry].is_dir)
		r = watch_folder(w, entry);
	if (r == 0)
		r = watch_file(w, entry);
	return r == -EACCES ? watch_folder(w, entry) : r;
}

static int watch_all(struct watch *w)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->plan->n; i++) {
		const struct plan_entry *entry = &w->plan->entries[i];

		r = entry->over ? watch_entry(w, i) : 0;
		/* A socket whose server has ended: there is nothing to watch. */
		if (entry->passing && (r == -ENOENT || r == -ENOTDIR))
			r = 0;
		w->failed = r < 0 ? entry->path : NULL;
	}
	return r;
}

static int watch_fail(const struct watch *w, int r, struct error *e)
{
	if (w->failed && (r == -ENOENT || r == -ENOTDIR)) {
		(void)error_set(
			e, r, NULL, "%s was removed while the sandbox was being set up", w->failed);
		error_hint(e, "run the command again");
		return r;
	}
	(void)error_set(e, r, NULL, "cannot watch %s, which a mask needs: %s",
		w->failed ? w->failed : "files of the host",
		r == -ENOSPC || r == -EMFILE ? "too many are watched on this machine"
					     : strerror(-r));
	if (r == -ENOSPC || r == -EMFILE)
		error_hint(
			e, "raise fs.inotify.max_user_instances and fs.inotify.max_user_watches");
	return r;
}

/* The machine has no more of inotify: all over again, by dnotify. */
static int watch_by_folder(struct watch *w, struct error *e)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	changes_close(&w->changes);
	w->n = 0;
	r = changes_open(&w->changes, true, e);
	if (r == 0 && w->both >= 0 && epoll_ctl(w->both, EPOLL_CTL_ADD, w->changes.fd, &event) < 0)
		r = -errno;
	return r < 0 ? r : watch_all(w);
}

static void watch_free(struct watch *w)
{
	changes_close(&w->changes);
	late_free(w->late);
	appear_free(w->appear);
	fd_close(&w->both);
	free(w->targets);
	free(w->pending);
	free(w);
}

static int watch_open(struct watch *w, struct error *e)
{
	int r = w->pending ? changes_open(&w->changes, false, e) : error_no_memory(e);

	if (r < 0)
		return r;
	r = watch_all(w);
	if (r == -ENOSPC && !w->changes.by_folder)
		r = watch_by_folder(w, e);
	return r < 0 ? watch_fail(w, r, e) : 0;
}

/* Whoever waits for changes has one descriptor. */
static int watch_join(struct watch *w, struct error *e)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r = appear_new(&w->appear, w->plan);

	if (r == 0 && w->appear) {
		w->both = epoll_create1(EPOLL_CLOEXEC);
		if (w->both < 0 || epoll_ctl(w->both, EPOLL_CTL_ADD, w->changes.fd, &event) < 0 ||
			epoll_ctl(w->both, EPOLL_CTL_ADD, appear_fd(w->appear, false), &event) <
				0 ||
			epoll_ctl(w->both, EPOLL_CTL_ADD, appear_fd(w->appear, true), &event) < 0)
			r = -errno;
	}
	return r < 0 ? error_set(e, r, NULL, "cannot watch files: %s", strerror(-r)) : 0;
}

int watch_new(struct watch **ret, const struct plan *plan, struct error *e)
{
	struct watch *w;
	struct late *late = NULL;
	size_t i = 0;
	int r = late_new(&late, plan);

	if (r < 0)
		return error_no_memory(e);
	while (i < plan->n && !plan->entries[i].over)
		i++;
	if (i == plan->n && !late && plan->n_appear == 0) {
		*ret = NULL;
		return 0;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		late_free(late);
		return error_no_memory(e);
	}
	w->plan = plan;
	w->late = late;
	w->changes.fd = w->both = -1;
	w->pending = calloc(plan->n + 1, sizeof(*w->pending));
	r = watch_open(w, e);
	if (r == 0)
		r = watch_join(w, e);
	if (r < 0) {
		watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

int watch_fd(const struct watch *w)
{
	return w->both >= 0 ? w->both : w->changes.fd;
}

static void watch_mark(struct watch *w, uint32_t entry)
{
	w->n_pending += !w->pending[entry];
	w->pending[entry] = true;
}

/* Once: a second time it would be looked through in vain. */
static void watch_begin_appear(struct watch *w, const struct tree *t)
{
	if (w->appear && !w->has_begun)
		appear_begin(w->appear, t);
	w->has_begun = true;
}

bool watch_begin_beside(struct watch *w, const struct tree *t)
{
	watch_begin_appear(w, t);
	return !w->late || (!w->changes.by_folder && late_begin(w->late, t, &w->changes) == 0);
}

int watch_begin(struct watch *w, const struct tree *t, struct error *e)
{
	int r = w->late ? late_begin(w->late, t, &w->changes) : 0;

	watch_begin_appear(w, t);
	if (r == -ENOSPC && !w->changes.by_folder) {
		r = watch_by_folder(w, e);
		/* What came off since the tree was made was told to the other one. */
		for (uint32_t i = 0; r == 0 && i < w->plan->n; i++)
			if (w->plan->entries[i].over)
				watch_mark(w, i);
		if (r == 0)
			r = late_begin(w->late, t, &w->changes);
		if (r == 0)
			return watch_restore(w, t, e);
	}
	return r < 0 ? watch_fail(w, r, e) : 0;
}

static bool watch_is_named(
	const struct watch *w, const struct target *t, const struct session_changed *change)
{
	const char *path = w->plan->entries[t->entry].path;
	size_t end = t->path ? t->end : strlen(path);
	size_t len = change->name ? strlen(change->name) : 0;

	return !change->name || (len > 0 && len < end && path[end - len - 1] == '/' &&
					memcmp(path + end - len, change->name, len) == 0);
}

/*
 * A folder on the way to a cover is another. One that was removed was empty: a mask in it is none,
 * and comes back with what it covers. One that was moved has the file under another name.
 */
static int watch_lose_way(struct watch *w, const struct tree *t, uint32_t entry, uint32_t mask)
{
	const struct plan_entry *cover = &w->plan->entries[entry];

	/* A socket of the host takes its mask along. What is in its place later is masked, too,
	 * where that can be. */
	if (cover->passing && cover->kind == PLAN_MASK && w->late) {
		int r = late_forbid(w->late, t, cover->path);

		return r == -ESTALE ? 0 : r;
	}
	if (cover->passing)
		return 0;
	if (!w->late || cover->kind != PLAN_MASK || mask & (IN_MOVED_FROM | IN_MOVE_SELF))
		return -ESTALE;
	if (mask & (IN_DELETE | IN_DELETE_SELF))
		return late_forbid(w->late, t, cover->path);
	return late_has(w->late, cover->path) ? 0 : -ESTALE;
}

/* What happened to a name on the way; 0: nothing. */
static uint32_t watch_way_change(
	const struct watch *w, const struct target *its, const struct session_changed *change)
{
	char path[PATH_BYTES];

	if (!watch_is_named(w, its, change))
		return 0;
	if (change->name)
		return change->mask & WAY_EVENTS;
	memcpy(path, w->plan->entries[its->entry].path, its->end);
	path[its->end] = '\0';
	return changes_at(&w->changes, its->self, path);
}

struct watch_hearing {
	struct watch *watch;
	const struct tree *tree;
};

/* Negative: a folder on the way moved. */
static int watch_judge(struct watch *w, const struct tree *t, const struct session_changed *change)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->n; i++) {
		const struct target *its = &w->targets[i];
		uint32_t lost = 0;

		if (its->wd != change->wd)
			continue;
		if (its->path)
			lost = its->folder ? watch_way_change(w, its, change)
					   : change->mask & PATH_EVENTS;
		if (lost)
			r = watch_lose_way(w, t, its->entry, lost);
		if (!its->path && !its->folder && change->mask & FILE_EVENTS)
			watch_mark(w, its->entry);
		if (!its->path && its->folder && change->mask & FOLDER_EVENTS &&
			watch_is_named(w, its, change))
			watch_mark(w, its->entry);
	}
	return r;
}

static int watch_heed(void *data, const struct session_changed *change)
{
	const struct watch_hearing *h = data;
	int r = watch_judge(h->watch, h->tree, change);

	return r == 0 && h->watch->late ? late_hear(h->watch->late, h->tree, change) : r;
}

/* Before it is covered, so that a change after this is seen again. */
static int watch_again(struct watch *w, const struct tree *t, uint32_t entry)
{
	const struct plan_entry *on = ground(w->plan, entry), *cover = &w->plan->entries[entry];
	int r = w->plan->entries[entry].is_dir ? -ENOENT : watch_file(w, entry);

	if (r != -ENOENT && r != -EACCES)
		return r;
	r = watch_folder(w, entry);
	/* Its folder is a cover itself: what appears there is that one's business first. */
	if (r == -ENOENT && on && on->over)
		return 0;
	if (r == -ENOENT && w->late && cover->kind == PLAN_MASK)
		return late_forbid(w->late, t, cover->path);
	if (r < 0)
		return r;
	r = watch_file(w, entry);
	return r == -ENOENT || r == -EACCES ? 0 : r;
}

static int watch_lost(int r, struct error *e)
{
	return error_set(e, r, NULL, "the sandbox ended: %s",
		r == -ESTALE
			? "a folder with a mount of the sandbox on or in it was moved or replaced"
		: r == -EOVERFLOW ? "too many of the host's files changed at once"
				  : strerror(-r));
}

int watch_restore(struct watch *w, const struct tree *t, struct error *e)
{
	const struct plan_entry *entries = w->plan->entries;
	struct watch_hearing hearing = { w, t };
	int r = changes_read(&w->changes, watch_heed, &hearing);

	if (r < 0)
		return watch_lost(r, e);
	for (uint32_t i = 0; r == 0 && w->n_pending > 0 && i < w->plan->n; i++) {
		if (!w->pending[i])
			continue;
		w->pending[i] = false;
		w->n_pending--;
		r = watch_again(w, t, i);
		if (r == 0)
			r = tree_cover(t, i);
		/* Another folder has taken the place of one: none of the covers in it stands. */
		for (uint32_t j = i + 1; r == 0 && entries[i].is_dir && j < w->plan->n; j++)
			if (entries[j].over && path_is_below(entries[j].path, entries[i].path))
				watch_mark(w, j);
		if (r == -ENOENT || (r == -ESTALE && entries[i].kind == PLAN_TMP))
			return watch_lost(-ESTALE, e);
		if (r < 0)
			return error_set(e, r, NULL,
				"the sandbox ended: its mask on %s could not be put back: %s",
				entries[i].path, strerror(-r));
		r = 0;
	}
	/* After those: a command decides how much there is of it. */
	if (w->appear)
		appear_hear(w->appear, t);
	return 0;
}
