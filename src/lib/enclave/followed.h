/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Links in the names of grants: which are followed, and what they grant. */
#include <stdbool.h>

#include "base/error.h"

struct permissions;
struct policy;
struct variables;

/*
 * Whether a command under the policy could put a link there: one that may write the folder, or
 * other names in it, or a folder above. A grant of the link's own name, or of "LINK/" with all
 * below, is not enough: the sandbox shows such a thing without what is beside it, and no tool here
 * makes links. What is not known counts as writable.
 */
bool followed_is_replaceable(const struct policy *p, const char *link);
/*
 * What a policy grants by a name with links ("/var/run/x/", where /var/run leads to /run) it grants
 * where they lead: adds such patterns to p and to its layers, with the links as they are now. A
 * link that may have been made by a command under the policy, now or
 * earlier (host/planted.h), grants nothing: so `writable` is a policy that allows writing wherever
 * that is possible, or ever was. NULL: every link is followed. What is denied or asked for is so
 * where any link leads.
 *
 * Below a root of its own a link counts if the host has the same link under that name, and the
 * above holds for it; or if it lies on the root's own mount, and that is read-only.
 *
 * Patterns that cannot be resolved stay as they are. -E2BIG, -ENOMEM, or what variables have to say
 * (e).
 */
int followed_grants(struct permissions *p, const struct variables *variables,
	const struct policy *writable, int root, struct error *e);
