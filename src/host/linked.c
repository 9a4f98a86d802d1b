/* SPDX-License-Identifier: Apache-2.0 */
#include "host/linked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/getdents.h"

struct linked_folder {
	const char *path; /* below the first; "" is that one */
	unsigned depth;
};

struct linked_walk {
	struct linked *bounds;
	struct arena arena;
	struct linked_folder *folders;
	size_t n, cap;
	unsigned depth;
	linked_found *found;
	void *data;
};

static unsigned linked_type(int fd, const struct getdents_entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type;
	return fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN : IFTODT(st.st_mode);
}

bool linked_is_skipped(const char *const *skipped, const char *path)
{
	size_t len = strlen(path);

	for (; *skipped; skipped++) {
		size_t n = strlen(*skipped);

		if (len >= n && strcmp(path + len - n, *skipped) == 0 &&
			(len == n || path[len - n - 1] == '/'))
			return true;
	}
	return false;
}

/* One name in the folder; the folder is a copy, since pushing moves them. */
static int linked_take(
	struct linked_walk *w, struct linked_folder in, int fd, const struct getdents_entry *e)
{
	struct linked_folder f = { .depth = in.depth + 1 };
	unsigned type = linked_type(fd, e);
	char path[PATH_BYTES];

	if ((type != DT_LNK && type != DT_DIR) || strcmp(e->name, ".") == 0 ||
		strcmp(e->name, "..") == 0 ||
		snprintf(path, sizeof(path), "%s%s%s", in.path, *in.path ? "/" : "", e->name) >=
			(int)sizeof(path))
		return 0;
	if (type == DT_LNK)
		return w->found(w->data, path);
	if (linked_is_skipped(w->bounds->skipped, path))
		return 0;
	w->bounds->is_deep = w->bounds->is_deep || in.depth == w->depth;
	w->bounds->is_cut = w->bounds->is_cut || w->n > LINKED_FOLDERS_MAX;
	if (in.depth == w->depth || w->n > LINKED_FOLDERS_MAX)
		return 0;
	f.path = arena_strdup(&w->arena, path);
	return f.path ? ARENA_PUSH(&w->arena, w->folders, w->n, w->cap, f) : -ENOMEM;
}

/* It is gone, or is no folder any more. */
static bool linked_is_none(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

static void linked_close(struct linked *l, const char *path)
{
	if (!l->is_closed)
		(void)snprintf(l->closed, sizeof(l->closed), "%s", path);
	l->is_closed = true;
}

static int linked_open(int at, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, at, path, &how, sizeof(how));

	/* A filter of system calls may be there already. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(at, path, (int)how.flags);
	return fd < 0 ? -errno : (int)fd;
}

static int linked_read(struct linked_walk *w, struct linked_folder in, int fd)
{
	char bytes[1 << 13] __attribute__((aligned(8)));
	int r = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes));

		if (n < 0 && errno != ENOENT)
			linked_close(w->bounds, in.path);
		if (n <= 0)
			return 0;
		for (long at = 0; r == 0 && at < n;) {
			const struct getdents_entry *e = (const void *)(bytes + at);

			if (w->bounds->names == 0) {
				w->bounds->is_cut = true;
				return 0;
			}
			w->bounds->names--;
			r = linked_take(w, in, fd, e);
			at += e->len;
		}
		if (r < 0)
			return r;
	}
}

int linked_each(
	struct linked *l, const char *folder, unsigned depth, linked_found *found, void *data)
{
	struct linked_walk w = { .bounds = l, .depth = depth, .found = found, .data = data };
	auto_fd top = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const struct linked_folder first = { "", 0 };
	int r = 0;

	if (top >= 0)
		r = ARENA_PUSH(&w.arena, w.folders, w.n, w.cap, first);
	else if (!linked_is_none(-errno))
		linked_close(l, "");

	for (size_t i = 0; r == 0 && i < w.n; i++) {
		const struct linked_folder in = w.folders[i];
		auto_fd fd = -1;

		if (l->folders == 0 || l->names == 0) {
			l->is_cut = true;
			break;
		}
		l->folders--;
		if (i > 0)
			fd = linked_open(top, in.path);
		if (i > 0 && fd < 0 && !linked_is_none(fd))
			linked_close(l, in.path);
		if (i == 0 || fd >= 0)
			r = linked_read(&w, in, i > 0 ? fd : top);
	}
	arena_deinit(&w.arena);
	return r;
}

int linked_each_known(linked_found *found, void *data)
{
	static const char names[][20] = { "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa",
		"id_ed25519_sk", "id_ecdsa_sk", "authorized_keys", "config", "config.json",
		"credentials", "credentials.json", "credentials.db", "access_tokens.db",
		"hosts.yml", "token" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(names); i++)
		r = found(data, names[i]);
	return r;
}
