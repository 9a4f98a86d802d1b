/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that git's settings name: `filter.x.clean = ./scripts/clean.sh %f`, `core.fsmonitor`,
 * `alias.x = !tools/x`. The settings are kept from being written; what they name and lies in the
 * folder is run by git with all of the user's rights just the same. Words of the value that are
 * paths are looked at, no shell is imitated.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "cli/profile/internal.h"

/* Words of one value that are looked at. */
enum { GIT_PROGRAM_WORDS = 16 };

static const char git_program_runs[] = "git runs it, as its settings say";

/* Keys whose values are commands, as the documents of git and its extensions have them; NULL: all
 * of the section. */
static const struct {
	const char *section, *key;
} git_program_keys[] = {
	{ "core", "fsmonitor" },
	{ "core", "sshcommand" },
	{ "core", "pager" },
	{ "core", "editor" },
	{ "core", "askpass" },
	{ "core", "gitproxy" },
	{ "core", "alternaterefscommand" },
	{ "pager", NULL },
	{ "alias", NULL },
	{ "filter", NULL },
	{ "diff", "external" },
	{ "diff", "command" },
	{ "diff", "textconv" },
	{ "merge", "driver" },
	{ "difftool", NULL },
	{ "mergetool", NULL },
	{ "guitool", "cmd" },
	{ "credential", "helper" },
	{ "gpg", "program" },
	{ "gpg", "defaultkeycommand" },
	{ "hook", "command" },
	{ "sequence", "editor" },
	{ "interactive", "difffilter" },
	{ "remote", "uploadpack" },
	{ "remote", "receivepack" },
	{ "uploadpack", "packobjectshook" },
	{ "submodule", "update" },
	{ "trailer", "command" },
	{ "trailer", "cmd" },
	{ "sendemail", NULL },
	{ "browser", NULL },
	{ "man", NULL },
	{ "web", "browser" },
	{ "help", "browser" },
	{ "instaweb", NULL },
	{ "tar", "command" },
	{ "gc", "recentobjectshook" },
	{ "svn", "authorsprog" },
	{ "lfs", "path" },
	{ "lfs", "clean" },
	{ "lfs", "smudge" },
	{ "tig", NULL },
	{ "imap", "tunnel" },
	{ "init", "templatedir" },
};

/* In any section: settings that are newer than the table, and those of other extensions. */
static const char git_program_ends[][8] = { "command", "cmd", "hook", "program", "helper",
	"editor" };

/* Addresses: only those that are commands. */
static const char git_program_ext[] = "ext::";

static bool git_program_is_address(const char *section, const char *key, const char *value)
{
	return strcasecmp(section, "remote") == 0 &&
	       (strcasecmp(key, "url") == 0 || strcasecmp(key, "pushurl") == 0) &&
	       strncmp(value, git_program_ext, strlen(git_program_ext)) == 0;
}

static bool git_program_has_end(const char *key)
{
	const size_t len = strlen(key);

	for (size_t i = 0; i < ROWS(git_program_ends); i++) {
		const size_t n = strlen(git_program_ends[i]);

		if (len >= n && strcasecmp(key + len - n, git_program_ends[i]) == 0)
			return true;
	}
	return false;
}

static bool git_program_is_key(const char *section, const char *key)
{
	/* [filter.x] is an old way to write [filter "x"]. */
	const size_t len = strcspn(section, ".");

	for (size_t i = 0; i < ROWS(git_program_keys); i++)
		if (strlen(git_program_keys[i].section) == len &&
			strncasecmp(git_program_keys[i].section, section, len) == 0 &&
			(!git_program_keys[i].key || strcasecmp(git_program_keys[i].key, key) == 0))
			return true;
	return git_program_has_end(key);
}

/* A word that leads to a file in the folder: the program itself, also if it is not there yet. */
static int git_program_tell(const struct profile_git_leads *l, const char *word, bool is_first)
{
	const bool is_path = strchr(word, '/') != NULL;
	char path[PATH_BYTES];
	struct stat st;
	bool is_there;

	/* A name by itself is looked for in PATH; behind an interpreter it is a file. */
	if ((!is_path && (is_first || l->kind == PROFILE_GIT_USER)) ||
		profile_git_resolve(l->worktree, word, path) < 0 || !path_is_below(path, l->folder))
		return 0;
	is_there = stat(path, &st) == 0;
	if (is_there ? S_ISDIR(st.st_mode) : !is_path || (!is_first && word[0] != '.'))
		return 0;
	return profile_git_tell(l, path, git_program_runs);
}

int profile_git_command(const struct profile_git_leads *l, const char *value)
{
	static const char ends[] = " \t\n\"'`!;&|()<>=";
	int r = 0;

	for (size_t n = 0; r == 0 && n < GIT_PROGRAM_WORDS; n++) {
		char word[PATH_BYTES];
		size_t len;

		value += strspn(value, ends);
		len = strcspn(value, ends);
		if (len == 0)
			break;
		(void)snprintf(word, sizeof(word), "%.*s", (int)len, value);
		if (len < sizeof(word))
			r = git_program_tell(l, word, n == 0);
		value += len;
	}
	return r;
}

int profile_git_program(
	const struct profile_git_leads *l, const char *section, const char *key, const char *value)
{
	if (git_program_is_address(section, key, value))
		return profile_git_command(l, value + strlen(git_program_ext));
	if (!git_program_is_key(section, key) ||
		(strcasecmp(section, "alias") == 0 && value[0] != '!'))
		return 0;
	return profile_git_command(l, value);
}
