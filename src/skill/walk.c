/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder is read through descriptors only: each name is opened relative to its parent without
 * following links, so a path never is resolved twice. What an entry is, is looked at before it is
 * opened (opening a device may do something) and once more afterwards, on the descriptor.
 */
#include "skill/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"

struct skill_walk {
	const struct skill_lives *lives;
	skill_visit *visit;
	void *data;
	struct error *error;
	struct buffer path;
	unsigned depth; /* of the folder that is being read; 0 is the skill's own */
	unsigned entries;
	uint64_t bytes;
};

static void dir_closep(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}
#define auto_dir __attribute__((cleanup(dir_closep))) DIR

static int walk_folder(struct skill_walk *w, int own);

/* The error names the entry at hand. */
static int walk_refuse(struct skill_walk *w, int code, const char *what)
{
	const char *path = w->path.len ? buffer_text(&w->path) : ".";

	return error_set(w->error, code, NULL, "%s: %s", path, what);
}

/* Still what it was? */
static int recheck(struct skill_walk *w, int fd, const struct stat *before)
{
	struct stat now;

	if (fstat(fd, &now) < 0)
		return walk_refuse(w, -errno, strerror(errno));
	if (before->st_dev == now.st_dev && before->st_ino == now.st_ino &&
		before->st_mode == now.st_mode && before->st_size == now.st_size &&
		before->st_mtim.tv_sec == now.st_mtim.tv_sec &&
		before->st_mtim.tv_nsec == now.st_mtim.tv_nsec &&
		before->st_ctim.tv_sec == now.st_ctim.tv_sec &&
		before->st_ctim.tv_nsec == now.st_ctim.tv_nsec)
		return 0;
	return walk_refuse(w, -ESTALE, "it changed while it was being read; try again");
}

static int visit_file(struct skill_walk *w, int parent, const char *name, const struct stat *st)
{
	auto_fd fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const struct skill_entry entry = {
		.type = SKILL_FILE,
		.path = buffer_text(&w->path),
		.executable = st->st_mode & 0111,
		.fd = fd,
		.size = (uint64_t)st->st_size,
		.st = st,
	};
	int r;

	if (fd < 0)
		return walk_refuse(w, -errno, strerror(errno));
	/* The digest does not show them, and no skill needs them. */
	if (st->st_mode & (S_ISUID | S_ISGID))
		return walk_refuse(w, -EPERM,
			"a set-user-id or set-group-id program cannot be part of a skill");
	w->bytes += entry.size;
	if (w->bytes > SKILL_BYTES_MAX)
		return walk_refuse(w, -E2BIG, "the skill is larger than 1 GiB");
	r = recheck(w, fd, st);
	if (r == 0)
		r = w->visit(w->data, &entry, w->error);
	return r < 0 ? r : recheck(w, fd, st);
}

/*
 * Why a link may not point there, or NULL. Its own folder is real, so leading ".."s lead to real
 * folders; from there names lead down, if need be through links that were judged like this one. But
 * ".." behind a name would be taken from wherever that name leads.
 */
static const char *judge_target(const char *target, unsigned depth)
{
	unsigned up = 0;
	bool named = false;

	if (target[0] == '/')
		return "it is a symbolic link to an absolute path, which may be another file "
		       "elsewhere";
	while (*target) {
		const size_t n = strcspn(target, "/");

		if (n == 2 && target[0] == '.' && target[1] == '.') {
			if (named)
				return "it is a symbolic link with .. after a name";
			if (++up > depth)
				return "it is a symbolic link to a path outside of the skill's "
				       "folder";
		} else if (n > 1 || (n == 1 && target[0] != '.')) {
			named = true;
		}
		target += n + (target[n] == '/');
	}
	return NULL;
}

static int visit_link(struct skill_walk *w, int parent, const char *name, const struct stat *st)
{
	char target[PATH_BYTES];
	struct skill_entry entry = {
		.type = SKILL_LINK,
		.path = buffer_text(&w->path),
		.fd = -1,
		.target = target,
		.st = st,
	};
	const char *reason;
	ssize_t n = readlinkat(parent, name, target, sizeof(target) - 1);

	if (n < 0)
		return walk_refuse(w, -errno, strerror(errno));
	target[n] = '\0';
	reason = judge_target(target, w->depth);
	return reason ? walk_refuse(w, -EPERM, reason) : w->visit(w->data, &entry, w->error);
}

