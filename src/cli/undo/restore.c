/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a run back. Each change is judged first: it is still as the run left it (to do), as it was
 * before (done: an undo was interrupted), or neither (it was changed since: it stays).
 *
 * Then, folders above before what is in them or the other way round, as each step wants it:
 *
 *     1. what the run created is removed, and what became another kind;
 *     2. folders are made again;
 *     3. files and links are made beside their place and put there by one rename;
 *     4. folders get their modes and times.
 *
 * No name is followed (state.c), and no file that exists is opened for writing: a hard link to a
 * file elsewhere is replaced, not written. What leaves a place is looked at before it is removed:
 * the names are exchanged (RENAME_EXCHANGE), or it is moved aside; if it is not what was judged, it
 * goes back. Killed at any point, every name is the old or the new one, and the same undo goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/undo/internal.h"

enum { COPY = 1 << 16, TEMPORARY = 64 };

static const char why_changed[] = "it was changed since the run";
static const char why_foreign[] = "it was moved here and is not kept: its content would be lost";
static const char why_not_empty[] = "it has files that are not the run's";
static const char why_damaged[] = "what was kept is damaged";

struct restore {
	struct undo *undo;
	struct undo_step *steps;
	struct undo_place place;
	struct undo_opened opened;
	struct undo_removed removed;
	bool may_lose;
};

/* Judging */

static int restore_judge(struct restore *r, size_t i)
{
	const struct undo_change *c = &r->undo->changes.items[i];
	struct undo_step *s = &r->steps[i];
	int err = undo_look(&r->place, &r->undo->arena, c->path, &s->now);

	if (err == -EACCES && undo_opened_above(&r->opened, r->undo, c->path) == 0)
		err = undo_look(&r->place, &r->undo->arena, c->path, &s->now);
	s->why = why_changed;
	if (err < 0) {
		s->why = arena_strdup(&r->undo->arena, strerror(-err));
		return s->why ? 0 : -ENOMEM;
	}
	if (s->now.kind == UNDO_FILE &&
		(s->now.size == c->after.size || s->now.size == c->before.size))
		err = undo_hash_path(&r->place, r->undo, c->path, &s->now);
	if (err == -ENOMEM)
		return err;
	if (undo_is_alike(&s->now, &c->before) &&
		(s->now.kind != UNDO_FILE || s->now.mtime == c->before.mtime))
		s->is = UNDO_DONE;
	else if (undo_is_alike(&s->now, &c->after))
		s->is = UNDO_TO_DO;
	/* An undo that was killed has made the folder again, and not given it its mode. */
	else if (c->before.kind == UNDO_FOLDER && s->now.kind == UNDO_FOLDER &&
		 c->after.kind != UNDO_FOLDER)
		s->is = UNDO_TO_DO;
	/* The time of a folder moves with what is in it. A mode that it got since stays; an undo
	 * that was killed may have opened it for its owner. */
	if (c->before.kind == UNDO_FOLDER && undo_what(c) == UNDO_TIME)
		s->is = s->now.kind == UNDO_FOLDER && (s->now.mode == c->after.mode ||
							      s->now.mode == (c->after.mode | 0700))
				? UNDO_TO_DO
				: UNDO_DONE;
	if (s->is == UNDO_TO_DO && c->is_foreign && s->now.nlink < 2) {
		s->is = UNDO_CHANGED_SINCE;
		s->why = why_foreign;
	}
	if (s->is != UNDO_CHANGED_SINCE)
		s->why = NULL;
	return 0;
}

int undo_judge(struct undo *u, struct undo_step *steps, struct error *e)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	struct restore r = { .undo = u, .steps = steps, .place = UNDO_PLACE(-1) };
	struct stat st;
	int err = 0;

	if (u->root < 0)
		u->root = (int)syscall(SYS_openat2, AT_FDCWD, u->folder, &how, sizeof(how));
	if (u->root < 0 || fstat(u->root, &st) < 0)
		return error_set(e, -errno, NULL, "cannot open %s: %s", u->folder, strerror(errno));
	/* Not its device: that has another number after a restart. */
	if (st.st_ino != u->root_ino) {
		(void)error_set(e, -ESTALE, NULL,
			"%s is not the folder in which run %u was: it was replaced since",
			u->folder, u->number);
		return -ESTALE;
	}
	r.place.root = u->root;
	for (size_t i = 0; err == 0 && i < u->changes.n; i++)
		err = restore_judge(&r, i);
	if (err == 0)
		undo_judge_repositories(&u->changes, steps);
	if (err == 0)
		undo_judge_removed(u, steps);
	undo_place_close(&r.place);
	undo_opened_end(&r.opened, u->root);
	return err < 0 ? error_no_memory(e) : 0;
}

