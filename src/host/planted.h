/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Links that a command could have left behind. A sandbox shows a command what was granted to it;
 * what it writes there stays, links included. Whoever grants ./data to the next command means the
 * folder that was there yesterday, and not what a link of that name leads to today. So a grant is
 * followed only through links that no command of this user can have made:
 *
 *   - those that root made, in folders which this user cannot write, with all that is above them
 *     (/bin, /var/run, /home itself);
 *   - those that lie in the home itself, not deeper: the baseline lets no policy grant it as a
 *     whole, so that no command makes a new name there;
 *   - for root, who may write everything: those in folders of the system (the table in planted.c).
 *
 * Any other link grants nothing: the caller says where it leads, and asks for that name.
 */
#include <stdbool.h>

#include "base/path.h"

/* link: its path, with no other link on the way. home: the same; NULL: none is known. */
bool planted_is_possible(const char *link, const char *home);

/* Of one path: where it leads, and the first such link on its way. */
struct planted {
	char real[PATH_BYTES];
	char link[PATH_BYTES]; /* "": there is none */
};

/*
 * Follows the path (host/links.h). home may have links, and be NULL. 1: a link of that kind is on
 * the way; 0: none is; or what links_walk() returns.
 */
int planted_find(const char *path, const char *home, struct planted *ret);

/*
 * Whether what the path leads to is there, and no command of this user can have changed it, been
 * granted to write in it, or put something else in its place, in this run or in an earlier one:
 * for root it is in a folder of the system that the baseline guards, for other users neither they
 * nor their commands may write it or a folder above it. Links count as above, those in the home
 * too. real: where it leads, if so.
 */
bool planted_is_out_of_reach(const char *path, char real[PATH_BYTES]);
