/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/getdents.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/words.h"

/*
 * What git wants to find in a folder to take it for a repository; without .git it is a bare one.
 * Where there is a commondir, the objects and the refs are those of the folder that it names.
 */
enum { LOOK_BARE_HEAD = 1, LOOK_BARE_OBJECTS = 2, LOOK_BARE_REFS = 4, LOOK_BARE_COMMON = 8 };
static const char *const look_bare_names[] = { "HEAD", "objects", "refs", "commondir" };
/* Folders in a repository that are git's own, and have rows as far as they matter. */
static const char *const look_bare_folders[] = { "objects", "refs", "hooks", "info", "logs", "lfs",
	"branches", "remotes", "sequencer", "modules", "worktrees", "rebase-merge", "rebase-apply",
	NULL };

bool look_has(const struct look_folder *f, size_t head)
{
	return f->heads[head / 64] >> head % 64 & 1;
}

static void look_set(struct look_folder *f, size_t head)
{
	f->heads[head / 64] |= UINT64_C(1) << head % 64;
}

/* Paths */

/* The slot of a path; items begin with it. */
static size_t look_index_slot(
	const struct look_index *x, const void *items, size_t size, const char *path)
{
	size_t slot = hash_bytes(HASH_START, path, strlen(path)) % x->n_slots;

	while (x->slots[slot]) {
		const char *const *other =
			(const void *)((const char *)items + (x->slots[slot] - 1) * size);

		if (strcmp(*other, path) == 0)
			break;
		slot = (slot + 1) % x->n_slots;
	}
	return slot;
}

int look_index_add(struct look_index *x, struct arena *a, const void *items, size_t size, size_t n)
{
	const char *const *added = (const void *)((const char *)items + n * size);

	if (2 * (n + 1) > x->n_slots) {
		x->n_slots = x->n_slots ? 2 * x->n_slots : 128;
		x->slots = arena_calloc(a, x->n_slots, sizeof(*x->slots));
		if (!x->slots)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++) {
			const char *const *item = (const void *)((const char *)items + i * size);

			x->slots[look_index_slot(x, items, size, *item)] = (uint32_t)i + 1;
		}
	}
	x->slots[look_index_slot(x, items, size, *added)] = (uint32_t)n + 1;
	return 0;
}

ssize_t look_index_find(
	const struct look_index *x, const void *items, size_t size, const char *path)
{
	return x->n_slots ? (ssize_t)x->slots[look_index_slot(x, items, size, path)] - 1 : -1;
}

/* Folders */

int look_push(struct look *l, const char *folder, const char *name, bool is_new)
{
	size_t len = strlen(folder), name_len = strlen(name), slash = len > 0;
	struct look_folder f = { .is_new = is_new };
	char *path;
	int r;

	if (len + name_len >= PATH_BYTES / 2)
		return 0;
	path = arena_alloc(&l->arena, len + slash + name_len + 1);
	if (!path)
		return -ENOMEM;
	memcpy(path, folder, len);
	path[len] = '/';
	memcpy(path + len + slash, name, name_len + 1);
	if (look_index_find(&l->index, l->folders, sizeof(f), path) >= 0)
		return 0;
	f.path = path;
	r = ARENA_PUSH(&l->arena, l->folders, l->n, l->cap, f);
	return r < 0 ? r : look_index_add(&l->index, &l->arena, l->folders, sizeof(f), l->n - 1);
}

