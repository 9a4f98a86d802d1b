/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

int detach_unmount(void)
{
	return umount2(".", MNT_DETACH) < 0 ? -errno : 0;
}

/* What is mounted on the root directory is what ".." leads to from there. */
int detach_check(void)
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
