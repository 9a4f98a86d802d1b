/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a working folder's git goes by its own settings. `.git/config` and `.git/hooks` are not all
 * that makes git run something: `.git` may be a file that names another folder, `commondir` in it
 * names a third, core.hooksPath and include.path name more, and a submodule in the index is entered
 * by `git status` with the settings that lie there, and from there those that its own index names.
 *
 * Nothing here is trusted: the files may be a command's. They are read as git reads them, bounded,
 * and never followed for anything but to learn their names.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/profile/internal.h"
#include "cli/profile/profile.h"
#include "threat/threat.h"

/* Files of settings that one folder's git reads, and how deep they include each other. */
enum { SETTINGS_MAX = 1 << 20, FILES_MAX = 64, DEPTH_MAX = 10, WORD_MAX = 64 };
/* Worktrees of a repository that are looked at. */
enum { WORKTREES_MAX = 128 };
/* Of all repositories in a folder. */
enum { ALL_SETTINGS_MAX = 8 << 20, ALL_FILES_MAX = 1024 };

static const char profile_git_large[] =
	"is larger than 1 MiB and was not read: hooks, files and submodules that it names are "
	"neither protected nor reported: shorten or remove it";
static const char profile_git_many[] =
	"was not read, because git's settings here include too many files: hooks, files and "
	"submodules that it names are neither protected nor reported: remove includes";
static const char profile_git_runs_hooks[] = "git runs what is in it";

/* text, a path as git has them, from base. */
int profile_git_resolve(const char *base, const char *text, char out[PATH_BYTES])
{
	const char *home = getenv("HOME");
	char joined[2 * PATH_BYTES];
	size_t len;
	int n;

	if (text[0] == '/')
		n = snprintf(joined, sizeof(joined), "%s", text);
	else if (text[0] == '~' && text[1] == '/' && home)
		n = snprintf(joined, sizeof(joined), "%s%s", home, text + 1);
	else
		n = snprintf(joined, sizeof(joined), "%s/%s", base, text);
	if (n >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	return path_normalize(joined, (size_t)n, out, &len);
}

/* 1: read; 0: nothing that git could read. A pipe would keep us waiting. */
static int read_settings(const char *path, struct buffer *out)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	r = file_read_fd(fd, SETTINGS_MAX, out);
	return r < 0 ? r : 1;
}

