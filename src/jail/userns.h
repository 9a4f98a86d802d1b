/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The user namespace of a jail: one user and one group, both with the numbers they have outside.
 * And the loopback interface of its network namespace.
 */
#include <sys/types.h>

/*
 * Called first thing in a new user namespace, with the ids that the process had outside. Inside,
 * nobody but this user exists: files of others belong to nobody.
 */
int userns_map(uid_t uid, gid_t gid);
/* No user namespace can be made inside this one, so no process becomes root of anything again. */
int userns_seal(void);
/* What the user may have so many of on this machine, and one namespace only a part of. */
int userns_limit(void);
/* In a new network namespace the loopback interface is down at first. */
int loopback_up(void);
