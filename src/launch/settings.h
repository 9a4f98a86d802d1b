/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An agent's own settings, in the agent modes of host programs: ~/.claude may be written there, and
 * what in it makes the agent run something the next time, perhaps without a sandbox, may not be:
 * the rows of the table (threat/threat.h) that begin with .claude/. `corral run` looks at more
 * (cli/run/later.c), and tells of what is new.
 */
#include "policy/permissions.h"

/* Denies writing those that exist now, by a rule of p, unless p grants one by its name. */
int launch_settings_deny(struct permissions *p, const char *home);
