/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A profile: permissions under a name, the base of a run that names no policy. Three are built in
 * (data/profiles), others are files NAME.yaml in corral/profiles of XDG_CONFIG_HOME and of the
 * system's configuration; a built-in name is never looked for among the files.
 *
 * The built-in ones speak of the working folder, so they refuse one that would undo them (the home,
 * the root, Corral's own state), and they add what depends on what is there: folders of PATH below
 * the home may be read. In what may be written, what runs later elsewhere may not be
 * (cli/run/later.c). Their limits are shares of the machine; unlike those of a policy, an option
 * may widen them. A profile from a file means what it says and nothing else; with `extends: NAME`
 * it adds to another one, and so may a policy file.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/load.h"

struct profile {
	const char *name;
	const char *path;    /* of the file; NULL: it is built in */
	const char *builtin; /* the built-in one that it is, or extends; NULL: there is none */
	struct permissions *permissions; /* the caller's to free, by profile_deinit() */
	struct manifest manifest;        /* of a file */
	/* Built in: in force where no option says otherwise (profile_limits()). Else LIMIT_NONE. */
	struct limits limits;
};

/*
 * Opens one; l has the values of the variables. The error of a name that is not known lists those
 * that are.
 */
int profile_open(struct profile *ret, struct call *c, const char *name, struct load *l);
void profile_deinit(struct profile *p);
/* 0: there is one of that name. Else the errors of profile_open(). */
int profile_check_name(struct call *c, const char *name);
/* All names, for a shell (cli/complete.h). */
void profile_offer(struct call *c, struct buffer *out);

/*
 * What a file that was read `extends` becomes part of it; the files of profiles on the way become
 * sources of l, and a built-in one is remembered there. The verb_extender of main().
 */
int profile_extend_file(struct load *l, struct call *c, struct manifest *m);
/* The file of a location is a built-in profile, which cannot be edited. */
bool profile_is_origin(const char *file);

/* The system's part; the baseline protects this very place, so it is no matter of a prefix. */
#define PROFILE_SYSTEM_FOLDER "/etc/corral"
/* Corral's folders; absolute, in the call's arena. NULL if there is no home to look in. */
const char *profile_config_folder(struct call *c); /* XDG_CONFIG_HOME/corral */
const char *profile_state_folder(struct call *c);  /* XDG_STATE_HOME/corral */

/* Who the user is for git, by the settings in a home; "": they do not say. */
struct profile_identity {
	char name[256], email[256];
};
/* -ENOMEM; what cannot be read says nothing. */
int profile_git_identity(const char *home, struct profile_identity *ret);

/* What every built-in profile limits on this machine: memory and processes. */
void profile_limits(struct limits *ret);

/* The permissions of a built-in one alone, or NULL (no such name, or out of memory). */
struct permissions *profile_builtin(const char *name);
