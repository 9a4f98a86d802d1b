/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Files in a folder that other programs run later, with all of the user's rights: git's hooks,
 * .envrc, an editor's tasks. A sandbox holds the command; it does not hold what the command leaves
 * after for the user's own git or editor.
 *
 * Those that exist are kept from being written (they can still be read), at any depth that a
 * bounded look finds (look.h), where its repositories lead (git.c), and where links lead from them
 * (linked.c). Those that do not exist
 * can't be held by the kernel, so they are looked for when the command has ended, and a person is
 * told about each that is new or was replaced: a repository, one line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/profile/news.h"
#include "policy/permissions.h"

/* How much is kept from being written, or remembered; grants by name. */
enum { RUNS_LATER_PLACES = 512, RUNS_LATER_GRANTS = 64 };
enum { RUNS_LATER_MISSED = 8 };

struct runs_later_places;

struct runs_later {
	const char *folder;    /* NULL: nothing is watched */
	int fd;                /* of the folder */
	struct timespec since; /* by the clock of files */
	struct runs_later_places *places;
	const char *granted[RUNS_LATER_GRANTS]; /* by name: nobody needs to be told */
	size_t n_granted;
};

/* What was not looked at, though it may say what else is run. */
struct runs_later_miss {
	const char *path; /* absolute; may be of any bytes */
	const char *why;  /* after the path in a sentence */
};

/* Looks at the folder as it is now. Takes no copy of its name. */
int runs_later_open(struct runs_later *d, const char *folder);
/* Looks at a little more of it, where that costs nothing: what is found is reported if it changes.
 * True if there is more. */
bool runs_later_idle(struct runs_later *d);
void runs_later_close(struct runs_later *d);
/* Adds a path below it, whether it is there or not; is_protected: or else only reported. */
int runs_later_add_path(
	struct runs_later *d, const char *path, const char *what, bool is_protected);
/* Adds what links lead to in this folder from protected places of another one. */
int runs_later_meet(struct runs_later *d, const struct runs_later *from);
/* Denies writing those that exist, by a rule of p. */
int runs_later_deny(const struct runs_later *d, struct permissions *p);
/*
 * A pattern that somebody granted for writing, absolute: where it names one of these files (or
 * something in one of these folders), a rule of p lets it be written.
 */
int runs_later_allow(struct runs_later *d, struct permissions *p, const char *pattern);
/* What came of it, the most harmful first; valid until runs_later_close(). Returns how many. */
size_t runs_later_check(const struct runs_later *d, const struct runs_later_news **ret);
/* After runs_later_check(): files that were made and changed; true: at least. */
bool runs_later_count(const struct runs_later *d, size_t *created, size_t *changed);
/* After runs_later_check(): how many more there were. */
size_t runs_later_left(const struct runs_later *d);
/* What the first look left out; the list is d's. Returns how many. */
size_t runs_later_missed(const struct runs_later *d, const struct runs_later_miss **ret);
/* After runs_later_check(): there was more in the folder than was looked at, or more to tell. */
bool runs_later_is_cut(const struct runs_later *d);
/* After runs_later_check(): something in it cannot be listed; what is new of that is reported. */
bool runs_later_is_closed(const struct runs_later *d);
