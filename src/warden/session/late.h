/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that appear after the start. A mask is a mount on something that is there; what the
 * baseline or a policy forbids and what is not there when a session is built gets its mask when it
 * appears. For that, the folders in which it could appear are watched, by the same means as the
 * covers (watch.h).
 *
 * Between the two there is a moment without a mask: docs/decisions/0027 has figures.
 */
#include <stdbool.h>

#include "jail/plan/plan.h"
#include "jail/tree.h"
#include "warden/session/changes.h"

struct late;

/* *ret is NULL if nothing that a command sees could hold such a path. The plan must outlive it. */
int late_new(struct late **ret, const struct plan *plan);
void late_free(struct late *l);
/*
 * Inside the tree: watches by the given means, and masks what appeared since the plan was made.
 * May be called again with another one. -ENOSPC: too many files are watched on this machine.
 */
int late_begin(struct late *l, const struct tree *t, struct changes *changes);
/*
 * A path whose folder was removed, and the cover with it: masked when it appears again. -ESTALE: it
 * lies where commands may write, and cannot be.
 */
int late_forbid(struct late *l, const struct tree *t, const char *path);
/* Was it taken over so? */
bool late_has(const struct late *l, const char *path);
/* Masks what a change tells of. Negative: it could not be done, end the session. */
int late_hear(struct late *l, const struct tree *t, const struct session_changed *change);
