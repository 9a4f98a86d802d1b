/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A bounded look at a working folder and the folders in it, for files that other programs run later
 * (runs-later.h): which names of the table (threat/threat.h) each of them has, and whether git
 * would take it for a repository.
 *
 * Folders are read breadth first, so those near the top come first. There are two looks. The first
 * one stands on the way to a command, so it reads a number of folders and names that does not grow
 * with the workspace; it goes on while the sandbox is built, when there is nothing else to do. The
 * second one, after the command, asks each of these folders only whether
 * it changed, reads those that did and those that are new, and goes on with folders that the first
 * one did not reach for as long as the command has earned by the time it took. What was not reached
 * is never passed over in silence: is_cut.
 *
 * Links are not followed: what they lead to in the folder is found under its own name. Folders of
 * the table with the use `skip` are not entered.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "threat/threat.h"

enum {
	/* The first look. */
	LOOK_FOLDERS_MAX = 128,
	LOOK_NAMES_MAX = 16384,
	/* While the sandbox is built: folders in all, and at once. */
	LOOK_IDLE_MAX = 1024,
	LOOK_FEW = 4,
	/* The second one, beside those that are known: new ones; others, if these are all; and for
	 * each millisecond that the command took beyond some. */
	LOOK_NEW_MAX = 4096,
	LOOK_REST = 128,
	LOOK_FOLDERS_PER_MS = 8,
	LOOK_FREE_MS = 50,
	/* Files whose times are read to count what changed: in folders that changed, and for each
	 * such millisecond in the others. */
	LOOK_FILES_MAX = 4096,
	LOOK_FILES_PER_MS = 32,
};
struct look_folder {
	const char *path;                      /* below the folder; "" is the folder itself */
	uint64_t heads[THREAT_HEADS_MAX / 64]; /* of the table, that it has */
	struct timespec changed;
	bool is_bare;  /* git takes it for a repository by itself */
	bool is_new;   /* it was made, or moved there, after the first look */
	bool is_known; /* the first look saw all that is in it */
	bool was_read, is_cut, is_skipped;
	bool is_closed; /* it cannot be listed; what the table names was looked for by name */
};

bool look_has(const struct look_folder *f, size_t head);

/* Finds items that begin with a path by it. */
struct look_index {
	uint32_t *slots;
	size_t n_slots;
};

/* Items 0 to n are there, and n is new. */
int look_index_add(struct look_index *x, struct arena *a, const void *items, size_t size, size_t n);
/* The place of the item, or -1. */
ssize_t look_index_find(
	const struct look_index *x, const void *items, size_t size, const char *path);

/*
 * Files that were made or changed between the two looks. The first look knows names without a
 * system call more; the second reads the times of files. What is git's own does not count, nor
 * folders.
 */
struct look_count {
	size_t created, changed;
	bool is_cut; /* there may be more */
	bool is_second;
	bool is_long; /* the command took so long that files in folders that did not change count */
	unsigned files;  /* whose times may be read in folders that changed */
	unsigned earned; /* and in others */
	const struct timespec *since;
	struct look_names {
		uint64_t *slots; /* hashes of names that were there; 0: none */
		size_t n, n_slots;
		bool is_full; /* not all are known */
	} names;
};

struct look {
	int fd; /* of the folder; the caller's */
	struct arena arena;
	struct look_folder *folders;
	size_t n, cap;
	struct look_index index; /* of the folders */
	size_t next;             /* of the folders: those before were read */
	struct look_count count;
	unsigned names_left, idle_left;
	bool is_cut;  /* there is more than was looked at by the last look */
	bool was_cut; /* and by the one before */
};

/* Called for each folder; it may look_push(), which moves f. Negative stops. */
typedef int look_visit(void *data, const struct look_folder *f);

int look_first(struct look *l, look_visit *visit, void *data);
/* Goes on with the first look, a few folders at a time. 1: there are more; 0: that is all. */
int look_idle(struct look *l, look_visit *visit, void *data);
/* more: how many folders may be read that the first look did not reach, and LOOK_REST if that are
 * all. */
int look_second(
	struct look *l, const struct timespec *since, unsigned more, look_visit *visit, void *data);
/* Has one more folder looked at, if it is there. */
int look_push(struct look *l, const char *folder, const char *name, bool is_new);

/* Is a file's time not before then? Both by the clock of files, which nobody sets back but who sets
 * the machine's. */
bool look_is_since(const struct timespec *t, const struct timespec *since);
