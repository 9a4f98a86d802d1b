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

struct home {
	const struct profile_above *x;
	const char *path;
	struct arena arena;
	/* What is not in the home, and not in the folder of the row before. */
	struct names names, inner;
	const char *first; /* that folder */
	size_t len;
	bool has_first; /* it is there */
};

/* Is the last name of the path in the folder? 1, 0 or -ENOMEM. */
static int home_has(struct home *h, struct names *names, const char *path, const char *folder)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;

	if (!names_may_have(names, name, strlen(name)))
		return 0;
	if (lstat(path, &st) == 0)
		return 1;
	return names_miss(names, &h->arena, AT_FDCWD, folder);
}

/* 1: the row is there. */
static int home_find(struct home *h, const char *row, char path[PATH_BYTES])
{
	const size_t len = strcspn(row, "/"), second = row[len] ? strcspn(row + len + 1, "/") : 0;
	char folder[PATH_BYTES];
	struct stat st;
	int r;

	if (snprintf(path, PATH_BYTES, "%s/%s", h->path, row) >= PATH_BYTES)
		return 0;
	(void)snprintf(folder, sizeof(folder), "%s/%.*s", h->path, (int)len, row);
	if (!h->first || h->len != len || memcmp(h->first, row, len) != 0) {
		r = home_has(h, &h->names, folder, h->path);
		if (r < 0)
			return r;
		h->inner = (struct names){ 0 };
		h->first = row;
		h->len = len;
		h->has_first = r == 1;
	}
	if (!h->has_first || !row[len])
		return h->has_first;
	path[strlen(folder) + 1 + second] = '\0';
	r = home_has(h, &h->inner, path, folder);
	if (r <= 0 || !row[len + 1 + second])
		return r;
	(void)snprintf(path, PATH_BYTES, "%s/%s", h->path, row);
	return lstat(path, &st) == 0;
}

static int home_row(struct home *h, const struct threat *row)
{
	struct linked linked = linked_start(home_skipped);
	struct profile_above x = *h->x;
	char path[PATH_BYTES];
	int r;

	/* What forges run is no matter of a home; a package manager's settings are. */
	if (!(row->uses & (THREAT_PROTECT | THREAT_REPORT)) ||
		(row->uses & THREAT_CHECKOUT && row->uses & THREAT_PROTECT))
		return 0;
	r = home_find(h, threat_name(row), path);
	/* What lies in the folder, or around it, is no matter of links. */
	if (r <= 0 || path_is_below(path, x.folder) || path_is_below(x.folder, path))
		return r < 0 ? r : 0;
	linked.folders = row->uses & THREAT_LARGE ? HOME_FOLDERS_LARGE : HOME_FOLDERS;
	x.linked = &linked;
	return profile_above_take(&x, path, threat_what(row), row->uses);
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
