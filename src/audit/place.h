/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a user's log is unless another file is named: $XDG_STATE_HOME/corral/audit.db, or
 * ~/.local/state/corral/audit.db. Not for programs with more rights than their user.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "policy/policy.h"

/* -ENOENT: neither variable has an absolute path. */
int audit_place(struct buffer *out, struct error *e);
/* The folder of that file, made with mode 0700 if it is missing. */
int audit_place_make(const char *file, struct error *e);

/*
 * The log of what is no run: the one that CORRAL_AUDIT names, or the user's own, as a run has them.
 * 1: there is none to be written: CORRAL_AUDIT is `none`, there is no place for one, or, unless
 * `make`, the user has none.
 */
int audit_place_named(struct buffer *out, bool make, struct error *e);

/*
 * Whether somebody whom a policy holds can get at a log. It is several files beside each other
 * (store.h). Who can write one of them, or put something in its place, makes it no record of what
 * they did. Who can read some of them can do more than read: the key signs; and a file that can be
 * opened can be locked, for reading too, which keeps the writer out.
 *
 * All of it is asked of the policy, by names: several of the files are not there yet, and come and
 * go. Where links lead is the caller's matter.
 */
enum audit_reach { AUDIT_REACH_NONE, AUDIT_REACH_READ, AUDIT_REACH_WRITE };

/* What stands behind the name of the log; hidden: may not be read, either. */
struct audit_reach_file {
	const char *suffix;
	bool hidden;
};
enum { AUDIT_REACH_FILES = 8 };
extern const struct audit_reach_file audit_reach_files[AUDIT_REACH_FILES];

/* Of one file: absolute and normal, or it counts as within reach. */
enum audit_reach audit_reach_one(const struct policy *p, const char *path, bool hidden);
/* Of a log with all its files, by the name of the log. */
enum audit_reach audit_reach(const struct policy *p, const char *log);
