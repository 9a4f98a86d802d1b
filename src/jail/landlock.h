/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Landlock, as the second wall behind the mounts: every right that this kernel's version of it has
 * is handled, so what no rule grants is denied even if a mount were wrong.
 *
 * Rights are granted where mounts stand, and Landlock adds up rights on the way to the root; a mask
 * or a read-only cover inside a writable folder is the mount's business alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum landlock_access {
	LANDLOCK_READ = 1 << 0,
	LANDLOCK_EXECUTE = 1 << 1,
	LANDLOCK_WRITE = 1 << 2,   /* create, delete, rename, truncate too */
	LANDLOCK_DEVICE = 1 << 3,  /* ioctl on devices */
	LANDLOCK_LIST = 1 << 4,    /* only the names in folders */
	LANDLOCK_CONNECT = 1 << 5, /* to sockets that others made */
};

/* Which version the kernel has; negative errno if none. */
int landlock_version(void);
/*
 * A ruleset that handles everything and grants nothing: a descriptor, or a negative errno. scoped:
 * no signals and no abstract sockets beyond those who are behind the same rules.
 */
int landlock_new(int version, bool scoped);
/* The same, and no TCP port can be connected to or bound. Before version 4 ports are not handled.
 */
int landlock_new_ports(int version, bool scoped);
/* Grants access to a file, or to a folder and all in it, by an O_PATH descriptor. */
int landlock_grant(int ruleset, int version, int fd, unsigned access);
/* Confines the calling thread and all that it starts, for good. */
int landlock_enter(int ruleset);
