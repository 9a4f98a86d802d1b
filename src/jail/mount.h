/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Mounts as objects: a copy of a part of the tree is made first (mount_copy), gets its flags while
 * no process can see it, and is put in place last (mount_put). So there is no moment at which a
 * read-only grant is writable, and what was checked through a descriptor is what gets mounted.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	MOUNT_WRITABLE = 1 << 0,
	MOUNT_EXEC = 1 << 1,
	MOUNT_DEVICES = 1 << 2,
};

/* Opens a path of the tree under `root` without following any link. O_PATH. -ENOENT also if what
 * was there was taken away meanwhile. */
int mount_open(int root, const char *path);
/* The same, to be read. */
int mount_open_file(int root, const char *path);
/*
 * A detached copy of what fd (O_PATH) stands for, with all that is mounted below it. Only what
 * `flags` names is possible in it; set-user-id bits never count.
 */
int mount_copy(int fd, unsigned flags);
/* Puts a detached mount over `path` under `root`; the path must exist and is not followed. */
int mount_put(int mount, int root, const char *path);
/* A new file system, detached. `options`: keys, each with its value ("": none); NULL ends them. */
int mount_new(const char *type, const char *const *options, unsigned flags);

/* Both in one: puts a copy of what `source` (O_PATH; or a negative errno, which is returned) stands
 * for over a path … */
int mount_put_copy(int source, unsigned flags, int root, const char *path);
/* … or a copy with the flags of the mount in which it lies: less work, where these are known … */
int mount_put_same(int source, int root, const char *path);
/* … or of what is called so in a folder. */
int mount_put_named(int folder, const char *name, int root, const char *path);
/* Changes options of a file system that is mounted: keys with their values. */
int mount_change(int mount, const char *const *options);

/* A private /dev: harmless devices of the host, terminals and shared memory of its own. */

/* Names and links, in an empty folder on a file system in memory. */
int mount_name_devices(int folder);
/* What stands behind the names; `dev` is that folder, mounted. `host`: the host's root. */
int mount_devices(int dev, int host);

/* A line of /proc/self/mountinfo. */
struct mount_line {
	const char *device; /* "8:1" */
	const char *root;   /* what of the file system it shows */
	const char *path;   /* where */
	const char *type;   /* "proc" */
};

/* Cuts the line into pieces, which are put into *ret without their escapes. False: it is none. */
bool mount_line_parse(char *line, struct mount_line *ret);