/* The folder of a path, which can be written if it is ours. */
static int restore_find(struct restore *r, const char *path, const char **ret_name)
{
	int fd = undo_place_find(&r->place, path, ret_name), err;

	if (fd == -EACCES) {
		err = undo_opened_above(&r->opened, r->undo, path);
		fd = err < 0 ? err : undo_place_find(&r->place, path, ret_name);
	}
	if (fd < 0)
		return fd;
	err = undo_opened_add(&r->opened, r->undo, r->place.path, fd);
	return err < 0 ? err : fd;
}

/* Removing */

static void restore_temporary(const struct restore *r, size_t i, char out[TEMPORARY])
{
	(void)snprintf(out, TEMPORARY, ".corral-undo-%u-%zu", r->undo->number, i);
}

/* Is it what was judged? Not by its ctime, which a rename changes. */
static bool restore_is_judged(const struct restore *r, size_t i, int folder, const char *name)
{
	const struct undo_state *now = &r->steps[i].now;
	struct undo_state s;

	return undo_look_at(folder, name, NULL, &s) == 0 && s.kind == now->kind &&
	       s.ino == now->ino && s.size == now->size && s.mtime == now->mtime &&
	       (!r->undo->changes.items[i].is_foreign || s.nlink > 1);
}

/* Takes it out of the folder. -ECANCELED with a reason: it cannot be kept, and is still there. */
static int restore_discard(struct restore *r, size_t i, int folder, const char *name)
{
	struct undo_step *s = &r->steps[i];
	int err = s->is_lossy ? -EFBIG
			      : undo_removed_take(&r->removed, r->undo, folder, name,
					r->undo->changes.items[i].path);

	if (err == 0)
		return 0;
	if (s->is_lossy || r->may_lose)
		return unlinkat(folder, name, 0) < 0 ? -errno : 0;
	s->why = arena_printf(&r->undo->arena,
		"what would be removed cannot be kept (%s); --yes --rest removes it all the same",
		strerror(-err));
	return s->why ? -ECANCELED : -ENOMEM;
}

/* -ESTALE: it is another by now, and stays. */
static int restore_unlink(struct restore *r, size_t i, int folder, const char *name)
{
	char aside[TEMPORARY];
	int err;

	restore_temporary(r, i, aside);
	if (renameat2(folder, name, folder, aside, RENAME_NOREPLACE) < 0)
		return -errno;
	if (!restore_is_judged(r, i, folder, aside)) {
		(void)renameat2(folder, aside, folder, name, RENAME_NOREPLACE);
		return -ESTALE;
	}
	err = restore_discard(r, i, folder, aside);
	if (err < 0)
		(void)renameat2(folder, aside, folder, name, RENAME_NOREPLACE);
	return err;
}

static int restore_remove(struct restore *r, size_t i)
{
	const struct undo_change *c = &r->undo->changes.items[i];
	const char *name;
	int folder = restore_find(r, c->path, &name);

	if (folder < 0)
		return folder;
	if (r->steps[i].now.kind != UNDO_FOLDER)
		return restore_unlink(r, i, folder, name);
	/* Of what is in it, all that is the run's is gone. */
	undo_place_close(&r->place);
	folder = undo_place_find(&r->place, c->path, &name);
	if (folder < 0)
		return folder;
	return unlinkat(folder, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Making */

static struct timespec restore_time(int64_t ns)
{
	const int64_t second = 1000000000, rest = ns % second;

	return (struct timespec){ ns / second - (rest < 0), rest < 0 ? rest + second : rest };
}

static int restore_copy(const struct undo *u, const struct undo_state *s, int to)
{
	loff_t from = (loff_t)s->offset;
	uint64_t left = s->size;
	char bytes[COPY];

	while (left > 0) {
		size_t part = left < COPY ? (size_t)left : COPY;
		ssize_t n = copy_file_range(u->data, &from, to, NULL, left, 0);

		if (n <= 0) {
			n = pread(u->data, bytes, part, from);
			if (n <= 0)
				return n < 0 ? -errno : -ENODATA;
			if (file_write_all(to, bytes, (size_t)n) < 0)
				return -EIO;
			from += n;
		}
		left -= (uint64_t)n;
	}
	return 0;
}

/* A new file, complete but for its name. */
static int restore_make_file(
	struct restore *r, const struct undo_state *s, int folder, const char *name)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, restore_time(s->mtime) };
	auto_fd fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const unsigned char *hash = NULL;
	uint32_t mode = s->mode;
	int err;

	if (fd < 0)
		return -errno;
	err = restore_copy(r->undo, s, fd);
	if (err == 0)
		err = undo_hash_file(fd, 0, s->size, &r->undo->arena, &hash);
	if (err == 0 && s->hash && memcmp(hash, s->hash, UNDO_HASH) != 0)
		err = -EBADMSG;
	if (err == 0 && s->attributes && *s->attributes)
		err = undo_attributes_put(fd, s->attributes);
	if (err < 0)
		return err;
	if ((s->uid != geteuid() || s->gid != getegid()) && fchown(fd, s->uid, s->gid) < 0)
		mode &= 0777;
	return fchmod(fd, mode) < 0 || futimens(fd, times) < 0 ? -errno : 0;
}

