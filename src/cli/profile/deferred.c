/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/deferred.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/changed.h"
#include "cli/profile/git.h"
#include "host/links.h"
#include "policy/match/glob.h"

/* Rules of the layer: a grant by name is judged before the denial. */
enum { PRIORITY_DENY = 0, PRIORITY_ALLOW = 1 };
/* Names in all of the folders that are looked at afterwards. */
enum { SEARCHED_MAX = 4096 };

struct row {
	const char *path; /* below the working folder */
	const char *who;
};

/* src/advice/lint/deferred.c warns about the same files in policies, at any depth. */
static const struct row rows[] = {
	{ ".git/hooks", "git runs what is in it" },
	{ ".git/config", "git runs the commands in it" },
	{ ".git/config.worktree", "git runs the commands in it" },
	{ ".git/modules", "git runs the commands and hooks in it" },
	{ ".git/commondir", "git takes its settings from where it says" },
	{ ".git/worktrees", "git takes the settings of other worktrees from it" },
	{ ".git", "git takes its settings from where it says" },
	{ ".husky", "git runs what is in it" },
	{ ".envrc", "direnv runs it when you enter the folder" },
	{ ".vscode", "the editor runs its tasks" },
	{ ".idea", "the editor runs its tasks" },
	{ ".zed", "the editor runs its tasks" },
	{ ".devcontainer", "the editor runs its commands" },
	{ ".devcontainer.json", "the editor runs its commands" },
	{ ".vimrc", "the editor runs it" },
	{ ".nvimrc", "the editor runs it" },
	{ ".nvim.lua", "the editor runs it" },
	{ ".exrc", "the editor runs it" },
	{ ".dir-locals.el", "the editor runs what is in it" },
	{ ".claude/settings.json", "an agent runs its hooks" },
	{ ".claude/settings.local.json", "an agent runs its hooks" },
	{ ".claude/hooks", "an agent runs what is in it" },
	{ ".claude/commands", "an agent follows what is in it" },
	{ ".claude/agents", "an agent follows what is in it" },
	{ ".claude/skills", "an agent follows what is in it" },
	{ ".cursor", "an agent starts its servers" },
	{ ".mcp.json", "an agent starts its servers" },
	{ ".github/workflows", "the forge runs it with its secrets" },
	{ ".gitlab-ci.yml", "the forge runs it with its secrets" },
	{ ".bashrc", "a shell runs it, if this is a home" },
	{ ".bash_profile", "a shell runs it, if this is a home" },
	{ ".bash_login", "a shell runs it, if this is a home" },
	{ ".bash_logout", "a shell runs it, if this is a home" },
	{ ".profile", "a shell runs it, if this is a home" },
	{ ".zshrc", "a shell runs it, if this is a home" },
	{ ".zshenv", "a shell runs it, if this is a home" },
	{ ".zprofile", "a shell runs it, if this is a home" },
	{ ".zlogin", "a shell runs it, if this is a home" },
};

#define N_ROWS (ROWS(rows))

/* As a folder it is the repository itself, whose parts have rows of their own. */
static bool is_for_file(const struct row *row)
{
	return strcmp(row->path, ".git") == 0;
}

/* Texts that are not in the table. */
struct deferred_names {
	struct arena arena;
	struct row rows[DEFERRED_ROWS - N_ROWS];
	size_t n;
};

_Static_assert(N_ROWS + 32 <= DEFERRED_ROWS && DEFERRED_ROWS < DEFERRED_MAX, "too many rows");

static size_t profile_deferred_count(const struct deferred *d)
{
	return N_ROWS + d->names->n;
}

static const struct row *row_at(const struct deferred *d, size_t i)
{
	return i < N_ROWS ? &rows[i] : &d->names->rows[i - N_ROWS];
}

static bool profile_deferred_path_of(
	const struct deferred *d, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s/%s", d->folder, name) < PATH_BYTES;
}

/* Large, and full of objects that are links of those of other clones. */
static bool is_searched(const struct row *row)
{
	return strcmp(row->path, ".git/modules") != 0 && strcmp(row->path, ".git/worktrees") != 0;
}

