/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/git.h"

#include <ctype.h>
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

/* Files of settings that one folder's git reads, and how deep they include each other. */
enum { SETTINGS_MAX = 1 << 20, FILES_MAX = 64, DEPTH_MAX = 10, WORD_MAX = 64 };

struct leads {
	const char *folder;
	profile_git_found *found;
	void *data;
	unsigned files;
};

/* What makes git run something, in any folder that is a repository. */
static const struct {
	const char *name, *who;
} parts[] = {
	{ "hooks", "git runs what is in it" },
	{ "config", "git runs the commands in it" },
	{ "config.worktree", "git runs the commands in it" },
	{ "commondir", "git takes its settings from where it says" },
	{ "modules", "git runs the commands and hooks in it" },
	{ "worktrees", "git takes the settings of other worktrees from it" },
};

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

/* A file with one path in it, behind a prefix. 1: out is that path. */
static int profile_git_read_path(
	const char *file, const char *prefix, const char *base, char out[PATH_BYTES])
{
	auto_buffer text = { 0 };
	int r = read_settings(file, &text);

	if (r <= 0)
		return r;
	if (text.failed)
		return -ENOMEM;
	while (text.len > 0 && strchr("\n\r", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (strncmp(buffer_text(&text), prefix, strlen(prefix)) != 0)
		return 0;
	return profile_git_resolve(base, buffer_text(&text) + strlen(prefix), out) < 0 ? 0 : 1;
}

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

static int profile_git_tell(const struct leads *l, const char *path, const char *who)
{
	size_t len = strlen(l->folder);

	if (!path_is_below(path, l->folder) || strlen(path) <= len + 1)
		return 0;
	return l->found(l->data, path + len + (len > 1), who);
}

/* The parts of a repository that is somewhere else than in .git. */
static int tell_parts(const struct leads *l, const char *repository)
{
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(parts); i++) {
		if (profile_git_resolve(repository, parts[i].name, path) == 0)
			r = profile_git_tell(l, path, parts[i].who);
	}
	return r;
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

	for (; t->at < t->end && (isalnum((unsigned char)*t->at) || strchr("-.", *t->at));
		t->at++) {
		if (*t->at && n < WORD_MAX - 1)
			out[n++] = *t->at;
		if (!*t->at)
			break;
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

/* Behind "=", as git reads it: quotes, escapes, comments, lines that go on. */
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

static int profile_git_read_file(struct leads *l, const char *path, unsigned depth);

/* An include stands for its file from the file's own folder. */
static int profile_git_judge(struct leads *l, const char *section, const char *key,
	const char *value, const char *file, unsigned depth)
{
	bool is_include = !strcasecmp(section, "include") || !strcasecmp(section, "includeif");
	char base[PATH_BYTES], path[PATH_BYTES];
	int r;

	if (!strcasecmp(section, "core") && !strcasecmp(key, "hookspath"))
		return profile_git_resolve(l->folder, value, path) < 0
			       ? 0
			       : profile_git_tell(l, path, "git runs what is in it");
	if (!is_include || strcasecmp(key, "path") != 0)
		return 0;
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strrchr(file, '/') - file), file);
	if (profile_git_resolve(base, value, path) < 0)
		return 0;
	r = profile_git_tell(l, path, "git runs the commands in it");
	return r < 0 || depth == DEPTH_MAX ? r : profile_git_read_file(l, path, depth + 1);
}

static int profile_git_read_all(struct leads *l, struct text t, const char *file, unsigned depth)
{
	char section[WORD_MAX] = "", key[WORD_MAX];
	int r = 0;

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
						   file, depth);
		}
	}
	return r;
}

static int profile_git_read_file(struct leads *l, const char *path, unsigned depth)
{
	auto_buffer text = { 0 };
	int r;

	if (++l->files > FILES_MAX)
		return -E2BIG;
	r = read_settings(path, &text);
	if (r <= 0)
		return r;
	if (text.failed)
		return -ENOMEM;
	return profile_git_read_all(
		l, (struct text){ buffer_text(&text), buffer_text(&text) + text.len }, path, depth);
}

static int read_named(struct leads *l, const char *base, const char *name)
{
	char path[PATH_BYTES];

	return profile_git_resolve(base, name, path) < 0 ? 0 : profile_git_read_file(l, path, 0);
}

/* The user's own: a relative core.hooksPath in it is one in every folder. */
static int read_users(struct leads *l)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	int r = home && home[0] == '/' ? read_named(l, home, ".gitconfig") : 0;

	if (r == 0 && config && config[0] == '/')
		return read_named(l, config, "git/config");
	return r == 0 && home && home[0] == '/' ? read_named(l, home, ".config/git/config") : r;
}

int profile_git_leads(const char *folder, profile_git_found *found, void *data)
{
	struct leads l = { .folder = folder, .found = found, .data = data };
	char own[PATH_BYTES], usual[PATH_BYTES], common[PATH_BYTES], path[PATH_BYTES];
	int r = profile_git_folder(folder, own);

	if (r <= 0)
		return r;
	memcpy(common, own, strlen(own) + 1);
	if (profile_git_resolve(own, "commondir", path) == 0)
		r = profile_git_read_path(path, "", own, common);
	if (r >= 0 && profile_git_resolve(folder, ".git", usual) == 0)
		r = strcmp(own, usual) == 0 ? 0 : tell_parts(&l, own);
	if (r == 0 && strcmp(common, own) != 0)
		r = tell_parts(&l, common);
	if (r == 0)
		r = read_named(&l, common, "config");
	if (r == 0)
		r = read_named(&l, own, "config.worktree");
	return r < 0 ? r : read_users(&l);
}
