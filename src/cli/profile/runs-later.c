/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/runs-later.h"

#include <dirent.h>
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
#include "base/fd.h"
#include "base/path.h"
#include "cli/profile/internal.h"
#include "host/links.h"
#include "policy/match/glob.h"
#include "threat/threat.h"

/* Rules of the layer: a grant by name is judged before the denial. */
enum { PRIORITY_DENY = 0, PRIORITY_ALLOW = 1 };
/* Names in all of the folders that are looked at afterwards. */
enum { SEARCHED_MAX = 4096, DEPTH_MAX = 8 };

/* What is looked at: the rows of the table (threat/threat.h), and behind them where git leads. */
struct runs_later_names {
	struct arena arena;
	struct threat rows[RUNS_LATER_ROWS];
	size_t n;
};

static bool runs_later_path_of(const struct runs_later *d, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s/%s", d->folder, name) < PATH_BYTES;
}

/* FNV-1a over what changes when somebody changes the file. */
static uint64_t print_of(const struct stat *st)
{
	const uint64_t parts[] = { (uint64_t)st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(parts); i++)
		h = (h ^ (parts[i / 8] >> i % 8 * 8 & 0xff)) * UINT64_C(0x100000001b3);
	return h;
}

/*
 * A number that stands for all that is in a folder, by times, sizes and inodes; at most *names are
 * looked at, which counts them down. A folder that is kept read-only by a mount can still change
 * under it: a file in it may have a second name, a hard link, in a place that can be written, made
 * in a session before the folder was kept. A sum, since the order of names is nobody's promise.
 */
static uint64_t runs_later_print(int at, const char *path, unsigned *names, unsigned depth)
{
	auto_fd fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	uint64_t sum = 0;

	if (!dir)
		return 0;
	(void)fd_take(&fd); /* it has an owner now */
	while (*names > 0 && (d = readdir(dir))) {
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		--*names;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		sum += print_of(&st);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			sum += runs_later_print(dirfd(dir), d->d_name, names, depth + 1);
	}
	(void)closedir(dir);
	return sum;
}

static struct runs_later_state runs_later_look(
	const struct runs_later *d, const struct threat *row, unsigned *names)
{
	struct stat st;

	if (fstatat(d->fd, row->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		(S_ISDIR(st.st_mode) && row->uses & THREAT_FILE))
		return (struct runs_later_state){ 0 };
	return (struct runs_later_state){
		.exists = true,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
		.inside = S_ISDIR(st.st_mode) && !(row->uses & THREAT_LARGE)
				  ? runs_later_print(d->fd, row->name, names, 0)
				  : 0,
	};
}

static int runs_later_add_row(struct runs_later_names *names, struct threat row)
{
	if (names->n == ROWS(names->rows))
		return -E2BIG;
	names->rows[names->n++] = row;
	return 0;
}

static int add_lead(void *data, const char *path, const char *who)
{
	struct runs_later_names *names = data;
	struct threat row = { .what = who, .uses = THREAT_PROTECT };

	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->rows[i].name, path) == 0) {
			names->rows[i].uses |= THREAT_PROTECT;
			return 0;
		}
	}
	row.name = arena_strdup(&names->arena, path);
	return row.name ? runs_later_add_row(names, row) : -ENOMEM;
}

