// SPDX-License-Identifier: Apache-2.0
/*
 * Files that are granted for reading: everything that would change them, or the folder they are in.
 * Several of these are not held by Landlock at all, or not by older versions of it, so it takes a
 * read-only mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempt.h"

static int append(int fd)
{
	return claim(fd < 0 ? -1 : write(fd, "x", 1));
}

static int ro_write(const struct attempt *a)
{
	return append(open(ro_file(a), O_WRONLY));
}

static int ro_append(const struct attempt *a)
{
	return append(open(ro_file(a), O_RDWR | O_APPEND));
}

static int ro_open_truncate(const struct attempt *a)
{
	return claim(open(ro_file(a), O_RDONLY | O_TRUNC));
}

static int ro_truncate(const struct attempt *a)
{
	return claim(truncate(ro_file(a), 0));
}

static int ro_create(const struct attempt *a)
{
	return append(open(format("%s.made", ro_file(a)), O_WRONLY | O_CREAT, 0644));
}

static int ro_unlink(const struct attempt *a)
{
	return claim(unlink(ro_file(a)));
}

static int ro_rename(const struct attempt *a)
{
	return claim(rename(ro_file(a), format("%s.made", ro_file(a))));
}

static int ro_rename_away(const struct attempt *a)
{
	return claim(rename(ro_file(a), work_file(a)));
}

static int ro_rename_over(const struct attempt *a)
{
	make_file(work_file(a), "changed\n");
	return claim(rename(work_file(a), ro_file(a)));
}

static int ro_link(const struct attempt *a)
{
	if (link(ro_file(a), work_file(a)) < 0)
		return verdict(-1);
	return append(open(work_file(a), O_WRONLY));
}

static int ro_symlink(const struct attempt *a)
{
	if (symlink(ro_file(a), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return append(open(work_file(a), O_WRONLY));
}

static int ro_chmod(const struct attempt *a)
{
	return claim(chmod(ro_file(a), 0777));
}

static int ro_fchmod(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDONLY);

	return claim(fd < 0 ? -1 : fchmod(fd, 0777));
}

static int ro_fchmod_proc(const struct attempt *a)
{
	int fd = open(ro_file(a), O_PATH);

	return claim(fd < 0 ? -1 : chmod(format("/proc/self/fd/%d", fd), 0777));
}

/* To the owner it has: allowed to the owner, and it still counts as a change (ctime). */
static int ro_chown(const struct attempt *a)
{
	struct stat st;

	if (stat(ro_file(a), &st) < 0)
		broken("stat: %s", strerror(errno));
	return claim(chown(ro_file(a), st.st_uid, st.st_gid));
}

static int ro_fchown(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDONLY);

	return claim(fd < 0 ? -1 : fchown(fd, getuid(), getgid()));
}

static int ro_utimes(const struct attempt *a)
{
	const struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	return claim(utimensat(AT_FDCWD, ro_file(a), t, 0));
}

static int ro_futimes(const struct attempt *a)
{
	const struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int fd = open(ro_file(a), O_RDONLY);

	return claim(fd < 0 ? -1 : futimens(fd, t));
}

static int no_such_thing(int v)
{
	return v == HELD && (errno == EOPNOTSUPP || errno == ENOTTY) ? ABSENT : v;
}

static int ro_setxattr(const struct attempt *a)
{
	return no_such_thing(claim(setxattr(ro_file(a), "user.corral", "1", 1, 0)));
}

static int ro_fsetxattr(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDONLY);

	return no_such_thing(claim(fd < 0 ? -1 : fsetxattr(fd, "user.corral", "1", 1, 0)));
}

static int ro_removexattr(const struct attempt *a)
{
	int v = claim(removexattr(ro_file(a), "user.canary"));

	return v == HELD && errno == ENODATA ? ABSENT : no_such_thing(v);
}

static int ro_setflags(const struct attempt *a)
{
	int flags = 0, fd = open(ro_file(a), O_RDONLY);

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return no_such_thing(verdict(-1));
	flags ^= FS_NODUMP_FL;
	return no_such_thing(claim(ioctl(fd, FS_IOC_SETFLAGS, &flags)));
}

static int ro_reopen(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDONLY);

	return append(open(format("/proc/self/fd/%d", fd), O_WRONLY));
}

static int ro_mmap(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDWR);
	char *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return verdict(-1);
	p[0] = 'X';
	return claim(msync(p, 4096, MS_SYNC));
}