static int visit_folder(struct skill_walk *w, int parent, const char *name, const struct stat *st)
{
	const struct skill_entry entry = {
		.type = SKILL_FOLDER,
		.path = buffer_text(&w->path),
		.fd = -1,
		.st = st,
	};
	auto_fd fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return walk_refuse(w, -errno, strerror(errno));
	if (w->depth == SKILL_DEPTH_MAX)
		return walk_refuse(w, -E2BIG, "folders are nested deeper than 64 levels");
	r = recheck(w, fd, st);
	if (r == 0)
		r = w->visit(w->data, &entry, w->error);
	if (r < 0)
		return r;
	w->depth++;
	r = walk_folder(w, fd_take(&fd));
	w->depth--;
	return r;
}

static bool walk_is_live(const struct skill_walk *w, const struct stat *st)
{
	const char *path = buffer_text(&w->path);

	for (size_t i = 0; w->lives && i < w->lives->n; i++) {
		const struct skill_live *live = &w->lives->items[i];

		if (strcmp(live->path, path) == 0 &&
			(live->subtree ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode)))
			return true;
	}
	return false;
}

/* Whoever may write it must not write another file by it. */
static int visit_live(struct skill_walk *w, const struct stat *st)
{
	const struct skill_entry entry = {
		.type = S_ISDIR(st->st_mode) ? SKILL_FOLDER : SKILL_FILE,
		.path = buffer_text(&w->path),
		.fd = -1,
		.live = true,
		.st = st,
	};

	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return walk_refuse(
			w, -EPERM, "it is granted for writing and has more than one hard link");
	return w->visit(w->data, &entry, w->error);
}

static int visit_entry(struct skill_walk *w, int parent, const char *name)
{
	struct stat st;

	if (++w->entries > SKILL_ENTRIES_MAX)
		return walk_refuse(w, -E2BIG, "the skill has more than 20000 entries");
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return walk_refuse(w, -errno, strerror(errno));
	if (walk_is_live(w, &st))
		return visit_live(w, &st);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return visit_file(w, parent, name, &st);
	case S_IFDIR:
		return visit_folder(w, parent, name, &st);
	case S_IFLNK:
		return visit_link(w, parent, name, &st);
	case S_IFIFO:
		return walk_refuse(w, -EPERM, "a pipe cannot be part of a skill");
	case S_IFSOCK:
		return walk_refuse(w, -EPERM, "a socket cannot be part of a skill");
	default:
		return walk_refuse(w, -EPERM, "a device cannot be part of a skill");
	}
}

static int walk_names(struct skill_walk *w, DIR *d)
{
	const size_t mark = w->path.len;
	struct dirent *entry;
	int r = 0;

	while (r == 0 && (errno = 0, entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		buffer_printf(&w->path, "%s%s", mark ? "/" : "", entry->d_name);
		if (w->path.failed)
			return error_no_memory(w->error);
		r = visit_entry(w, dirfd(d), entry->d_name);
		if (r < 0)
			return r;
		w->path.len = mark;
		w->path.data[mark] = '\0';
	}
	return errno ? walk_refuse(w, -errno, strerror(errno)) : r;
}

/* Takes the descriptor. A folder that changes meanwhile has been read as it never was. */
static int walk_folder(struct skill_walk *w, int own)
{
	struct stat before;
	auto_fd fd = own;
	auto_dir *d = NULL;
	int r;

	if (fd < 0 || fstat(fd, &before) < 0)
		return walk_refuse(w, -errno, strerror(errno));
	d = fdopendir(fd);
	if (!d)
		return walk_refuse(w, -errno, strerror(errno));
	(void)fd_take(&fd);
	r = walk_names(w, d);
	return r < 0 ? r : recheck(w, dirfd(d), &before);
}

int skill_walk(
	int dirfd, const struct skill_lives *lives, skill_visit *visit, void *data, struct error *e)
{
	struct skill_walk w = { .lives = lives, .visit = visit, .data = data, .error = e };
	/* Not dirfd itself, which is the caller's and may be O_PATH. */
	int r = walk_folder(&w, openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	buffer_deinit(&w.path);
	return r;
}