/* A file with one path in it, after a prefix. 1: out is that path. */
int profile_git_read_path(
	const char *file, const char *prefix, const char *base, char out[PATH_BYTES])
{
	auto_buffer text = { 0 };
	int r = read_settings(file, &text);

	/* Git takes no such file either: no path is as long. */
	if (r <= 0)
		return r == -EFBIG ? 0 : r;
	if (text.failed)
		return -ENOMEM;
	while (text.len > 0 && strchr("\n\r", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (strncmp(buffer_text(&text), prefix, strlen(prefix)) != 0)
		return 0;
	return profile_git_resolve(base, buffer_text(&text) + strlen(prefix), out) < 0 ? 0 : 1;
}

/* The folder that .git is or names: 1; 0: there is none. */
int profile_git_folder(const char *folder, char out[PATH_BYTES])
{
	char path[PATH_BYTES];
	struct stat st;

	if (profile_git_resolve(folder, ".git", path) < 0 || stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return profile_git_read_path(path, "gitdir: ", folder, out);
	memcpy(out, path, strlen(path) + 1);
	return 1;
}

static int tell_as(
	const struct profile_git_leads *l, const char *path, const char *who, unsigned uses)
{
	size_t len = strlen(l->folder);

	if (!path_is_below(path, l->folder) || strlen(path) <= len + 1)
		return 0;
	return l->found(l->data, path + len + (len > 1), who, uses);
}

int profile_git_tell(const struct profile_git_leads *l, const char *path, const char *who)
{
	return tell_as(l, path, who, THREAT_PROTECT | THREAT_SOON);
}

/* The parts of a repository that is somewhere else than in .git: the table has those of .git. What
 * it only reports, such as a rebase that goes on, work writes. */
static int tell_parts(const struct profile_git_leads *l, const char *repository)
{
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < threat_paths_n; i++) {
		const char *name = threat_name(&threat_paths[i]);

		if (strncmp(name, ".git/", 5) == 0 &&
			profile_git_resolve(repository, name + 5, path) == 0)
			r = tell_as(l, path, threat_what(&threat_paths[i]),
				(threat_paths[i].uses & (THREAT_PROTECT | THREAT_REPORT)) |
					THREAT_SOON);
	}
	return r;
}

/* Worktrees */

static const char profile_git_worktree[] = "git takes the settings of other worktrees from it";

/*
 * What git keeps about one worktree. If that lies in the folder, work in it writes there (its
 * index, a rebase), and only what leads git to settings is kept; else all of it.
 */
static int tell_worktree(const struct profile_git_leads *l, const char *entry)
{
	char dot_git[PATH_BYTES], around[PATH_BYTES], path[PATH_BYTES], named[PATH_BYTES];
	int r = profile_git_resolve(entry, "gitdir", path) < 0
			? 0
			: profile_git_read_path(path, "", entry, dot_git);

	if (r < 0)
		return r;
	/* It has to lead named, or it is no worktree that git would use from there. */
	if (r == 0 || !path_is_below(dot_git, l->folder) ||
		profile_git_resolve(dot_git, "..", around) < 0 ||
		profile_git_read_path(dot_git, "gitdir: ", around, named) != 1 ||
		strcmp(named, entry) != 0)
		return profile_git_tell(l, entry, profile_git_worktree);
	r = profile_git_tell(l, path, profile_git_worktree);
	return r < 0 ? r : tell_parts(l, entry);
}

static int tell_worktrees(const struct profile_git_leads *l, const char *repository)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	DIR *dir =
		profile_git_resolve(repository, "worktrees", folder) < 0 ? NULL : opendir(folder);
	unsigned left = WORKTREES_MAX;
	const struct dirent *d;
	int r = 0;

	while (dir && r == 0 && left && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		left--;
		if (profile_git_resolve(folder, d->d_name, path) == 0)
			r = tell_worktree(l, path);
	}
	if (dir)
		(void)closedir(dir);
	/* Nothing is left out: then none of them can be used. */
	return r == 0 && !left ? profile_git_tell(l, folder, profile_git_worktree) : r;
}

/* Settings */

struct text {
	const char *at, *end;
};

static void skip_line(struct text *t)
{
	while (t->at < t->end && *t->at != '\n')
		t->at++;
}

/* A name of letters, digits, "-" and "."; longer ones are none that we look for. */
static void take_word(struct text *t, char out[WORD_MAX])
{
	size_t n = 0;

	for (; t->at < t->end && *t->at; t->at++) {
		if (!isalnum((unsigned char)*t->at) && !strchr("-.", *t->at))
			break;
		if (n < WORD_MAX - 1)
			out[n++] = *t->at;
	}
	out[n] = '\0';
}

/* From "[" up to and with "]"; what stands in quotes is no matter of ours. */
static void take_section(struct text *t, char out[WORD_MAX])
{
	bool quoted = false;

	t->at++;
	take_word(t, out);
	for (; t->at < t->end && *t->at != '\n' && (quoted || *t->at != ']'); t->at++) {
		if (quoted && *t->at == '\\' && t->at + 1 < t->end)
			t->at++;
		else if (*t->at == '"')
			quoted = !quoted;
	}
	if (t->at < t->end && *t->at == ']')
		t->at++;
}

/* After "=", as git reads it: quotes, escapes, comments, lines that go on. */
static void take_value(struct text *t, struct buffer *out)
{
	bool quoted = false;
	size_t keep = 0;

	for (; t->at < t->end && *t->at != '\n'; t->at++) {
		char c = *t->at;

		if (!quoted && (c == '#' || c == ';')) {
			skip_line(t);
			break;
		}
		if (c == '"') {
			quoted = !quoted;
			keep = out->len;
			continue;
		}
		if (c == '\\' && t->at + 1 < t->end) {
			c = *++t->at;
			if (c == '\n')
				continue;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
		} else if (!quoted && isspace((unsigned char)c)) {
			if (out->len > 0)
				buffer_addc(out, c);
			continue;
		}
		buffer_addc(out, c);
		keep = out->len;
	}
	if (out->data && keep < out->len)
		out->data[out->len = keep] = '\0';
}

/* An include stands for its file from the file's own folder. */
int profile_git_judge(struct profile_git_leads *l, const char *section, const char *key,
	const char *value, const char *file, unsigned depth)
{
	bool is_include = !strcasecmp(section, "include") || !strcasecmp(section, "includeif");
	bool is_hooks = !strcasecmp(section, "core") && !strcasecmp(key, "hookspath");
	char base[PATH_BYTES], path[PATH_BYTES];
	int r;

	if (l->kind == PROFILE_GIT_MODULES)
		return strcasecmp(section, "submodule") != 0 || strcasecmp(key, "path") != 0 ||
				       profile_git_resolve(l->worktree, value, path) < 0
			       ? 0
			       : profile_git_tell(l, path, "a submodule");
	/* Git does not look for it in files that are included. */
	if (l->kind == PROFILE_GIT_FORMAT)
		return strcasecmp(section, "extensions") != 0 ||
				       strcasecmp(key, "objectformat") != 0
			       ? 0
			       : l->found(l->data, value, "", 0);
	if (l->kind == PROFILE_GIT_IDENTITY && strcasecmp(section, "include") != 0)
		return strcasecmp(section, "user") != 0 ? 0 : l->found(l->data, value, key, 0);
	if (is_hooks && l->kind == PROFILE_GIT_USER && value[0] != '/' && value[0] != '~') {
		(void)snprintf(l->user->hooks, sizeof(l->user->hooks), "%s", value);
		return 0;
	}
	if (is_hooks)
		return profile_git_resolve(l->worktree, value, path) < 0
			       ? 0
			       : profile_git_tell(l, path, profile_git_runs_hooks);
	if (!is_include || strcasecmp(key, "path") != 0)
		return profile_git_program(l, section, key, value);
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strrchr(file, '/') - file), file);
	if (profile_git_resolve(base, value, path) < 0)
		return 0;
	r = l->kind == PROFILE_GIT_IDENTITY
		    ? 0
		    : profile_git_tell(l, path, "git runs the commands in it");
	return r < 0 || depth == DEPTH_MAX ? r : profile_git_read_file(l, path, depth + 1);
}

