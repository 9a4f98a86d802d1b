/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/file.h"

enum {
	SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
	/* MFD_NOEXEC_SEAL (Linux 6.3), which older headers lack. */
	NOEXEC_SEAL = 0x0008,
};

int sealed_new(const void *data, size_t len, int *ret)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	struct rlimit limit;
	auto_fd fd = -1;
	int r;

	/* A write past the limit would raise SIGXFSZ, in a program that may not be ours. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		len > limit.rlim_cur)
		return -EFBIG;
	/* Never executable where the kernel knows how; it may be set to refuse all others. */
	fd = memfd_create("corral", flags | NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("corral", flags);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, data, len);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

/* Seals first: only then does the size stay what it is. */
static bool sealed_is_sealed(int fd, size_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return false;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size != len)
		return false;
	/* Huge pages can be sealed too, but a hole in them is a SIGBUS when none are left. */
	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int sealed_map(int fd, size_t len, void **ret)
{
	void *map;

	if (len == 0 || !sealed_is_sealed(fd, len))
		return -EPROTO;
	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	/* EACCES: sealed, but not open for reading. */
	if (map == MAP_FAILED)
		return errno == EACCES ? -EPROTO : -errno;
	*ret = map;
	return 0;
}
