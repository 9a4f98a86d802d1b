/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which names a folder cannot have. A table of secrets has hundreds of rows for a home, and nearly
 * all of them are missing: one listing of the folder answers for all of these. What the listing has
 * is looked up as before; it only ever spares a look at what is not there.
 *
 * A listing is trusted where it is complete. Else each name is looked up:
 *   a folder that can be searched, not listed    and one with more than NAMES_LISTED names
 *   autofs, NFS, FUSE, /proc, …                  names may appear when they are looked up: only
 *                                                known types of file systems are listed
 *   file systems that fold case                  names are compared without case; what folds to
 *                                                ASCII otherwise (U+212A is a k) has other bytes,
 *                                                and then the folder's flags must say that it does
 *                                                not fold
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

/* A folder is listed after so many names that it does not have: a few cost less than a listing. */
enum { NAMES_PATIENCE = 4, NAMES_PATIENCE_LONG = 256, NAMES_LISTED = 4096 };

/* Zero at first, or names_of(), for each folder. */
struct names {
	unsigned misses;
	bool is_long;    /* NAMES_PATIENCE_LONG */
	bool was_listed; /* or is not to be */
	uint64_t *bits;  /* of hashes of the names; NULL: each is looked up */
};

/* /etc is long, and the tables have few rows for it and for the root: a look at each costs less
 * than a listing. A policy may have thousands. */
static inline struct names names_of(const char *folder)
{
	return (struct names){ .is_long = strcmp(folder, "/etc") == 0 || strcmp(folder, "/") == 0 };
}

/* A name is not in the folder, by the look of the caller. Lists it when that pays, into the arena.
 * at, path: as for openat(). 0 or -ENOMEM. */
int names_miss(struct names *n, struct arena *a, int at, const char *path);
/* False: a look at it would say that it is not there, as of the listing. */
bool names_may_have(const struct names *n, const char *name, size_t len);
