/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a round writes into the project is kept apart from it: an overlay in a mount namespace of
 * the round's own, whose upper folder is removed afterwards. So each run begins with the project as
 * it is: `git clone` finds no folder of the round before, `make` has something to make, and the
 * proof is one.
 *
 * The upper folder is on the disk, since an overlay of an ordinary user needs attributes that a
 * file system in memory has only since Linux 6.6. It is private to the user, in a folder that no
 * profile grants. It is locked as long as the round lives: one that a killed process left behind is
 * not, and the next one removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree.h"
#include "cli/learn/internal.h"
#include "jail/userns.h"

enum {
	PRIVATE = 0700,
	MODE_BITS = 0777,
	OPTIONS_BYTES = 2 * PATH_BYTES,
	RANDOM_BYTES = 6,  /* of mkdtemp() */
	SWEPT_MAX = 65536, /* entries of /var/tmp that are looked at */
	TRIES = 8,
};

static const char *const parts[] = { "upper", "work" };
static const char apart_base[] = "/var/tmp", apart_name[] = "corral-learn-";

void learn_apart_free(struct learn_apart *a)
{
	if (!a->path[0])
		return;
	tree_remove(AT_FDCWD, a->path);
	a->path[0] = '\0';
	fd_close(&a->lock);
}

/* Locks a folder that is the user's own and private, and still has this name. -EBUSY: another
 * process uses it. */
static int apart_lock(const char *path, int *ret)
{
	auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, named;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & MODE_BITS) != PRIVATE)
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (lstat(path, &named) < 0)
		return -errno;
	if (named.st_dev != st.st_dev || named.st_ino != st.st_ino)
		return -ESTALE;
	*ret = fd_take(&fd);
	return 0;
}

/* Removes what killed processes of this user left. In /var/tmp, which is sticky, no other
 * user can put another folder in the place of one of these. */
static void apart_sweep(void)
{
	struct learn_apart old = { 0 };
	DIR *folder = opendir(apart_base);
	const struct dirent *entry;

	for (size_t n = 0; folder && n < SWEPT_MAX && (entry = readdir(folder)); n++) {
		if (strncmp(entry->d_name, apart_name, strlen(apart_name)) != 0 ||
			strlen(entry->d_name) != strlen(apart_name) + RANDOM_BYTES)
			continue;
		(void)snprintf(old.path, sizeof(old.path), "%s/%.30s", apart_base, entry->d_name);
		if (apart_lock(old.path, &old.lock) == 0)
			learn_apart_free(&old);
	}
	if (folder)
		(void)closedir(folder);
}

/* Another process may take a new folder for an old one until it is locked: then there is a next. */
static int apart_make(struct learn_apart *ret)
{
	int r = -EBUSY;

	for (int i = 0; r < 0 && i < TRIES; i++) {
		(void)snprintf(ret->path, sizeof(ret->path), "%s/%sXXXXXX", apart_base, apart_name);
		if (!mkdtemp(ret->path))
			return -errno;
		r = apart_lock(ret->path, &ret->lock);
		if (r < 0)
			(void)rmdir(ret->path);
	}
	return r;
}

int learn_apart_new(struct learn_apart *ret)
{
	struct learn_apart apart = { 0 };
	char path[sizeof(apart.path) + 16];
	int r;

	apart_sweep();
	r = apart_make(&apart);
	if (r < 0)
		return r;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", apart.path, parts[i]);
		if (mkdir(path, PRIVATE) < 0) {
			const int err = -errno;

			learn_apart_free(&apart);
			return err;
		}
	}
	*ret = apart;
	return 0;
}

/* A namespace of mounts; 1: and, for an ordinary user, of users as well. */
static int apart_unshare(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int r;

	if (uid == 0 && unshare(CLONE_NEWNS) == 0)
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	r = userns_map(uid, gid);
	return r < 0 ? r : 1;
}

static int apart_mount(const struct learn_apart *a, const char *project, const char *more)
{
	char options[OPTIONS_BYTES];
	int n;

	/* Its options have no way to spell these. */
	if (strpbrk(project, ",:\\"))
		return -EINVAL;
	n = snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s/%s,workdir=%s/%s%s",
		project, a->path, parts[0], a->path, parts[1], more);
	if (n < 0 || n >= OPTIONS_BYTES)
		return -ENAMETOOLONG;
	return mount("overlay", project, "overlay", 0, options) < 0 ? -errno : 0;
}

int learn_apart_enter(const struct learn_apart *a, const char *project)
{
	int r = apart_unshare();
	const char *more = r == 1 ? ",userxattr" : "";

	if (r >= 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	if (r >= 0)
		r = apart_mount(a, project, more);
	if (r == 0 && chdir(project) < 0)
		r = -errno;
	return r;
}
