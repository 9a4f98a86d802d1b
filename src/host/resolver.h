/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From the name of a program to its files, for the policy (struct resolver in policy/layer.h),
 * which does no I/O itself. Names are looked up in a fixed list of folders, never in the caller's
 * PATH: whoever may set PATH must not choose what `git` means. A folder that others may write is
 * skipped.
 */
#include <stddef.h>

#include "base/path.h"
#include "policy/layer.h"

/* All the files that a name leads to, in every folder of the list, and every hop of their links. */
extern const struct resolver resolver_system;

/* The first program of that name. -ENOENT if there is none, -EINVAL if name is no plain name. */
int resolver_find(const char *name, char out[PATH_BYTES]);
