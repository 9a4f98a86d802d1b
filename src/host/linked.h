/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The symbolic links in a folder, and in the folders below it. What protects or hides a folder has
 * to protect or hide what these lead to as well: a mount on the folder covers the links, not their
 * targets.
 *
 * Folders are read breadth first, so that links near the top are found whatever lies below, and a
 * bounded number of them. Nothing is followed.
 */
#include <stdbool.h>

#include "base/path.h"

enum { LINKED_FOLDERS_MAX = 256, LINKED_NAMES_MAX = 8192, LINKED_DEPTH_MAX = 4 };

/* What is left of the bounds; one may be used for many folders. */
struct linked {
	unsigned folders, names;
	const char *const *skipped; /* ends of paths of folders that are not entered, then NULL */
	bool is_cut;                /* there were more names or folders */
	bool is_deep;               /* there were folders deeper than asked for */
	bool is_closed;             /* a folder could not be listed: */
	char closed[PATH_BYTES];    /* the first, below the one that was asked for; "": itself */
};

static inline struct linked linked_start(const char *const *skipped)
{
	return (struct linked){
		.folders = LINKED_FOLDERS_MAX, .names = LINKED_NAMES_MAX, .skipped = skipped
	};
}

/* Does the path end with one of these, as whole names? */
bool linked_is_skipped(const char *const *skipped, const char *path);

/* path: of a link, below the folder. Negative stops. */
typedef int linked_found(void *data, const char *path);

/*
 * depth: how many levels of folders below this one are entered. What is missing has no links; what
 * cannot be listed is noted. -ENOMEM, or what found returned.
 */
int linked_each(
	struct linked *l, const char *folder, unsigned depth, linked_found *found, void *data);
/* Names that a secret folder may have, for one that cannot be listed: found is called for each,
 * whether it is there or not. */
int linked_each_known(linked_found *found, void *data);
