/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the caller's memory, beside it: touches nothing there but, if it fails, errno. The caller may
 * then report another error than it had, and fails in any case. */
static int detach_unmount(void *unused)
{
	(void)unused;
	return umount2(".", MNT_DETACH) < 0 ? 1 : 0;
}

int detach_begin(pid_t *ret)
{
	static _Alignas(16) char stack[16 << 10];
	pid_t pid = clone(detach_unmount, stack + sizeof(stack), CLONE_VM, NULL);

	/* As many processes as there may be: it takes longer, and needs none. */
	if (pid < 0 && umount2(".", MNT_DETACH) < 0)
		return -errno;
	*ret = pid < 0 ? 0 : pid;
	return chdir("/") < 0 ? -errno : 0;
}

/* What is mounted on the root directory is what ".." leads to from there. */
static int detach_check(void)
{
	struct statx root, above;

	if (statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &root) < 0 ||
		statx(AT_FDCWD, "/..", 0, STATX_MNT_ID, &above) < 0)
		return -errno;
	/* Kernels before 5.8 do not report the mount; then the inodes differ. */
	return root.stx_mnt_id == above.stx_mnt_id && root.stx_ino == above.stx_ino &&
			       root.stx_dev_major == above.stx_dev_major &&
			       root.stx_dev_minor == above.stx_dev_minor
		       ? 0
		       : -EBUSY;
}

int detach_finish(pid_t pid)
{
	int status = 0;

	/* __WALL: it has no exit signal. */
	while (pid > 0 && waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return status != 0 ? -EBUSY : detach_check();
}
