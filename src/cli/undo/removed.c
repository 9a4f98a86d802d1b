/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an undo takes out of the working folder goes to undo/N/removed in the record, under the same
 * path: a command may have moved something there from another folder, and this may be the last copy
 * of it (`mv` between two mounts copies, so that nothing tells such a file from one that the
 * command made). At most as many bytes as a run keeps, and as many names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/undo/internal.h"

enum { COPY = 1 << 16 };

/* Is there something to lose? */
static bool removed_counts(const struct undo_state *s)
{
	return s->kind == UNDO_LINK || (s->kind == UNDO_FILE && s->size > 0);
}

static bool removed_is_deep(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth >= UNDO_DEPTH_MAX;
}

static bool removed_fits(struct undo_removed *k, const struct undo_state *s, const char *path)
{
	const uint64_t size = s->kind == UNDO_FILE ? s->size : 0;

	if (k->names >= UNDO_NAMES_MAX || size > k->limit - k->bytes || removed_is_deep(path))
		return false;
	k->names++;
	k->bytes += size;
	return true;
}

void undo_judge_removed(const struct undo *u, struct undo_step *steps)
{
	struct undo_removed k = { .limit = u->limit };

	for (size_t i = 0; i < u->changes.n; i++) {
		const struct undo_change *c = &u->changes.items[i];
		const enum undo_what what = undo_what(c);
		struct undo_step *s = &steps[i];

		s->is_lossy = s->is == UNDO_TO_DO && removed_counts(&s->now) &&
			      !((what == UNDO_MODE || what == UNDO_TIME) &&
				      s->now.ino == c->before.ino) &&
			      !removed_fits(&k, &s->now, c->path);
	}
}

/* The folder `removed` of the record. */
static int removed_open(struct undo_removed *k, const struct undo *u)
{
	if (k->place.root >= 0)
		return 0;
	if (mkdirat(u->record, "removed", 0700) < 0 && errno != EEXIST)
		return -errno;
	k->place.root =
		openat(u->record, "removed", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return k->place.root < 0 ? -errno : 0;
}

/* The folder for a path there, made if it is missing; it stays the place's. */
static int removed_find(struct undo_removed *k, const char *path, const char **ret_name)
{
	char part[PATH_BYTES];
	int fd = undo_place_find(&k->place, path, ret_name);

	if (fd != -ENOENT)
		return fd;
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const size_t len = (size_t)(slash - path);

		if (len >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, len);
		part[len] = '\0';
		fd = undo_place_find(&k->place, part, ret_name);
		if (fd < 0)
			return fd;
		if (mkdirat(fd, *ret_name, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	return undo_place_find(&k->place, path, ret_name);
}

static int removed_copy_bytes(int from, int to, uint64_t size)
{
	char bytes[COPY];

	while (size > 0) {
		ssize_t n = read(from, bytes, size < COPY ? (size_t)size : COPY);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ESTALE;
		r = file_write_all(to, bytes, (size_t)n);
		if (r < 0)
			return r;
		size -= (uint64_t)n;
	}
	return 0;
}

static int removed_copy_file(int folder, const char *name, int to, const char *as)
{
	struct undo_state s, then;
	auto_fd from = undo_open_file(folder, name, &s), fd = -1;
	int r;

	if (from < 0)
		return from;
	fd = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = removed_copy_bytes(from, fd, s.size);
	if (r == 0 && (undo_look_fd(from, &then) < 0 || !undo_is_untouched(&s, &then)))
		r = -ESTALE;
	if (r == 0 && fchmod(fd, s.mode & 0777) < 0)
		r = -errno;
	return r;
}

static int removed_copy_link(int folder, const char *name, int to, const char *as)
{
	char target[PATH_BYTES];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to, as) < 0 ? -errno : 0;
}

/* Across file systems. */
static int removed_copy(enum undo_kind kind, int folder, const char *name, int to, const char *as)
{
	int r;

	/* Of an undo that was killed. */
	(void)unlinkat(to, as, 0);
	r = kind == UNDO_LINK ? removed_copy_link(folder, name, to, as)
			      : removed_copy_file(folder, name, to, as);
	if (r < 0) {
		(void)unlinkat(to, as, 0);
		return r;
	}
	return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

int undo_removed_take(struct undo_removed *k, const struct undo *u, int folder, const char *name,
	const char *path)
{
	struct undo_state s;
	const char *as;
	int r = undo_look_at(folder, name, NULL, &s), to;

	if (r < 0)
		return r;
	if (!removed_counts(&s))
		return unlinkat(folder, name, 0) < 0 ? -errno : 0;
	if (!removed_fits(k, &s, path))
		return -EFBIG;
	r = removed_open(k, u);
	to = r < 0 ? r : removed_find(k, path, &as);
	if (to < 0)
		return to;
	if (renameat(folder, name, to, as) == 0)
		return 0;
	return removed_copy(s.kind, folder, name, to, as);
}

void undo_removed_end(struct undo_removed *k)
{
	if (k->place.root >= 0)
		(void)syncfs(k->place.root);
	undo_place_close(&k->place);
	fd_close(&k->place.root);
}
