/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount calls that work on descriptors (Linux 5.2, mount_setattr 5.12), in the order in which a
 * tree is built: an empty file system, a detached copy made read-only, the copy put in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/probe/internal.h"

static int make_empty(struct probe_answer *a, int *ret)
{
	auto_fd fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0)
		return probe_fail(a, errno, "fsopen");
	if (fsconfig(fs, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return probe_fail(a, errno, "fsconfig");
	int fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return probe_fail(a, errno, "fsmount");
	*ret = fd;
	return 0;
}

static int copy_read_only(struct probe_answer *a, int *ret)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	auto_fd copy = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (copy < 0)
		return probe_fail(a, errno, "open_tree");
	if (mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return probe_fail(a, errno, "mount_setattr");
	*ret = fd_take(&copy);
	return 0;
}

static int probe_mounts_put(struct probe_answer *a, int mount)
{
	if (move_mount(mount, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return probe_fail(a, errno, "move_mount");
	return 0;
}

int probe_mount_calls(struct probe_answer *a)
{
	auto_fd empty = -1, copy = -1;
	int r = probe_enter(CLONE_NEWNS, a);

	if (r == 0)
		r = make_empty(a, &empty);
	if (r == 0)
		r = copy_read_only(a, &copy);
	if (r == 0)
		r = probe_mounts_put(a, empty);
	return r < 0 ? r : probe_mounts_put(a, copy);
}
