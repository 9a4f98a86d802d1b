/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/skill.h"

/* More files of rules than this nobody has; a folder full of them would only cost time. */
enum { FILES_MAX = 1000 };

static const char *folder_below(struct call *c, const char *path, const char *name)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";

	return arena_printf(c->arena, "%s%s%s", path, slash, name);
}

static int folder_add(struct folder *f, struct call *c, const char *file)
{
	if (!file || ARENA_PUSH(c->arena, f->files, f->n, f->cap, file) < 0)
		return error_no_memory(c->error);
	return 0;
}

static int add_if_present(struct folder *f, struct call *c, const char *path, const char *name)
{
	const char *file = folder_below(c, path, name);

	return file && access(file, F_OK) < 0 ? 0 : folder_add(f, c, file);
}

static int folder_by_name(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static bool is_json(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && name[0] != '.' && strcmp(name + len - 5, ".json") == 0;
}

static void close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static int folder_add_names(struct folder *f, struct call *c, const char *path, DIR *dir)
{
	struct location where = { .file = path };
	const struct dirent *d;
	int r = 0;

	while (r == 0 && (errno = 0, d = readdir(dir))) {
		if (is_json(d->d_name))
			r = folder_add(f, c, folder_below(c, path, d->d_name));
		if (f->n > FILES_MAX)
			return error_set(c->error, -E2BIG, &where, "has too many files");
	}
	if (r == 0 && errno)
		r = error_set(c->error, -EIO, &where, "cannot be read: %s", strerror(errno));
	return r;
}

/* custom/….json, sorted. The folder may be missing, but what is there must be readable. */
static int add_custom(struct folder *f, struct call *c, const char *path)
{
	const char *custom = folder_below(c, path, "custom");
	__attribute__((cleanup(close_dir))) DIR *dir = custom ? opendir(custom) : NULL;
	struct location where = { .file = custom };
	int r;

	if (!custom)
		return error_no_memory(c->error);
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return error_set(c->error, -EIO, &where, "cannot be read: %s", strerror(errno));
	r = folder_add_names(f, c, custom, dir);
	qsort(f->files + 1, f->n - 1, sizeof(f->files[0]), folder_by_name);
	return r;
}

static int not_one(struct folder *f, struct call *c, const char *path)
{
	struct location where = { .file = path };

	if (f->n == 0) {
		(void)error_set(c->error, -ENOENT, &where, "is a folder without a policy in it");
		error_hint(c->error,
			"expected a skill (SKILL.md, skill.yaml, manifest.yaml) or rules "
			"(default.json)");
		return -ENOENT;
	}
	(void)error_set(c->error, -EINVAL, &where, "holds more than one manifest");
	error_hint(c->error, "name the file: %s or %s", f->files[0], f->files[1]);
	return -EINVAL;
}

int folder_open(struct folder *ret, struct call *c, const char *path)
{
	struct folder f = { 0 };
	int r = add_if_present(&f, c, path, "default.json");

	f.is_rules = f.n == 1;
	if (r == 0 && f.is_rules)
		r = add_custom(&f, c, path);
	for (size_t i = 0; r == 0 && !f.is_rules && launch_skill_manifests[i]; i++)
		r = add_if_present(&f, c, path, launch_skill_manifests[i]);
	if (r == 0 && (f.n == 0 || (f.n > 1 && !f.is_rules)))
		r = not_one(&f, c, path);
	if (r == 0)
		*ret = f;
	return r;
}
