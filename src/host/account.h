/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Names of users and groups, and homes, by number, without asking a directory service. */

#include <stdbool.h>

struct arena;

enum { ACCOUNT_NAME_BYTES = 64 };

/*
 * The name that a file like /etc/passwd or /etc/group has for a number: letters, digits, "_.-"; if
 * it has none or cannot be read, root for 0 and u1000 for 1000. -ENOMEM: untouched.
 */
int account_name(const char *file, unsigned long id, char ret[ACCOUNT_NAME_BYTES]);

/*
 * The home of a user as a file like /etc/passwd has it, in the arena. -ENOENT: the file has none
 * that is an absolute path, or cannot be read (then HOME must say it). -ENOMEM.
 */
int account_home(const char *file, unsigned long id, struct arena *arena, const char **ret);

/*
 * Whether a group is this user's alone: files like /etc/passwd and /etc/group name no other user in
 * it, and can be read. Many systems give each user such a group.
 */
bool account_is_own_group(
	const char *passwd, const char *group, unsigned long gid, unsigned long uid);
