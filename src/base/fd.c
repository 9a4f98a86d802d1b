/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

int fd_keep_only(int *const list[], size_t n)
{
	int null;

	/* First all are moved out of the way, so that none is overwritten. */
	for (size_t i = 0; i < n; i++) {
		*list[i] = fcntl(*list[i], F_DUPFD_CLOEXEC, FD_KEPT + (int)n);
		if (*list[i] < 0)
			return -errno;
	}
	/* Not to be closed by an exec: it may already be one of the three. */
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < FD_KEPT; i++)
		if (null < 0 || dup2(null, i) < 0)
			return -errno;
	for (size_t i = 0; i < n; i++) {
		*list[i] = dup3(*list[i], FD_KEPT + (int)i, O_CLOEXEC);
		if (*list[i] < 0)
			return -errno;
	}
	return syscall(SYS_close_range, FD_KEPT + (unsigned)n, ~0U, 0U) < 0 ? -errno : 0;
}