static int restore_make(
	struct restore *r, const struct undo_change *c, int folder, const char *name)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		restore_time(c->before.mtime) };

	/* Of an undo that was killed. */
	(void)unlinkat(folder, name, 0);
	if (c->before.kind == UNDO_FILE)
		return restore_make_file(r, &c->before, folder, name);
	if (symlinkat(c->before.target, folder, name) < 0)
		return -errno;
	(void)utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Puts it in its place. */
static int restore_place(
	struct restore *r, size_t i, int folder, const char *name, const char *made)
{
	const bool is_there = r->steps[i].now.kind != UNDO_NONE;
	int err = -ESTALE;

	if (renameat2(folder, made, folder, name, is_there ? RENAME_EXCHANGE : RENAME_NOREPLACE) <
		0)
		return -errno;
	if (!is_there)
		return 0;
	if (restore_is_judged(r, i, folder, made))
		err = restore_discard(r, i, folder, made);
	if (err == 0)
		return 0;
	/* It was changed meanwhile, or cannot be kept: it stays. */
	if (renameat2(folder, made, folder, name, RENAME_EXCHANGE) == 0)
		(void)unlinkat(folder, made, 0);
	return err == -ECANCELED ? err : -ESTALE;
}

/* Only who may write a file sets them. */
static int restore_attributes(const struct undo_state *now, const struct undo_state *before, int fd)
{
	int err;

	if (undo_attributes_are_same(now, before))
		return 0;
	err = undo_chmod(fd, before->mode | S_IWUSR);
	return err < 0 ? err : undo_attributes_put(fd, before->attributes);
}

/* Only mode, attributes or time are others: the file itself stays. */
static int restore_touch(struct restore *r, size_t i, int folder, const char *name)
{
	const struct undo_change *c = &r->undo->changes.items[i];
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		restore_time(c->before.mtime) };
	auto_fd fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[64];
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != r->steps[i].now.ino || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return -ESTALE;
	err = restore_attributes(&r->steps[i].now, &c->before, fd);
	if (err == 0)
		err = undo_chmod(fd, c->before.mode);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (err == 0 && utimensat(AT_FDCWD, path, times, 0) < 0)
		err = -errno;
	return err;
}

static int restore_put(struct restore *r, size_t i)
{
	const struct undo_change *c = &r->undo->changes.items[i];
	const enum undo_what what = undo_what(c);
	char made[TEMPORARY];
	const char *name;
	int folder = restore_find(r, c->path, &name), err;

	if (folder < 0)
		return folder;
	if ((what == UNDO_MODE || what == UNDO_TIME) && r->steps[i].now.ino == c->before.ino)
		return restore_touch(r, i, folder, name);
	restore_temporary(r, i, made);
	err = restore_make(r, c, folder, made);
	if (err == 0)
		err = restore_place(r, i, folder, name, made);
	if (err < 0 && err != -ESTALE && err != -ECANCELED)
		(void)unlinkat(folder, made, 0);
	return err;
}

static int restore_mkdir(struct restore *r, size_t i)
{
	const char *name;
	int folder = restore_find(r, r->undo->changes.items[i].path, &name);

	if (folder < 0)
		return folder;
	if (mkdirat(folder, name, 0700) < 0)
		return -errno;
	return undo_look_at(folder, name, NULL, &r->steps[i].now);
}

/* The steps */

static bool restore_is_removed(const struct undo_change *c, const struct undo_step *s)
{
	return s->now.kind != UNDO_NONE &&
	       (c->before.kind == UNDO_NONE ||
		       (c->before.kind != s->now.kind &&
			       (c->before.kind == UNDO_FOLDER || s->now.kind == UNDO_FOLDER)));
}

