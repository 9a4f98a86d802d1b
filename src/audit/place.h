/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a user's log is unless another file is named: $XDG_STATE_HOME/corral/audit.db, or
 * ~/.local/state/corral/audit.db. Not for programs with more rights than their user.
 */
#include "base/buffer.h"
#include "base/error.h"

/* -ENOENT: neither variable has an absolute path. */
int audit_place(struct buffer *out, struct error *e);
/* The folder of that file, made with mode 0700 if it is missing. */
int audit_place_make(const char *file, struct error *e);
