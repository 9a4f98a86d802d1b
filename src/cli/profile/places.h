/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of runs-later.h share: the places of a folder, and what was seen of them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/path.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"
#include "cli/profile/runs-later.h"

/* Names in all of the folders that are compared as a whole. */
enum { RUNS_LATER_SEARCHED = 4096 };

/* How a path was found: enough to notice that it is another one now. */
struct runs_later_state {
	bool exists, is_folder;
	uint64_t dev, ino, size;
	struct timespec changed; /* ctime: a file that is moved away and back has another */
	uint64_t inside;         /* what is in a folder, as a number */
	struct timespec newest;  /* the latest of it and all in it */
	bool is_twinned;         /* it, or a file in it, has more names than one */
	bool is_closed;          /* it, or a folder in it, cannot be listed */
};

enum runs_later_kind {
	PLACE_ROW,
	PLACE_REPOSITORY, /* what counts is that it is there; its parts are places of their own */
	PLACE_LEAD,     /* git's settings or links lead there, whether there is something or not */
	PLACE_PROGRAMS, /* a folder of PATH, likewise: its executable files count */
	PLACE_HOP,      /* a link, by itself: what it leads to is a place of its own */
};

struct runs_later_place {
	const char *path; /* below the folder */
	const char *real; /* where it is, absolute; NULL: not known */
	const char *what;
	unsigned uses;
	enum runs_later_kind kind;
	struct runs_later_state before;
};

struct runs_later_places {
	struct look look;
	struct profile_git_user user;
	struct runs_later_place *items;
	size_t n, cap;
	struct look_index index;
	unsigned names;   /* left of SEARCHED_MAX */
	bool is_full;     /* there are more places */
	bool is_cut;      /* by the second look */
	bool is_closed;   /* after the command, something could not be listed */
	const char *base; /* the last name of the folder: it may be part of a path of the table */
	struct linked linked;       /* bounds of the search for links */
	size_t followed;            /* of the items: links of those before were followed */
	struct profile_twins twins; /* files with other names that are to be kept, too */
	struct runs_later_outside *outside;
	size_t n_outside, cap_outside;
	struct runs_later_miss missed[RUNS_LATER_MISSED];
	size_t n_missed;
	struct news news;
};

/* A link from here leads there. */
struct runs_later_outside {
	const char *path; /* absolute */
	const char *what;
	unsigned uses;
};

/* runs-later-state.c: one path as it is. */

/* Of a place; what is in a repository or below a folder of programs is no matter of it. */
unsigned runs_later_uses(enum runs_later_kind kind, unsigned uses);
struct runs_later_state runs_later_state(
	const struct runs_later *d, const char *path, unsigned uses);
bool runs_later_is_same(const struct runs_later_place *p, const struct runs_later_state *now);

/* runs-later-rows.c: rows of the table in one folder. */

extern const char runs_later_repository[], runs_later_twin[], runs_later_bare[];

/* False: it is too long. */
bool runs_later_join(const char *folder, const char *name, char out[PATH_BYTES]);
bool runs_later_has(const struct look_folder *f, const char *name);

/* path: below the folder of all. Negative stops. */
typedef int runs_later_row(
	void *data, const struct look_folder *f, const char *path, const struct threat *row);

struct runs_later_rows {
	struct runs_later_places *places;
	const struct look_folder *folder;
	runs_later_row *one;
	void *data;
};

/* All that the folder may have: by its names, as a repository, and by its own name at the top. */
int runs_later_rows(const struct runs_later_rows *x);
/* Does it lie in a folder that is kept as a whole? */
bool runs_later_is_inside(const struct runs_later_places *p, const char *path);
