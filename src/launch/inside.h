/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions for a jail. There the kernel sees a file being executed and no arguments, so rules
 * about arguments hold where Corral starts the program itself: the whole command is judged by the
 * permissions as they are, and runs in a jail of what is left of them here.
 *
 *   what allows by arguments   is left out; the one program that was judged is allowed
 *   what denies by arguments   denies the program with any, or, in AgenShield's rules
 *                              (permissions.is_shield), is left out and has to be reported
 *
 * Nothing that one command was allowed is thereby allowed to another.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "policy/permissions.h"

/*
 * A copy of p for a jail. `program` (may be NULL): the absolute path of one that may run all the
 * same. NULL when out of memory.
 */
struct permissions *launch_inside(const struct permissions *p, const char *program);

/*
 * Adds the names and lines of AgenShield's rules that deny and do not hold inside, with ", "
 * between: those about arguments or texts of commands, and about paths of URLs. True if one is.
 */
bool launch_inside_unheld(const struct permissions *p, struct buffer *out);
/* Some layer has rules that hold at the start alone. */
bool launch_inside_matters(const struct permissions *p);