static bool look_is_folder(int fd, const struct getdents_entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type == DT_DIR;
	return fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Counting */

static uint64_t look_name_hash(size_t folder, const char *name, size_t len)
{
	const uint64_t h = hash_bytes(hash_bytes(HASH_START, &folder, sizeof(folder)), name, len);

	return h ? h : 1;
}

static size_t look_name_slot(const struct look_names *n, uint64_t hash)
{
	size_t slot = hash & (n->n_slots - 1);

	while (n->slots[slot] && n->slots[slot] != hash)
		slot = (slot + 1) & (n->n_slots - 1);
	return slot;
}

/* Without memory, what was there is taken by its times. */
static void look_name_add(struct look *l, uint64_t hash)
{
	struct look_names *n = &l->count.names;
	struct look_names more = { .n = n->n, .n_slots = n->n_slots ? 2 * n->n_slots : 256 };

	if (2 * (n->n + 1) > n->n_slots) {
		more.slots = arena_calloc(&l->arena, more.n_slots, sizeof(*more.slots));
		n->is_full = n->is_full || !more.slots;
		if (n->is_full)
			return;
		for (size_t i = 0; i < n->n_slots; i++)
			if (n->slots[i])
				more.slots[look_name_slot(&more, n->slots[i])] = n->slots[i];
		*n = more;
	}
	n->slots[look_name_slot(n, hash)] = hash;
	n->n++;
}

static bool look_is_gits(const char *path)
{
	const char *git = strstr(path, ".git");

	return git && (git == path || git[-1] == '/') && (git[4] == '\0' || git[4] == '/');
}

/* One that is no folder. */
static void look_count_file(struct look *l, size_t i, int fd, const char *name, size_t len)
{
	const struct look_folder *f = &l->folders[i];
	struct look_count *c = &l->count;
	const struct look_names *known = &c->names;
	const uint64_t hash = look_name_hash(i, name, len);
	bool was_there;
	struct stat st;

	if (!c->is_second) {
		look_name_add(l, hash);
		return;
	}
	if (look_is_gits(f->path))
		return;
	if (f->is_new) {
		c->created++;
		return;
	}
	was_there = known->n_slots && known->slots[look_name_slot(known, hash)] == hash;
	if (f->is_known && !was_there && !known->is_full) {
		c->created++;
		return;
	}
	if (c->files == 0) {
		c->is_cut = true;
		return;
	}
	c->files--;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		look_is_since(&st.st_ctim, c->since))
		c->changed++;
}

/* One name of the folder i, which look_push() may move. */
static int look_take(
	struct look *l, size_t i, int fd, const struct getdents_entry *e, unsigned *bare)
{
	size_t len = strlen(e->name);
	int head = threat_head_find(e->name, len);

	if (e->name[0] == '.' && (len == 1 || (len == 2 && e->name[1] == '.')))
		return 0;
	for (unsigned b = 0; b < ROWS(look_bare_names); b++) {
		if (e->name[0] == look_bare_names[b][0])
			*bare |= (unsigned)(strcmp(e->name, look_bare_names[b]) == 0) << b;
	}
	if (head >= 0)
		look_set(&l->folders[i], (size_t)head);
	if (head >= 0 && threat_heads[head].is_skipped)
		return 0;
	if (!look_is_folder(fd, e)) {
		look_count_file(l, i, fd, e->name, len);
		return 0;
	}
	return look_push(l, l->folders[i].path, e->name, l->folders[i].is_new);
}

/* Its names are not all read: those of the table are asked for by themselves. */
static void look_ask(struct look *l, size_t i, int fd, unsigned *bare)
{
	struct stat st;

	for (size_t head = 0; head < threat_heads_n; head++) {
		char name[NAME_MAX + 1];

		(void)snprintf(name, sizeof(name), "%.*s", (int)threat_heads[head].len,
			threat_texts + threat_heads[head].name);
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			look_set(&l->folders[i], head);
	}
	/* HEAD may be a link that leads nowhere yet. */
	for (unsigned b = 0; b < ROWS(look_bare_names); b++)
		*bare |= (unsigned)(fstatat(fd, look_bare_names[b], &st, AT_SYMLINK_NOFOLLOW) == 0)
			 << b;
}

/* It has more names than are read. */
static void look_cut(struct look *l, size_t i, int fd, unsigned *bare)
{
	l->is_cut = true;
	l->folders[i].is_cut = true;
	look_ask(l, i, fd, bare);
}

/*
 * It cannot be listed, but what is in it may still be run by name. That of another user, which
 * cannot be searched either, is of no use to a command.
 */
