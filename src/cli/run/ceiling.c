/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies that hold for every run: the system's (policy.yaml and policy.d in corral's folder of
 * the system's configuration) and the user's own (policy.yaml). Each is a layer that must allow, so
 * it is a ceiling. One that is there and can't be read or understood stops the run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/run.h"

#define SYSTEM PROFILE_SYSTEM_FOLDER

enum { FILES_MAX = 64 };

/* There is nothing of that name, and nothing hides it. */
static bool is_absent(const char *path)
{
	return access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static int run_ceiling_add(struct run *r, const char *path)
{
	if (!path)
		return error_no_memory(r->call->error);
	if (is_absent(path))
		return 0;
	return load_add(&r->ceiling, r->call, path, MANIFEST_UNKNOWN);
}

/* default.json stands for the rules of the whole folder, with custom/ below it. */
static bool is_policy(const char *name)
{
	const char *dot = strrchr(name, '.');

	return name[0] != '.' && dot && strcmp(name, "default.json") != 0 &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

static int run_ceiling_by_name(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static int run_ceiling_list(struct run *r, DIR *dir, const char **names, size_t *n)
{
	const struct dirent *d;

	while ((errno = 0, d = readdir(dir))) {
		if (!is_policy(d->d_name))
			continue;
		if (*n == FILES_MAX)
			return -E2BIG;
		names[*n] = arena_printf(r->call->arena, SYSTEM "/policy.d/%s", d->d_name);
		if (!names[(*n)++])
			return -ENOMEM;
	}
	return -errno;
}

static int run_ceiling_add_folder(struct run *r)
{
	struct location where = { .file = SYSTEM "/policy.d" };
	const char *names[FILES_MAX];
	DIR *dir = opendir(where.file);
	size_t n = 0;
	int ret = dir ? run_ceiling_list(r, dir, names, &n) : -errno;

	if (dir)
		(void)closedir(dir);
	if (ret == -ENOENT)
		return 0;
	if (ret < 0)
		return error_set(r->call->error, ret, &where, "cannot be read: %s", strerror(-ret));
	if (!is_absent(SYSTEM "/policy.d/default.json"))
		ret = load_add(&r->ceiling, r->call, where.file, MANIFEST_UNKNOWN);
	qsort(names, n, sizeof(names[0]), run_ceiling_by_name);
	for (size_t i = 0; ret == 0 && i < n; i++)
		ret = run_ceiling_add(r, names[i]);
	return ret;
}

int run_ceiling(struct run *r)
{
	const char *user = profile_config_folder(r->call);
	int ret = 0;

	if (!is_absent(SYSTEM)) {
		ret = run_ceiling_add(r, SYSTEM "/policy.yaml");
		if (ret == 0)
			ret = run_ceiling_add_folder(r);
	}
	if (ret == 0 && user)
		ret = run_ceiling_add(r, arena_printf(r->call->arena, "%s/policy.yaml", user));
	return ret;
}