static struct deferred_state profile_deferred_look(
	const struct deferred *d, const struct row *row, unsigned *names)
{
	struct stat st;

	if (fstatat(d->fd, row->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		(S_ISDIR(st.st_mode) && is_for_file(row)))
		return (struct deferred_state){ 0 };
	return (struct deferred_state){
		.exists = true,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
		.inside = S_ISDIR(st.st_mode) && is_searched(row)
				  ? profile_changed_print(d->fd, row->path, names)
				  : 0,
	};
}

static bool profile_deferred_is_known(const struct deferred *d, const char *path)
{
	for (size_t i = 0; i < profile_deferred_count(d); i++) {
		if (strcmp(row_at(d, i)->path, path) == 0)
			return true;
	}
	return false;
}

static int add_lead(void *data, const char *path, const char *who)
{
	struct deferred *d = data;
	struct deferred_names *names = d->names;
	struct row row = { .who = who };

	if (profile_deferred_is_known(d, path))
		return 0;
	if (names->n == ROWS(names->rows))
		return -E2BIG;
	row.path = arena_strdup(&names->arena, path);
	if (!row.path)
		return -ENOMEM;
	names->rows[names->n++] = row;
	return 0;
}

int deferred_open(struct deferred *d, const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned names = SEARCHED_MAX;
	int r;

	if (fd < 0)
		return -errno;
	*d = (struct deferred){ .folder = folder, .fd = fd, .names = calloc(1, sizeof(*d->names)) };
	/* The coarse clock is the one that files get their times from. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &d->since);
	r = d->names ? profile_git_leads(folder, add_lead, d) : -ENOMEM;
	if (r < 0) {
		deferred_close(d);
		return r;
	}
	for (size_t i = 0; i < profile_deferred_count(d); i++)
		d->before[i] = profile_deferred_look(d, row_at(d, i), &names);
	return 0;
}

void deferred_close(struct deferred *d)
{
	if (d->folder)
		(void)close(d->fd);
	if (d->names)
		arena_deinit(&d->names->arena);
	free(d->names);
	*d = (struct deferred){ 0 };
}

static bool profile_deferred_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int profile_deferred_add_pattern(struct permissions *p, struct rule *rule, const char *path)
{
	auto_buffer pattern = { 0 };

	glob_print_literal(path, strlen(path), &pattern);
	if (profile_deferred_is_folder(path))
		buffer_adds(&pattern, "/**");
	return pattern.failed
		       ? -ENOMEM
		       : permissions_add(p, &rule->patterns, buffer_text(&pattern), &rule->where);
}

/*
 * A link inside the folder is no thing that a mount can cover, but what it leads to is, if that
 * lies in the folder as well; elsewhere nothing is granted. A link that is replaced is noticed.
 */
static int deny_row(
	const struct deferred *d, struct permissions *p, struct rule *rule, const char *name)
{
	char path[PATH_BYTES], real[PATH_BYTES];
	struct stat st;

	if (!profile_deferred_path_of(d, name, path) || links_follow(path, NULL, NULL, real) < 0)
		return 0;
	if (!path_is_below(real, d->folder) || strcmp(real, d->folder) == 0 || lstat(real, &st) < 0)
		return 0;
	return profile_deferred_add_pattern(p, rule, real);
}

int deferred_deny(const struct deferred *d, struct permissions *p)
{
	struct rule rule = {
		.id = "runs-later",
		.name = "other programs run it later, outside of the sandbox",
		.action = VERDICT_DENY,
		.priority = PRIORITY_DENY,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = p->origin },
	};
	int r = 0;

	/* One that can't be written anyway needs no rule, and one without files no mount. */
	if (!d->folder || p->fs_write.n == 0)
		return 0;
	for (size_t i = 0; r == 0 && i < profile_deferred_count(d); i++) {
		if (d->before[i].exists)
			r = deny_row(d, p, &rule, row_at(d, i)->path);
	}
	return r == 0 && rule.patterns.n ? permissions_add_rule(p, &rule) : r;
}

/* The row that the path, with which all that is matched starts, is or lies below; -1: none. */
static int find_row(const struct deferred *d, const struct glob_alternative *alt)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < profile_deferred_count(d); i++) {
		const struct row *row = row_at(d, i);

		if (is_for_file(row) && !d->before[i].exists)
			continue;
		if (profile_deferred_path_of(d, row->path, path) &&
			path_is_below(alt->literal, path))
			return (int)i;
	}
	return -1;
}

int deferred_allow(struct deferred *d, struct permissions *p, const char *pattern)
{
	struct rule rule = {
		.id = "granted-by-name",
		.action = VERDICT_ALLOW,
		.priority = PRIORITY_ALLOW,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = "--write" },
	};
	auto_arena scratch = { 0 };
	struct glob g;
	int r;

	if (!d->folder)
		return 0;
	r = glob_parse(&g, &scratch, pattern, NULL, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* with a variable: not by name */
	for (size_t i = 0; i < g.n; i++) {
		int row = find_row(d, &g.alternatives[i]);

		if (row < 0)
			return 0;
		d->granted[row] = true;
	}
	r = permissions_add(p, &rule.patterns, pattern, &rule.where);
	return r < 0 ? r : permissions_add_rule(p, &rule);
}

static bool profile_deferred_is_same(const struct deferred_state *a, const struct deferred_state *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && a->changed == b->changed && a->changed_ns == b->changed_ns &&
	       a->inside == b->inside;
}

struct news {
	const struct deferred *deferred;
	struct deferred_news *items;
	size_t n;
};

static int add_link(void *data, const char *path, const char *who)
{
	struct news *news = data;
	const char *copy;

	if (news->n == DEFERRED_MAX)
		return -E2BIG; /* enough for a person */
	for (size_t i = 0; i < news->n; i++) {
		if (strcmp(news->items[i].path, path) == 0)
			return 0;
	}
	copy = arena_strdup(&news->deferred->names->arena, path);
	news->items[news->n++] = (struct deferred_news){ copy ? copy : "?", who, false };
	return 0;
}

size_t deferred_check(const struct deferred *d, struct deferred_news *ret)
{
	struct news news = { .deferred = d, .items = ret };
	unsigned names = SEARCHED_MAX;

	for (size_t i = 0; d->folder && i < profile_deferred_count(d); i++) {
		const struct row *row = row_at(d, i);
		struct deferred_state now = profile_deferred_look(d, row, &names);

		if (!now.exists || d->granted[i])
			continue;
		if (!profile_deferred_is_same(&now, &d->before[i]))
			ret[news.n++] =
				(struct deferred_news){ row->path, row->who, !d->before[i].exists };
	}
	if (d->folder)
		(void)profile_git_links(d->folder, &d->since, add_link, &news);
	return news.n;
}
