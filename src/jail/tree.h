/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tree that a command sees, made from a plan inside a new mount namespace. The caller is the
 * namespace's first process and has CAP_SYS_ADMIN in its user namespace.
 *
 *   scratch        a file system in memory, of which these folders are used:
 *     root/        the skeleton: folders on the way to what was granted (unless "/" itself was)
 *     own/N        writable folders of the session: HOME, /tmp …
 *     dev/         the private /dev
 *     mask/        what covers are made of: "nothing" and "nowhere", a file and a folder without
 *                  any permission; N, a text of ours over a file of the host (/etc/passwd …),
 *                  or a socket; "skill", the copy of a skill, on a file system of its own
 *
 * All of it is put together below a folder of the old root, and becomes the root in the end.
 */
#include "base/error.h"
#include "jail/plan/plan.h"

struct tree {
	const struct plan *plan;
	int nothing, nowhere; /* for masks that are put back later; O_PATH */
	int texts;            /* a folder with what PLAN_FILE and PLAN_SOCKET have put there */
	int skill;            /* the copy of a skill; -1: there is none */
	/* Listening, one for each PLAN_SOCKET, in their order; the caller takes and closes them. */
	int sockets[PLAN_SOCKETS_MAX];
	size_t n_sockets;
};

/*
 * Builds the tree and makes it the root directory. In a failure the sentence tells which entry. The
 * process must be thrown away then.
 */
int tree_enter(struct tree *t, const struct plan *plan, struct error *e);
/* A /proc of this pid namespace over what is there; read-only as a whole. */
int tree_mount_proc(const struct plan *plan);
/*
 * Puts the cover of the entry i (with `over`) back after the host renamed something over it. 0; 1:
 * there is nothing at that path now; negative: the caller ends the session.
 */
int tree_cover(const struct tree *t, size_t i);
/* Masks what is at a path that the plan has no entry for; returns the same. What is out of reach,
 * or is being replaced, counts as nothing: it is tried again when it is there. */
int tree_mask(const struct tree *t, const char *path);
