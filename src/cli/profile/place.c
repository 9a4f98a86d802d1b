/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that the built-in profiles know by themselves.
 *
 * Which they work in. They grant the working folder with all below it; in
 * a home that would be every key and every start-up file, so they do not do it there, and say what
 * to do instead. Both what the folder is called and what it really is are compared.
 *
 * Programs that a person installed in their home: nvm, pyenv, ~/.local/bin. The folders that PATH
 * names may be read, and nothing else of the home, with one exception: a folder `bin`, `sbin` or
 * `shims` whose neighbour is `lib` or `libexec` is part of an installation, whose programs do not
 * start without the rest of it (node's npm is a link into ../lib). Then the whole installation may
 * be read. The home itself and ~/.local are no installations, whatever lies in them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/profile/internal.h"
#include "cli/profile/layouts.h"
#include "cli/profile/profile.h"
#include "host/links.h"
#include "host/planted.h"

/* A folder that is to be kept out of reach, and what to say if it is not. */
struct kept {
	const char *path, *is, *holds;
	bool is_ours; /* nothing inside of it is a place to work in either */
};

/* Why a folder should not be worked in; NULL: no reason. */
static const char *profile_place_judge(const char *folder, const struct kept *k, const char *place)
{
	if (strcmp(folder, place) == 0)
		return k->is;
	if (path_is_below(place, folder))
		return k->holds;
	return k->is_ours && path_is_below(folder, place) ? "it belongs to Corral's own state"
							  : NULL;
}

int profile_place_check(struct call *c, const char *profile, const struct load *l)
{
	const char *folder = l->variables.values[VARIABLE_WORK_DIR], *why = NULL;
	const struct kept kept[] = {
		{ l->variables.values[VARIABLE_HOME],
			"it is your home, with all your keys and settings",
			"it contains your home, with all your keys and settings", false },
		{ profile_config_folder(c), "it is Corral's own state",
			"it contains Corral's own state", true },
		{ profile_state_folder(c), "it is Corral's own state",
			"it contains Corral's own state", true },
	};
	char real[PATH_BYTES];
	int r = folder ? links_follow(folder, NULL, NULL, real) : -EINVAL;

	if (!folder)
		return error_set(c->error, r, NULL, "the current folder is not known");
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", folder, strerror(-r));
	if (strcmp(folder, "/") == 0 || strcmp(real, "/") == 0)
		why = "it contains the whole system";
	for (size_t i = 0; !why && i < ROWS(kept); i++) {
		char other[PATH_BYTES]; /* the same without links */

		if (!kept[i].path)
			continue;
		why = profile_place_judge(folder, &kept[i], kept[i].path);
		if (!why && links_follow(kept[i].path, NULL, NULL, other) == 0)
			why = profile_place_judge(real, &kept[i], other);
	}
	if (!why)
		return 0;
	r = error_set(c->error, -EPERM, NULL, "the profile %s cannot be used in %s: %s", profile,
		folder, why);
	error_hint(c->error,
		"change to a project folder, name one with --work-dir DIR, or grant what is "
		"needed with --policy FILE");
	return r;
}

/* PATH */

/* What a program looks for in PATH, it looks for in this many folders at most. */
enum { ENTRIES_MAX = 256 };

static bool profile_path_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_hop(void *data, const char *path)
{
	return profile_reads_add(data, path, false);
}

/*
 * A link that a command may have left (host/planted.h) grants nothing, though PATH names it:
 * ~/x/venv may lead anywhere by now. Those that stay in one hidden folder of the home belong to
 * what was installed there (~/.nvm/current), where nobody works; and those that lead to what the
 * profile grants anyway give nothing (~/.nix-profile, which leads to the store).
 */
static bool profile_path_is_planted(const struct permissions *p, const char *path, const char *home)
{
	struct planted planted;
	char real[PATH_BYTES];
	size_t len;

	if (planted_find(path, home, &planted) != 1 || profile_reads_has(p, planted.real))
		return false;
	if (links_follow(home, NULL, NULL, real) < 0 || !path_is_below(planted.link, real) ||
		!path_is_below(planted.real, real))
		return true;
	len = strlen(real) + 1;
	if (planted.link[len] != '.')
		return true;
	len += strcspn(planted.link + len, "/") + 1;
	return strncmp(planted.link, planted.real, len) != 0;
}

/* A folder that is reached by links: every hop of them, and where they end. 1: by a planted link,
 * which grants nothing. */
static int add_folder(struct permissions *p, const char *path, const char *home)
{
	char real[PATH_BYTES];
	int r;

	if (profile_path_is_planted(p, path, home))
		return 1;
	r = links_follow(path, add_hop, p, real);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !profile_path_is_folder(real))
		return 0;
	r = profile_reads_add(p, path, true);
	return r == 0 && strcmp(real, path) != 0 ? profile_reads_add(p, real, true) : r;
}

