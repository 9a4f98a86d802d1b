/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The walls around a command, apart from the namespaces: Landlock, no capabilities, and the filter
 * that shuts what only the zygote may call. The tree must be in place.
 */
#include <stdbool.h>

#include "base/error.h"
#include "jail/plan/plan.h"

/* Landlock's rules for the tree of a plan, as this mount namespace has it: a descriptor. */
int confine_rules(const struct plan *plan, struct error *e);
/* One more open file: one that a command is given for reading may be opened again, for that, by its
 * /dev/stdin name. */
int confine_allow(int rules, int fd);
/* Puts the calling thread behind all walls, for good. watched: after notify_install().
 * Async-signal-safe. */
int confine_enter(int rules, bool watched);
