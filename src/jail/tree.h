/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tree that a command sees, made from a plan inside a new mount namespace. The caller is the
 * namespace's first process and has CAP_SYS_ADMIN in its user namespace.
 *
 * What does not depend on the plan is made ahead of it (jail/ground.h). All of it is put together
 * below the old root, and becomes the root in the end.
 */
#include <sys/types.h>

#include "base/error.h"
#include "jail/ground.h"
#include "jail/plan/plan.h"

struct tree {
	const struct plan *plan;
	struct ground ground; /* its texts are what PLAN_FILE and PLAN_SOCKET have put there */
	int skill;            /* the copy of a skill; -1: there is none */
	/* Listening, one for each PLAN_SOCKET, in their order; the caller takes and closes them. */
	int sockets[PLAN_SOCKETS_MAX];
	size_t n_sockets;
	int broker; /* the same for a broker; -1: there is none */
	int own;    /* the folder of the session's own folders (jail/ground.h), each by the number
		       of its entry; the caller takes and closes it */
};

void tree_init(struct tree *t);
/* Makes what no plan changes. tree_enter() does it if it was not called before. */
int tree_prepare(struct tree *t, struct error *e);
/*
 * Builds the tree and makes it the root directory, with the host's root over it: see
 * jail/detach.h. In a failure the sentence tells which entry. The process must be thrown away then.
 */
int tree_enter(struct tree *t, const struct plan *plan, struct error *e);
/*
 * Puts the cover of the entry i (with `over`) back after the host renamed something over it. 0; 1:
 * there is nothing at that path now; negative: the caller ends the session.
 */
int tree_cover(const struct tree *t, size_t i);
/* Masks what is at a path that the plan has no entry for. 0: it is masked now. 1: it was before, or
 * there is nothing: what is out of reach, or is being replaced, is tried again when it is there. */
int tree_mask(const struct tree *t, const char *path);
