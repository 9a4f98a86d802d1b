/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a working folder's git goes by its own settings. `.git/config` and `.git/hooks` are not all
 * that makes git run something: `.git` may be a file that names another folder, `commondir` in it
 * names a third, core.hooksPath and include.path name more, and a submodule in the index is entered
 * by `git status` with the settings that lie there.
 *
 * Nothing here is trusted: the files may be a command's. They are read as git reads them, bounded,
 * and never followed for anything but to learn their names.
 */
#include <stdint.h>
#include <time.h>

#include "base/path.h"

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

/* The folder that .git is or names: 1; 0: there is none. */
int profile_git_folder(const char *folder, char out[PATH_BYTES]);
/* text, a path as git has them, from base. */
int profile_git_resolve(const char *base, const char *text, char out[PATH_BYTES]);
