/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a person installed in their home: nvm, pyenv, ~/.local/bin. The folders that PATH
 * names may be read, and nothing else of the home, with one exception: a folder `bin`, `sbin` or
 * `shims` whose neighbour is `lib` or `libexec` is part of an installation, whose programs do not
 * start without the rest of it (node's npm is a link into ../lib). Then the whole installation may
 * be read. The home itself and ~/.local are no installations, whatever lies in them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/profile.h"
#include "host/links.h"
#include "policy/match/glob.h"

/* What a program looks for in PATH, it looks for in this many folders at most. */
enum { ENTRIES_MAX = 256 };

struct grants {
	struct permissions *permissions;
	struct location where;
};

static bool profile_path_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool has_folder(const char *dir, const char *name)
{
	char path[PATH_BYTES];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       profile_path_is_folder(path);
}

/* Adds the folder with all below it, or just the path. */
static int profile_path_add(const struct grants *g, const char *path, bool tree)
{
	auto_buffer pattern = { 0 };

	glob_print_literal(path, strlen(path), &pattern);
	if (tree)
		buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	return permissions_add(
		g->permissions, &g->permissions->fs_read, buffer_text(&pattern), &g->where);
}

static int add_hop(void *data, const char *path)
{
	return profile_path_add(data, path, false);
}

/* A folder that is reached by links: every hop of them, and where they end. */
static int add_folder(struct grants *g, const char *path)
{
	char real[PATH_BYTES];
	int r = links_follow(path, add_hop, g, real);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !profile_path_is_folder(real))
		return 0;
	r = profile_path_add(g, path, true);
	return r == 0 && strcmp(real, path) != 0 ? profile_path_add(g, real, true) : r;
}

/* The length of the installation's folder, or of the whole entry. */
static size_t profile_path_root_of(const char *entry, const char *home)
{
	const char *slash = strrchr(entry, '/');
	size_t len = (size_t)(slash - entry);
	char parent[PATH_BYTES], local[PATH_BYTES];

	if (strcmp(slash, "/bin") != 0 && strcmp(slash, "/sbin") != 0 &&
		strcmp(slash, "/shims") != 0)
		return strlen(entry);
	memcpy(parent, entry, len);
	parent[len] = '\0';
	(void)snprintf(local, sizeof(local), "%s/.local", home);
	if (!path_is_below(parent, home) || strcmp(parent, home) == 0 || strcmp(parent, local) == 0)
		return strlen(entry);
	return has_folder(parent, "lib") || has_folder(parent, "libexec") ? len : strlen(entry);
}

static int grant_entry(
	struct grants *g, const char *text, size_t len, const char *home, const char *work_dir)
{
	char entry[PATH_BYTES];
	size_t n;

	if (len == 0 || text[0] != '/' || path_normalize(text, len, entry, &n) < 0)
		return 0; /* what is relative means another folder every time */
	if (!path_is_below(entry, home) || strcmp(entry, home) == 0 ||
		!profile_path_is_folder(entry))
		return 0;
	if (work_dir && path_is_below(entry, work_dir))
		return 0;
	entry[profile_path_root_of(entry, home)] = '\0';
	return add_folder(g, entry);
}

int profile_path_grant(
	struct permissions *p, const char *path, const char *home, const char *work_dir)
{
	struct grants g = { .permissions = p, .where = { .file = p->origin } };
	size_t n = 0;
	int r = 0;

	if (strcmp(home, "/") == 0)
		return 0; /* nobody's home */
	while (r == 0 && *path && n++ < ENTRIES_MAX) {
		size_t len = strcspn(path, ":");

		r = grant_entry(&g, path, len, home, work_dir);
		path += len;
		path += *path == ':';
	}
	return r;
}
