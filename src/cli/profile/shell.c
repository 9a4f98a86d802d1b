/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user's shell runs out of a working folder: programs in folders of PATH that lie in it
 * (an activated .venv/bin, node_modules/.bin), and what its .envrc sources, loads or adds to PATH.
 *
 * An .envrc is read for names alone, bounded; no shell is imitated. A name with a variable in it is
 * not found, and neither is one that a program prints.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "cli/profile/internal.h"
#include "host/links.h"
#include "threat/threat.h"

/* Entries of PATH; bytes of an .envrc, files that it leads to, and how deep. */
enum { SHELL_ENTRIES = 128, SHELL_BYTES = 64 << 10, SHELL_FILES = 32, SHELL_DEPTH = 4 };

static const char shell_searches[] = "shells look for programs in it, by PATH";
static const char shell_sourced[] = "direnv runs it, since .envrc sources it";
static const char shell_loaded[] = "direnv takes variables from it, since .envrc loads it";
static const char shell_used[] = "direnv runs what .envrc names";

/* The part of a path that lies in the folder; NULL: it is elsewhere. */
static const char *shell_below(const char *folder, const char *path)
{
	const size_t len = strlen(folder);

	if (!path_is_below(path, folder))
		return NULL;
	return path[len] == '/' ? path + len + 1 : path + len;
}

/* text, as it stands in PATH, from base. */
static bool shell_resolve(const char *base, const char *text, size_t len, char out[PATH_BYTES])
{
	char path[PATH_BYTES];
	const bool is_absolute = len > 0 && text[0] == '/';

	return snprintf(path, sizeof(path), "%s%s%.*s", is_absolute ? "" : base,
		       is_absolute ? "" : "/", (int)len, text) < (int)sizeof(path) &&
	       links_follow(path, NULL, NULL, out) == 0;
}

