/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What every tree (jail/tree.h) has, whatever the plan: a file system in memory with an empty
 * skeleton, a private /dev, and a private /proc in which what tells of the host is covered. The
 * kernel makes that while the plan is made elsewhere.
 *
 *   scratch        a file system in memory, of which these folders are used:
 *     root/        the skeleton: folders on the way to what was granted (unless "/" itself was)
 *     own/N        writable folders of the session: HOME, /tmp …
 *     dev/         the private /dev
 *     mask/        what covers are made of: "nothing" and "nowhere", a file and a folder without
 *                  any permission; N, a text of ours over a file of the host (/etc/passwd …),
 *                  or a socket; "skill", the copy of a skill, on a file system of its own
 *
 * It is mounted over the old root, where only descriptors lead to it: paths show the host's files
 * as before. Only the caller is in the namespaces while this goes on, and nothing of it is
 * seen by a command before tree_enter() has made it the root and closed what was open for writing.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "policy/permissions.h"

/* Descriptors; -1: not there. */
struct ground {
	int host;    /* the old root */
	int scratch; /* the file system's root */
	int root;    /* the new root, mounted */
	int own, mask;
	int proc;             /* the new /proc, which can still be written to */
	int nothing, nowhere; /* below it, for masks that are put back later; O_PATH */
	int texts;            /* the folder of these two */
};

/* Nothing is open, nothing is made. */
void ground_init(struct ground *g);
/* Those that the tree does not keep (all but nothing, nowhere, texts). */
void ground_close(struct ground *g);

/*
 * Makes it. `copy`: a detached copy of the host's root, which then is the new root instead of the
 * skeleton; or -1. The step that failed is *ret_what.
 */
int ground_make(struct ground *g, int copy, const char **ret_what);
/* Takes all of it away again, for a plan that needs another. */
int ground_undo(struct ground *g);
/* As the plan says it, once there is one: how much the file system in memory holds … */
int ground_limit(const struct ground *g, const struct limits *limits);
/* … whether shared memory can be run; how many processes there can be. /proc is read-only then. */
int ground_finish(const struct ground *g, const struct limits *limits, bool shared_exec);
/* A /proc of this pid namespace over what is there; covered and read-only as the first. */
int ground_mount_proc(const struct limits *limits);

/* An empty folder with that mode. Returns a descriptor. */
int ground_folder(int at, const char *name, mode_t mode);
int ground_file(int at, const char *name, const char *text, mode_t mode);
int ground_bytes(int at, const char *name, const void *data, size_t len, mode_t mode);
