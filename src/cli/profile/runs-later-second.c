/* SPDX-License-Identifier: Apache-2.0 */
/* The second look, after the command: what is new or was changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/profile/places.h"

static const char runs_later_made_closed[] =
	"it cannot be listed now, so not all that is in it was looked at";

struct runs_later_report {
	const struct runs_later *files;
	bool is_told; /* the repository of the folder is new: that is all there is to say of it */
};

/* Was it, or something in it, named by --write? Of a repository only itself counts. */
static bool runs_later_is_granted(const struct runs_later *d, const char *path, bool is_repository)
{
	char full[PATH_BYTES];

	if (snprintf(full, sizeof(full), "%s/%s", d->folder, path) >= (int)sizeof(full))
		return false;
	for (size_t i = 0; i < d->n_granted; i++) {
		if (is_repository ? strcmp(d->granted[i], full) == 0
				  : path_is_below(d->granted[i], full))
			return true;
	}
	return false;
}

static int runs_later_tell(
	const struct runs_later *d, const char *path, const char *who, unsigned uses, bool is_new)
{
	(void)news_add(&d->places->news, &(struct runs_later_news){ .path = *path ? path : ".",
						 .who = who,
						 .is_new = is_new,
						 .rank = news_rank(uses) });
	return 0;
}

static int runs_later_tell_link(void *data, const char *path, const char *who, unsigned uses)
{
	const struct runs_later_report *report = data;

	return runs_later_tell(report->files, path, who, uses | THREAT_SOON, false);
}

/*
 * What can be run in a folder of PATH and was made or changed meanwhile, by the times of files.
 * Where another folder is in its place, they say nothing: then it is the folder that is reported.
 */
static void runs_later_tell_programs(const struct runs_later *d,
	const struct runs_later_place *place, const struct runs_later_state *now)
{
	auto_fd fd = openat(d->fd, *place->path ? place->path : ".",
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool is_other = !place->before.exists || place->before.ino != now->ino;
	const struct dirent *e;

	if (dir)
		(void)fd_take(&fd);
	for (unsigned left = RUNS_LATER_SEARCHED; dir && left && (e = readdir(dir)); left--) {
		char path[PATH_BYTES];
		struct stat st;

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_mode & 0111)) &&
			look_is_since(&st.st_ctim, &d->since) &&
			runs_later_join(place->path, e->d_name, path) &&
			!runs_later_is_granted(d, path, false))
			(void)runs_later_tell(d, path, place->what, place->uses, false);
	}
	if (is_other || !dir)
		(void)runs_later_tell(
			d, place->path, place->what, place->uses, !place->before.exists);
	if (dir)
		(void)closedir(dir);
}

