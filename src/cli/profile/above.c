/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies above a working folder and leads into it: the repository that the folder is a part of,
 * with its settings, hooks and links, and each .envrc on the way up. A command that works in
 * scripts/ can't write ../.git/hooks, but it can write what a link in there leads to.
 *
 * The files are read as those in the folder are, bounded, for names alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"

/* Levels that are climbed, names that are read of each, and folders that links lead on to. */
enum { ABOVE_LEVELS = 32, ABOVE_NAMES = 4096, ABOVE_DEPTH = 4 };

static const char above_cut[] = "was not looked through for links into the folder: what such a "
				"link leads to is neither protected nor reported";

struct above {
	const struct profile_above *x;
	const char *what;
	unsigned uses, depth;
};

/* Of another user it is none of ours: git and direnv do not take it either. */
static bool above_has(const char *level, const char *name)
{
	const uid_t me = geteuid();
	char path[PATH_BYTES];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", level, name) < (int)sizeof(path) &&
	       lstat(path, &st) == 0 && (me == 0 || st.st_uid == me || st.st_uid == 0);
}

/* From a folder to the one that it lies in; false: there is no more to climb. */
static bool above_climb(char level[PATH_BYTES])
{
	const char *home = getenv("HOME");
	char *slash = strrchr(level, '/');

	if (!slash || slash == level || (home && strcmp(level, home) == 0))
		return false;
	*slash = '\0';
	return true;
}

static int above_take(const struct above *a, const char *path);

/* A profile_linked_found; path: absolute but for the first slash. */
static int above_linked(void *data, const char *path, enum profile_linked_kind kind)
{
	const struct above *a = data;
	const size_t len = strlen(a->x->folder);
	char full[PATH_BYTES];

	if (snprintf(full, sizeof(full), "/%s", path) >= (int)sizeof(full))
		return 0;
	if (path_is_below(full, a->x->folder))
		return a->x->found(a->x->data, full + len + (full[len] == '/'), a->what, a->uses,
			full[len] ? kind : PROFILE_LINKED_WIDE);
	if (kind != PROFILE_LINKED_END || a->depth == ABOVE_DEPTH)
		return 0;
	return above_take(&(struct above){ a->x, a->what, a->uses, a->depth + 1 }, full);
}

/* What other programs run: it lies in the folder, or links lead there from it. */
static int above_take(const struct above *a, const char *path)
{
	struct above from = *a;
	char real[PATH_BYTES];
	struct stat st;

	if (path_is_below(path, a->x->folder))
		return above_linked(&from, path + 1, PROFILE_LINKED_END);
	if (lstat(path, &st) < 0)
		return profile_linked_each(
			a->x->linked, "/", path + 1, false, above_linked, &from, real);
	return profile_linked_each(
		a->x->linked, "/", path + 1, S_ISDIR(st.st_mode), above_linked, &from, real);
}

int profile_above_take(
	const struct profile_above *x, const char *path, const char *what, unsigned uses)
{
	return above_take(&(struct above){ x, what, uses, 0 }, path);
}

/* A profile_git_found of the repository above. */
static int above_git(void *data, const char *path, const char *who, unsigned uses)
{
	const struct above a = { .x = data, .what = who, .uses = THREAT_PROTECT };
	char full[PATH_BYTES];

	if (!(uses & THREAT_PROTECT) ||
		snprintf(full, sizeof(full), "/%s", path) >= (int)sizeof(full))
		return 0;
	return above_take(&a, full);
}

/* A profile_shell_found of an .envrc above. */
static int above_shell(void *data, const char *path, const char *who, enum profile_shell_kind kind)
{
	const struct profile_above *x = data;
	const size_t len = strlen(x->folder);
	char full[PATH_BYTES];

	if (snprintf(full, sizeof(full), "/%s", path) >= (int)sizeof(full) ||
		!path_is_below(full, x->folder) || (!full[len] && kind != PROFILE_SHELL_PROGRAMS))
		return 0;
	return x->shell(x->data, full + len + (full[len] == '/'), who, kind);
}

static int above_envrc(const struct profile_above *x, const char *level)
{
	const struct above a = { .x = x, .what = "direnv runs it", .uses = THREAT_PROTECT };
	char path[PATH_BYTES];
	int r;

	if (!above_has(level, ".envrc") ||
		snprintf(path, sizeof(path), "%s/.envrc", level) >= (int)sizeof(path))
		return 0;
	r = above_take(&a, path);
	return r < 0 ? r : profile_shell_envrc("/", path, above_shell, (void *)x);
}

/* The protected rows of a first name. */
static int above_rows(
	const struct profile_above *x, const char *level, const char *name, bool is_top)
{
	const int head = threat_head_find(name, strlen(name));
	char path[PATH_BYTES];
	int r = 0;

	for (uint16_t i = head < 0 ? 0 : threat_heads[head].first; r == 0 && i;
		i = threat_head_next[i - 1]) {
		const struct threat *row = &threat_paths[i - 1];
		const struct above a = { .x = x, .what = threat_what(row), .uses = row->uses };
		struct stat st;

		if (!(row->uses & THREAT_PROTECT) || (row->uses & THREAT_CHECKOUT && !is_top) ||
			snprintf(path, sizeof(path), "%s/%s", level, threat_name(row)) >=
				(int)sizeof(path) ||
			lstat(path, &st) < 0)
			continue;
		r = above_take(&a, path);
	}
	return r;
}

static int above_level(const struct profile_above *x, const char *level, bool is_top)
{
	auto_fd fd = open(level, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned left = ABOVE_NAMES;
	const struct dirent *e;
	int r = 0;

	if (dir)
		(void)fd_take(&fd);
	while (dir && r == 0 && left && (e = readdir(dir))) {
		left--;
		r = above_rows(x, level, e->d_name, is_top);
	}
	x->linked->is_cut = x->linked->is_cut || !dir || !left;
	if (dir)
		(void)closedir(dir);
	return r;
}

/* From the folder above ours up to the repository. */
static int above_repository(const struct profile_above *x, const char *top)
{
	char level[PATH_BYTES];
	int r = profile_git_leads("/", top, false, x->user, above_git, (void *)x);

	if (r == 0)
		r = profile_git_environment("/", top, x->user, above_git, (void *)x);

	(void)snprintf(level, sizeof(level), "%s", x->folder);
	while (r == 0 && strcmp(level, top) != 0 && above_climb(level))
		r = above_level(x, level, strcmp(level, top) == 0);
	if (r == 0 && !x->user->why && x->linked->is_cut) {
		x->user->why = above_cut;
		(void)snprintf(x->user->missed, sizeof(x->user->missed), "%s", top);
	}
	return r;
}

int profile_above_each(const struct profile_above *x)
{
	char level[PATH_BYTES];
	bool is_cut = false;
	int r = 0;

	(void)snprintf(level, sizeof(level), "%s", x->folder);
	for (unsigned n = 0; r == 0 && n < ABOVE_LEVELS && above_climb(level) && level[0]; n++) {
		r = above_envrc(x, level);
		is_cut = is_cut || r == -E2BIG;
		r = r == -E2BIG ? 0 : r;
		if (r == 0 && above_has(level, ".git")) {
			r = above_repository(x, level);
			break;
		}
	}
	return r < 0 ? r : is_cut ? -E2BIG : 0;
}
