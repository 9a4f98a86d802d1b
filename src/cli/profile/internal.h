/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of the profiles share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/path.h"
#include "cli/load.h"
#include "host/linked.h"
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

/* reads.c */

/* Lets a folder with all below it be read, or just the path. */
int profile_reads_add(struct permissions *p, const char *path, bool tree);
/* A grant of p has it: a folder with all below. */
bool profile_reads_has(const struct permissions *p, const char *path);

/* place.c */

struct profile_path {
	const char *path, *home;
	const char *work_dir;      /* or NULL */
	const char *const *writes; /* patterns of what else may be written, absolute */
	size_t n_writes;
};

/* Lets the folders of a PATH that lie below home be read, and the packages of their programs
 * (layouts.h). */
int profile_path_grant(struct permissions *p, const struct profile_path *x);
/* Is this a folder to work in? -EPERM with a sentence if not. */
int profile_place_check(struct call *c, const char *profile, const struct load *l);

/* git.c: where a working folder's git goes by its own settings. */

/* path: below the folder, of any bytes; uses: whether it is protected or only reported. Negative
 * stops. */
typedef int profile_git_found(void *data, const char *path, const char *who, unsigned uses);

/* The user's own settings, read once; and how much was read of all. */
struct profile_git_user {
	bool is_read;
	unsigned files;
	size_t bytes;
	char hooks[PATH_BYTES]; /* core.hooksPath, if it is relative; else empty */
	/* The first file that was not read, because it or all of them are too large; why: after its
	 * name in a sentence; NULL: there is none. */
	char missed[PATH_BYTES];
	const char *why;
};

/* Whose settings are read, and so what is looked for in them. */
enum profile_git_kind {
	PROFILE_GIT_REPOSITORY,
	PROFILE_GIT_USER,
	PROFILE_GIT_MODULES,
	PROFILE_GIT_FORMAT,
	PROFILE_GIT_IDENTITY
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
/* One setting, as it stands in that file; depth: of includes around it. */
int profile_git_judge(struct profile_git_leads *l, const char *section, const char *key,
	const char *value, const char *file, unsigned depth);

/*
 * What .git in a worktree and its settings lead to inside of the folder, beyond `.git/…` itself;
 * whether it exists or not. is_bare: the worktree is the repository. What is too large to be read
 * is left out, and noted in user.
 */
int profile_git_leads(const char *folder, const char *worktree, bool is_bare,
	struct profile_git_user *user, profile_git_found *found, void *data);

/* git-programs.c: what a setting names as a program, if it lies in the folder. */
int profile_git_program(
	const struct profile_git_leads *l, const char *section, const char *key, const char *value);

/* The same of a command by itself. */
int profile_git_command(const struct profile_git_leads *l, const char *value);

/* git-environment.c: settings and programs that git takes from the user's environment. */
int profile_git_environment(const char *folder, const char *worktree, struct profile_git_user *user,
	profile_git_found *found, void *data);

/* shell.c: what the user's shell runs out of a working folder. */

enum profile_shell_kind {
	PROFILE_SHELL_PROGRAMS, /* a folder of PATH */
	PROFILE_SHELL_SOURCED,
	PROFILE_SHELL_LOADED, /* variables, or what work changes */
	PROFILE_SHELL_HOP,    /* a link on the way, which a command may replace */
};
/* path: below the folder, of any bytes; "" is the folder itself. Negative stops. */
typedef int profile_shell_found(
	void *data, const char *path, const char *who, enum profile_shell_kind kind);
/* Entries of a PATH that lie in the folder. */
int profile_shell_path(
	const char *folder, const char *path, profile_shell_found *found, void *data);
/* What an .envrc of it names. -E2BIG: it names more, or is larger, than is looked at. */
int profile_shell_envrc(
	const char *folder, const char *file, profile_shell_found *found, void *data);

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

/* linked.c: what links lead to from a protected place, inside of the folder. */

enum profile_linked_kind {
	PROFILE_LINKED_END,     /* where a link leads; it may not be there */
	PROFILE_LINKED_HOP,     /* a link on the way, which a command may replace */
	PROFILE_LINKED_FOLDER,  /* a folder on the way that the link leaves again by ".." */
	PROFILE_LINKED_WIDE,    /* a folder around the link; "": the folder, or one around that */
	PROFILE_LINKED_OUTSIDE, /* where a link leads outside of the folder; absolute */
};
/* path: below the folder. Negative stops. */
typedef int profile_linked_found(void *data, const char *path, enum profile_linked_kind kind);
/*
 * From the place (path, below the folder), and from inside it if it is a folder. ret_real: where it
 * is; "" if that cannot be found out.
 */
int profile_linked_each(struct linked *bounds, const char *folder, const char *path, bool is_folder,
	profile_linked_found *found, void *data, char ret_real[PATH_BYTES]);

/* above.c: what settings above the folder lead to in it. */

/* path: below the folder, "" is the folder itself; who runs it; uses of its row. Negative stops. */
typedef int profile_above_found(void *data, const char *path, const char *who, unsigned uses,
	enum profile_linked_kind kind);

struct profile_above {
	const char *folder;
	struct profile_git_user *user;
	struct linked *linked; /* bounds of the search for links */
	profile_above_found *found;
	profile_shell_found *shell;
	void *data;
};

/* -E2BIG: there is more than is looked at. What was left out is noted in user. */
int profile_above_each(const struct profile_above *x);
/* One path outside of the folder: what links at it, and in it, lead to in the folder. */
int profile_above_take(
	const struct profile_above *x, const char *path, const char *what, unsigned uses);

/* home.c: what links from the user's home lead to in the folder. */
int profile_home_each(const struct profile_above *x);

/* twins.c: protected files with more than one name. */

struct profile_twin {
	const char *path; /* below the folder */
	uint64_t dev, ino, names;
	bool is_large; /* it lies in a folder of which nothing else is compared */
};

struct profile_twins {
	struct arena *arena;
	struct profile_twin *items; /* by name: a file with two names is there twice */
	size_t n, cap;
	const char *const *skipped; /* as in struct linked */
	bool is_large;              /* what is collected is marked so */
	unsigned left;              /* names that are looked at */
	bool is_full;               /* there were more */
};

/* Those of a protected file or folder; path: below the folder `at`. */
int profile_twins_collect(struct profile_twins *t, int at, const char *path);
/* Other names of them right in a folder. */
int profile_twins_search(struct profile_twins *t, int at, const char *folder);
/* All names of the file were found. */
bool profile_twins_is_whole(const struct profile_twins *t, size_t i);
