/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile-deferred.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/path.h"
#include "jail/links.h"
#include "policy/glob.h"

/* Rules of the layer: a grant by name is judged before the denial. */
enum { PRIORITY_DENY = 0, PRIORITY_ALLOW = 1 };

struct row {
	const char *path; /* below the working folder */
	const char *who;
};

/* src/policy/lint-deferred.c warns about the same files in policies, at any depth. */
static const struct row rows[] = {
	{ ".git/hooks", "git runs what is in it" },
	{ ".git/config", "git runs the commands in it" },
	{ ".git/config.worktree", "git runs the commands in it" },
	{ ".git/modules", "git runs the commands and hooks in it" },
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

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(N_ROWS <= DEFERRED_MAX, "more rows than states");

static bool path_of(const struct deferred *d, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s/%s", d->folder, name) < PATH_BYTES;
}

static struct deferred_state look(const struct deferred *d, const char *name)
{
	struct stat st;

	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return (struct deferred_state){ 0 };
	return (struct deferred_state){
		.exists = true,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
	};
}

int deferred_open(struct deferred *d, const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*d = (struct deferred){ .folder = folder, .fd = fd };
	for (size_t i = 0; i < N_ROWS; i++)
		d->before[i] = look(d, rows[i].path);
	return 0;
}

void deferred_close(struct deferred *d)
{
	if (d->folder)
		(void)close(d->fd);
	*d = (struct deferred){ 0 };
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_pattern(struct permissions *p, struct rule *rule, const char *path)
{
	auto_buffer pattern = { 0 };

	glob_print_literal(path, strlen(path), &pattern);
	if (is_folder(path))
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

	if (!path_of(d, name, path) || links_follow(path, NULL, NULL, real) < 0)
		return 0;
	if (!path_is_below(real, d->folder) || strcmp(real, d->folder) == 0 || lstat(real, &st) < 0)
		return 0;
	return add_pattern(p, rule, real);
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
	for (size_t i = 0; r == 0 && i < N_ROWS; i++) {
		if (d->before[i].exists)
			r = deny_row(d, p, &rule, rows[i].path);
	}
	return r == 0 && rule.patterns.n ? permissions_add_rule(p, &rule) : r;
}

/* The row that the path, with which all that is matched starts, is or lies below; -1: none. */
static int find_row(const struct deferred *d, const struct glob_alternative *alt)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < N_ROWS; i++) {
		if (path_of(d, rows[i].path, path) && path_is_below(alt->literal, path))
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

static bool is_same(const struct deferred_state *a, const struct deferred_state *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && a->changed == b->changed && a->changed_ns == b->changed_ns;
}

size_t deferred_check(const struct deferred *d, struct deferred_news *ret)
{
	size_t n = 0;

	for (size_t i = 0; d->folder && i < N_ROWS; i++) {
		struct deferred_state now = look(d, rows[i].path);

		if (now.exists && !d->granted[i] && !is_same(&now, &d->before[i]))
			ret[n++] = (struct deferred_news){ rows[i].path, rows[i].who,
				!d->before[i].exists };
	}
	return n;
}
