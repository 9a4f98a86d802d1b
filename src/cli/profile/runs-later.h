/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Files in a working folder that other programs run later, with all of the user's rights: git's
 * hooks, .envrc, an editor's tasks. A sandbox holds the command; it does not hold what the command
 * leaves behind for the user's own git or editor.
 *
 * Those that exist are kept from being written (they can still be read). Those that do not exist
 * can't be held by the kernel, so they are looked for when the command has ended, and a person is
 * told about each that is new or was replaced. Only the top of the folder is looked at, and where
 * its git leads (git.c): nothing here costs more where the folder is large.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "policy/permissions.h"

/* Rows of the table and those that git's settings add; all that can be told of. */
enum { RUNS_LATER_ROWS = 96, RUNS_LATER_MAX = 128 };

/* How a path was found: enough to notice that it is another one now. */
struct runs_later_state {
	bool exists;
	uint64_t dev, ino, size;
	int64_t changed, changed_ns; /* ctime: a file that is moved away and back has another */
	uint64_t inside;             /* what is in a folder, as a number */
};

struct runs_later_names;

struct runs_later {
	const char *folder; /* NULL: nothing is watched */
	int fd;             /* of the folder */
	struct runs_later_names
		*names;        /* where git's settings lead, and submodules that appeared */
	struct timespec since; /* by the clock of files */
	struct runs_later_state before[RUNS_LATER_ROWS];
	bool granted[RUNS_LATER_ROWS]; /* by name: nobody needs to be told */
};

/* One that was made or replaced meanwhile. */
struct runs_later_news {
	const char *path; /* below the folder; may be of any bytes */
	const char *who;  /* who runs it, and when */
	bool is_new;
};

/* Looks at the folder as it is now. */
int runs_later_open(struct runs_later *d, const char *folder);
void runs_later_close(struct runs_later *d);
/* Denies writing those that exist, by a rule of p. */
int runs_later_deny(const struct runs_later *d, struct permissions *p);
/*
 * A pattern that somebody granted for writing, absolute: where it names one of these files (or
 * something in one of these folders), a rule of p lets it be written.
 */
int runs_later_allow(struct runs_later *d, struct permissions *p, const char *pattern);
/* What came of it: fills ret (of room for RUNS_LATER_MAX) and returns how many. */
size_t runs_later_check(const struct runs_later *d, struct runs_later_news *ret);
