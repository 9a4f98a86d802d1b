/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names are kept as bits of a filter, by their hashes: a name that shares its bit with another
 * is looked up for nothing, which costs a call and changes no answer.
 */
#include "host/names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/getdents.h"
#include "base/hash.h"

#ifndef BCACHEFS_SUPER_MAGIC
#define BCACHEFS_SUPER_MAGIC 0xca451a4e
#endif
#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

enum { NAMES_BITS = 1 << 16, NAMES_BUFFER = 16384 };

/* Each has all of its names in a listing. An overlay takes no layer that folds case or mounts on
 * look-up (ovl_dentry_weird() in the kernel). */
static bool names_is_known(int fd)
{
	static const uint32_t known[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC, RAMFS_MAGIC, OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		BCACHEFS_SUPER_MAGIC };
	struct statfs fs;
	size_t i = 0;

	if (fstatfs(fd, &fs) < 0)
		return false;
	while (i < ROWS(known) && (uint32_t)fs.f_type != known[i])
		i++;
	return i < ROWS(known);
}

static bool names_folds(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_CASEFOLD_FL;
}

static uint32_t names_bit(const char *name, size_t len, bool *is_ascii)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		*is_ascii = *is_ascii && c < 0x80;
		c = c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
		hash = hash_bytes(hash, &c, 1);
	}
	return (uint32_t)((hash ^ hash >> 32) % NAMES_BITS);
}

/* 1: all names are in bits, 0: there are too many, negative: they cannot be read. */
static int names_read(int fd, uint64_t *bits, bool *is_ascii)
{
	char buffer[NAMES_BUFFER] __attribute__((aligned(8)));
	unsigned left = NAMES_LISTED;
	long n;

	while ((n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < n;) {
			const struct getdents_entry *e =
				(const struct getdents_entry *)(buffer + at);
			uint32_t bit = names_bit(e->name, strlen(e->name), is_ascii);

			if (left-- == 0)
				return 0;
			bits[bit / 64] |= UINT64_C(1) << bit % 64;
			at += e->len;
		}
	}
	return n < 0 ? -errno : 1;
}

int names_miss(struct names *n, struct arena *a, int at, const char *path)
{
	auto_fd fd = -1;
	bool is_ascii = true;
	uint64_t *bits;

	if (n->was_listed || ++n->misses < (n->is_long ? NAMES_PATIENCE_LONG : NAMES_PATIENCE))
		return 0;
	n->was_listed = true;
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !names_is_known(fd))
		return 0;
	bits = arena_calloc(a, NAMES_BITS / 64, sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	if (names_read(fd, bits, &is_ascii) == 1 && (is_ascii || !names_folds(fd)))
		n->bits = bits;
	return 0;
}

bool names_may_have(const struct names *n, const char *name, size_t len)
{
	bool is_ascii = true;
	uint32_t bit;

	if (!n->bits)
		return true;
	bit = names_bit(name, len, &is_ascii);
	return !is_ascii || n->bits[bit / 64] >> bit % 64 & 1;
}
