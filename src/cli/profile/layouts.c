/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/layouts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/shebang.h"
#include "cli/profile/internal.h"
#include "host/links.h"

static const char *layouts_text(uint16_t place)
{
	return layouts_texts + place;
}

/* What of path lies below the home, by either of its names; NULL: it does not. */
static const char *layouts_below(const struct layouts *l, const char *path)
{
	const char *const homes[] = { l->home, l->real_home };

	for (size_t i = 0; i < 2; i++)
		if (path_is_below(path, homes[i]) && path[strlen(homes[i])])
			return path + strlen(homes[i]) + 1;
	return NULL;
}

/* Adds what is there, by the names that the home has: a folder with all in it, or a file. */
static int layouts_add(const struct layouts *l, const char *below, size_t len)
{
	const char *const homes[] = { l->home, l->real_home };
	const size_t n = strcmp(l->home, l->real_home) == 0 ? 1 : 2;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		char path[PATH_BYTES];
		struct stat st;
		int written = snprintf(path, sizeof(path), "%s/%.*s", homes[i], (int)len, below);

		if (written >= (int)sizeof(path) || stat(path, &st) < 0)
			return 0;
		if (!profile_reads_has(l->to, path))
			r = profile_reads_add(l->to, path, S_ISDIR(st.st_mode));
	}
	return r;
}

/* How much of a path is a package of the table; 0: none. */
static size_t layouts_package(const char *below)
{
	for (size_t i = 0; i < layouts_n; i++) {
		const char *pattern = layouts_text(layouts[i].folder);
		char start[PATH_BYTES];
		size_t len = 0;

		if (layouts[i].other)
			continue;
		for (const char *p = pattern; p; p = strchr(p + 1, '/'))
			len += strcspn(below + len + (len > 0), "/") + (len > 0);
		if (len >= sizeof(start))
			continue;
		memcpy(start, below, len);
		start[len] = '\0';
		if (fnmatch(pattern, start, FNM_PATHNAME | FNM_PERIOD) == 0)
			return len;
	}
	return 0;
}

static int layouts_hop(void *data, const char *path)
{
	const struct layouts *l = data;

	return layouts_below(l, path) ? profile_reads_add(l->to, path, false) : 0;
}

/* The interpreter of a script, if a package has it: with the links that lead there. */
static int layouts_add_interpreter(struct layouts *l, int folder, const char *name)
{
	auto_fd fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char real[PATH_BYTES];
	struct shebang s;
	const char *below;
	size_t len;
	int r;

	if (fd < 0 || shebang_read(&s, fd) < 0 || !layouts_below(l, s.program) ||
		links_follow(s.program, NULL, NULL, real) < 0)
		return 0;
	below = layouts_below(l, real);
	len = below ? layouts_package(below) : 0;
	if (len == 0)
		return 0;
	r = layouts_add(l, below, len);
	if (r == 0)
		r = links_follow(s.program, layouts_hop, l, real);
	return r == -ENOMEM ? r : 0;
}

/* The path of an open file as the kernel has it: no link is on it. */
static bool layouts_real(int fd, char out[PATH_BYTES])
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_BYTES);
	if (n <= 0 || n >= PATH_BYTES)
		return false;
	out[n] = '\0';
	return true;
}

static int layouts_look_at(struct layouts *l, int folder, const char *name)
{
	auto_fd fd = openat(folder, name, O_PATH | O_CLOEXEC);
	char real[PATH_BYTES];
	const char *below;
	struct stat st;
	size_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111) ||
		!layouts_real(fd, real) || !path_is_below(real, l->real_home))
		return 0;
	below = layouts_below(l, real);
	len = below ? layouts_package(below) : 0;
	r = len ? layouts_add(l, below, len) : 0;
	return r == 0 && len ? layouts_add_interpreter(l, folder, name) : r;
}

/* A link to another name in its own folder leads to no package: what it leads to is looked at by
 * itself. */
static bool layouts_is_near(int folder, const char *name)
{
	char target[PATH_BYTES];
	const ssize_t n = readlinkat(folder, name, target, sizeof(target));

	return n > 0 && !memchr(target, '/', (size_t)n);
}

/* The links in a folder of PATH. */
static int layouts_search(struct layouts *l, const char *entry)
{
	DIR *dir = opendir(entry);
	const struct dirent *d;
	char real[PATH_BYTES];
	bool is_package = false; /* or not known */
	int r = 0;

	if (dir) {
		const char *below = layouts_real(dirfd(dir), real) ? layouts_below(l, real) : NULL;

		is_package = !below || layouts_package(below) > 0;
	}

	while (dir && r == 0 && l->links < LAYOUTS_LINKS_MAX && (d = readdir(dir))) {
		if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
			continue;
		l->links++;
		if (!is_package && layouts_is_near(dirfd(dir), d->d_name))
			continue;
		r = layouts_look_at(l, dirfd(dir), d->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

/* What the row names, if no link is on the way: that could lead anywhere. */
static int layouts_add_other(const struct layouts *l, const struct layout *row, const char *entry)
{
	const char *program = layouts_text(row->program), *other = layouts_text(row->other);
	char path[PATH_BYTES], real[PATH_BYTES];

	if (*program && (snprintf(path, sizeof(path), "%s/%s", entry, program) >= PATH_BYTES ||
				access(path, X_OK) < 0))
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", l->real_home, other) >= PATH_BYTES ||
		links_follow(path, NULL, NULL, real) < 0 || strcmp(path, real) != 0)
		return 0;
	return layouts_add(l, other, strlen(other));
}

int layouts_grant(struct layouts *l, const char *entry)
{
	const char *below = layouts_below(l, entry);
	int r = below ? layouts_search(l, entry) : 0;

	for (size_t i = 0; r == 0 && below && i < layouts_n; i++)
		if (layouts[i].other && strcmp(layouts_text(layouts[i].folder), below) == 0)
			r = layouts_add_other(l, &layouts[i], entry);
	return r;
}
