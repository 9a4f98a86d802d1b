/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/load.h"
#include "cli/profile/profile.h"
#include "daemon/config.h"
#include "launch/skill.h"

/* Below the home; each program's documentation names its own. */
static const char *const catalog_agents[] = { ".agents/skills", ".claude/skills", ".codex/skills",
	".copilot/skills", ".cursor/skills", ".gemini/skills", ".openclaw/skills", NULL };

static bool catalog_has_manifest(const char *folder)
{
	auto_fd fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (const char *const *name = launch_skill_manifests; fd >= 0 && *name; name++)
		if (faccessat(fd, *name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static int catalog_add(struct catalog *l, struct call *c, const char *path,
	struct approval_record *record, bool is_gone)
{
	struct catalog_item item = { .record = record, .is_gone = is_gone };

	approval_id(path, item.id);
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->items[i].id, item.id) == 0)
			return 0;
	if (l->n == CATALOG_SKILLS_MAX) {
		l->more = true;
		return 0;
	}
	item.path = arena_strdup(c->arena, path);
	if (!item.path || ARENA_PUSH(c->arena, l->items, l->n, l->cap, item) < 0)
		return error_no_memory(c->error);
	return 0;
}

/* What was approved; these come first, so that none of them is left out. */
static int catalog_add_approved(struct catalog *l, struct call *c)
{
	struct approval_records all = { 0 };
	int r = approval_list(l->approvals, c->arena, &all, c->error);

	for (size_t i = 0; r == 0 && i < all.n; i++) {
		char real[PATH_BYTES];
		const bool is_there =
			realpath(all.items[i].path, real) && strcmp(real, all.items[i].path) == 0;

		r = catalog_add(l, c, all.items[i].path, &all.items[i], !is_there);
	}
	return r;
}

static int catalog_add_skill(struct catalog *l, struct call *c, const char *folder)
{
	char real[PATH_BYTES];

	return catalog_has_manifest(folder) && realpath(folder, real)
		       ? catalog_add(l, c, real, NULL, false)
		       : 0;
}

/* The skills in a folder, or the folder if it is one. */
static int catalog_add_folder(struct catalog *l, struct call *c, const char *folder)
{
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	size_t n = 0;
	int r;

	if (!folder)
		return error_no_memory(c->error);
	if (!dir)
		return 0;
	r = ARENA_PUSH(c->arena, l->folders, l->n_folders, l->cap_folders, folder);
	if (r == 0)
		r = catalog_add_skill(l, c, folder);
	while (r == 0 && (entry = readdir(dir))) {
		char path[PATH_BYTES];

		if (entry->d_name[0] == '.')
			continue;
		l->more = l->more || n == CATALOG_FOLDER_MAX;
		if (n++ == CATALOG_FOLDER_MAX)
			break;
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < PATH_BYTES)
			r = catalog_add_skill(l, c, path);
	}
	(void)closedir(dir);
	return r < 0 ? error_no_memory(c->error) : 0;
}

/* corral/skills in each folder of a list like PATH. */
static int catalog_add_data(struct catalog *l, struct call *c, const char *list)
{
	int r = 0;

	while (r == 0 && *list) {
		const size_t len = strcspn(list, ":");

		if (list[0] == '/')
			r = catalog_add_folder(
				l, c, arena_printf(c->arena, "%.*s/corral/skills", (int)len, list));
		list += len + (list[len] == ':');
	}
	return r;
}

/* Those that daemon.json names: the one that is given, or the user's. */
static int catalog_add_configured(struct catalog *l, struct call *c, const char *file)
{
	const char *folder = file ? NULL : profile_config_folder(c);
	struct config config = config_default();
	int r = 0;

	if (file)
		r = config_load(&config, file, c->error);
	else if (folder)
		r = config_find(&config, folder, c->error);
	for (const char *path = config.skills; r == 0 && *path; path += strlen(path) + 1)
		r = catalog_add_folder(l, c, arena_strdup(c->arena, path));
	return r;
}

static int catalog_by_path(const void *x, const void *y)
{
	const struct catalog_item *a = x, *b = y;

	return strcmp(a->path, b->path);
}

int catalog_open(struct catalog *ret, struct call *c, const char *config)
{
	const char *dirs = secure_getenv("XDG_DATA_DIRS"), *data = secure_getenv("XDG_DATA_HOME"),
		   *home = secure_getenv("HOME");
	struct catalog l = { 0 };
	int r = launch_skill_approvals(&l.approvals, c->arena, c->error);

	home = home && home[0] == '/' ? home : NULL;
	if ((!data || data[0] != '/') && home)
		data = arena_printf(c->arena, "%s/.local/share", home);
	if (r == 0)
		r = catalog_add_approved(&l, c);
	if (r == 0)
		r = catalog_add_data(&l, c, data ? data : "");
	for (const char *const *name = catalog_agents; r == 0 && home && *name; name++)
		r = catalog_add_folder(&l, c, arena_printf(c->arena, "%s/%s", home, *name));
	if (r == 0)
		r = catalog_add_configured(&l, c, config);
	if (r == 0)
		r = catalog_add_data(&l, c, dirs && *dirs ? dirs : "/usr/local/share:/usr/share");
	if (r < 0)
		return r;
	if (l.n)
		qsort(l.items, l.n, sizeof(l.items[0]), catalog_by_path);
	*ret = l;
	return 0;
}

int catalog_find(struct call *c, const char *config, const char *word, struct catalog *all,
	struct catalog_item *ret)
{
	struct approval a = { 0 };
	struct approval_record *record = arena_calloc(c->arena, 1, sizeof(*record));
	char real[PATH_BYTES];
	bool is_gone = false;
	int r = catalog_open(all, c, config);

	if (r < 0 || !record)
		return r < 0 ? r : error_no_memory(c->error);
	if (!ascii_is_hex_text(word, SKILL_DIGEST_HEX - 1)) {
		const char *gone = NULL;

		is_gone = !realpath(word, real);
		/* Where it is gone, its name must do; only what was approved is known by that. */
		if (is_gone && (r = load_absolute(c, word, &gone)) < 0)
			return r;
		approval_id(is_gone ? gone : real, ret->id);
		word = ret->id;
	}
	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->items[i].id, word) == 0) {
			*ret = all->items[i];
			return 0;
		}
	}
	if (word != ret->id || is_gone)
		return 1;
	ret->path = arena_strdup(c->arena, real);
	if (!ret->path)
		return error_no_memory(c->error);
	a = (struct approval){ .folder = all->approvals, .skill = ret->path };
	r = approval_read(&a, c->arena, record, c->error);
	ret->record = r == 0 ? record : NULL;
	return r < 0 ? r : 0;
}
