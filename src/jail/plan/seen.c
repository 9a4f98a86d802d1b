/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What planning has looked at. Rules, essentials and links lead through the same few folders, so
 * each name on a way is looked at once in a plan: what it is, and what it says if it is a link. The
 * next plan looks again. Where several names were missing in a folder, it is listed, and what the
 * listing does not have is not looked at (host/names.h).
 *
 * A path is free of links if each name on its way is a folder. One of these may be exchanged for a
 * link before the next name is looked at, as it may between planning and mounting. Then the device
 * and inode that were noted are those of another file, and the tree, which opens the path again and
 * follows no link, refuses it (tree_entry_bind()).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/links.h"
#include "jail/plan/internal.h"

/* Names past it are looked at each time: most are of long lists, and asked for once. */
enum { SEEN_MAX = 4096, SEEN_FIRST = 256 };

/* Where path[0..len) is in the table, or belongs. */
static struct plan_seen **plan_seen_probe(
	const struct planner *p, uint64_t hash, const char *path, size_t len)
{
	size_t i = hash & (p->cap_seen - 1);

	while (p->seen[i] && (p->seen[i]->hash != hash || p->seen[i]->len != len ||
				     memcmp(p->seen[i]->path, path, len) != 0))
		i = (i + 1) & (p->cap_seen - 1);
	return &p->seen[i];
}

static int plan_seen_grow(struct planner *p)
{
	const size_t n = p->cap_seen;
	struct plan_seen **old = p->seen;

	p->cap_seen = n ? n * 2 : SEEN_FIRST;
	p->seen = arena_calloc(&p->arena, p->cap_seen, sizeof(*p->seen));
	if (!p->seen)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (old[i])
			*plan_seen_probe(p, old[i]->hash, old[i]->path, old[i]->len) = old[i];
	}
	return 0;
}

/* is_last: only a folder that the way leads into is mounted by an automounter. */
static void plan_seen_look(struct plan_seen *s, const char *path, bool is_last)
{
	const int flags = AT_SYMLINK_NOFOLLOW | (is_last ? AT_NO_AUTOMOUNT : 0);
	struct statx x;

	s->code = statx(AT_FDCWD, path, flags, STATX_TYPE | STATX_INO | STATX_NLINK, &x) < 0
			  ? -errno
			  : 0;
	if (s->code < 0)
		return;
	s->mode = x.stx_mode;
	s->names = x.stx_nlink;
	s->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	s->ino = x.stx_ino;
}

/* A folder whose names are asked for. */
struct plan_seen_folder {
	struct names *inside;
	const char *path; /* NULL: it is not at hand */
};

/* The name path[0..len), in the folder; valid until the next look. NULL: no memory. */
static struct plan_seen *plan_seen_name(struct planner *p, struct plan_seen_folder folder,
	uint64_t hash, const char *path, size_t len, bool is_last)
{
	struct plan_seen **at, *known, *s = &p->last_seen;
	char text[PATH_BYTES];

	if (p->n_seen * 2 >= p->cap_seen && p->n_seen < SEEN_MAX && plan_seen_grow(p) < 0)
		return NULL;
	at = plan_seen_probe(p, hash, path, len);
	known = *at;
	if (known)
		return known;
	if (p->n_seen < SEEN_MAX) {
		s = arena_alloc(&p->arena, sizeof(*s));
		path = s ? arena_strndup(&p->arena, path, len) : NULL;
		if (!path)
			return NULL;
		p->n_seen++;
		*at = s;
	} else {
		memcpy(text, path, len);
		text[len] = '\0';
		path = text;
	}
	*s = (struct plan_seen){ .path = path, .len = len, .hash = hash, .inside = names_of(path) };
	plan_seen_look(s, path, is_last);
	return folder.path && s->code == -ENOENT &&
			       names_miss(folder.inside, &p->arena, AT_FDCWD, folder.path) < 0
		       ? NULL
		       : s;
}

int plan_seen_at(struct planner *p, const char *path, struct plan_place *ret)
{
	uint64_t hash = HASH_START;
	struct plan_seen_folder folder = { &p->root_names, "/" };
	struct plan_seen *s;
	size_t end = 1, start = 0;

	if (strlen(path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	for (;; start = end++) {
		while (path[end] && path[end] != '/')
			end++;
		hash = hash_bytes(hash, path + start, end - start);
		if (folder.path &&
			!names_may_have(folder.inside, path + start + 1, end - start - 1))
			return -ENOENT;
		s = plan_seen_name(p, folder, hash, path, end, !path[end]);
		if (!s)
			return -ENOMEM;
		if (s->code < 0)
			return s->code;
		if (S_ISLNK(s->mode))
			return -ELOOP;
		if (!path[end])
			break;
		if (!S_ISDIR(s->mode))
			return -ENOTDIR;
		/* One that found no room is overwritten by the next. */
		folder = s == &p->last_seen ? (struct plan_seen_folder){ NULL, NULL }
					    : (struct plan_seen_folder){ &s->inside, s->path };
	}
	ret->exists = true;
	ret->is_dir = S_ISDIR(s->mode);
	ret->is_socket = S_ISSOCK(s->mode);
	ret->names = ret->is_dir ? 1 : s->names;
	ret->dev = s->dev;
	ret->ino = s->ino;
	return 0;
}

/* A links_read. */
static int plan_seen_read_link(void *data, const char *path, bool is_last, char target[PATH_BYTES])
{
	struct planner *p = data;
	size_t len = strlen(path);
	uint64_t hash = hash_bytes(HASH_START, path, len);
	struct plan_seen *s = plan_seen_name(
		p, (struct plan_seen_folder){ NULL, NULL }, hash, path, len, is_last);
	ssize_t n;

	if (!s)
		return -ENOMEM;
	if (s->code < 0 || !S_ISLNK(s->mode))
		return 0;
	if (!s->target) {
		n = readlink(path, target, PATH_BYTES - 1);
		s->target = n > 0 ? arena_strndup(&p->arena, target, (size_t)n) : "";
		if (!s->target)
			return -ENOMEM;
	}
	n = (ssize_t)strlen(s->target);
	memcpy(target, s->target, (size_t)n + 1);
	return (int)n;
}

int plan_seen_walk(struct planner *p, const char *path, links_link *seen, char out[PATH_BYTES])
{
	return links_walk_by(path, plan_seen_read_link, seen, p, out);
}