/* A file that is left out; the first is told. */
static int profile_git_miss(struct profile_git_leads *l, const char *path, const char *why)
{
	if (!l->user->why)
		(void)snprintf(l->user->missed, sizeof(l->user->missed), "%s", path);
	l->user->why = l->user->why ? l->user->why : why;
	return 0;
}

int profile_git_read_file(struct profile_git_leads *l, const char *path, unsigned depth)
{
	char section[WORD_MAX] = "", key[WORD_MAX];
	auto_buffer text = { 0 };
	struct text t;
	int r;

	if (++l->files > FILES_MAX || ++l->user->files > ALL_FILES_MAX)
		return profile_git_miss(l, path, profile_git_many);
	r = read_settings(path, &text);
	if (r == -EFBIG)
		return profile_git_miss(l, path, profile_git_large);
	if (r <= 0)
		return r;
	if (text.failed)
		return -ENOMEM;
	l->user->bytes += text.len;
	if (l->user->bytes > ALL_SETTINGS_MAX)
		return profile_git_miss(l, path, profile_git_many);
	t = (struct text){ buffer_text(&text), buffer_text(&text) + text.len };
	r = 0;
	while (r == 0 && t.at < t.end) {
		auto_buffer value = { 0 };

		if (*t.at == '[') {
			take_section(&t, section);
		} else if (*t.at == '#' || *t.at == ';') {
			skip_line(&t);
		} else if (!isalpha((unsigned char)*t.at)) {
			t.at++;
		} else {
			take_word(&t, key);
			while (t.at < t.end && (*t.at == ' ' || *t.at == '\t'))
				t.at++;
			if (t.at == t.end || *t.at != '=')
				continue;
			t.at++;
			take_value(&t, &value);
			r = value.failed ? -ENOMEM
					 : profile_git_judge(l, section, key, buffer_text(&value),
						   path, depth);
		}
	}
	return r;
}