static void restore_note(struct restore *r, size_t i, int err)
{
	struct undo_step *s = &r->steps[i];

	if (err == 0)
		return;
	s->is = UNDO_FAILED;
	if (err == -ECANCELED)
		return;
	s->why = err == -ESTALE                        ? why_changed
		 : err == -ENOTEMPTY || err == -EEXIST ? why_not_empty
		 : err == -EBADMSG || err == -ENODATA  ? why_damaged
		 : err == -ELOOP || err == -ENOTDIR    ? "a folder on the way was replaced"
						       : NULL;
	if (!s->why)
		s->why = arena_strdup(&r->undo->arena, strerror(-err));
	if (!s->why)
		s->why = "out of memory";
}

/* What an undo that was killed left beside a place: the object that left it, or half a new one. */
static void restore_clean(struct restore *r)
{
	for (size_t i = 0; i < r->undo->changes.n; i++) {
		const struct undo_change *c = &r->undo->changes.items[i];
		char name[TEMPORARY];
		const char *last;
		struct undo_state s;
		int folder = undo_place_find(&r->place, c->path, &last);

		restore_temporary(r, i, name);
		if (folder < 0 || undo_look_at(folder, name, NULL, &s) < 0 || s.kind == UNDO_NONE ||
			s.kind == UNDO_FOLDER)
			continue;
		/* Without it, the step would remove what has its temporary name. */
		if (s.ino == c->after.ino)
			restore_note(r, i, restore_discard(r, i, folder, name));
		else if (r->steps[i].is == UNDO_TO_DO && s.kind == c->before.kind)
			(void)unlinkat(folder, name, 0);
	}
	undo_place_close(&r->place);
}

static void restore_remove_all(struct restore *r)
{
	for (size_t i = r->undo->changes.n; i-- > 0;) {
		const struct undo_change *c = &r->undo->changes.items[i];
		struct undo_step *s = &r->steps[i];
		int err;

		if (s->is != UNDO_TO_DO || !restore_is_removed(c, s))
			continue;
		err = restore_remove(r, i);
		restore_note(r, i, err);
		if (err < 0)
			continue;
		s->now = (struct undo_state){ 0 };
		if (c->before.kind == UNDO_NONE)
			s->is = UNDO_DONE;
	}
	undo_place_close(&r->place);
}

static void restore_make_all(struct restore *r)
{
	for (size_t i = 0; i < r->undo->changes.n; i++) {
		const struct undo_change *c = &r->undo->changes.items[i];
		struct undo_step *s = &r->steps[i];

		if (s->is != UNDO_TO_DO || c->before.kind == UNDO_NONE)
			continue;
		if (c->before.kind == UNDO_FOLDER) {
			if (s->now.kind == UNDO_NONE)
				restore_note(r, i, restore_mkdir(r, i));
			continue;
		}
		restore_note(r, i, restore_put(r, i));
		if (s->is == UNDO_TO_DO)
			s->is = UNDO_DONE;
	}
	undo_place_close(&r->place);
}

static void restore_end_folders(struct restore *r)
{
	for (size_t i = r->undo->changes.n; i-- > 0;) {
		const struct undo_change *c = &r->undo->changes.items[i];
		const char *name;
		int folder;

		if (r->steps[i].is != UNDO_TO_DO || c->before.kind != UNDO_FOLDER)
			continue;
		folder = undo_place_find(&r->place, c->path, &name);
		restore_note(r, i, folder < 0 ? folder : restore_touch(r, i, folder, name));
		if (r->steps[i].is == UNDO_TO_DO)
			r->steps[i].is = UNDO_DONE;
	}
}

void undo_restore(struct undo *u, struct undo_step *steps, bool may_lose)
{
	struct restore r = { .undo = u,
		.steps = steps,
		.place = UNDO_PLACE(u->root),
		.opened = { .steps = steps },
		.removed = { .place = UNDO_PLACE(-1), .limit = u->limit },
		.may_lose = may_lose };

	restore_clean(&r);
	restore_remove_all(&r);
	restore_make_all(&r);
	restore_end_folders(&r);
	undo_opened_end(&r.opened, u->root);
	undo_place_close(&r.place);
	/* On disk, before the record goes. */
	(void)syncfs(u->root);
	undo_removed_end(&r.removed);
	undo_store_add_removed(u, r.removed.bytes);
}
