/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Grants whose names go through links, for a jail. It follows links when a session is made, but for
 * those that lie where commands may write *now*. An enclave's grants change: the attack is a link
 * that was left where one could write before. Such grants are left out.
 */
#include "base/error.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "policy/variable.h"

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
