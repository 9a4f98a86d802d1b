/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run changed: every kept name is looked up by itself, so that nothing that the run added
 * can hide it; then new names are read from the folders, up to a bound.
 *
 * A file whose inode, size and times are the same is not read: a command cannot set the time of the
 * last change (ctime), which every write moves on. One that was changed in the last moment before
 * it was kept is read all the same, since clocks of file systems tick in steps; so is every file on
 * a file system whose clock is another machine's.
 *
 * A new name of something old, which was not kept, was moved here: with its last name it would be
 * lost. An undo does not remove it.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/undo/internal.h"

/* A tick is 10 ms at most. */
#define RECENT INT64_C(50000000)
/* Files above are known by inode and times alone: hashing is bounded, too. */
#define HASHED_MAX (UINT64_C(64) << 20)

struct comparison {
	struct undo *undo;
	struct undo_place place;
	struct undo_opened opened; /* folders that the command closed */
	bool reads_all;
	uint64_t *inodes; /* of kept names, sorted */
	size_t n_inodes;
	uint64_t hash_left;
	size_t names_left;
	const char **folders; /* to read for new names */
	size_t n_folders, cap_folders;
};

enum undo_what undo_what(const struct undo_change *c)
{
	if (c->before.kind == UNDO_NONE)
		return UNDO_CREATED;
	if (c->after.kind == UNDO_NONE)
		return UNDO_REMOVED;
	if (c->before.kind != c->after.kind || c->before.kind == UNDO_LINK ||
		(c->before.kind == UNDO_FILE &&
			(c->before.size != c->after.size || !c->before.hash || !c->after.hash ||
				memcmp(c->before.hash, c->after.hash, UNDO_HASH) != 0)))
		return UNDO_CHANGED;
	return c->before.mode != c->after.mode || !undo_attributes_are_same(&c->before, &c->after)
		       ? UNDO_MODE
		       : UNDO_TIME;
}

static bool changes_has_clock(int fd)
{
	static const long local[] = { EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, XFS_SUPER_MAGIC,
		TMPFS_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* zfs */,
		0xca451a4e /* bcachefs */ };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ROWS(local); i++)
		if ((uint32_t)fs.f_type == (uint32_t)local[i])
			return true;
	return false;
}

static int changes_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int changes_find_inodes(struct comparison *c)
{
	const struct undo_list *l = &c->undo->before;

	c->inodes = calloc(l->n + 1, sizeof(*c->inodes));
	if (!c->inodes)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		if (!l->items[i].why)
			c->inodes[c->n_inodes++] = l->items[i].is.ino;
	qsort(c->inodes, c->n_inodes, sizeof(*c->inodes), changes_compare);
	return 0;
}

/* Is it older than the run, and not kept under another name? */
static bool changes_is_foreign(const struct comparison *c, const struct undo_state *s)
{
	if (s->kind == UNDO_NONE || s->kind == UNDO_FOLDER ||
		bsearch(&s->ino, c->inodes, c->n_inodes, sizeof(*c->inodes), changes_compare))
		return false;
	return s->btime ? s->btime < c->undo->started : c->undo->n_not_kept > 0;
}

static int changes_add(struct comparison *c, const struct undo_change *change)
{
	struct undo_changes *to = &c->undo->changes;

	if (change->before.kind != UNDO_FOLDER || undo_what(change) != UNDO_TIME)
		to->count[undo_what(change)]++;
	return ARRAY_PUSH(to->items, to->n, to->cap, *change);
}

/* The content after the run, if that is to be known; what cannot be read has no hash. */
static int changes_hash(struct comparison *c, const char *path, struct undo_state *s)
{
	int r;

	if (s->kind != UNDO_FILE || s->size > HASHED_MAX || s->size > c->hash_left)
		return 0;
	c->hash_left -= s->size;
	r = undo_hash_path(&c->place, c->undo, path, s);
	return r == -ENOMEM ? r : 0;
}

static int changes_compare_file(struct comparison *c, struct undo_change *change)
{
	struct undo *u = c->undo;
	int r = undo_hash_file(u->data, change->before.offset, change->before.size, &u->arena,
		&change->before.hash);

	/* As large as before: it has to be read, whatever the bounds are. */
	if (r == 0 && change->after.size == change->before.size) {
		r = undo_hash_path(&c->place, u, change->path, &change->after);
		return r == -ENOMEM ? r : 0;
	}
	return r < 0 ? r : changes_hash(c, change->path, &change->after);
}

static bool changes_is_same(
	const struct comparison *c, const struct undo_state *before, const struct undo_state *after)
{
	return undo_is_untouched(before, after) && before->mode == after->mode &&
	       !(before->kind == UNDO_FILE &&
		       (c->reads_all || before->ctime >= c->undo->started - RECENT));
}

/* What was not kept cannot be taken back: if it is another now, that is said. */
static void changes_look_lost(
	const struct comparison *c, const struct undo_entry *e, const struct undo_state *now)
{
	struct undo_changes *to = &c->undo->changes;

	if (e->is.kind == now->kind && e->is.ino == now->ino &&
		(e->is.kind == UNDO_FOLDER || undo_is_untouched(&e->is, now)))
		return;
	if (to->n_lost++ == 0)
		to->lost = e->path;
}