int runs_later_open(struct runs_later *d, const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned names = SEARCHED_MAX;
	int r = 0;

	if (fd < 0)
		return -errno;
	*d = (struct runs_later){
		.folder = folder, .fd = fd, .names = calloc(1, sizeof(*d->names))
	};
	/* The coarse clock is the one that files get their times from. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &d->since);
	if (!d->names)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < threat_paths_n; i++)
		r = runs_later_add_row(d->names, threat_paths[i]);
	if (r == 0)
		r = profile_git_leads(folder, add_lead, d->names);
	if (r < 0) {
		runs_later_close(d);
		return r;
	}
	for (size_t i = 0; i < d->names->n; i++)
		d->before[i] = runs_later_look(d, &d->names->rows[i], &names);
	return 0;
}

void runs_later_close(struct runs_later *d)
{
	if (d->folder)
		(void)close(d->fd);
	if (d->names)
		arena_deinit(&d->names->arena);
	free(d->names);
	*d = (struct runs_later){ 0 };
}

/*
 * A link inside the folder is no thing that a mount can cover, but what it leads to is, if that
 * lies in the folder as well; elsewhere nothing is granted. A link that is replaced is noticed.
 */
static int deny_row(
	const struct runs_later *d, struct permissions *p, struct rule *rule, const char *name)
{
	char path[PATH_BYTES], real[PATH_BYTES];
	auto_buffer pattern = { 0 };
	struct stat st;

	if (!runs_later_path_of(d, name, path) || links_follow(path, NULL, NULL, real) < 0)
		return 0;
	if (!path_is_below(real, d->folder) || strcmp(real, d->folder) == 0 || lstat(real, &st) < 0)
		return 0;
	glob_print_literal(real, strlen(real), &pattern);
	if (S_ISDIR(st.st_mode))
		buffer_adds(&pattern, "/**");
	return pattern.failed
		       ? -ENOMEM
		       : permissions_add(p, &rule->patterns, buffer_text(&pattern), &rule->where);
}

int runs_later_deny(const struct runs_later *d, struct permissions *p)
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
	for (size_t i = 0; r == 0 && i < d->names->n; i++) {
		if (d->before[i].exists && d->names->rows[i].uses & THREAT_PROTECT)
			r = deny_row(d, p, &rule, d->names->rows[i].name);
	}
	return r == 0 && rule.patterns.n ? permissions_add_rule(p, &rule) : r;
}

/* The row that the path, with which all that is matched starts, is or lies below; -1: none. */
static int find_row(const struct runs_later *d, const struct glob_alternative *alt)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < d->names->n; i++) {
		const struct threat *row = &d->names->rows[i];

		if (row->uses & THREAT_FILE && !d->before[i].exists)
			continue;
		if (runs_later_path_of(d, row->name, path) && path_is_below(alt->literal, path))
			return (int)i;
	}
	return -1;
}

int runs_later_allow(struct runs_later *d, struct permissions *p, const char *pattern)
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

static bool runs_later_is_same(const struct runs_later_state *a, const struct runs_later_state *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && a->changed == b->changed && a->changed_ns == b->changed_ns &&
	       a->inside == b->inside;
}

struct news {
	const struct runs_later *files;
	struct runs_later_news *items;
	size_t n;
};

static int add_link(void *data, const char *path, const char *who)
{
	struct news *news = data;
	const char *copy;

	if (news->n == RUNS_LATER_MAX)
		return -E2BIG; /* enough for a person */
	for (size_t i = 0; i < news->n; i++) {
		if (strcmp(news->items[i].path, path) == 0)
			return 0;
	}
	copy = arena_strdup(&news->files->names->arena, path);
	news->items[news->n++] = (struct runs_later_news){ copy ? copy : "?", who, false };
	return 0;
}

size_t runs_later_check(const struct runs_later *d, struct runs_later_news *ret)
{
	struct news news = { .files = d, .items = ret };
	unsigned names = SEARCHED_MAX;

	for (size_t i = 0; d->folder && i < d->names->n; i++) {
		const struct threat *row = &d->names->rows[i];
		struct runs_later_state now = runs_later_look(d, row, &names);

		if (!now.exists || d->granted[i])
			continue;
		if (!runs_later_is_same(&now, &d->before[i]))
			ret[news.n++] = (struct runs_later_news){ row->name, row->what,
				!d->before[i].exists };
	}
	if (d->folder)
		(void)profile_git_links(d->folder, &d->since, add_link, &news);
	return news.n;
}
