// SPDX-License-Identifier: Apache-2.0
/*
 * Mounts and roots: to put something else over the tree, to get at what a mount hides, to move the
 * root. Bare they need CAP_SYS_ADMIN, and run in the runner's private mount namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

/* <sys/mount.h> and <linux/mount.h> can't be included together on older systems. */
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);

static const char *point(const struct attempt *a)
{
	const char *path = work_file(a);

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		broken("mkdir: %s", strerror(errno));
	return path;
}

static int new_mount(const struct attempt *a)
{
	const char *type = a->arg;
	int v = verdict(mount(type, point(a), type, 0, NULL));

	if (v == ESCAPED)
		umount2(point(a), 2);
	else if (errno == ENODEV)
		return ABSENT;
	return v;
}

static int bind_outside(const struct attempt *a)
{
	if (mount(scene("out"), point(a), NULL, MS_BIND, NULL) < 0)
		return verdict(-1);
	return canary_file(format("%s/%s", point(a), a->name));
}

static int bind_root(const struct attempt *a)
{
	if (mount("/", point(a), NULL, MS_BIND | MS_REC, NULL) < 0)
		return verdict(-1);
	umount2(point(a), 2);
	return verdict(0);
}

static int remount_rw(const struct attempt *a)
{
	(void)a;
	return verdict(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int remount_ro_folder(const struct attempt *a)
{
	int fd;

	mount(scene("ro"), scene("ro"), NULL, MS_BIND, NULL);
	mount(NULL, scene("ro"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
	if (mount(NULL, scene("ro"), NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
		return verdict(-1);
	fd = open(ro_file(a), O_WRONLY | O_TRUNC);
	umount2(scene("ro"), 2);
	return claim(fd);
}

static int propagation(const struct attempt *a)
{
	(void)a;
	return verdict(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

static int move(const struct attempt *a)
{
	const char *from = point(a), *to = format("%s.to", from);

	if (mkdir(to, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	if (mount("none", from, "tmpfs", 0, NULL) < 0)
		return verdict(-1);
	return verdict(mount(from, to, NULL, MS_MOVE, NULL)) == ESCAPED ? verdict(umount2(to, 2))
									: HELD;
}

/* Bare: of a mount that the attempt makes itself. Inside: of what the sandbox mounted. */
static int unmount(const struct attempt *a)
{
	static const char *const paths[] = { "/proc", "/dev", "/tmp", "/usr", "/etc" };

	if (mount("none", point(a), "tmpfs", 0, NULL) == 0)
		return verdict(umount2(point(a), 2));
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (umount2(paths[i], 2) == 0)
			return verdict(0);
	if (umount2(scene("ws"), 2) == 0)
		return verdict(0);
	return verdict(-1);
}

static int do_chroot(const struct attempt *a)
{
	return verdict(chroot(point(a)));
}

/* The classic way out: a root below the current folder, then `..` is not stopped by it. */
static int chroot_break(const struct attempt *a)
{
	const char *file = out_file(a) + 1, *down = point(a);

	if (chroot(down) < 0)
		return verdict(-1);
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return verdict(-1);
	if (chroot(".") < 0)
		return verdict(-1);
	return canary_file(file);
}

static int do_pivot_root(const struct attempt *a)
{
	/* EINVAL or EBUSY: of these two paths; the permission was asked for first. */
	long r = syscall(SYS_pivot_root, "/", "/");

	(void)a;
	return r < 0 && (errno == EINVAL || errno == EBUSY) ? permitted(r, errno) : verdict(r);
}

static int do_fsopen(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_fsopen, "tmpfs", 0));
}

static int do_fspick(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_fspick, AT_FDCWD, "/", 0));
}

static int do_open_tree(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
}

static int do_move_mount(const struct attempt *a)
{
	long r = syscall(SYS_move_mount, AT_FDCWD, scene("ws"), AT_FDCWD, point(a), 0);

	return r < 0 && (errno == EINVAL || errno == ELOOP) ? permitted(r, errno) : verdict(r);
}

static int do_mount_setattr(const struct attempt *a)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_NODEV };
	long r = syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr));

	(void)a;
	return verdict(r);
}

static const struct attempt table[] = {
	{ "mount-tmpfs", "default", "SYS_ADMIN", "an empty file system can be put over anything",
		new_mount, "tmpfs" },
	{ "mount-proc", "default", "SYS_ADMIN", "a fresh /proc shows what the old one hides",
		new_mount, "proc" },
	{ "mount-sysfs", "default", "SYS_ADMIN", "a fresh /sys has writable switches", new_mount,
		"sysfs" },
	{ "mount-devtmpfs", "default", "SYS_ADMIN", "a fresh /dev has all devices", new_mount,
		"devtmpfs" },
	{ "mount-cgroup", "default", "SYS_ADMIN", "a fresh cgroup tree can be written", new_mount,
		"cgroup2" },
	{ "mount-debugfs", "default", "SYS_ADMIN", "debugfs opens the kernel", new_mount,
		"debugfs" },
	{ "mount-mqueue", "default", "SYS_ADMIN", "the host's message queues can be mounted",
		new_mount, "mqueue" },
	{ "mount-bind-outside", "default", "SYS_ADMIN", "a folder outside can be mounted inside",
		bind_outside, NULL },
	{ "mount-bind-root", "default", "SYS_ADMIN",
		"the root can be mounted once more, without masks", bind_root, NULL },
	{ "mount-remount", "default", "SYS_ADMIN", "the root can be made writable", remount_rw,
		NULL },
	{ "mount-remount-ro", "default", "SYS_ADMIN", "a read-only grant can be made writable",
		remount_ro_folder, NULL },
	{ "mount-propagation", "default", "SYS_ADMIN", "mounts can be shared with the host again",
		propagation, NULL },
	{ "mount-move", "default", "SYS_ADMIN", "a mount can be moved away", move, NULL },
	{ "mount-umount", "default", "SYS_ADMIN", "unmounting shows what lies below", unmount,
		NULL },
	{ "mount-fsopen", "default", "SYS_ADMIN", "the newer fsopen was forgotten", do_fsopen,
		NULL },
	{ "mount-fspick", "default", "SYS_ADMIN", "the newer fspick was forgotten", do_fspick,
		NULL },
	{ "mount-open-tree", "default", "SYS_ADMIN", "the newer open_tree was forgotten",
		do_open_tree, NULL },
	{ "mount-move-mount", "default", "SYS_ADMIN", "the newer move_mount was forgotten",
		do_move_mount, NULL },
	{ "mount-setattr", "default", "SYS_ADMIN", "the newer mount_setattr was forgotten",
		do_mount_setattr, NULL },
	{ "root-chroot", "default", "SYS_CHROOT", "chroot is allowed to someone", do_chroot, NULL },
	{ "root-chroot-break", "default", "SYS_CHROOT", "a second chroot loses the first",
		chroot_break, NULL },
	{ "root-pivot", "default", "SYS_ADMIN", "pivot_root swaps the root back", do_pivot_root,
		NULL },
};
THEME(mount, "Mounts and roots", table);
