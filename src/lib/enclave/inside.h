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
#include "policy/policy.h"
#include "policy/variable.h"

/*
 * A copy of p for a jail. `program` (may be NULL): the absolute path of one that may run all the
 * same. NULL when out of memory.
 */
struct permissions *enclave_inside(const struct permissions *p, const char *program);

/*
 * Grants whose names go through links, for a jail. It follows links when a session is made, but for
 * those that lie where commands may write *now*. An enclave's grants change: the attack is a link
 * that was left where one could write before. Such grants are left out.
 */
struct enclave_links {
	const struct variables *variables;
	/* Allows writing wherever that is possible, or ever was; and where it is now. */
	const struct policy *ever, *now;
	/* What `ever` was made of. */
	const struct permissions *written;
};

/*
 * Takes the grants out of p, and of its layers, that a link leads elsewhere which lies where one
 * could write, ever. Denials stay. Returns how many.
 *
 * Those that stay, but lie where one could write before and cannot now, are added to `contested`
 * (its fs_read): for commands that still run from then, links there are a matter of a moment.
 * -ENOMEM.
 */
int enclave_links_drop(
	const struct enclave_links *l, struct permissions *p, struct permissions *contested);
