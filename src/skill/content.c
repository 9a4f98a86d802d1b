/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/content.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "skill/archive.h"

/* As many links as the kernel follows. */
enum { CONTENT_LINKS_MAX = 40 };

struct content_reading {
	struct skill_content *content;
	struct skill_archive_writer *copy;
};

static struct skill_stamp content_stamp(const struct stat *st)
{
	return (struct skill_stamp){ .dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mode = st->st_mode,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim };
}

/* Reads the file to its end, once for both: what is hashed is what is copied. */
static int content_read_file(const struct content_reading *r, const struct skill_entry *entry,
	struct skill_item *item, struct error *e)
{
	unsigned char chunk[65536];
	crypto_hash_sha256_state hash;
	ssize_t n;
	int err = 0;

	crypto_hash_sha256_init(&hash);
	do {
		n = read(entry->fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(e, -errno, NULL, "%s: %s", entry->path, strerror(errno));
		item->size += (uint64_t)n;
		crypto_hash_sha256_update(&hash, chunk, (size_t)n);
		if (r->copy && item->size <= entry->size)
			err = skill_archive_write(r->copy, chunk, (size_t)n, entry->path, e);
	} while (err == 0 && n != 0 && item->size <= entry->size);
	crypto_hash_sha256_final(&hash, item->hash);
	if (err < 0 || item->size == entry->size)
		return err;
	return error_set(
		e, -ESTALE, NULL, "%s: it changed while it was being read; try again", entry->path);
}

static int content_collect(void *data, const struct skill_entry *entry, struct error *e)
{
	const struct content_reading *reading = data;
	struct skill_content *c = reading->content;
	struct skill_item item = { .type = entry->type,
		.executable = entry->executable,
		.live = entry->live,
		.stamp = content_stamp(entry->st) };
	int r = reading->copy ? skill_archive_add(reading->copy, entry, e) : 0;

	item.path = arena_strdup(&c->arena, entry->path);
	if (entry->type == SKILL_LINK)
		item.target = arena_strdup(&c->arena, entry->target);
	if (r == 0 && entry->type == SKILL_FILE && !entry->live)
		r = content_read_file(reading, entry, &item, e);
	if (r < 0)
		return r;
	if (!item.path || (entry->type == SKILL_LINK && !item.target) ||
		ARENA_PUSH(&c->arena, c->items, c->n, c->cap, item) < 0)
		return error_no_memory(e);
	return 0;
}

static int content_by_path(const void *x, const void *y)
{
	const struct skill_item *a = x, *b = y;

	return strcmp(a->path, b->path);
}

int skill_content_read(struct skill_content *c, int dirfd, const struct skill_lives *lives,
	struct skill_archive_writer *copy, struct error *e)
{
	struct content_reading reading = { c, copy };
	struct stat st = { 0 };
	int r;

