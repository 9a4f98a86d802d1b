/* SPDX-License-Identifier: Apache-2.0 */
#include "host/resolver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "host/links.h"

static const char *const folders[] = {
	"/usr/local/sbin",
	"/usr/local/bin",
	"/usr/sbin",
	"/usr/bin",
	"/sbin",
	"/bin",
};

static bool resolver_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static bool resolver_is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The program of that name in one of the folders, if not everybody may write there. */
static bool resolver_find_in(const char *folder, const char *name, char out[PATH_BYTES])
{
	struct stat st;

	return snprintf(out, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES &&
	       stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && !(st.st_mode & S_IWOTH) &&
	       resolver_is_program(out);
}

int resolver_find(const char *name, char out[PATH_BYTES])
{
	if (!resolver_is_name(name))
		return -EINVAL;
	for (size_t i = 0; i < ROWS(folders); i++) {
		if (resolver_find_in(folders[i], name, out))
			return 0;
	}
	return -ENOENT;
}

/* A path, and every path on the way to the file that it is in the end. */
static int resolver_report(const char *path, int (*found)(void *data, const char *path), void *data)
{
	char end[PATH_BYTES];
	int r = found(data, path);

	return r < 0 ? r : links_follow(path, found, data, end);
}

static int programs(
	void *context, const char *name, int (*found)(void *data, const char *path), void *data)
{
	char path[PATH_BYTES];
	int r = -ENOENT;

	(void)context;
	if (name[0] == '/')
		return resolver_is_program(name) ? resolver_report(name, found, data) : -ENOENT;
	for (size_t i = 0; resolver_is_name(name) && i < ROWS(folders); i++) {
		if (!resolver_find_in(folders[i], name, path))
			continue;
		r = resolver_report(path, found, data);
		if (r < 0)
			return r;
	}
	return r;
}

const struct resolver resolver_system = { .programs = programs };
