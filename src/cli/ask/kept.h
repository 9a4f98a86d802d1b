/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Questions about files and programs, and what was answered to them. A command that runs keeps the
 * files and programs that it started with, so an answer is an option of later runs in the same
 * folder (ask/later.c). Where there was no terminal to ask in, the question itself is kept, until
 * it is answered by `corral questions` or on the dashboard.
 *
 * They are in Corral's own state, which no command can write: one file for each folder. Whoever
 * changes one holds the lock of all of them, from the reading on: an answer `once` is given to one
 * run.
 *
 * A line has the time that it counts until, the answer, what it was about (ask/subject.h: the kind
 * and 32 digits), the project of the run (32 digits, or -), the option and its value:
 *
 *     corral-asked 2 /home/u/project
 *     1790000000 once folder 8c02… - --read /srv/data
 *     1790000000 open program 51fe… 07aa… --exec gcc
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/ask/ask.h"
#include "cli/ask/subject.h"
#include "cli/verb.h"

struct buffer;

enum {
	ASK_KEPT_MAX = 64, /* of one folder */
	/* Of them: questions that wait. A command chooses what it is denied; one that wants more is
	 * not asked about. */
	ASK_KEPT_OPEN_MAX = 6,
	ASK_KEPT_FOLDERS_MAX = 1024, /* that are looked at for a list */
	ASK_KEPT_BYTES = 256 << 10,
	ASK_KEPT_ID = ASK_DIGEST,
};

/* One question, and its answer. */
struct ask_kept {
	enum ask_word word; /* NO, ONCE or DAY; NONE: it was not answered yet */
	uint64_t until_s;   /* of the time of day */
	const char *option, *value;
	struct ask_subject about; /* as it was when it was asked */
	/* ask_digest() of the project's file that the run used; "": it used none. */
	char project[ASK_DIGEST];
};

/* The form. -EBADMSG: it was not written by ask_kept_write(); -ESTALE: it is of another folder.
 * Texts point into `text`, which is changed. */
int ask_kept_read(char *text, const char *folder, struct ask_kept ret[ASK_KEPT_MAX], size_t *ret_n);
void ask_kept_write(const char *folder, const struct ask_kept *all, size_t n, struct buffer *out);
/* Whether a line can have it: a name with control characters is not asked about. */
bool ask_kept_is_plain(const char *text);
/* A name for it: of the folder, the option, the value, what that was, and the project, so it never
 * is that of another one. */
void ask_kept_id(const char *folder, const struct ask_kept *k, char ret[ASK_KEPT_ID]);
/* As a line of a project: a folder with all that is in it; a value that is a pattern has that
 * already. NULL: no memory. */
const char *ask_kept_pattern(const struct ask_kept *k, struct arena *a);

/* Those of a folder that count still. Texts are in the call's arena. */
size_t ask_kept_load(struct call *c, const char *folder, struct ask_kept ret[ASK_KEPT_MAX]);
/* The same, and those of `once` are taken out. -EIO: they cannot be. */
int ask_kept_take(
	struct call *c, const char *folder, struct ask_kept ret[ASK_KEPT_MAX], size_t *ret_n);
/*
 * Keeps one, in the place of what was said of the same option and value; how long is by its word.
 * An open one takes no place of another about the same: 1 if it is there already, or was answered.
 * -ENOSPC: there is no room for it.
 */
int ask_kept_put(struct call *c, const char *folder, const struct ask_kept *k);
/* Takes one out that was answered in another place: by a line of the project's file. */
int ask_kept_drop(struct call *c, const char *folder, const struct ask_kept *k);

struct ask_open {
	const char *folder;
	struct ask_kept kept;
	char id[ASK_KEPT_ID];
};
/*
 * Until the descriptor is closed no other process changes any of them. *ret_path: a file beside
 * them that is not one of them, in the call's arena.
 */
int ask_kept_lock(struct call *c, const char *name, const char **ret_path, int *ret);

/* All that are open, of all folders, in an order that stays. Texts are in the call's arena. */
int ask_kept_open(struct call *c, struct ask_open **ret, size_t *ret_n);