/* The user's own settings, once: a relative core.hooksPath in them is one in every worktree. */
static int profile_git_read_user(struct profile_git_leads *l)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	bool has_config = config && config[0] == '/';
	const struct {
		const char *base, *name;
	} files[] = {
		{ home, ".gitconfig" },
		{ has_config ? config : home, has_config ? "git/config" : ".config/git/config" },
	};
	char path[PATH_BYTES];
	int r = 0;

	l->kind = PROFILE_GIT_USER;
	for (size_t i = 0; r == 0 && !l->user->is_read && i < ROWS(files); i++) {
		const char *base = files[i].base;

		if (base && base[0] == '/' && profile_git_resolve(base, files[i].name, path) == 0)
			r = profile_git_read_file(l, path, 0);
	}
	l->user->is_read = true;
	if (r == 0 && l->user->hooks[0] &&
		profile_git_resolve(l->worktree, l->user->hooks, path) == 0)
		r = profile_git_tell(l, path, profile_git_runs_hooks);
	return r;
}

/* A profile_git_found for settings of `user`; the last one counts. */
static int profile_git_note_identity(void *data, const char *value, const char *key, unsigned uses)
{
	struct profile_identity *who = data;
	const bool is_name = !strcasecmp(key, "name");

	(void)uses;
	/* It becomes a variable: no line breaks, and nothing that is cut off. */
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < ' ')
			return 0;
	}
	if (strlen(value) < sizeof(who->name) && (is_name || !strcasecmp(key, "email")))
		memcpy(is_name ? who->name : who->email, value, strlen(value) + 1);
	return 0;
}

int profile_git_identity(const char *home, struct profile_identity *ret)
{
	static const char *const names[] = { ".config/git/config", ".gitconfig" };
	struct profile_git_user user = { 0 };
	struct profile_git_leads l = { .folder = home,
		.worktree = home,
		.found = profile_git_note_identity,
		.data = ret,
		.kind = PROFILE_GIT_IDENTITY,
		.user = &user };
	char path[PATH_BYTES];
	int r = 0;

	*ret = (struct profile_identity){ 0 };
	for (size_t i = 0; r == 0 && i < ROWS(names); i++) {
		if (profile_git_resolve(home, names[i], path) == 0)
			r = profile_git_read_file(&l, path, 0);
	}
	return r == -ENOMEM ? r : 0;
}

int profile_git_leads(const char *folder, const char *worktree, bool is_bare,
	struct profile_git_user *user, profile_git_found *found, void *data)
{
	struct profile_git_leads l = {
		.folder = folder, .worktree = worktree, .found = found, .data = data, .user = user
	};
	char own[PATH_BYTES], usual[PATH_BYTES], common[PATH_BYTES], path[PATH_BYTES];
	int r = is_bare ? profile_git_resolve(worktree, ".", own)
			: profile_git_folder(worktree, own);

	if (r < 0 || (r == 0 && !is_bare))
		return r;
	memcpy(common, own, strlen(own) + 1);
	if (profile_git_resolve(own, "commondir", path) == 0)
		r = profile_git_read_path(path, "", own, common);
	if (r >= 0 && profile_git_resolve(worktree, ".git", usual) == 0)
		r = strcmp(own, usual) == 0 ? 0 : tell_parts(&l, own);
	if (r == 0 && strcmp(common, own) != 0)
		r = tell_parts(&l, common);
	if (r == 0)
		r = tell_worktrees(&l, common);
	if (r == 0 && profile_git_resolve(common, "config", path) == 0)
		r = profile_git_read_file(&l, path, 0);
	if (r == 0 && profile_git_resolve(own, "config.worktree", path) == 0)
		r = profile_git_read_file(&l, path, 0);
	return r < 0 ? r : profile_git_read_user(&l);
}

int profile_git_modules(const char *folder, const char *worktree, struct profile_git_user *user,
	profile_git_found *found, void *data)
{
	struct profile_git_leads l = { .folder = folder,
		.worktree = worktree,
		.found = found,
		.data = data,
		.user = user,
		.kind = PROFILE_GIT_MODULES };
	char path[PATH_BYTES];

	return profile_git_resolve(worktree, ".gitmodules", path) < 0
		       ? 0
		       : profile_git_read_file(&l, path, 0);
}
