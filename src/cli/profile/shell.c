/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user's shell runs out of a working folder: programs in folders of PATH that lie in it
 * (an activated .venv/bin, node_modules/.bin), and what its .envrc sources, loads or adds to PATH.
 *
 * An .envrc is read for names alone, bounded; no shell is imitated. A name with a variable in it is
 * not found, but for $PWD at its start, and neither is one that a program prints.
 */
#include <dirent.h>
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
/* Names in .direnv. */
enum { SHELL_LAYOUTS = 64 };

static const char shell_way[] = "a link on the way to what shells run";
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

/* What is searched, and where it is reported. */
struct shell_search {
	const char *folder;
	profile_shell_found *found;
	void *data;
};

/* A links_link: in the folder a command may replace it. */
static int shell_hop(void *data, const char *link, const char *target)
{
	const struct shell_search *x = data;
	const char *below = target ? shell_below(x->folder, link) : NULL;

	return below && *below ? x->found(x->data, below, shell_way, PROFILE_SHELL_HOP) : 0;
}

/* text, as it stands in PATH, from base; links on the way are reported, unless x is NULL. 1: out is
 * where it leads; 0: nowhere. */
static int shell_resolve(const struct shell_search *x, const char *base, const char *text,
	size_t len, char out[PATH_BYTES])
{
	char path[PATH_BYTES];
	const bool is_absolute = len > 0 && text[0] == '/';
	int r;

	if (snprintf(path, sizeof(path), "%s%s%.*s", is_absolute ? "" : base,
		    is_absolute ? "" : "/", (int)len, text) >= (int)sizeof(path))
		return 0;
	r = links_walk(path, x ? shell_hop : NULL, (void *)x, out);
	return r == 0 ? 1 : r == -ENOMEM ? r : 0;
}

/* A folder of the system is no link into a working folder, and is in every PATH. */
static bool shell_is_system(const char *folder, const char *entry, size_t len)
{
	static const char *const folders[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
		"/usr/bin", "/sbin", "/bin", "/usr/local/games", "/usr/games" };

	for (size_t i = 0; i < ROWS(folders); i++)
		if (strlen(folders[i]) == len && memcmp(entry, folders[i], len) == 0)
			return !path_is_below(folders[i], folder);
	return false;
}