/* A folder of the system is no link into a working folder, and is in every PATH. */
static bool shell_is_system(const char *entry)
{
	static const char *const folders[] = { "/usr/", "/bin", "/sbin" };

	for (size_t i = 0; i < ROWS(folders); i++)
		if (strncmp(entry, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

int profile_shell_path(const char *folder, const char *path, profile_shell_found *found, void *data)
{
	char here[PATH_BYTES], real[PATH_BYTES];
	int r = 0;

	if (!path)
		return 0;
	here[0] = '\0';
	for (size_t n = 0; r == 0 && n < SHELL_ENTRIES; n++) {
		const size_t len = strcspn(path, ":");
		const char *below = NULL;

		if (!shell_is_system(path) &&
			(path[0] == '/' || here[0] || getcwd(here, sizeof(here))) &&
			shell_resolve(here, path, len, real))
			below = shell_below(folder, real);
		if (below)
			r = found(data, below, shell_searches, PROFILE_SHELL_PROGRAMS);
		if (!path[len])
			break;
		path += len + 1;
	}
	return r;
}

/* .envrc */

struct shell_envrc {
	const char *folder;
	profile_shell_found *found;
	void *data;
	unsigned files;
	bool is_cut;
};

/* Words of direnv's library and of the shell, and what stands after them. */
static const struct shell_word {
	const char *name, *who;
	const char *instead; /* where nothing stands after it, or always if it begins with '=' */
	enum profile_shell_kind kind;
	bool is_read; /* it is such a file as well */
} shell_words[] = {
	{ "source_env", shell_sourced, NULL, PROFILE_SHELL_SOURCED, true },
	{ "source_env_if_exists", shell_sourced, NULL, PROFILE_SHELL_SOURCED, true },
	{ "source", shell_sourced, NULL, PROFILE_SHELL_SOURCED, true },
	{ ".", shell_sourced, NULL, PROFILE_SHELL_SOURCED, true },
	{ "source_up", shell_sourced, "=../.envrc", PROFILE_SHELL_SOURCED, false },
	{ "source_up_if_exists", shell_sourced, "=../.envrc", PROFILE_SHELL_SOURCED, false },
	{ "dotenv", shell_loaded, ".env", PROFILE_SHELL_LOADED, false },
	{ "dotenv_if_exists", shell_loaded, ".env", PROFILE_SHELL_LOADED, false },
	{ "PATH_add", shell_searches, NULL, PROFILE_SHELL_PROGRAMS, false },
	{ "flake", shell_used, "=flake.nix", PROFILE_SHELL_LOADED, false },
	{ "nix", shell_used, "=shell.nix", PROFILE_SHELL_LOADED, false },
	{ "devenv", shell_used, "=devenv.nix", PROFILE_SHELL_LOADED, false },
};

static const struct shell_word *shell_find_word(const char *word)
{
	for (size_t i = 0; i < ROWS(shell_words); i++)
		if (strcmp(shell_words[i].name, word) == 0)
			return &shell_words[i];
	return NULL;
}

static int shell_read_envrc(struct shell_envrc *e, const char *file, unsigned depth);

/* A path that stands in FILE's folder; of a folder, direnv sources its .envrc. */
static int shell_take(struct shell_envrc *e, const char *base, const char *word,
	const struct shell_word *w, unsigned depth)
{
	char real[PATH_BYTES], inner[PATH_BYTES];
	const char *below;
	struct stat st;
	int r;

	if (!shell_resolve(base, word, strlen(word), real))
		return 0;
	if (w->is_read && stat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (snprintf(inner, sizeof(inner), "%s/.envrc", real) >= (int)sizeof(inner))
			return 0;
		memcpy(real, inner, strlen(inner) + 1);
	}
	below = shell_below(e->folder, real);
	if (!below || !*below)
		return 0;
	r = e->found(e->data, below, w->who, w->kind);
	return r < 0 || !w->is_read || depth == SHELL_DEPTH ? r
							    : shell_read_envrc(e, real, depth + 1);
}

/* A word after none of these: a script of the folder, if it is there ("eval $(./tools/env.sh)"). */
static int shell_take_script(struct shell_envrc *e, const char *base, const char *word)
{
	static const struct shell_word script = { "", shell_used, NULL, PROFILE_SHELL_SOURCED,
		false };
	char real[PATH_BYTES];
	struct stat st;

	if (!strchr(word, '/') || !shell_resolve(base, word, strlen(word), real) ||
		!path_is_below(real, e->folder) || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return shell_take(e, base, word, &script, SHELL_DEPTH);
}

/* One line: words, without what a shell would make of them. */
static int shell_read_line(struct shell_envrc *e, const char *base, char *line, unsigned depth)
{
	static const char ends[] = " \t\r\"'`;&|()<>={}$";
	const struct shell_word *before = NULL;
	char *rest = line;
	int r = 0;

	for (char *word; r == 0 && (word = strtok_r(rest, ends, &rest));) {
		const struct shell_word *w = before ? NULL : shell_find_word(word);

		if (word[0] == '#')
			break;
		/* $PWD/x is x. */
		if (strncmp(word, "PWD/", 4) == 0)
			word += 4;
		if (before)
			r = shell_take(e, base, word, before, depth);
		else if (!w)
			r = shell_take_script(e, base, word);
		before = w && !(w->instead && w->instead[0] == '=') ? w : NULL;
		if (r == 0 && w && !before)
			r = shell_take(e, base, w->instead + 1, w, depth);
	}
	if (r == 0 && before && before->instead)
		r = shell_take(e, base, before->instead, before, depth);
	return r;
}

static int shell_read_envrc(struct shell_envrc *e, const char *file, unsigned depth)
{
	char base[PATH_BYTES];
	auto_buffer text = { 0 };
	char *rest;
	int r;

	if (++e->files > SHELL_FILES) {
		e->is_cut = true;
		return 0;
	}
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strrchr(file, '/') - file), file);
	r = file_read_regular(file, SHELL_BYTES, &text);
	e->is_cut = e->is_cut || r == -EFBIG;
	if (r == -ENOMEM || text.failed)
		return -ENOMEM;
	if (r < 0 || !text.len)
		return 0;
	r = 0;
	rest = text.data;
	for (char *line; r == 0 && (line = strtok_r(rest, "\n", &rest));)
		r = shell_read_line(e, base, line, depth);
	return r;
}

int profile_shell_envrc(
	const char *folder, const char *file, profile_shell_found *found, void *data)
{
	struct shell_envrc e = { .folder = folder, .found = found, .data = data };
	int r = shell_read_envrc(&e, file, 0);

	return r < 0 ? r : e.is_cut ? -E2BIG : 0;
}