/* The length of the installation's folder, or of the whole entry. */
static size_t profile_path_root_of(const char *entry, const char *home)
{
	static const char *const neighbours[] = { "lib", "libexec" };
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
	for (size_t i = 0; i < ROWS(neighbours); i++) {
		char path[PATH_BYTES];

		if (snprintf(path, sizeof(path), "%s/%s", parent, neighbours[i]) <
				(int)sizeof(path) &&
			profile_path_is_folder(path))
			return len;
	}
	return strlen(entry);
}

/*
 * Is a folder of PATH in what a pattern lets be written, or around it? A pattern with wildcards
 * counts as the folder in which they begin.
 */
static bool profile_path_is_in(const char *entry, const char *pattern)
{
	size_t len = strcspn(pattern, "*?[]{}\\");
	char start[PATH_BYTES];

	if (pattern[0] != '/' || len >= sizeof(start))
		return true; /* not known */
	while (pattern[len] && len > 1 && pattern[len - 1] != '/')
		len--;
	while (len > 1 && pattern[len - 1] == '/')
		len--;
	memcpy(start, pattern, len);
	start[len] = '\0';
	return path_is_below(entry, start) || path_is_below(start, entry);
}

static bool profile_path_is_writable(const struct profile_path *x, const char *entry)
{
	char real[PATH_BYTES];

	if (links_follow(entry, NULL, NULL, real) < 0)
		return true;
	if (x->work_dir && (path_is_below(entry, x->work_dir) || path_is_below(real, x->work_dir)))
		return true;
	for (size_t i = 0; i < x->n_writes; i++)
		if (profile_path_is_in(entry, x->writes[i]) ||
			profile_path_is_in(real, x->writes[i]))
			return true;
	return false;
}

/* PATH has this entry before: shells that start shells add theirs again and again. */
static bool profile_path_is_again(const char *path, const char *text, size_t len)
{
	for (; path < text; path += strcspn(path, ":") + 1)
		if (strcspn(path, ":") == len && memcmp(path, text, len) == 0)
			return true;
	return false;
}

int profile_path_grant(struct permissions *p, const struct profile_path *x)
{
	char real_home[PATH_BYTES];
	struct layouts packages = { .to = p, .home = x->home, .real_home = real_home };
	const char *path = x->path;
	int r = 0;

	if (strcmp(x->home, "/") == 0)
		return 0; /* nobody's home */
	real_home[0] = '\0';
	for (size_t n = 0; r == 0 && *path && n < ENTRIES_MAX; n++) {
		const char *text = path;
		size_t len = strcspn(text, ":"), normal_len, root;
		char entry[PATH_BYTES];
		bool is_whole;

		path += len + (text[len] == ':');
		if (text[0] != '/' || profile_path_is_again(x->path, text, len) ||
			path_normalize(text, len, entry, &normal_len) < 0)
			continue; /* what is relative means another folder every time */
		if (!path_is_below(entry, x->home) || strcmp(entry, x->home) == 0 ||
			!profile_path_is_folder(entry) ||
			(x->work_dir && path_is_below(entry, x->work_dir)))
			continue;
		root = profile_path_root_of(entry, x->home);
		is_whole = entry[root] == '\0';
		entry[root] = '\0';
		r = add_folder(p, entry, x->home);
		if (!real_home[0] && links_follow(x->home, NULL, NULL, real_home) < 0)
			return 0;
		/* Of an installation all is granted. */
		if (r == 0 && is_whole && !profile_path_is_writable(x, entry))
			r = layouts_grant(&packages, entry);
		r = r > 0 ? 0 : r;
	}
	return r;
}
