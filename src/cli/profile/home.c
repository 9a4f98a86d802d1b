/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dotfiles: what links from the user's home lead to in a working folder. `~/.codex/config.toml` and
 * `~/.config/Code/User/tasks.json` are read by agents and editors outside of the sandbox, and are
 * often links into a repository, in which a command may work. (~/.bashrc and what else the baseline
 * knows is protected by the plan itself, jail/plan/linked.c.)
 *
 * Each row of the tables is looked up in the home, and links at it and in it are followed, within
 * bounds of its own: agents and editors fill their folders, and people link what is near the top.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"
#include "host/names.h"

/* Folders that are read for links, of a row, and of one that is large. */
enum { HOME_FOLDERS = 64, HOME_FOLDERS_LARGE = 4 };

/* What agents and editors fill with their own records. */
static const char *const home_skipped[] = { ".git", "node_modules", "sessions", "archived_sessions",
	"history", "History", "logs", "log", "cache", "Cache", "tmp", "projects",
	"workspaceStorage", "globalStorage", "extensions", NULL };

/* A folder or file at the top of the home, which rows name. */
struct home_first {
	const char *name; /* in the row that named it first, of len bytes */
	size_t len;
	struct names inside; /* what is not in it */
};

struct home {
	const struct profile_above *x;
	const char *path;
	struct arena arena;
	struct names names;        /* what is not in the home */
	struct home_first *firsts; /* that are there */
	size_t n, cap;
};

/* 1: it is there, 0 or -ENOMEM. names: of the folder that it is in. */
static int home_has(struct home *h, struct names *names, const char *path, const char *folder)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return 1;
	return names_miss(names, &h->arena, AT_FDCWD, folder);
}

/*
 * Finds the first name of a row in the home. Most rows are not there: no path is made before the
 * listing of the home says that one may be, and what is there is looked up once. 1: it is there, 0
 * or -ENOMEM.
 */
static int home_find_first(struct home *h, const char *row, struct home_first **ret)
{
	struct home_first first = { .name = row, .len = strcspn(row, "/") };
	char path[PATH_BYTES];
	int r;

	for (size_t i = 0; i < h->n; i++) {
		*ret = &h->firsts[i];
		if ((*ret)->len == first.len && memcmp((*ret)->name, row, first.len) == 0)
			return 1;
	}
	if (!names_may_have(&h->names, row, first.len) ||
		snprintf(path, sizeof(path), "%s/%.*s", h->path, (int)first.len, row) >=
			(int)sizeof(path))
		return 0;
	r = home_has(h, &h->names, path, h->path);
	if (r <= 0)
		return r;
	r = ARENA_PUSH(&h->arena, h->firsts, h->n, h->cap, first);
	*ret = &h->firsts[h->n - 1];
	return r < 0 ? r : 1;
}

/* 1: the row is there, at path; 0 or -ENOMEM. */
static int home_find(struct home *h, const char *row, char path[PATH_BYTES])
{
	struct home_first *first;
	char folder[PATH_BYTES];
	size_t second, end;
	struct stat st;
	int r = home_find_first(h, row, &first);

	if (r <= 0 || snprintf(path, PATH_BYTES, "%s/%s", h->path, row) >= PATH_BYTES)
		return r < 0 ? r : 0;
	if (!row[first->len])
		return 1;
	second = strcspn(row + first->len + 1, "/");
	if (!names_may_have(&first->inside, row + first->len + 1, second))
		return 0;
	(void)snprintf(folder, sizeof(folder), "%s/%.*s", h->path, (int)first->len, row);
	end = strlen(folder) + 1 + second;
	path[end] = '\0';
	r = home_has(h, &first->inside, path, folder);
	if (r <= 0 || !row[first->len + 1 + second])
		return r;
	path[end] = '/';
	return lstat(path, &st) == 0;
}

/* A row that is there, at path. */
static int home_take(const struct home *h, const struct threat *row, const char *path)
{
	struct linked linked = linked_start(home_skipped);
	struct profile_above x = *h->x;

	/* What lies in the folder, or around it, is no matter of links. */
	if (path_is_below(path, x.folder) || path_is_below(x.folder, path))
		return 0;
	linked.folders = row->uses & THREAT_LARGE ? HOME_FOLDERS_LARGE : HOME_FOLDERS;
	x.linked = &linked;
	return profile_above_take(&x, path, threat_what(row), row->uses);
}

static int home_row(struct home *h, const struct threat *row)
{
	char path[PATH_BYTES];
	int r;

	/* What forges run is no matter of a home; a package manager's settings are. */
	if (!(row->uses & (THREAT_PROTECT | THREAT_REPORT)) ||
		(row->uses & THREAT_CHECKOUT && row->uses & THREAT_PROTECT))
		return 0;
	r = home_find(h, threat_name(row), path);
	return r > 0 ? home_take(h, row, path) : r;
}

int profile_home_each(const struct profile_above *x)
{
	struct home h = { .x = x, .path = getenv("HOME") };
	int r = 0;

	if (!h.path || h.path[0] != '/' || !h.path[1] || path_is_below(h.path, x->folder))
		return 0;
	for (size_t i = 0; r == 0 && i < threat_home_n; i++)
		r = home_row(&h, &threat_home[i]);
	for (size_t i = 0; r == 0 && i < threat_paths_n; i++)
		r = home_row(&h, &threat_paths[i]);
	arena_deinit(&h.arena);
	return r;
}