int profile_shell_path(const char *folder, const char *path, profile_shell_found *found, void *data)
{
	const struct shell_search x = { folder, found, data };
	char here[PATH_BYTES], real[PATH_BYTES];
	int r = 0;

	if (!path)
		return 0;
	here[0] = '\0';
	for (size_t n = 0; r == 0 && n < SHELL_ENTRIES; n++) {
		const size_t len = strcspn(path, ":");
		const char *below = NULL;

		if (!shell_is_system(folder, path, len) &&
			(path[0] == '/' || here[0] || getcwd(here, sizeof(here))))
			r = shell_resolve(&x, here, path, len, real);
		if (r > 0)
			below = shell_below(folder, real);
		r = r < 0 ? r : 0;
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
	struct shell_search search;
	unsigned files;
	bool is_cut;
};

/* Words of direnv's library and of the shell, and what stands after them. */
static const struct shell_word {
	const char *name, *who;
	const char *instead; /* where nothing stands after it, or always if it begins with '=' */
	enum profile_shell_kind kind;
	bool is_read;     /* it is such a file as well */
	bool is_many;     /* all that stands after it counts */
	unsigned skipped; /* words after it that do not */
} shell_words[] = {
	{ "source_env", shell_sourced, NULL, PROFILE_SHELL_SOURCED, .is_read = true },
	{ "source_env_if_exists", shell_sourced, NULL, PROFILE_SHELL_SOURCED, .is_read = true },
	{ "source", shell_sourced, NULL, PROFILE_SHELL_SOURCED, .is_read = true },
	{ ".", shell_sourced, NULL, PROFILE_SHELL_SOURCED, .is_read = true },
	{ "source_up", shell_sourced, "=../.envrc", PROFILE_SHELL_SOURCED, .is_read = false },
	{ "source_up_if_exists", shell_sourced, "=../.envrc", PROFILE_SHELL_SOURCED,
		.is_read = false },
	{ "dotenv", shell_loaded, ".env", PROFILE_SHELL_LOADED, .is_read = false },
	{ "dotenv_if_exists", shell_loaded, ".env", PROFILE_SHELL_LOADED, .is_read = false },
	{ "PATH_add", shell_searches, NULL, PROFILE_SHELL_PROGRAMS, .is_many = true },
	{ "path_add", shell_searches, NULL, PROFILE_SHELL_PROGRAMS, .is_many = true, .skipped = 1 },
	{ "flake", shell_used, "=flake.nix", PROFILE_SHELL_LOADED, .is_read = false },
	{ "nix", shell_used, "=shell.nix", PROFILE_SHELL_LOADED, .is_read = false },
	{ "devenv", shell_used, "=devenv.nix", PROFILE_SHELL_LOADED, .is_read = false },
};
/* PATH=…, up to the end of the command. */
static const struct shell_word shell_assigned = { "PATH=", shell_searches, NULL,
	PROFILE_SHELL_PROGRAMS, .is_many = true };

/* Folders of PATH by a layout of direnv, beside those in .direnv/. */
static const struct {
	const char *name, *folder;
} shell_layouts[] = {
	{ "node", "node_modules/.bin" },
	{ "php", "vendor/bin" },
	{ "go", "bin" },
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

	r = shell_resolve(&e->search, base, word, strlen(word), real);
	if (r <= 0)
		return r;
	if (w->is_read && stat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (snprintf(inner, sizeof(inner), "%s/.envrc", real) >= (int)sizeof(inner))
			return 0;
		memcpy(real, inner, strlen(inner) + 1);
	}
	below = shell_below(e->search.folder, real);
	if (!below || (!*below && w->kind != PROFILE_SHELL_PROGRAMS))
		return 0;
	r = e->search.found(e->search.data, below, w->who, w->kind);
	return r < 0 || !w->is_read || depth == SHELL_DEPTH ? r
							    : shell_read_envrc(e, real, depth + 1);
}

/* A word after none of these: a script of the folder, if it is there ("eval $(./tools/env.sh)"). */
static int shell_take_script(struct shell_envrc *e, const char *base, const char *word)
{
	static const struct shell_word script = { "", shell_used, NULL, PROFILE_SHELL_SOURCED,
		.is_read = false };
	char real[PATH_BYTES];
	struct stat st;

	if (!strchr(word, '/') || shell_resolve(NULL, base, word, strlen(word), real) <= 0 ||
		!path_is_below(real, e->search.folder) || stat(real, &st) < 0 ||
		!S_ISREG(st.st_mode))
		return 0;
	return shell_take(e, base, word, &script, SHELL_DEPTH);
}

/* `layout python` makes .direnv/python-3.11/bin, and others likewise. */
static int shell_take_layout(struct shell_envrc *e, const char *base, const char *name)
{
	char path[PATH_BYTES];
	DIR *dir = snprintf(path, sizeof(path), "%s/.direnv", base) < (int)sizeof(path)
			   ? opendir(path)
			   : NULL;
	const struct dirent *d;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(shell_layouts); i++) {
		if (strcmp(shell_layouts[i].name, name) == 0)
			r = shell_take(
				e, base, shell_layouts[i].folder, &shell_assigned, SHELL_DEPTH);
	}
	for (unsigned left = SHELL_LAYOUTS; r == 0 && dir && left && (d = readdir(dir)); left--) {
		if (d->d_name[0] != '.' && snprintf(path, sizeof(path), ".direnv/%s/bin",
						   d->d_name) < (int)sizeof(path))
			r = shell_take(e, base, path, &shell_assigned, SHELL_DEPTH);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

/* $PWD/x is ./x, however it is written. */
static void shell_put_here(char *line)
{
	static const char *const here[] = { "$PWD/", "${PWD}/", "$PWD\"/", "${PWD}\"/", "$(pwd)/",
		"$(pwd)\"/" };

	for (size_t i = 0; i < ROWS(here); i++) {
		const size_t len = strlen(here[i]);

		for (char *at = line; (at = strstr(at, here[i])); at += len) {
			memset(at, ' ', len);
			memcpy(at + len - 2, "./", 2);
		}
	}
}

/* The command that is being read, and how many words after its first were. */
struct shell_envrc_word {
	const struct shell_word *word;
	bool is_layout;
	unsigned n;
};

static int shell_end_command(
	struct shell_envrc *e, const char *base, struct shell_envrc_word *c, unsigned depth)
{
	const struct shell_word *w = c->word;
	const bool is_short = w && w->instead && c->n == 0;

	*c = (struct shell_envrc_word){ 0 };
	return is_short ? shell_take(e, base, w->instead, w, depth) : 0;
}

static int shell_read_word(struct shell_envrc *e, const char *base, char *word, bool is_assigned,
	struct shell_envrc_word *c, unsigned depth)
{
	const struct shell_word *w = c->word;

	if (is_assigned && strcmp(word, "PATH") == 0) {
		*c = (struct shell_envrc_word){ .word = &shell_assigned };
		return 0;
	}
	if (c->is_layout) {
		c->is_layout = false;
		return shell_take_layout(e, base, word);
	}
	if (w && (w->is_many || c->n == 0))
		return c->n++ < w->skipped || strcmp(word, "PATH") == 0
			       ? 0
			       : shell_take(e, base, word, w, depth);
	w = shell_find_word(word);
	c->is_layout = strcmp(word, "layout") == 0;
	if (!w)
		return shell_take_script(e, base, word);
	if (w->instead && w->instead[0] == '=')
		return shell_take(e, base, w->instead + 1, w, depth);
	c->word = w;
	c->n = 0;
	return 0;
}

/* One line: words, without what a shell would make of them. */
static int shell_read_line(struct shell_envrc *e, const char *base, char *line, unsigned depth)
{
	static const char ends[] = " \t\r\"'`;&|()<>={}$:";
	struct shell_envrc_word c = { 0 };
	int r = 0;

	shell_put_here(line);
	while (r == 0 && *line && *line != '#') {
		const size_t len = strcspn(line, ends);
		const char end = line[len];

		line[len] = '\0';
		if (len)
			r = shell_read_word(e, base, line, end == '=', &c, depth);
		line += len + (end != '\0');
		if (r == 0 && (!end || strchr(";&|", end)))
			r = shell_end_command(e, base, &c, depth);
	}
	return r < 0 ? r : shell_end_command(e, base, &c, depth);
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
	struct shell_envrc e = { .search = { folder, found, data } };
	int r = shell_read_envrc(&e, file, 0);

	return r < 0 ? r : e.is_cut ? -E2BIG : 0;
}