static int ro_mkdir(const struct attempt *a)
{
	return claim(mkdir(format("%s.made", ro_file(a)), 0755));
}

static int ro_tmpfile(const struct attempt *a)
{
	int fd = open(scene("ro"), O_WRONLY | O_TMPFILE, 0644);

	if (fd < 0)
		return no_such_thing(verdict(-1));
	return claim(linkat(AT_FDCWD, format("/proc/self/fd/%d", fd), AT_FDCWD,
		format("%s.made", ro_file(a)), AT_SYMLINK_FOLLOW));
}

static int ro_mknod(const struct attempt *a)
{
	return claim(mknod(format("%s.made", ro_file(a)), S_IFIFO | 0644, 0));
}

static int ro_bind_socket(const struct attempt *a)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || chdir(scene("ro")) < 0)
		broken("%s", strerror(errno));
	snprintf(un.sun_path, sizeof(un.sun_path), "%s.made", a->name);
	return claim(bind(fd, (struct sockaddr *)&un, sizeof(un)));
}

/* The host waits for most of a minute, each time that it opens the file for writing. */
static int ro_lease(const struct attempt *a)
{
	int fd = open(ro_file(a), O_RDONLY);

	return fd < 0 ? HELD : verdict(fcntl(fd, F_SETLEASE, F_RDLCK));
}

static const struct attempt table[] = {
	{ "ro-write", "default", "", "a readable file is writable as well", ro_write, NULL },
	{ "ro-append", "default", "", "appending is not taken for writing", ro_append, NULL },
	{ "ro-open-truncate", "default", "", "O_RDONLY|O_TRUNC empties without opening for writing",
		ro_open_truncate, NULL },
	{ "ro-truncate", "default", "", "truncate() is not held by an older Landlock", ro_truncate,
		NULL },
	{ "ro-create", "default", "", "a new file beside it can be made", ro_create, NULL },
	{ "ro-unlink", "default", "", "the file can be removed", ro_unlink, NULL },
	{ "ro-rename", "default", "", "the file can be given another name", ro_rename, NULL },
	{ "ro-rename-away", "default", "", "the file can be moved to the workspace", ro_rename_away,
		NULL },
	{ "ro-rename-over", "default", "", "a file of the workspace can be moved over it",
		ro_rename_over, NULL },
	{ "ro-link", "default", "", "a hard link in the workspace can be written", ro_link, NULL },
	{ "ro-symlink", "default", "", "a symbolic link in the workspace can be written",
		ro_symlink, NULL },
	{ "ro-chmod", "default", "", "chmod is not Landlock's business", ro_chmod, NULL },
	{ "ro-fchmod", "default", "", "fchmod works on a descriptor opened for reading", ro_fchmod,
		NULL },
	{ "ro-fchmod-proc", "default", "", "chmod of /proc/self/fd/N of an O_PATH descriptor works",
		ro_fchmod_proc, NULL },
	{ "ro-chown", "default", "", "chown is not Landlock's business", ro_chown, NULL },
	{ "ro-fchown", "default", "", "fchown works on a descriptor opened for reading", ro_fchown,
		NULL },
	{ "ro-utimes", "default", "", "times can be forged", ro_utimes, NULL },
	{ "ro-futimes", "default", "", "times can be forged by a descriptor opened for reading",
		ro_futimes, NULL },
	{ "ro-setxattr", "default", "", "attributes can be set", ro_setxattr, NULL },
	{ "ro-fsetxattr", "default", "", "attributes can be set by a descriptor opened for reading",
		ro_fsetxattr, NULL },
	{ "ro-removexattr", "default", "", "attributes can be removed", ro_removexattr, NULL },
	{ "ro-setflags", "default", "", "the file system's own flags can be set by ioctl",
		ro_setflags, NULL },
	{ "ro-reopen", "default", "", "a descriptor for reading is reopened for writing by /proc",
		ro_reopen, NULL },
	{ "ro-mmap", "default", "", "a shared mapping writes through", ro_mmap, NULL },
	{ "ro-mkdir", "default", "", "a folder can be made in it", ro_mkdir, NULL },
	{ "ro-tmpfile", "default", "", "a file without a name is given one later", ro_tmpfile,
		NULL },
	{ "ro-mknod", "default", "", "a fifo can be made in it", ro_mknod, NULL },
	{ "ro-bind", "default", "", "binding a socket makes a file", ro_bind_socket, NULL },
	{ "ro-lease", "default", "", "a lease keeps the host from writing to it", ro_lease, NULL },
};
THEME(readonly, "Files granted for reading", table);
