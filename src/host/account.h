/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Names of users and groups, by number, without asking a directory service. */

enum { ACCOUNT_NAME_BYTES = 64 };

/*
 * The name that a file like /etc/passwd or /etc/group has for a number: letters, digits, "_.-"; if
 * it has none or cannot be read, root for 0 and u1000 for 1000. -ENOMEM: untouched.
 */
int account_name(const char *file, unsigned long id, char ret[ACCOUNT_NAME_BYTES]);