/* A name that was there. */
static int changes_look(struct comparison *c, const struct undo_entry *e)
{
	struct undo_change change = { .path = e->path, .before = e->is };
	int r = undo_look(&c->place, &c->undo->arena, e->path, &change.after);

	if (r == -EACCES && undo_opened_above(&c->opened, c->undo, e->path) == 0)
		r = undo_look(&c->place, &c->undo->arena, e->path, &change.after);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (e->why) {
		changes_look_lost(c, e, &change.after);
		return 0;
	}
	if (changes_is_same(c, &e->is, &change.after))
		return 0;
	change.is_foreign = change.after.ino != e->is.ino && changes_is_foreign(c, &change.after);
	if (e->is.kind == UNDO_FILE && change.after.kind == UNDO_FILE)
		r = changes_compare_file(c, &change);
	else if (e->is.kind == UNDO_FILE)
		r = undo_hash_file(c->undo->data, e->is.offset, e->is.size, &c->undo->arena,
			&change.before.hash);
	if (r == 0 && e->is.kind != UNDO_FILE)
		r = changes_hash(c, e->path, &change.after);
	if (r < 0)
		return r;
	if (undo_is_alike(&change.before, &change.after) && e->is.mtime == change.after.mtime)
		return 0;
	if (e->is.kind == UNDO_LINK && undo_is_alike(&change.before, &change.after))
		return 0;
	r = changes_add(c, &change);
	/* A folder in place of something else: all that is in it is new. */
	if (r == 0 && change.after.kind == UNDO_FOLDER && e->is.kind != UNDO_FOLDER)
		r = ARRAY_PUSH(c->folders, c->n_folders, c->cap_folders, e->path);
	return r;
}

/* A name in a folder; one that is not known is new. */
static int changes_take(struct comparison *c, int folder, const char *parent, const char *name)
{
	struct undo *u = c->undo;
	char path[PATH_BYTES];
	struct undo_change change = { 0 };
	int r;

	if (snprintf(path, sizeof(path), "%s%s%s", parent, *parent ? "/" : "", name) >=
		(int)sizeof(path)) {
		u->changes.is_cut = true;
		return 0;
	}
	if (undo_list_find(&u->before, path))
		return 0;
	change.path = arena_strdup(&u->arena, path);
	r = change.path ? undo_look_at(folder, name, &u->arena, &change.after) : -ENOMEM;
	if (r < 0 || change.after.kind == UNDO_NONE)
		return r == -ENOMEM ? r : 0;
	change.is_foreign = changes_is_foreign(c, &change.after);
	r = changes_hash(c, path, &change.after);
	if (r == 0)
		r = changes_add(c, &change);
	if (r == 0 && change.after.kind == UNDO_FOLDER)
		r = ARRAY_PUSH(c->folders, c->n_folders, c->cap_folders, change.path);
	return r;
}

static int changes_open(struct comparison *c, const char *path)
{
	int fd = undo_open_folder(c->undo->root, path);
	char inside[PATH_BYTES];

	if (fd != -EACCES || snprintf(inside, sizeof(inside), "%s/.", path) >= (int)sizeof(inside))
		return fd;
	return undo_opened_above(&c->opened, c->undo, inside) < 0
		       ? fd
		       : undo_open_folder(c->undo->root, path);
}

static int changes_read(struct comparison *c, const char *path)
{
	auto_fd fd = changes_open(c, path);
	DIR *dir = fd < 0 ? NULL : fdopendir(dup(fd));
	const struct dirent *d;
	int r = 0;

	/* Gone, replaced, or closed by the command: what is in it is not known. */
	if (!dir) {
		c->undo->changes.is_cut |= fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP;
		return 0;
	}
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (c->names_left == 0) {
			c->undo->changes.is_cut = true;
			break;
		}
		c->names_left--;
		r = changes_take(c, fd, path, d->d_name);
	}
	(void)closedir(dir);
	return r;
}

/* Folders that were there come first, so that those which the run filled do not use up the bound.
 */
static int changes_read_all(struct comparison *c)
{
	const struct undo_list *l = &c->undo->before;
	int r = changes_read(c, "");

	for (size_t i = 0; r == 0 && i < l->n; i++)
		if (l->items[i].is.kind == UNDO_FOLDER && !l->items[i].why &&
			strcmp(l->items[i].path, UNDO_ROOT) != 0)
			r = changes_read(c, l->items[i].path);
	for (size_t i = 0; r == 0 && i < c->n_folders; i++)
		r = changes_read(c, c->folders[i]);
	return r;
}

static bool changes_are_times(const struct undo *u)
{
	for (size_t i = 0; i < u->changes.n; i++)
		if (u->changes.items[i].before.kind != UNDO_FOLDER ||
			undo_what(&u->changes.items[i]) != UNDO_TIME)
			return false;
	return true;
}

int undo_find_changes(struct undo *u, struct error *e)
{
	struct comparison c = { .undo = u,
		.place = UNDO_PLACE(u->root),
		.reads_all = !changes_has_clock(u->root),
		.hash_left = u->limit,
		.names_left = u->before.n + u->names_max };
	int r = changes_find_inodes(&c);

	for (size_t i = 0; r == 0 && i < u->before.n; i++)
		r = changes_look(&c, &u->before.items[i]);
	if (r == 0)
		r = changes_read_all(&c);
	undo_changes_sort(&u->changes);
	undo_place_close(&c.place);
	undo_opened_end(&c.opened, u->root);
	free(c.inodes);
	free(c.folders);
	/* Names that came and went leave a folder's time, which is no change by itself. */
	if (r == 0 && changes_are_times(u))
		u->changes.n = 0;
	return r < 0 ? error_set(e, r, NULL, "--undo: cannot find what changed in %s: %s",
			       u->folder, strerror(-r))
		     : 0;
}
