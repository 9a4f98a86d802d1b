/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Replaces one regular file of the host by another text, if it still is the file that was looked
 * at.
 *
 * The folder is held by a descriptor from the first look on, and was opened without following a
 * link. The new text is written to a file of its own beside it, with the owner and mode of the old
 * one, and the two names are exchanged at once (RENAME_EXCHANGE): then what has left the place is
 * looked at. If that is not the file of the first look, or was written to since, the names are
 * exchanged back. So the check and the use are of one object: whoever exchanges the file for a
 * link, a folder, a pipe or another file meanwhile gets their own back, and nothing is ever written
 * through a name. Nothing is removed but what was made here, and the one file that was to be
 * replaced.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Longer texts are not read, nor written. */
enum { REPLACE_BYTES_MAX = 8 << 20 };

struct replace {
	int folder; /* -1: nothing is held */
	char name[NAME_MAX + 1];
	bool exists;
	struct stat before; /* if it does */
};

#define REPLACE_NONE ((struct replace){ .folder = -1 })

/*
 * Looks at an absolute path, on which no link may be. -ELOOP: there is one; -EINVAL: it is there,
 * and no regular file with one name of this user's; -ENOENT: the folder is not there.
 */
int replace_open(struct replace *ret, const char *path);
void replace_close(struct replace *r);

/* The file is not what it was (or, if it was not there, it is now): nothing was changed. */
enum { REPLACE_CHANGED = 1 };

/* Is it as it was? */
bool replace_is_same(const struct replace *r);
/*
 * Puts the text in its place. 0, REPLACE_CHANGED, or an error, with nothing changed. mode: of a
 * file that was not there.
 */
int replace_put(const struct replace *r, const void *data, size_t len, mode_t mode);
/* Puts the text beside it, under a name that is not there yet, which ret gets. */
int replace_put_beside(
	const struct replace *r, const void *data, size_t len, mode_t mode, char ret[NAME_MAX + 1]);