static void look_closed(struct look *l, size_t i, unsigned *bare)
{
	const char *path = l->folders[i].path;
	auto_fd fd =
		openat(l->fd, *path ? path : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool can_search;

	/* In the top, which is open already, "." may be closed as well. */
	if (fstat(fd < 0 && !*path ? l->fd : fd, &st) < 0)
		return;
	l->folders[i].changed = st.st_ctim;
	can_search = fd >= 0 && fstatat(fd, ".", &(struct stat){ 0 }, 0) == 0;
	l->folders[i].is_closed = can_search || st.st_uid == geteuid();
	if (can_search && l->names_left >= threat_heads_n) {
		l->names_left -= (unsigned)threat_heads_n;
		look_ask(l, i, fd, bare);
	} else if (can_search) {
		l->is_cut = true;
	}
}

static bool look_is_bare(unsigned names)
{
	const unsigned own = LOOK_BARE_OBJECTS | LOOK_BARE_REFS;

	return names & LOOK_BARE_HEAD && (names & LOOK_BARE_COMMON || (names & own) == own);
}

static int look_read_names(struct look *l, size_t i, int fd, unsigned *bare)
{
	char bytes[1 << 14] __attribute__((aligned(8)));
	int r = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes));

		if (n <= 0)
			return n < 0 && errno != ENOENT ? -errno : 0;
		for (long at = 0; r == 0 && at < n;) {
			const struct getdents_entry *e = (const void *)(bytes + at);

			if (l->names_left == 0) {
				look_cut(l, i, fd, bare);
				return 0;
			}
			l->names_left--;
			r = look_take(l, i, fd, e, bare);
			at += e->len;
		}
		if (r < 0)
			return r;
	}
}

