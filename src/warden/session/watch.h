/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Covers that the host can pull off. A mask is a mount on a name; when somebody outside renames
 * another file to that name (every editor does when it saves), the kernel takes the mount away. The
 * watch sees it by inotify, and the cover is put back over what is there now.
 *
 * Between the two there is a moment without a cover: docs/threat-model.md says so.
 */
#include <stdbool.h>

#include "base/error.h"
#include "jail/plan/plan.h"
#include "jail/tree.h"

struct watch;

/*
 * Looks at the host's files: before the tree is entered, so that nothing that is renamed meanwhile
 * goes unseen. *ret is NULL if the plan has nothing to watch. The plan must outlive it.
 */
int watch_new(struct watch **ret, const struct plan *plan, struct error *e);
/* Inside the tree: what is forbidden and was not there is masked from now on when it appears. */
int watch_begin(struct watch *w, const struct tree *t, struct error *e);
/*
 * The same in a process that shares the caller's memory and descriptors (jail/beside.h), which is
 * possible with inotify. False: the caller must call watch_begin(), because dnotify is used, which
 * signals the process that requested it, or because of a failure, which watch_begin() reports.
 */
bool watch_begin_beside(struct watch *w, const struct tree *t);
int watch_fd(const struct watch *w);
/* Puts back all covers that came off, and masks what appeared. Negative: it could not be done, for
 * the reason in e; end the session. */
int watch_restore(struct watch *w, const struct tree *t, struct error *e);
