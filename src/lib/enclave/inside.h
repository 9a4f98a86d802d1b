/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a sandbox of an enclave may have of the permissions that the enclave judges by. Inside a
 * jail only the program of a command counts, so what speaks of arguments does not go in as it is:
 *
 *     git status:*  allowed   git does not run inside: no program there could be kept to "status"
 *     git push:*    denied    git does not run inside, whatever else allows it
 *
 * A call that the enclave itself permitted gets a sandbox of its own then, in which this one
 * program runs, with any arguments if it starts itself again.
 */
#include "policy/permissions.h"

/*
 * A copy of p for a jail. `program` (may be NULL): the absolute path of one that may run all the
 * same. NULL when out of memory.
 */
struct permissions *enclave_inside(const struct permissions *p, const char *program);

/* Takes out the rules that have no pattern any more: nobody takes those. Of one layer. */
void enclave_inside_tidy(struct permissions *p);
