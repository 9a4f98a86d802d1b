/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Corral's own folders on the host: state (the log with its key and lock, approvals), cache, and
 * runtime (sockets). The baseline has their usual places; these are also those that XDG_STATE_HOME,
 * XDG_CACHE_HOME and XDG_RUNTIME_DIR name. Configuration (profiles, services.yaml) may be seen, and
 * is guarded where it is there.
 *
 * A daemon may have been started with another XDG_RUNTIME_DIR than we were. One whose folder is at
 * no usual place leaves a link to it in the state folder, at the usual place and at that of
 * XDG_STATE_HOME: OWN_DAEMON.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/policy.h"

enum { OWN_FOLDERS_MAX = 8, OWN_VARIABLES = 4 };

/*
 * Lists them, for a plan to hide, and makes those that are not there where commands could see them:
 * so that nothing in them is ever in sight, and no command is there first. One that cannot be made
 * is no failure: it is masked when it appears. The folder that XDG_CONFIG_HOME names is made where
 * commands could write it, and not listed. Paths are in the arena. -ENOMEM.
 */
#define OWN_DAEMON "daemon"
int own_folders(struct arena *a, const char *home, const struct policy *policy,
	const char *ret[OWN_FOLDERS_MAX], size_t *ret_n, struct error *e);

/* Whether a path lies in one of those that a variable names; for writing also if it leads there,
 * and the configuration is one of them. The usual places are the baseline's matter. */
bool own_has(const char *path, bool for_writing);

/*
 * The environment of a program of ours that has to know where they are, and nothing else: those of
 * these variables that are set, as NAME=value of the caller's own environment. Ends with NULL.
 */
void own_variables(char *ret[OWN_VARIABLES + 1]);
