/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that may write in a granted folder, or that only gives us names, wants us to open what
 * was not granted. What it may try:
 *
 *     names       `..`, `a/../../etc/passwd`, "." and "//", relative ones, too long ones
 *     links       absolute, relative, in chains, in circles, out of the granted folder and back,
 *                 with `..` after another link; dangling ones, to learn whether something exists
 *     races       a file, or a folder on the way, that is swapped for a link between check and use;
 *                 one that is moved away, or deleted
 *     /proc       self/root, self/cwd, PID/fd/N: links that lead where no text says
 *     kinds       a device that does something when opened, a FIFO that waits, a terminal, a lease
 *     grants      a granted folder that itself lies in a folder they may write, and becomes a link
 *
 * All of these need a lookup that goes elsewhere than its text says. So a lookup here never does:
 * openat2() with RESOLVE_NO_SYMLINKS takes a path word by word, from the root, or fails. There is
 * no `..` in a normal path, and without links and `..` there is no way up: what RESOLVE_BENEATH is
 * about holds by itself for whatever folder a pattern grants (and is asked for where one name is
 * looked up in a folder). What was opened is then asked where it is, and that must be the path that
 * was meant; the descriptor is what is used, by its own door in /proc and not by its name.
 *
 * Links are for the caller: beneath_next() reads the first one, as text, and puts the text into the
 * path. That is a new name, to be judged like any other before it is looked up; so a denied name
 * never is, and a link cannot be used to find out what exists. If what we read is out of date a
 * moment later, then the wrong name is judged and opened, or is not there: never a name that was
 * not judged.
 *
 * Below a root that is not ours (a sandbox's tree, in its own mount namespace) RESOLVE_IN_ROOT
 * makes it "/" for the kernel too. What a descriptor's door says is a path up to the root of the
 * namespace that its mount is in: for a sandbox's tree the path as commands see it. Whatever the
 * root's own door says stands before it, and both must still say so after the lookup.
 *
 * Not held here: a file system mounted twice has its files under two paths, and one that does not
 * care about case has many names for a file. Mounts are made by those who own the machine.
 */
#include "lib/enclave/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

/* How often something may have moved before we give up. */
enum { TRIES = 16 };

static int beneath_openat2(int folder, const char *path, uint64_t resolve, int *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	*ret = (int)fd;
	return 0;
}

/* -EBUSY: it was moved out of the root while it was looked up. */
static int beneath_lookup(int root, const char *path, int *ret)
{
	int r = root == BENEATH_HOST ? beneath_openat2(AT_FDCWD, path, 0, ret)
				     : beneath_openat2(root, path, RESOLVE_IN_ROOT, ret);

	return r == -EXDEV ? -EBUSY : r;
}

/* The descriptors of this thread: they need not be those of its process. */
static void door(int fd, char out[64])
{
	(void)snprintf(out, 64, "/proc/thread-self/fd/%d", fd);
}

/* Where the kernel says that it is; with " (deleted)" if it is nowhere. Returns the length. */
static ssize_t read_door(int fd, char out[PATH_BYTES])
{
	char name[64];
	ssize_t n;

	door(fd, name);
	n = readlink(name, out, PATH_BYTES);
	if (n < 0)
		return errno == ENOENT ? -ENOSYS : -errno;
	if (n == PATH_BYTES)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return n;
}

int beneath_lies_at(int root, int fd, const char *path)
{
	char above[PATH_BYTES] = "/", at[PATH_BYTES];
	ssize_t n = root == BENEATH_HOST ? 1 : read_door(root, above), r;

	if (n < 0)
		return (int)n;
	r = read_door(fd, at);
	if (r < 0)
		return (int)r;
	/* The root's own slash is that of the path. */
	if (!above[1])
		return strcmp(at, path) == 0;
	return strncmp(at, above, (size_t)n) == 0 && strcmp(at + n, path[1] ? path : "") == 0;
}

int beneath_open(int root, const char *path, int *ret)
{
	for (unsigned i = 0; i < TRIES; i++) {
		auto_fd fd = -1;
		int r = beneath_lookup(root, path, &fd);

		if (r == -EBUSY)
			continue;
		if (r == 0)
			r = beneath_lies_at(root, fd, path);
		if (r < 0)
			return r;
		if (r == 1) {
			*ret = fd_take(&fd);
			return 0;
		}
	}
	return -EBUSY;
}

int beneath_open_in(int folder, const char *name, int *ret)
{
	return beneath_openat2(folder, name, RESOLVE_BENEATH, ret);
}

int beneath_reopen(int fd, int flags, int *ret)
{
	char name[64];
	int opened;

	door(fd, name);
	opened = open(name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (opened < 0)
		return -errno;
	*ret = opened;
	return 0;
}

int beneath_name(int fd, int folder, const char *name)
{
	char from[64];

	door(fd, from);
	return linkat(AT_FDCWD, from, folder, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Links */

static bool is_link(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

/*
 * Walks along path to its first link: 1, and the length of the path up to its end. 0: there is
 * none. *ret is how far it got, in any case (-1: not even the root). In steps of one name, each
 * from the folder before, so that a long path costs no more than its length.
 */
static int walk(int root, const char *path, int *ret, size_t *ret_len)
{
	size_t at = 0;
	int r = beneath_lookup(root, "/", ret);

	while (r == 0 && path[at] && path[at + 1]) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(path + at + 1, "/");
		auto_fd fd = -1;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + at + 1, len);
		name[len] = '\0';
		at += 1 + len;
		r = beneath_open_in(*ret, name, &fd);
		if (r < 0)
			break;
		fd_close(ret);
		*ret = fd_take(&fd);
		if (is_link(*ret)) {
			*ret_len = at;
			return 1;
		}
	}
	return r;
}

int beneath_reach(int root, const char *path, int *ret)
{
	auto_fd fd = -1;
	size_t len;
	int r = beneath_lookup(root, path, &fd);

	if (r < 0)
		r = walk(root, path, &fd, &len);
	if (fd < 0)
		return r;
	*ret = fd_take(&fd);
	return 0;
}

/* ".." at the beginning goes up from a folder that was reached without links; later it may not. */
static bool has_late_parent(const char *target)
{
	bool named = false;

	while (*target) {
		size_t len = strcspn(target, "/");
		bool up = len == 2 && memcmp(target, "..", 2) == 0;

		if (up && named)
			return true;
		named = named || (len > 0 && !up && !(len == 1 && *target == '.'));
		target += len;
		target += strspn(target, "/");
	}
	return false;
}

static int read_link(int fd, char out[PATH_BYTES])
{
	struct statfs fs;
	ssize_t n;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	n = readlinkat(fd, "", out, PATH_BYTES);
	if (n < 0)
		return -errno;
	if (n == 0 || n == PATH_BYTES)
		return n ? -ENAMETOOLONG : -ENOENT;
	out[n] = '\0';
	return has_late_parent(out) ? -EXDEV : 0;
}

int beneath_next(int root, const char *path, char next[PATH_BYTES], char link[PATH_BYTES])
{
	char target[PATH_BYTES] = "", text[3 * PATH_BYTES];
	size_t len = strlen(path), folder, normal_len;
	auto_fd fd = -1;
	int r = beneath_lookup(root, path, &fd), n;

	/* What fails otherwise fails before the first link, or after none. */
	if (r == 0)
		r = is_link(fd);
	else if (r == -ELOOP)
		r = walk(root, path, &fd, &len);
	if (r <= 0)
		return r;
	r = read_link(fd, target);
	if (r < 0)
		return r;
	/* The first len bytes of path name the link: its target takes their place. */
	folder = target[0] == '/' ? 0 : len;
	while (folder && path[folder - 1] != '/')
		folder--;
	n = snprintf(text, sizeof(text), "%.*s%s%s", (int)folder, path, target, path + len);
	if (n < 0 || (size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	r = path_normalize(text, (size_t)n, next, &normal_len);
	if (r < 0)
		return r;
	if (link) {
		memcpy(link, path, len);
		link[len] = '\0';
	}
	return 1;
}

int beneath_follow(int root, const char *path, char out[PATH_BYTES])
{
	char next[PATH_BYTES];
	int r = 1;

	memcpy(out, path, strlen(path) + 1);
	for (unsigned i = 0; i <= BENEATH_LINKS_MAX; i++) {
		r = beneath_next(root, out, next, NULL);
		if (r != 1)
			return r;
		memcpy(out, next, sizeof(next));
	}
	return -ELOOP;
}