	/* Before the walk: what changes in between is found by a check. */
	(void)fstatat(dirfd, "", &st, AT_EMPTY_PATH);
	c->top = content_stamp(&st);
	r = skill_walk(dirfd, lives, content_collect, &reading, e);
	if (r < 0)
		return r;
	if (c->n)
		qsort(c->items, c->n, sizeof(c->items[0]), content_by_path);
	skill_digest(c, &c->digest);
	return 0;
}

void skill_content_deinit(struct skill_content *c)
{
	arena_deinit(&c->arena);
	*c = (struct skill_content){ 0 };
}

/* Of what is live only that it is the same file. */
static bool content_is_same(const struct skill_stamp *a, const struct skill_stamp *b, bool live)
{
	if (a->dev != b->dev || a->ino != b->ino || (a->mode & S_IFMT) != (b->mode & S_IFMT))
		return false;
	return live ||
	       (a->size == b->size && a->mode == b->mode && a->mtime.tv_sec == b->mtime.tv_sec &&
		       a->mtime.tv_nsec == b->mtime.tv_nsec && a->ctime.tv_sec == b->ctime.tv_sec &&
		       a->ctime.tv_nsec == b->ctime.tv_nsec);
}

static int content_check_one(int dirfd, const char *path, int flags,
	const struct skill_stamp *stamp, bool live, struct error *e)
{
	struct skill_stamp now;
	struct stat st;

	if (fstatat(dirfd, path, &st, flags) == 0) {
		now = content_stamp(&st);
		if (content_is_same(stamp, &now, live))
			return 0;
	}
	return error_set(e, -ESTALE, NULL, "%s: it changed after it was read; try again",
		path[0] ? path : ".");
}

/* A folder on the way that was replaced by a link is an item of its own, and is found. */
int skill_content_check(const struct skill_content *c, int dirfd, struct error *e)
{
	int r = content_check_one(dirfd, "", AT_EMPTY_PATH, &c->top, false, e);

	for (size_t i = 0; r == 0 && i < c->n; i++)
		r = content_check_one(dirfd, c->items[i].path, AT_SYMLINK_NOFOLLOW,
			&c->items[i].stamp, c->items[i].live, e);
	return r;
}

/* Finding */

static const struct skill_item *content_item(const struct skill_content *c, const char *path)
{
	const struct skill_item key = { .path = path };

	return c->n ? bsearch(&key, c->items, c->n, sizeof(key), content_by_path) : NULL;
}

/* A way that is being gone: `at` is where it has come to, free of links; `rest` is ahead. */
struct content_way {
	char at[PATH_BYTES];
	char rest[2 * PATH_BYTES];
	unsigned links;
};

static void content_go_up(struct content_way *w)
{
	char *slash = strrchr(w->at, '/');

	*(slash ? slash : w->at) = '\0';
}

/* One name further. 1: and there is the end of it, *ret. */
static int content_step(const struct skill_content *c, struct content_way *w, const char *name,
	size_t len, const struct skill_item **ret)
{
	size_t used = strlen(w->at), left = strlen(w->rest), target;

	if (used + len + 2 > sizeof(w->at))
		return -ENOENT;
	if (used > 0)
		w->at[used++] = '/';
	memcpy(w->at + used, name, len);
	w->at[used + len] = '\0';
	*ret = content_item(c, w->at);
	if (!*ret)
		return -ENOENT;
	if ((*ret)->live)
		return 1;
	if ((*ret)->type == SKILL_FILE)
		return w->rest[strspn(w->rest, "/")] ? -ENOENT : 1;
	if ((*ret)->type == SKILL_FOLDER)
		return 0;
	target = strlen((*ret)->target);
	if (++w->links > CONTENT_LINKS_MAX)
		return -ELOOP;
	if (target + left + 2 > sizeof(w->rest))
		return -ENOENT;
	content_go_up(w);
	memmove(w->rest + target + 1, w->rest, left + 1);
	memcpy(w->rest, (*ret)->target, target);
	w->rest[target] = '/';
	return 0;
}

int skill_content_find(
	const struct skill_content *c, const char *path, const struct skill_item **ret)
{
	struct content_way w = { .at = "" };
	const struct skill_item *item = NULL;
	int r = 0;

	if (strlen(path) >= PATH_BYTES)
		return -ENOENT;
	memcpy(w.rest, path, strlen(path) + 1);
	while (r == 0) {
		char name[PATH_BYTES];
		size_t start = strspn(w.rest, "/"), len = strcspn(w.rest + start, "/");

		if (len == 0 || len >= sizeof(name))
			break;
		memcpy(name, w.rest + start, len);
		name[len] = '\0';
		memmove(w.rest, w.rest + start + len, strlen(w.rest + start + len) + 1);
		if (strcmp(name, "..") == 0 && w.at[0] == '\0')
			r = -EXDEV;
		else if (strcmp(name, "..") == 0)
			content_go_up(&w);
		else if (strcmp(name, ".") != 0)
			r = content_step(c, &w, name, len, &item);
	}
	if (r == 0)
		item = content_item(c, w.at);
	if (r < 0 || !item)
		return r < 0 ? r : -EISDIR;
	*ret = item;
	return 0;
}
