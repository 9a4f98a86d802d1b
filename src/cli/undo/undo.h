/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral run --undo` and `corral undo`: what the working folder was before a run.
 *
 * Everything is kept before the command starts, and what did not change is dropped when all of its
 * processes are dead (docs/decisions/0135). So there is no write that could be missed: none by a
 * mapping, by io_uring, by a rename of a folder above. A record is a folder in Corral's own state,
 * which no command sees:
 *
 *     undo/N/run      what ran, when and where; its first line has the version
 *     undo/N/before   every kept name as it was; gone once `changes` is there
 *     undo/N/data     the content of kept files, one behind the other
 *     undo/N/changes  what the run changed, before and after
 *     undo/N/removed  what an undo took out of the working folder; removed-size: its bytes
 *     undo/last       the highest N of a record that is gone: no number is used again
 *
 * A file appears under its name when it is whole. The run has a lock on the folder. Without a lock,
 * a record with neither `before` nor `changes` is the rest of a run that was killed while it kept
 * files, and is removed, unless it has `removed`: then it was taken back. One with `before` is of a
 * run that was killed later: `corral undo` looks for the changes itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	UNDO_NAMES_MAX = 100 * 1000, /* that are kept; and that a run may add, to be recorded */
	UNDO_DEPTH_MAX = 128,
	UNDO_PER_FOLDER = 10, /* runs of one working folder that can be taken back */
	UNDO_RUNS_MAX = 50,
	UNDO_ATTRIBUTES = 16 << 20, /* bytes of extended attributes, as text */
};
#define UNDO_LIMIT (UINT64_C(512) << 20) /* bytes, without --undo-limit */
#define UNDO_TOTAL (UINT64_C(4) << 30)   /* of all records on disk; the last one is always kept */

enum undo_kind { UNDO_NONE, UNDO_FILE, UNDO_LINK, UNDO_FOLDER, UNDO_OTHER };
enum { UNDO_HASH = 32 };

/* What is under a name. */
struct undo_state {
	enum undo_kind kind;
	uint32_t mode, uid, gid, nlink;
	uint64_t ino, size;
	uint64_t offset;             /* in the file `data` */
	int64_t mtime, ctime, btime; /* ns since 1970; btime 0: not known */
	const char *target;          /* of a link */
	const unsigned char *hash;   /* of the content; NULL: not known */
	const char *attributes;      /* of a file, as text (attributes.c); NULL: not known */
};

struct undo_entry {
	const char *path; /* below the working folder */
	struct undo_state is;
	const char *why; /* it is not kept: for people; NULL: it is */
};

/* Names, and a table to find them by. */
struct undo_list {
	struct undo_entry *items;
	size_t n, cap;
	uint32_t *table; /* of n + 1; 0: empty */
	size_t mask;
};

enum undo_what { UNDO_CREATED, UNDO_CHANGED, UNDO_REMOVED, UNDO_MODE, UNDO_TIME, UNDO_WHATS };

struct undo_change {
	const char *path;
	struct undo_state before, after;
	/* Not made by the run, nor kept: it was moved here. Its last name is never removed. */
	bool is_foreign;
};

struct undo_changes {
	struct undo_change *items;
	size_t n, cap;
	int64_t ended; /* ns since 1970; 0: not known, the run was killed */
	bool is_cut;   /* there are more new names */
	size_t count[UNDO_WHATS];
	/* Not kept, and gone or changed: how many, and the first. */
	size_t n_lost;
	const char *lost;
};

/* One run. */
struct undo {
	struct arena arena;
	int store, record, root, data; /* descriptors; -1: none */
	uint32_t number;
	const char *folder, *command;
	uint64_t root_ino, limit, bytes;
	int64_t started;
	char boot[40];
	struct undo_list before;
	struct undo_changes changes;
	size_t n_files, n_not_kept;
	size_t n_attributes;    /* kept files that have extended attributes which are not kept */
	const char *attributes; /* the first of them */
	size_t attributes_left; /* bytes, for those that are read */
	size_t names_max;       /* UNDO_NAMES_MAX; less in tests */
	bool is_kept;           /* `before` is there */
};
#define UNDO_EMPTY                           \
	((struct undo){ .store = -1,         \
		.record = -1,                \
		.root = -1,                  \
		.data = -1,                  \
		.names_max = UNDO_NAMES_MAX, \
		.attributes_left = UNDO_ATTRIBUTES })

struct undo_options {
	const char *folder;  /* absolute, without links */
	const char *command; /* for people */
	uint64_t limit;
	/* May the command read it? What it may not is not copied. */
	bool (*may_read)(const void *context, const char *path);
	const void *context;
};

/*
 * Keeps a folder. Negative errno with a sentence, and nothing is left behind: the store cannot be
 * used, another run with --undo is under way there, too much to keep, the disk is full.
 */
int undo_keep(struct undo *u, const struct undo_options *o, struct error *e);
/*
 * When no process of the run is left: finds the changes (u->changes), and drops what did not
 * change; the whole record if nothing did.
 */
int undo_finish(struct undo *u, struct error *e);
void undo_deinit(struct undo *u);

/* Whether there is something to take back. */
static inline bool undo_has_changes(const struct undo *u)
{
	return u->changes.n > 0;
}
/* The time by the clock of file systems, ns since 1970. */
int64_t undo_now(void);
enum undo_what undo_what(const struct undo_change *c);
/* "41 MB". */
struct buffer;
void undo_print_bytes(uint64_t bytes, struct buffer *out);
/* "2,310". */
void undo_print_count(uint64_t n, struct buffer *out);
/* "3 created, 1 removed": counts of zero are left out. */
void undo_print_changed(const struct undo_changes *c, struct buffer *out);
