/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that a command closed (chmod 0) are opened for their owner while they are looked at or
 * changed: otherwise a change could be hidden by a mode. In the end they have the mode and time
 * that they had.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/undo/internal.h"

int undo_chmod(int fd, uint32_t mode)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode) < 0 ? -errno : 0;
}

/* A folder's own step gives it its mode and time. */
static bool opened_has_step(const struct undo_opened *o, const struct undo *u, const char *path)
{
	const size_t i =
		o->steps ? undo_changes_find(&u->changes, *path ? path : UNDO_ROOT) : SIZE_MAX;

	return i != SIZE_MAX && o->steps[i].is == UNDO_TO_DO &&
	       u->changes.items[i].before.kind == UNDO_FOLDER;
}

int undo_opened_add(struct undo_opened *o, struct undo *u, const char *path, int fd)
{
	const bool remember = !opened_has_step(o, u, path);
	struct undo_folder f = { 0 };
	struct stat st;

	if (o->n > 0 && strcmp(o->items[o->n - 1].path, path) == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	f.mode = st.st_mode & 07777;
	f.mtime = st.st_mtim;
	f.path = remember ? arena_strdup(&u->arena, path) : NULL;
	if (remember && (!f.path || ARRAY_PUSH(o->items, o->n, o->cap, f) < 0))
		return -ENOMEM;
	if ((st.st_mode & 0700) == 0700 || st.st_uid != geteuid())
		return 0;
	return undo_chmod(fd, f.mode | 0700);
}

int undo_opened_above(struct undo_opened *o, struct undo *u, const char *path)
{
	char part[PATH_BYTES];
	const char *name;
	int err = undo_opened_add(o, u, "", u->root);

	for (const char *slash = strchr(path, '/'); err == 0 && slash;
		slash = strchr(slash + 1, '/')) {
		const size_t len = (size_t)(slash - path);
		auto_place place = UNDO_PLACE(u->root);
		auto_fd fd = -1;
		int above;

		if (len >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, len);
		part[len] = '\0';
		above = undo_place_find(&place, part, &name);
		if (above < 0)
			return above;
		fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : undo_opened_add(o, u, part, fd);
	}
	return err;
}

static void opened_close(const struct undo_folder *f, int root)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, f->mtime };
	auto_place place = UNDO_PLACE(root);
	const char *name;
	char path[64];
	int above = f->path[0] ? undo_place_find(&place, f->path, &name) : -1;
	auto_fd fd = -1;

	if (!f->path[0])
		fd = dup(root);
	else if (above >= 0)
		fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)utimensat(AT_FDCWD, path, times, 0);
	(void)undo_chmod(fd, f->mode);
}

void undo_opened_end(struct undo_opened *o, int root)
{
	/* The first look at a folder counts, so the last ones come first. */
	for (size_t i = o->n; i-- > 0;)
		opened_close(&o->items[i], root);
	free(o->items);
	*o = (struct undo_opened){ 0 };
}
