/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected files with a second name. A mount covers a name, and by another name of the same file,
 * a hard link, it can be written. Where the other names are is not known to the kernel; the folders
 * that the first look read are read once more, and their names compared by inode. If all names of a
 * file were found, all of them can be kept. All this happens only where there is such a file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "cli/profile/internal.h"

/* Files with their names, names that are looked at in protected places, and their depth. */
enum { TWINS_MAX = 64, NAMES_MAX = 4096, DEPTH_MAX = 8 };

static int profile_twins_add(struct profile_twins *t, const char *path, const struct stat *st)
{
	struct profile_twin twin = {
		.dev = st->st_dev, .ino = st->st_ino, .names = st->st_nlink, .is_large = t->is_large
	};

	for (size_t i = 0; i < t->n; i++) {
		if (strcmp(t->items[i].path, path) == 0)
			return 0;
	}
	if (t->n == TWINS_MAX) {
		t->is_full = true;
		return 0;
	}
	twin.path = arena_strdup(t->arena, path);
	return twin.path ? ARENA_PUSH(t->arena, t->items, t->n, t->cap, twin) : -ENOMEM;
}

static bool profile_twins_has(const struct profile_twins *t, const struct stat *st)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->items[i].ino == st->st_ino && t->items[i].dev == st->st_dev)
			return true;
	}
	return false;
}

static bool profile_twins_has_inode(const struct profile_twins *t, uint64_t ino)
{
	size_t i = 0;

	while (i < t->n && t->items[i].ino != ino)
		i++;
	return i < t->n;
}

/* The names in a folder. known: only those of files that are listed; else all with more names. */
static int profile_twins_read(
	struct profile_twins *t, int at, const char *path, bool known, unsigned depth)
{
	auto_fd fd = openat(at, *path ? path : ".",
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int r = 0;

	if (!dir)
		return 0;
	(void)fd_take(&fd); /* it has an owner now */
	while (r == 0 && (d = readdir(dir))) {
		char name[PATH_BYTES];
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
			(known && !profile_twins_has_inode(t, d->d_ino)) ||
			snprintf(name, sizeof(name), "%s%s%s", path, *path ? "/" : "", d->d_name) >=
				(int)sizeof(name))
			continue;
		if (!known && t->left == 0) {
			t->is_full = true;
			break;
		}
		t->left -= !known;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode) && st.st_nlink > 1 &&
			(!known || profile_twins_has(t, &st))) {
			r = profile_twins_add(t, name, &st);
		} else if (!known && S_ISDIR(st.st_mode) && !linked_is_skipped(t->skipped, name)) {
			t->is_full = t->is_full || depth == DEPTH_MAX;
			r = depth == DEPTH_MAX ? 0
					       : profile_twins_read(t, at, name, known, depth + 1);
		}
	}
	(void)closedir(dir);
	return r;
}

int profile_twins_collect(struct profile_twins *t, int at, const char *path)
{
	struct stat st;

	t->left = NAMES_MAX;
	if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return profile_twins_add(t, path, &st);
	return profile_twins_read(t, at, path, false, 0);
}

int profile_twins_search(struct profile_twins *t, int at, const char *folder)
{
	t->is_large = false;
	return profile_twins_read(t, at, folder, true, 0);
}

bool profile_twins_is_whole(const struct profile_twins *t, size_t i)
{
	const struct profile_twin *twin = &t->items[i];
	uint64_t n = 0;

	for (size_t k = 0; k < t->n; k++)
		n += t->items[k].ino == twin->ino && t->items[k].dev == twin->dev;
	return n >= twin->names;
}
