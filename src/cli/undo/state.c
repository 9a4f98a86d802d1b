/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is under one name below the working folder. A command may have put anything there: a link to
 * the home in place of a folder, a pipe in place of a file. So each folder on the way is opened
 * below the root without links (openat2), the last name is looked at and not followed, and a file
 * is read only if the descriptor is of a regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/undo/internal.h"

#define SECOND INT64_C(1000000000)

int64_t undo_now(void)
{
	struct timespec t = { 0 };

	/* The clock of file systems: a file that is made after this has no earlier time. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static int undo_open_beneath(int root, const char *path, uint64_t flags)
{
	const struct open_how how = { .flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV |
			   RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int undo_open_folder(int root, const char *path)
{
	return undo_open_beneath(root, path, O_RDONLY | O_DIRECTORY);
}

void undo_place_close(struct undo_place *p)
{
	fd_close(&p->folder);
}

int undo_place_find(struct undo_place *p, const char *path, const char **ret)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int fd;

	if (len >= sizeof(p->path))
		return -ENAMETOOLONG;
	*ret = slash ? slash + 1 : path;
	if (p->folder >= 0 && strncmp(p->path, path, len) == 0 && !p->path[len])
		return p->folder;
	fd_close(&p->folder);
	memcpy(p->path, path, len);
	p->path[len] = '\0';
	fd = undo_open_beneath(p->root, p->path, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		p->folder = fd;
	return fd;
}

static int64_t undo_time(const struct statx_timestamp *t)
{
	return t->tv_sec * SECOND + t->tv_nsec;
}

static enum undo_kind undo_kind_of(unsigned mode)
{
	return S_ISREG(mode)   ? UNDO_FILE
	       : S_ISLNK(mode) ? UNDO_LINK
	       : S_ISDIR(mode) ? UNDO_FOLDER
			       : UNDO_OTHER;
}

static void undo_fill(struct undo_state *s, const struct statx *x)
{
	*s = (struct undo_state){ .kind = undo_kind_of(x->stx_mode),
		.mode = x->stx_mode & 07777,
		.uid = x->stx_uid,
		.gid = x->stx_gid,
		.nlink = x->stx_nlink,
		.ino = x->stx_ino,
		.size = S_ISDIR(x->stx_mode) ? 0 : x->stx_size,
		.mtime = undo_time(&x->stx_mtime),
		.ctime = undo_time(&x->stx_ctime),
		.btime = x->stx_mask & STATX_BTIME ? undo_time(&x->stx_btime) : 0 };
}

enum { WANTED = STATX_BASIC_STATS | STATX_BTIME };

int undo_look_at(int folder, const char *name, struct arena *a, struct undo_state *ret)
{
	char target[PATH_BYTES];
	struct statx x;
	ssize_t n;

	if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &x) < 0) {
		*ret = (struct undo_state){ 0 };
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	}
	undo_fill(ret, &x);
	if (ret->kind != UNDO_LINK || !a)
		return 0;
	n = readlinkat(folder, name, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	ret->target = arena_strdup(a, target);
	return ret->target ? 0 : -ENOMEM;
}

int undo_look(struct undo_place *p, struct arena *a, const char *path, struct undo_state *ret)
{
	const char *name;
	int fd = undo_place_find(p, path, &name);

	*ret = (struct undo_state){ 0 };
	/* A folder on the way is gone, or is no folder any more. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	return fd < 0 ? fd : undo_look_at(fd, name, a, ret);
}

int undo_look_fd(int fd, struct undo_state *ret)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, WANTED, &x) < 0)
		return -errno;
	undo_fill(ret, &x);
	return 0;
}

int undo_open_file(int folder, const char *name, struct undo_state *ret)
{
	auto_fd fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r;

	*ret = (struct undo_state){ 0 };
	r = fd < 0 ? -errno : undo_look_fd(fd, ret);
	if (r < 0)
		return r;
	return ret->kind == UNDO_FILE ? fd_take(&fd) : -EINVAL;
}

int undo_hash_file(
	int fd, uint64_t at, uint64_t size, struct arena *a, const unsigned char **ret_hash)
{
	enum { ROOM = 1 << 16 };
	crypto_generichash_state h;
	unsigned char bytes[ROOM], *hash = arena_alloc(a, UNDO_HASH);

	if (!hash)
		return -ENOMEM;
	(void)crypto_generichash_init(&h, NULL, 0, UNDO_HASH);
	while (size > 0) {
		ssize_t n = pread(fd, bytes, size < ROOM ? size : ROOM, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		(void)crypto_generichash_update(&h, bytes, (size_t)n);
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	(void)crypto_generichash_final(&h, hash, UNDO_HASH);
	*ret_hash = hash;
	return 0;
}

int undo_hash_path(struct undo_place *p, struct undo *u, const char *path, struct undo_state *s)
{
	const char *name;
	bool has_more;
	struct undo_state opened;
	int folder = undo_place_find(p, path, &name);
	auto_fd fd = folder < 0 ? -1 : undo_open_file(folder, name, &opened);

	if (folder < 0 || fd < 0)
		return folder < 0 ? folder : fd;
	/* Another file than the one that was looked at. */
	if (!undo_is_untouched(&opened, s))
		return -ESTALE;
	s->attributes = undo_attributes_look(u, fd, &has_more);
	return undo_hash_file(fd, 0, s->size, &u->arena, &s->hash);
}

bool undo_is_untouched(const struct undo_state *a, const struct undo_state *b)
{
	return a->kind == b->kind && a->ino == b->ino && a->size == b->size &&
	       a->mtime == b->mtime && a->ctime == b->ctime;
}

bool undo_is_alike(const struct undo_state *a, const struct undo_state *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case UNDO_NONE:
		return true;
	case UNDO_FILE:
		if (a->hash && b->hash)
			return a->size == b->size && a->mode == b->mode &&
			       undo_attributes_are_same(a, b) &&
			       memcmp(a->hash, b->hash, UNDO_HASH) == 0;
		return undo_is_untouched(a, b);
	case UNDO_LINK:
		return a->target && b->target && strcmp(a->target, b->target) == 0;
	case UNDO_FOLDER:
		return a->mode == b->mode;
	case UNDO_OTHER:
		return a->ino == b->ino && a->mode == b->mode;
	}
	return false;
}
