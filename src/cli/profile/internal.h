/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of the profiles share. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/path.h"
#include "cli/load.h"
#include "policy/permissions.h"

/* The built-in profiles as tables, made from data/profiles by tools/gen-profiles.py. */

struct profile_row {
	size_t list; /* offset of the list in struct permissions */
	const char *pattern;
};

struct profile_data {
	const char *name;
	const struct profile_row *rows;
	size_t n;
};

extern const struct profile_data profile_data[];
extern const size_t profile_data_count;

/* place.c */

/* Lets the folders of a PATH that lie below home be read. */
int profile_path_grant(
	struct permissions *p, const char *path, const char *home, const char *work_dir);
/* Is this a folder to work in? -EPERM with a sentence if not. */
int profile_place_check(struct call *c, const char *profile, const struct load *l);

/* git.c: where a working folder's git goes by its own settings. */

/* path: below the folder, of any bytes. Negative stops. */
typedef int profile_git_found(void *data, const char *path, const char *who);

/*
 * What .git and its settings lead to inside of the folder, beyond `.git/…` itself; whether it
 * exists or not. -EFBIG, -E2BIG: more than is looked at.
 */
int profile_git_leads(const char *folder, profile_git_found *found, void *data);

/*
 * Submodules of the index whose own repository was made or changed since then, or that the index
 * may have got since then.
 */
int profile_git_links(
	const char *folder, const struct timespec *since, profile_git_found *found, void *data);
