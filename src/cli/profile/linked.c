/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where links lead from a protected place: from the place itself, from folders on the way to it,
 * and from inside it. A read-only mount on .git/hooks covers the link pre-commit, not the script
 * that it leads to. The script is kept like the place; links on the way, which no mount can cover,
 * are told, so that a change of them is noticed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/profile/internal.h"
#include "host/links.h"

struct profile_linked_walk {
	const char *folder; /* what counts lies below it */
	const char *kept;   /* what lies in it is kept with it; NULL: nothing is */
	profile_linked_found *found;
	void *data;
};

/* path: absolute. */
static int profile_linked_tell(
	const struct profile_linked_walk *w, const char *path, enum profile_linked_kind kind)
{
	size_t len = strlen(w->folder);

	if (kind == PROFILE_LINKED_WIDE && path_is_below(w->folder, path))
		return w->found(w->data, "", kind);
	if (path_is_below(path, w->folder))
		return w->found(w->data, path + len + (len > 1 && path[len]), kind);
	return kind == PROFILE_LINKED_END ? w->found(w->data, path, PROFILE_LINKED_OUTSIDE) : 0;
}

/* A links_link: one that a command may replace. */
static int profile_linked_hop(void *data, const char *link, const char *target)
{
	const struct profile_linked_walk *w = data;

	if (w->kept && path_is_below(link, w->kept))
		return 0;
	return profile_linked_tell(w, link, target ? PROFILE_LINKED_HOP : PROFILE_LINKED_FOLDER);
}

/* Follows a path, absolute, and tells of what it meets; end: where it leads. */
static int profile_linked_follow(
	struct profile_linked_walk *w, const char *path, char end[PATH_BYTES])
{
	struct stat st;
	int r = links_walk(path, profile_linked_hop, w, end);

	if (r < 0)
		return r == -ELOOP || r == -ENAMETOOLONG || r == -EINVAL ? 1 : r;
	if (strcmp(path, end) == 0 || (w->kept && path_is_below(end, w->kept)))
		return 0;
	if (path_is_below(path, end) && lstat(end, &st) == 0 && S_ISDIR(st.st_mode))
		return profile_linked_tell(w, end, PROFILE_LINKED_WIDE);
	return profile_linked_tell(w, end, PROFILE_LINKED_END);
}

/* A linked_found: a link in the kept folder. */
static int profile_linked_inside(void *data, const char *below)
{
	struct profile_linked_walk *w = data;
	char path[PATH_BYTES], end[PATH_BYTES];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", w->kept, below) >= (int)sizeof(path))
		return 0;
	r = profile_linked_follow(w, path, end);
	return r < 0 ? r : 0;
}

int profile_linked_each(struct linked *bounds, const char *folder, const char *path, bool is_folder,
	profile_linked_found *found, void *data, char ret_real[PATH_BYTES])
{
	struct profile_linked_walk w = { .folder = folder, .found = found, .data = data };
	char full[PATH_BYTES];
	int r;

	ret_real[0] = '\0';
	if (snprintf(full, sizeof(full), "%s/%s", folder[1] ? folder : "", path) >=
		(int)sizeof(full))
		return 0;
	r = profile_linked_follow(&w, full, ret_real);
	if (r != 0) {
		ret_real[0] = '\0';
		return r < 0 ? r : 0;
	}
	w.kept = ret_real;
	/* Through a link it is told as a place of its own. */
	return is_folder && strcmp(full, ret_real) == 0
		       ? linked_each(bounds, ret_real, LINKED_DEPTH_MAX, profile_linked_inside, &w)
		       : 0;
}
