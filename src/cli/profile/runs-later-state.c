/* SPDX-License-Identifier: Apache-2.0 */
/* How a path was found, and whether it is another one now. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "cli/profile/places.h"

/* Of folders that are compared as a whole. */
enum { DEPTH_MAX = 8 };

static struct timespec runs_later_later(struct timespec a, struct timespec b)
{
	return look_is_since(&a, &b) ? a : b;
}

static uint64_t runs_later_hash(const struct stat *st)
{
	uint64_t hash = hash_mix(HASH_START, (uint64_t)st->st_ino);

	hash = hash_mix(hash, (uint64_t)st->st_size);
	hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
	return hash_mix(hash, (uint64_t)st->st_ctim.tv_nsec);
}

/*
 * Adds up what is in a folder, by times, sizes and inodes; at most *names are looked at, which
 * counts them down. A folder that is kept read-only by a mount can still change under it: a file in
 * it may have a second name, a hard link, in a place that can be written, made in a session before
 * the folder was kept. A sum, since the order of names is nobody's promise.
 */
static void runs_later_add_up(
	int at, const char *path, struct runs_later_state *s, unsigned *names, unsigned depth)
{
	auto_fd fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	s->is_closed = s->is_closed || (!dir && errno != ENOENT && errno != ENOTDIR);
	if (!dir)
		return;
	(void)fd_take(&fd); /* it has an owner now */
	while (*names > 0 && (d = readdir(dir))) {
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		--*names;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		s->inside += runs_later_hash(&st);
		s->newest = runs_later_later(s->newest, st.st_ctim);
		s->is_twinned = s->is_twinned || (S_ISREG(st.st_mode) && st.st_nlink > 1);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			runs_later_add_up(dirfd(dir), d->d_name, s, names, depth + 1);
	}
	(void)closedir(dir);
}

unsigned runs_later_uses(enum runs_later_kind kind, unsigned uses)
{
	return kind == PLACE_REPOSITORY || kind == PLACE_HOP ? THREAT_LARGE
	       : kind == PLACE_PROGRAMS                      ? uses | THREAT_PROGRAMS
							     : uses;
}

struct runs_later_state runs_later_state(
	const struct runs_later *d, const char *path, unsigned uses)
{
	struct runs_later_state s = { 0 };
	struct stat st;

	if (fstatat(d->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		(S_ISDIR(st.st_mode) && uses & THREAT_FILE))
		return s;
	s = (struct runs_later_state){
		.exists = true,
		.is_folder = S_ISDIR(st.st_mode),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed = st.st_ctim,
		.newest = st.st_ctim,
		.is_twinned = S_ISREG(st.st_mode) && st.st_nlink > 1,
	};
	if (s.is_folder && !(uses & THREAT_LARGE))
		runs_later_add_up(
			d->fd, path, &s, &d->places->names, uses & THREAT_PROGRAMS ? DEPTH_MAX : 0);
	return s;
}

bool runs_later_is_same(const struct runs_later_place *p, const struct runs_later_state *now)
{
	const struct runs_later_state *a = &p->before;

	if (p->kind == PLACE_REPOSITORY)
		return a->is_folder == now->is_folder;
	return a->exists == now->exists && a->dev == now->dev && a->ino == now->ino &&
	       a->size == now->size && a->changed.tv_sec == now->changed.tv_sec &&
	       a->changed.tv_nsec == now->changed.tv_nsec && a->inside == now->inside;
}
