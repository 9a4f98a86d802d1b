/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of the profiles share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/path.h"
#include "cli/load.h"
#include "policy/permissions.h"

/* The built-in profiles as tables, made from data/profiles by tools/gen-profiles.py. */

enum { PROFILE_PATTERN_BYTES = 32 };

/* Without pointers: they are relocated at each start, also of what is not run in a profile. */
struct profile_row {
	uint16_t list; /* offset of the list in struct permissions */
	char pattern[PROFILE_PATTERN_BYTES];
};

struct profile_data {
	const char *name;
	const struct profile_row *rows;
	size_t n;
};

extern const struct profile_data profile_data[];
extern const size_t profile_data_count;

/* extends.c */

/* Names that are being resolved, the last first. */
struct profile_chain {
	const char *name;
	const struct profile_chain *up;
};

/* Replaces *p, which extends a profile, by what both grant. On failure *p is as it was. */
int profile_extend(struct permissions **p, struct call *c, struct load *l,
	const struct profile_chain *chain, const char **ret_builtin, struct limits *ret_limits);
struct profile;
/* profile_open(); chain: that led to it, itself first; NULL: none did. */
int profile_open_chain(struct profile *ret, struct call *c, const char *name, struct load *l,
	const struct profile_chain *chain);

/* place.c */

/* Lets the folders of a PATH that lie below home be read. */
int profile_path_grant(
	struct permissions *p, const char *path, const char *home, const char *work_dir);
/* Is this a folder to work in? -EPERM with a sentence if not. */
int profile_place_check(struct call *c, const char *profile, const struct load *l);

/* git.c: where a working folder's git goes by its own settings. */

/* path: below the folder, of any bytes. Negative stops. */
typedef int profile_git_found(void *data, const char *path, const char *who);

/* The user's own settings, read once; and how much was read of all. */
struct profile_git_user {
	bool is_read;
	unsigned files;
	size_t bytes;
	char hooks[PATH_BYTES]; /* core.hooksPath, if it is relative; else empty */
};

/* Whose settings are read, and so what is looked for in them. */
enum profile_git_kind {
	PROFILE_GIT_REPOSITORY,
	PROFILE_GIT_USER,
	PROFILE_GIT_MODULES,
	PROFILE_GIT_FORMAT
};

/* A search, for git.c and git-index.c. */
struct profile_git_leads {
	const char *folder;   /* what is found lies below it */
	const char *worktree; /* relative paths are meant from here */
	profile_git_found *found;
	void *data;
	enum profile_git_kind kind;
	struct profile_git_user *user;
	unsigned files;
};

/* text, a path as git has them, from base. */
int profile_git_resolve(const char *base, const char *text, char out[PATH_BYTES]);
/* A file with one path in it, after a prefix. 1: out is that path. */
int profile_git_read_path(
	const char *file, const char *prefix, const char *base, char out[PATH_BYTES]);
/* The folder that .git is or names: 1; 0: there is none. */
int profile_git_folder(const char *folder, char out[PATH_BYTES]);
/* Tells of a path, if it lies below the folder. */
int profile_git_tell(const struct profile_git_leads *l, const char *path, const char *who);
/* One file of settings, and those that it includes. */
int profile_git_read_file(struct profile_git_leads *l, const char *path, unsigned depth);

/*
 * What .git in a worktree and its settings lead to inside of the folder, beyond `.git/…` itself;
 * whether it exists or not. is_bare: the worktree is the repository. -EFBIG, -E2BIG: more than is
 * looked at.
 */
int profile_git_leads(const char *folder, const char *worktree, bool is_bare,
	struct profile_git_user *user, profile_git_found *found, void *data);

/* Submodules as .gitmodules has them. */
int profile_git_modules(const char *folder, const char *worktree, struct profile_git_user *user,
	profile_git_found *found, void *data);

/*
 * git-index.c: where the index of a worktree was written since then: its submodules that have a
 * repository of their own, and theirs, if they were made or changed, or may have been added.
 * -E2BIG: more of them than are looked at.
 */
int profile_git_links(const char *folder, const char *worktree, const struct timespec *since,
	profile_git_found *found, void *data);
