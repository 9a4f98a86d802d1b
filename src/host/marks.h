/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether a process runs outside all sandboxes, as we do, or inside one. Commands of a sandbox have
 * the same uid as we, so that says nothing. What no process can undo does:
 *
 *     user namespace      it is another one than ours (tier 1)
 *     pid namespace       it is in one below ours (tier 1)
 *     no_new_privs        it has the flag, and we have not (every tier)
 *     seccomp filters     it has more of them than we have (every tier)
 *
 * Whoever compares reads its own marks before it confines itself.
 */
#include <sys/types.h>

/* What a process cannot undo. */
struct marks {
	dev_t device; /* of the user namespace */
	ino_t inode;
	unsigned no_new_privs, filters;
	unsigned depth; /* of pid namespaces, as we see it */
};

/* Of /proc/PROCESS, a number or "self". -EACCES: it may not be looked at; -ENOENT: it has ended. */
int marks_read(const char *process, struct marks *ret);
/* Which one of the peer's marks is not ours, in words; NULL: none. */
const char *marks_differ(const struct marks *own, const struct marks *peer);
