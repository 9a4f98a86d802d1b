/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Opening a path so that what was judged is what is used. No link is ever followed by the kernel
 * for us: each one is read as text, and the name that it makes is the caller's to judge before it
 * is looked up. beneath.c says which attacks that is about.
 *
 * Paths are absolute and normal (base/path.h). `root` is the folder that they begin in: a
 * descriptor that stays the caller's, of any mount namespace, or BENEATH_HOST. Every link is
 * resolved below it.
 *
 * Needs openat2() and /proc: -ENOSYS without.
 */
#include "base/path.h"

/* The root of this process. */
enum { BENEATH_HOST = -1 };
/* As many links as the kernel follows in one path. */
enum { BENEATH_LINKS_MAX = 40 };

/*
 * An O_PATH descriptor of what lies at path, with no link on the way; a link at its end is opened
 * itself. -ELOOP: there is a link on the way (beneath_next). -EBUSY: it moved again and again while
 * it was looked at. The caller owns *ret.
 */
int beneath_open(int root, const char *path, int *ret);
/* 1: what the descriptor stands for lies at path now. 0: elsewhere, or it was deleted. */
int beneath_lies_at(int root, int fd, const char *path);
/* beneath_open() for one name in a folder that is held. */
int beneath_open_in(int folder, const char *name, int *ret);
/*
 * Finds the first link of a path, at its end too. 1: there is one, at `link`, and `next` is the
 * path that it makes of this one. 0: there is none. -ELOOP: it is a link of /proc, which need not
 * lead where it says. -EXDEV: it says ".." behind a name, which another link may be. `link` may be
 * NULL.
 */
int beneath_next(int root, const char *path, char next[PATH_BYTES], char link[PATH_BYTES]);
/*
 * As far as a path goes without following anything: an O_PATH descriptor of what lies at path, or
 * of the first link, or of the last thing that is there and may be looked at.
 */
int beneath_reach(int root, const char *path, int *ret);
/* Follows all links that there are, whichever process made them. */
int beneath_follow(int root, const char *path, char out[PATH_BYTES]);
/*
 * Opens what an O_PATH descriptor stands for, and nothing else, with these flags; never waits, and
 * never takes a terminal. Only after its kind was checked: opening a device may do something.
 */
int beneath_reopen(int fd, int flags, int *ret);
/* Gives a file that was opened with O_TMPFILE a name. -EEXIST: something has it. */
int beneath_name(int fd, int folder, const char *name);
