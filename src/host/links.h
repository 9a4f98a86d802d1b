/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Symbolic links, followed the way the kernel does, one at a time. Unlike realpath() this also
 * follows a link whose target is not there: opening such a path for writing creates the target, so
 * that is where it leads. What does not exist, or may not be seen, is taken as it is written.
 */
#include <stdbool.h>

#include "base/path.h"

/* As many links as the kernel follows. */
enum { LINKS_MAX = 40 };

/* Called for each hop with the whole path as it then is, normal. A negative return ends it. */
typedef int links_hop(void *data, const char *path);

/*
 * Walks along an absolute path and writes where it ends to out, in normal form. hop may be NULL.
 * -ELOOP past LINKS_MAX, -ENAMETOOLONG, -EINVAL if the path is not absolute, or what hop returned.
 */
int links_follow(const char *path, links_hop *hop, void *data, char out[PATH_BYTES]);

/*
 * Called for each link on the way: where it lies (its folder free of links), and what it says. And
 * with NULL for what it says, for each folder that a link leads into and out of again ("a/../b"):
 * with a link in its place the way would be another.
 */
typedef int links_link(void *data, const char *link, const char *target);

/* The same walk, but it names the links instead of the paths they make. */
int links_walk(const char *path, links_link *seen, void *data, char out[PATH_BYTES]);

/*
 * Reads a link whose folder is free of links: its length, target ended by a NUL; 0: it is none.
 * is_last: nothing follows it on the way. A negative return ends the walk.
 */
typedef int links_read(void *data, const char *path, bool is_last, char target[PATH_BYTES]);

/* links_walk() for a caller that knows some of the links; seen may be NULL. */
int links_walk_by(
	const char *path, links_read *read, links_link *seen, void *data, char out[PATH_BYTES]);

/*
 * From here on a path that is there and is no link is looked at once (is_on), or again as before.
 * For a program that looks at the same folders again and again before it does anything: it then
 * sees them all as they were when it first looked. Of links and of what is missing nothing is kept.
 * Whoever uses a path still has to open it without links and compare what it got.
 */
void links_keep(bool is_on);
