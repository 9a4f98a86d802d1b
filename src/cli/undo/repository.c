/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's folders. The files of a repository belong together: a name of it that is taken back beside
 * one that stays may break it. So if one change below a `.git` was changed since the run, all of
 * that `.git` stays.
 *
 * Objects that the run added stay in any case, unless the run made the repository itself: a commit
 * or a tag that was made since may need them, in files that no change names. An object without a
 * use does no harm, and git removes it later.
 */
#include <string.h>

#include "cli/undo/internal.h"

static const char why_repository[] = "its git repository was changed since the run";
static const char why_object[] = "objects of git stay: a later commit may need them";

/* The length of a path up to its first name `.git`; 0: it has none. */
static size_t repository_len(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || !at[4]))
			return (size_t)(at - path) + 4;
	return 0;
}

/* The same of the repository that an object is in: the folder, or that of a submodule below it. */
static size_t repository_of_object(const char *path, size_t git)
{
	static const char objects[] = "/objects/", modules[] = "/modules/", info[] = "info";
	const char *at = path + git, *rest;

	if (strncmp(at, modules, sizeof(modules) - 1) == 0)
		at = strstr(at, objects);
	if (!at || strncmp(at, objects, sizeof(objects) - 1) != 0)
		return 0;
	rest = at + sizeof(objects) - 1;
	/* Settings (alternates), and what can be made again. */
	if (strncmp(rest, info, 4) == 0 && (rest[4] == '/' || !rest[4]))
		return 0;
	return (size_t)(at - path);
}

static bool repository_is_made(const struct undo_changes *c, const char *path, size_t len)
{
	char folder[PATH_BYTES];
	size_t i;

	if (len >= sizeof(folder))
		return false;
	memcpy(folder, path, len);
	folder[len] = '\0';
	i = undo_changes_find(c, folder);
	return i != SIZE_MAX && c->items[i].before.kind != UNDO_FOLDER;
}

static void repository_keep_object(const struct undo_changes *c, size_t i, struct undo_step *s)
{
	const char *path = c->items[i].path;
	const size_t git = repository_len(path);
	const size_t len = git ? repository_of_object(path, git) : 0;

	if (len == 0 || s->is != UNDO_TO_DO || undo_what(&c->items[i]) != UNDO_CREATED ||
		repository_is_made(c, path, len))
		return;
	s->is = UNDO_STAYS;
	s->why = why_object;
}

static bool repository_has(const struct undo_change *c, const char *path, size_t len)
{
	return strncmp(c->path, path, len) == 0 && (c->path[len] == '/' || !c->path[len]);
}

/* All changes of one repository, which stand one after the other; the end of them. */
static size_t repository_judge(const struct undo_changes *c, size_t first, struct undo_step *steps)
{
	const char *path = c->items[first].path;
	const size_t len = repository_len(path);
	bool is_changed = false;
	size_t end = first;

	for (; end < c->n && repository_has(&c->items[end], path, len); end++)
		is_changed |= steps[end].is == UNDO_CHANGED_SINCE;
	for (size_t i = first; i < end; i++) {
		if (is_changed && steps[i].is == UNDO_TO_DO) {
			steps[i].is = UNDO_CHANGED_SINCE;
			steps[i].why = why_repository;
		}
		repository_keep_object(c, i, &steps[i]);
	}
	return end;
}

void undo_judge_repositories(const struct undo_changes *c, struct undo_step *steps)
{
	for (size_t i = 0; i < c->n;)
		i = repository_len(c->items[i].path) ? repository_judge(c, i, steps) : i + 1;
}