/* In what is large, files with names elsewhere that are not known: only these are looked at. */
static void runs_later_tell_twins(const struct runs_later *d)
{
	const struct profile_twins *t = &d->places->twins;
	struct stat st;

	for (size_t i = 0; i < t->n; i++) {
		if (t->items[i].is_large && !profile_twins_is_whole(t, i) &&
			fstatat(d->fd, t->items[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			look_is_since(&st.st_ctim, &d->since) &&
			!runs_later_is_granted(d, t->items[i].path, false))
			(void)runs_later_tell(
				d, t->items[i].path, runs_later_twin, THREAT_PROTECT, false);
	}
}

/* One that was not there, or not seen, before. Of a folder that the first look did not see whole,
 * only times can tell. */
static int runs_later_tell_row(
	void *data, const struct look_folder *f, const char *path, const struct threat *row)
{
	struct runs_later_report *news = data;
	const struct runs_later *d = news->files;
	struct runs_later_places *p = d->places;
	bool is_sure = f->is_new || (f->is_known && !p->is_full);
	struct runs_later_state now;

	if ((news->is_told && strncmp(threat_name(row), ".git/", strlen(".git/")) == 0) ||
		look_index_find(&p->index, p->items, sizeof(*p->items), path) >= 0 ||
		runs_later_is_inside(p, path))
		return 0;
	now = runs_later_state(d, path, row->uses);
	p->is_closed = p->is_closed || now.is_closed;
	if (!now.exists || (!is_sure && !look_is_since(&now.newest, &d->since)) ||
		runs_later_is_granted(d, path, false))
		return 0;
	return runs_later_tell(d, path, threat_what(row), row->uses, is_sure);
}

/* A repository that was not there before. */
static int runs_later_tell_repository(struct runs_later_report *news, const struct look_folder *f)
{
	const struct runs_later *d = news->files;
	const struct runs_later_places *p = d->places;
	char path[PATH_BYTES];
	struct stat st;

	if ((!f->is_new && (!f->is_known || p->is_full)) ||
		!runs_later_join(f->path, f->is_bare ? "" : ".git", path) ||
		look_index_find(&p->index, p->items, sizeof(*p->items), path) >= 0 ||
		fstatat(d->fd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || runs_later_is_inside(p, path) ||
		runs_later_is_granted(d, path, true))
		return 0;
	news->is_told = true;
	return runs_later_tell(
		d, path, f->is_bare ? runs_later_bare : runs_later_repository, THREAT_SOON, true);
}

/* A folder that the command made, or changed, so that it cannot be listed. */
static int runs_later_tell_closed(struct runs_later_report *news, const struct look_folder *f)
{
	const struct runs_later *d = news->files;

	d->places->is_closed = true;
	if (!look_is_since(&f->changed, &d->since))
		return 0;
	return runs_later_tell(d, f->path, runs_later_made_closed, THREAT_SOON, f->is_new);
}

static int runs_later_visit_second(void *data, const struct look_folder *f)
{
	struct runs_later_report *news = data;
	const struct runs_later *d = news->files;
	const struct runs_later_rows rows = { d->places, f, runs_later_tell_row, news };
	bool has_git = runs_later_has(f, ".git");
	char worktree[PATH_BYTES];
	int r = 0;

	news->is_told = false;
	if (f->is_closed)
		r = runs_later_tell_closed(news, f);
	if (r == 0 && (f->is_bare || has_git))
		r = runs_later_tell_repository(news, f);
	if (r == 0)
		r = runs_later_rows(&rows);
	if (r == 0 && has_git &&
		snprintf(worktree, sizeof(worktree), "%s%s%s", d->folder, *f->path ? "/" : "",
			f->path) < (int)sizeof(worktree))
		r = profile_git_links(d->folder, worktree, &d->since, runs_later_tell_link, news);
	d->places->is_cut = d->places->is_cut || r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

/* Folders that a command has earned by its time. */
static unsigned runs_later_earned(const struct runs_later *d)
{
	struct timespec now = d->since;
	int64_t ms;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ms = (int64_t)(now.tv_sec - d->since.tv_sec) * 1000 +
	     (now.tv_nsec - d->since.tv_nsec) / 1000000 - LOOK_FREE_MS;
	return ms < 0      ? 0
	       : ms > 8192 ? 8192 * LOOK_FOLDERS_PER_MS
			   : (unsigned)ms * LOOK_FOLDERS_PER_MS;
}

size_t runs_later_check(const struct runs_later *d, const struct runs_later_news **ret)
{
	struct runs_later_report news = { .files = d };
	struct runs_later_places *p = d->places;

	*ret = NULL;
	if (!d->folder)
		return 0;
	p->names = RUNS_LATER_SEARCHED;
	p->news = (struct news){ .arena = &p->look.arena };
	for (size_t i = 0; i < p->n; i++) {
		const struct runs_later_place *place = &p->items[i];
		bool is_repository = place->kind == PLACE_REPOSITORY;
		struct runs_later_state now = runs_later_state(d, *place->path ? place->path : ".",
			runs_later_uses(place->kind, place->uses));

		p->is_closed = p->is_closed || now.is_closed;
		if (!now.exists || runs_later_is_same(place, &now) ||
			runs_later_is_granted(d, place->path, is_repository))
			continue;
		if (place->kind == PLACE_PROGRAMS)
			runs_later_tell_programs(d, place, &now);
		else
			(void)runs_later_tell(
				d, place->path, place->what, place->uses, !place->before.exists);
	}
	runs_later_tell_twins(d);
	/* Out of memory: what was not seen is not passed over in silence. */
	if (look_second(&p->look, &d->since, runs_later_earned(d), runs_later_visit_second, &news) <
		0)
		p->is_cut = true;
	news_sort(&p->news);
	*ret = p->news.items;
	return p->news.n;
}

bool runs_later_count(const struct runs_later *d, size_t *created, size_t *changed)
{
	const struct look *l = d->folder ? &d->places->look : NULL;

	*created = l ? l->count.created : 0;
	*changed = l ? l->count.changed : 0;
	return l && (l->count.is_cut || l->is_cut);
}

size_t runs_later_left(const struct runs_later *d)
{
	return d->folder ? d->places->news.left : 0;
}

size_t runs_later_missed(const struct runs_later *d, const struct runs_later_miss **ret)
{
	*ret = d->folder ? d->places->missed : NULL;
	return d->folder ? d->places->n_missed : 0;
}

bool runs_later_is_cut(const struct runs_later *d)
{
	return d->folder && (d->places->is_cut || d->places->is_full || d->places->look.is_cut ||
				    d->places->news.left);
}

bool runs_later_is_closed(const struct runs_later *d)
{
	return d->folder && d->places->is_closed;
}
