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
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "warden/session/late.h"

enum { READS_MAX = 128 };

enum {
	FILE_EVENTS = IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB,
	FOLDER_EVENTS = IN_CREATE | IN_MOVED_TO,
	PATH_EVENTS = IN_MOVE_SELF | IN_DELETE_SELF,
	WAY_EVENTS = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM,
};

/* What a watch descriptor of inotify stands for. Several may have the same. */
struct target {
	int wd;
	uint32_t entry;
	bool folder; /* the entry's folder, in which it may appear */
	bool path;   /* a folder on the way; with `folder`: the one above that */
	size_t end;  /* path and folder: where the name on the way ends in the entry's path */
};

struct watch {
	const struct plan *plan;
	int fd;
	struct target *targets;
	size_t n, cap;
	bool *pending; /* by entry: it has to be covered again */
	uint32_t n_pending;
	struct late *late; /* NULL: nothing that is forbidden could appear */
	_Alignas(struct inotify_event) char events[8192];
};

static int watch_add(struct watch *w, const char *path, uint32_t mask, struct target target)
{
	/* The file itself, not what a link there leads to. A descriptor is shared by all targets of
	 * one inode, so events are added, never replaced. */
	target.wd = inotify_add_watch(w->fd, path, mask | IN_DONT_FOLLOW | IN_MASK_ADD);
	return target.wd < 0 ? -errno : ARRAY_PUSH(w->targets, w->n, w->cap, target);
}

/* The entry's watch of one kind is replaced: its inode may be another now. */
static void watch_drop(struct watch *w, struct target target)
{
	size_t i = 0;

	while (i < w->n &&
		(w->targets[i].entry != target.entry || w->targets[i].folder != target.folder ||
			w->targets[i].path != target.path))
		i++;
	if (i == w->n)
		return;
	target.wd = w->targets[i].wd;
	w->targets[i] = w->targets[--w->n];
	for (i = 0; i < w->n; i++)
		if (w->targets[i].wd == target.wd)
			return;
	(void)inotify_rm_watch(w->fd, target.wd);
}

static int watch_file(struct watch *w, uint32_t entry)
{
	const struct target target = { .entry = entry };

	watch_drop(w, target);
	return watch_add(w, w->plan->entries[entry].path, FILE_EVENTS, target);
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
	watch_drop(w, target);
	return watch_add(w, folder, FOLDER_EVENTS, target);
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
	r = watch_add(w, path, PATH_EVENTS, target);
	slash = strrchr(path, '/');
	target.folder = true;
	target.end = end;
	*slash = '\0';
	if (r == 0)
		r = watch_add(w, slash == path ? "/" : path, WAY_EVENTS, target);
	*slash = '/';
	path[end] = rest;
	return r;
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

static int watch_all(struct watch *w, struct error *e)
{
	for (uint32_t i = 0; i < w->plan->n; i++) {
		int r = w->plan->entries[i].over ? watch_entry(w, i) : 0;

		if (r == -ENOSPC) {
			(void)error_set(e, r, NULL, "too many files are watched on this machine");
			error_hint(e, "raise fs.inotify.max_user_watches");
			return r;
		}
		if (r < 0)
			return error_set(e, r, NULL, "cannot watch %s: %s",
				w->plan->entries[i].path, strerror(-r));
	}
	return 0;
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
	if (i == plan->n && !late) {
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
	w->pending = calloc(plan->n + 1, sizeof(*w->pending));
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	r = !w->pending ? error_no_memory(e)
	    : w->fd < 0 ? error_set(e, -errno, NULL, "cannot watch files: %s", strerror(errno))
			: watch_all(w, e);
	if (r == 0) {
		*ret = w;
		return 0;
	}
	fd_close(&w->fd);
	late_free(late);
	free(w->targets);
	free(w->pending);
	free(w);
	return r;
}

int watch_begin(struct watch *w, const struct tree *t, struct error *e)
{
	return w->late ? late_begin(w->late, t, w->fd, e) : 0;
}

int watch_fd(const struct watch *w)
{
	return w->fd;
}

static void watch_mark(struct watch *w, uint32_t entry)
{
	w->n_pending += !w->pending[entry];
	w->pending[entry] = true;
}

static bool watch_is_named(
	const struct watch *w, const struct target *t, const struct inotify_event *event)
{
	const char *path = w->plan->entries[t->entry].path;
	size_t end = t->path ? t->end : strlen(path);
	size_t len = event->len > 0 ? strlen(event->name) : 0;

	return len > 0 && len < end && path[end - len - 1] == '/' &&
	       memcmp(path + end - len, event->name, len) == 0;
}

/*
 * A folder on the way to a cover is another. One that was removed was empty: a mask in it is none,
 * and comes back with what it covers. One that was moved has the file under another name.
 */
static int watch_lose_way(
	struct watch *w, const struct tree *t, uint32_t entry, const struct inotify_event *event)
{
	const struct plan_entry *cover = &w->plan->entries[entry];

	if (!w->late || cover->kind != PLAN_MASK || event->mask & (IN_MOVED_FROM | IN_MOVE_SELF))
		return -ESTALE;
	if (event->mask & (IN_DELETE | IN_DELETE_SELF))
		return late_forbid(w->late, t, cover->path);
	return late_has(w->late, cover->path) ? 0 : -ESTALE;
}

/* Negative: a folder on the way moved, or events were lost. */
static int watch_judge(struct watch *w, const struct tree *t, const struct inotify_event *event)
{
	int r = 0;

	if (event->mask & IN_Q_OVERFLOW)
		return -EOVERFLOW;
	for (size_t i = 0; r == 0 && i < w->n; i++) {
		const struct target *its = &w->targets[i];

		if (its->wd != event->wd)
			continue;
		if (its->path && !its->folder && event->mask & PATH_EVENTS)
			r = watch_lose_way(w, t, its->entry, event);
		if (r == 0 && its->path && its->folder && event->mask & WAY_EVENTS &&
			watch_is_named(w, its, event))
			r = watch_lose_way(w, t, its->entry, event);
		if (!its->path && !its->folder && event->mask & FILE_EVENTS)
			watch_mark(w, its->entry);
		if (!its->path && its->folder && event->mask & FOLDER_EVENTS &&
			watch_is_named(w, its, event))
			watch_mark(w, its->entry);
	}
	return r;
}

/* All that the kernel keeps at most: nobody shall start before the last of them was heeded. */
static int watch_read_events(struct watch *w, const struct tree *t)
{
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n = read(w->fd, w->events, sizeof(w->events));

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(w->events + at);
			int r = watch_judge(w, t, event);

			if (r == 0 && w->late)
				r = late_hear(w->late, t, event);
			if (r < 0)
				return r;
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return 0;
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

int watch_restore(struct watch *w, const struct tree *t)
{
	const struct plan_entry *entries = w->plan->entries;
	int r = watch_read_events(w, t);

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
		r = r < 0 ? r : 0;
	}
	return r;
}
