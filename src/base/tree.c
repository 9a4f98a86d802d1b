/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every step goes by a descriptor of the folder and one name in it, so a folder that becomes a link
 * is unlinked and never entered. A descriptor is open for each level: what lies deeper than
 * TREE_DEPTH_MAX is moved to the top first, and removed in the next round.
 */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { TREE_DEPTH_MAX = 32, TREE_ROUNDS_MAX = 4096, TREE_PRIVATE = 0700 };

struct tree_removal {
	int top;
	unsigned moved;
};

static DIR *tree_open(int folder, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	auto_fd fd = openat(folder, name, O_RDONLY | flags), place = -1;
	char path[32];
	struct stat st;
	DIR *d;

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & TREE_PRIVATE) != TREE_PRIVATE)
		(void)fchmod(fd, TREE_PRIVATE);
	if (fd < 0 && errno == EACCES) {
		place = openat(folder, name, O_PATH | flags);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
		if (place >= 0 && chmod(path, TREE_PRIVATE) == 0)
			fd = openat(folder, name, O_RDONLY | flags);
	}
	d = fd < 0 ? NULL : fdopendir(fd);
	if (d)
		(void)fd_take(&fd);
	return d;
}

static void tree_remove_in(struct tree_removal *t, int folder, const char *name, unsigned depth);

static void tree_empty(struct tree_removal *t, DIR *d, unsigned depth)
{
	const struct dirent *entry;

	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			tree_remove_in(t, dirfd(d), entry->d_name, depth);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as TREE_DEPTH_MAX */
static void tree_remove_in(struct tree_removal *t, int folder, const char *name, unsigned depth)
{
	char to[32];
	DIR *d;

	if (unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0)
		return;
	d = tree_open(folder, name);
	if (!d)
		return;
	if (depth < TREE_DEPTH_MAX) {
		tree_empty(t, d, depth + 1);
	} else {
		(void)snprintf(to, sizeof(to), ".deep-%u", t->moved);
		t->moved += renameat(folder, name, t->top, to) == 0;
	}
	(void)closedir(d);
	(void)unlinkat(folder, name, AT_REMOVEDIR);
}

void tree_remove(int folder, const char *name)
{
	struct tree_removal t = { .top = -1 };
	unsigned before = 1;

	if (unlinkat(folder, name, 0) == 0)
		return;
	for (unsigned i = 0; i < TREE_ROUNDS_MAX && t.moved != before; i++) {
		DIR *d = tree_open(folder, name);

		before = t.moved;
		if (!d)
			break;
		t.top = dirfd(d);
		tree_empty(&t, d, 1);
		(void)closedir(d);
	}
	(void)unlinkat(folder, name, AT_REMOVEDIR);
}
