/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Corral's own folders on the host: state (the log with its key and lock, approvals), cache, and
 * runtime (sockets). The baseline has their usual places; these are also those that XDG_STATE_HOME,
 * XDG_CACHE_HOME and XDG_RUNTIME_DIR name.
 */
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/policy.h"

enum { OWN_FOLDERS_MAX = 6, OWN_VARIABLES = 3 };

/*
 * Lists them, for a plan to hide, and makes those that are not there where commands could see them:
 * so that nothing in them is ever in sight, and no command is there first. One that cannot be made
 * is no failure: it is masked when it appears. Paths are in the arena. -ENOMEM.
 */
int own_folders(struct arena *a, const char *home, const struct policy *policy,
	const char *ret[OWN_FOLDERS_MAX], size_t *ret_n, struct error *e);

/*
 * The environment of a program of ours that has to know where they are, and nothing else: those of
 * the three variables that are set, as NAME=value of the caller's own environment. Ends with NULL.
 */
void own_variables(char *ret[OWN_VARIABLES + 1]);