/* Reads the folder i. -ENOMEM; one that is gone is empty. */
static int look_read(struct look *l, size_t i)
{
	const char *path = l->folders[i].path;
	auto_fd fd = openat(l->fd, *path ? path : ".",
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	size_t n = l->n;
	unsigned bare = 0;
	struct stat st;
	int r = 0;

	l->folders[i].was_read = true;
	l->folders[i].is_closed = false;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	memset(l->folders[i].heads, 0, sizeof(l->folders[i].heads));
	if (fd >= 0 && fstat(fd, &st) == 0) {
		l->folders[i].changed = st.st_ctim;
		r = look_read_names(l, i, fd, &bare);
	}
	if (fd < 0 || (r < 0 && r != -ENOMEM))
		look_closed(l, i, &bare);
	l->folders[i].is_bare = look_is_bare(bare);
	for (size_t k = n; l->folders[i].is_bare && k < l->n; k++) {
		const char *slash = strrchr(l->folders[k].path, '/');

		l->folders[k].is_skipped =
			words_has(look_bare_folders, slash ? slash + 1 : l->folders[k].path);
	}
	return r == -ENOMEM ? r : 0;
}

static int look_read_all(struct look *l, size_t from, unsigned *left, look_visit *visit, void *data)
{
	int r = 0;

	for (size_t i = from; r == 0 && i < l->n; i++) {
		if (l->folders[i].was_read || l->folders[i].is_skipped)
			continue;
		if (*left == 0 || l->names_left == 0) {
			l->is_cut = true;
			l->next = i;
			return 0;
		}
		--*left;
		r = look_read(l, i);
		if (r == 0)
			r = visit(data, &l->folders[i]);
	}
	l->next = l->n;
	return r;
}

/* What was read from there on, was read before the command. */
static void look_know(struct look *l, size_t from)
{
	for (size_t i = from; i < l->n; i++)
		l->folders[i].is_known =
			l->folders[i].was_read && !l->folders[i].is_cut && !l->folders[i].is_closed;
}

int look_first(struct look *l, look_visit *visit, void *data)
{
	unsigned left = LOOK_FOLDERS_MAX;
	int r = look_push(l, "", "", false);

	l->names_left = LOOK_NAMES_MAX;
	if (r == 0)
		r = look_read_all(l, 0, &left, visit, data);
	look_know(l, 0);
	l->idle_left = LOOK_IDLE_MAX;
	return r;
}

int look_idle(struct look *l, look_visit *visit, void *data)
{
	unsigned few = LOOK_FEW < l->idle_left ? LOOK_FEW : l->idle_left;
	size_t from = l->next;
	int r;

	if (!l->is_cut || l->names_left == 0 || few == 0)
		return 0;
	l->idle_left -= few;
	l->is_cut = false;
	r = look_read_all(l, from, &few, visit, data);
	look_know(l, from);
	return r < 0 ? r : l->is_cut;
}

/* No name of it changed, but files in it may have: as far as the command's time allows. */
static int look_count_again(struct look *l, size_t i)
{
	char bytes[1 << 14] __attribute__((aligned(8)));
	struct look_count *c = &l->count;
	const unsigned files = c->files;
	auto_fd fd = -1;
	long n = 0;

	if (!c->is_long || look_is_gits(l->folders[i].path))
		return 0;
	c->is_cut = c->is_cut || c->earned == 0;
	if (c->earned > 0)
		fd = openat(l->fd, *l->folders[i].path ? l->folders[i].path : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	c->files = c->earned;
	while (fd >= 0 && c->files > 0 &&
		(n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0)
		for (long at = 0; at < n;) {
			const struct getdents_entry *e = (const void *)(bytes + at);

			if (!look_is_folder(fd, e))
				look_count_file(l, i, fd, e->name, strlen(e->name));
			at += e->len;
		}
	c->earned = c->files;
	c->files = files;
	return 0;
}

/* One that was read before. What was made in it is new. */
static int look_read_again(struct look *l, size_t i, const struct timespec *since)
{
	struct look_folder *f = &l->folders[i];
	size_t n = l->n;
	struct stat st;
	bool is_known = f->is_known;
	int r;

	if (fstatat(l->fd, f->path, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ||
		!S_ISDIR(st.st_mode)) {
		memset(f->heads, 0, sizeof(f->heads));
		f->is_bare = f->is_closed = false;
		return 0;
	}
	if (st.st_ctim.tv_sec == f->changed.tv_sec && st.st_ctim.tv_nsec == f->changed.tv_nsec &&
		!look_is_since(&st.st_ctim, since))
		return look_count_again(l, i);
	if (l->names_left == 0) {
		l->is_cut = true;
		return 0;
	}
	r = look_read(l, i);
	for (size_t k = n; is_known && k < l->n; k++)
		l->folders[k].is_new = true;
	return r;
}

int look_second(
	struct look *l, const struct timespec *since, unsigned more, look_visit *visit, void *data)
{
	size_t n = l->n;
	unsigned fresh = LOOK_NEW_MAX;
	int r = 0;

	l->count.earned = more / LOOK_FOLDERS_PER_MS * LOOK_FILES_PER_MS;
	l->count.is_long = l->count.earned > 0;
	if (more < LOOK_REST && n - l->next <= LOOK_REST)
		more = LOOK_REST;
	l->was_cut = l->is_cut;
	l->is_cut = false;
	l->names_left = LOOK_NAMES_MAX * 16;
	l->count.is_second = true;
	l->count.created = l->count.changed = 0;
	l->count.since = since;
	l->count.files = LOOK_FILES_MAX;
	l->count.is_cut = false;
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!l->folders[i].was_read)
			continue;
		r = look_read_again(l, i, since);
		if (r == 0)
			r = visit(data, &l->folders[i]);
	}
	/* First those that are new. */
	if (r == 0)
		r = look_read_all(l, n, &fresh, visit, data);
	return r < 0 || !l->was_cut ? r : look_read_all(l, 0, &more, visit, data);
}

bool look_is_since(const struct timespec *t, const struct timespec *since)
{
	return t->tv_sec != since->tv_sec ? t->tv_sec > since->tv_sec
					  : t->tv_nsec >= since->tv_nsec;
}
