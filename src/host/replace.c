/* SPDX-License-Identifier: Apache-2.0 */
#include "host/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"

enum { BESIDE_MAX = 99 };

int replace_open(struct replace *ret, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	const char *slash = strrchr(path, '/');
	char folder[PATH_BYTES];
	struct replace r = REPLACE_NONE;
	auto_fd fd = -1;

	if (path[0] != '/' || !slash[1] || strlen(slash + 1) > NAME_MAX ||
		slash - path >= PATH_BYTES)
		return -EINVAL;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	memcpy(r.name, slash + 1, strlen(slash + 1) + 1);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, folder[0] ? folder : "/", &how, sizeof(how));
	if (fd < 0)
		return -errno;
	r.exists = fstatat(fd, r.name, &r.before, AT_SYMLINK_NOFOLLOW) == 0;
	if (!r.exists && errno != ENOENT)
		return -errno;
	if (r.exists && S_ISLNK(r.before.st_mode))
		return -ELOOP;
	if (r.exists && (!S_ISREG(r.before.st_mode) || r.before.st_nlink != 1 ||
				r.before.st_uid != geteuid()))
		return -EINVAL;
	r.folder = fd_take(&fd);
	*ret = r;
	return 0;
}

void replace_close(struct replace *r)
{
	fd_close(&r->folder);
}

/* Not by its ctime, which renaming changes. */
static bool replace_is_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && S_ISREG(a->st_mode) &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_nlink == b->st_nlink;
}

bool replace_is_same(const struct replace *r)
{
	struct stat now;
	bool exists = fstatat(r->folder, r->name, &now, AT_SYMLINK_NOFOLLOW) == 0;

	return exists == r->exists && (!exists || replace_is_file(&now, &r->before));
}

/* A new file beside it, complete. Its name is in ret, and what it is in ret_st. */
static int replace_make(const struct replace *r, const void *data, size_t len, mode_t mode,
	char ret[NAME_MAX + 1], struct stat *ret_st)
{
	unsigned long long number;
	auto_fd fd = -1;
	int err;

	if (len > REPLACE_BYTES_MAX)
		return -EFBIG;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -EIO;
	(void)snprintf(ret, NAME_MAX + 1, ".corral-%016llx", number);
	fd = openat(r->folder, ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_all(fd, data, len);
	if (err == 0 && fstat(fd, ret_st) < 0)
		err = -errno;
	if (err == 0 && r->exists && ret_st->st_gid != r->before.st_gid &&
		fchown(fd, (uid_t)-1, r->before.st_gid) < 0)
		err = -errno;
	if (err == 0 && (fchmod(fd, (r->exists ? r->before.st_mode : mode) & 0777) < 0 ||
				fsync(fd) < 0 || fstat(fd, ret_st) < 0))
		err = -errno;
	if (err < 0)
		(void)unlinkat(r->folder, ret, 0);
	return err;
}

/* Removes a name if it is still what was made under it. */
static void replace_drop(const struct replace *r, const char *name, const struct stat *made)
{
	struct stat now;

	if (fstatat(r->folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		now.st_dev == made->st_dev && now.st_ino == made->st_ino)
		(void)unlinkat(r->folder, name, 0);
}

/* What was in the place is under the new file's name now: is it what was to be replaced? */
static int replace_settle(const struct replace *r, const char *name, const struct stat *made)
{
	struct stat old;

	if (fstatat(r->folder, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
		replace_is_file(&old, &r->before))
		return unlinkat(r->folder, name, 0) < 0 ? -errno : 0;
	if (renameat2(r->folder, name, r->folder, r->name, RENAME_EXCHANGE) == 0)
		replace_drop(r, name, made);
	return REPLACE_CHANGED;
}

int replace_put(const struct replace *r, const void *data, size_t len, mode_t mode)
{
	char name[NAME_MAX + 1];
	struct stat made = { 0 };
	int err = replace_is_same(r) ? replace_make(r, data, len, mode, name, &made)
				     : REPLACE_CHANGED;

	if (err != 0)
		return err;
	if (renameat2(r->folder, name, r->folder, r->name,
		    r->exists ? RENAME_EXCHANGE : RENAME_NOREPLACE) == 0)
		return r->exists ? replace_settle(r, name, &made) : 0;
	err = errno == ENOENT || errno == EEXIST ? REPLACE_CHANGED : -errno;
	replace_drop(r, name, &made);
	return err;
}

int replace_put_beside(
	const struct replace *r, const void *data, size_t len, mode_t mode, char ret[NAME_MAX + 1])
{
	char name[NAME_MAX + 1], other[NAME_MAX + 1];
	struct stat made = { 0 };
	int err = replace_make(r, data, len, mode, name, &made);

	if (err < 0)
		return err;
	err = -EEXIST;
	for (int i = 1; err == -EEXIST && i <= BESIDE_MAX; i++) {
		if (snprintf(other, sizeof(other), "%s.corral-%d", r->name, i) >=
			(int)sizeof(other))
			err = -ENAMETOOLONG;
		else
			err = renameat2(r->folder, name, r->folder, other, RENAME_NOREPLACE) < 0
				      ? -errno
				      : 0;
	}
	if (err < 0)
		replace_drop(r, name, &made);
	else
		memcpy(ret, other, sizeof(other));
	return err;
}
