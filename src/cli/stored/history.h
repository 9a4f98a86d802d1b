/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a stored policy said, version by version, in a folder of its own: files NUMBER.WHO with the
 * text of a version that was good, and one without text where the policy was removed. The latest
 * HISTORY_MAX stay. Beside them `seen`, the state that was reported last:
 *
 *     good ETAG
 *     broken DEV INODE MTIME_NS SIZE VERSION
 *     removed
 *
 * A broken file is replaced by that version only while it is the very file that was seen: so what
 * stays in force is what was in force before it, and not some older text.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

enum { HISTORY_MAX = 50, HISTORY_SEEN = 128 };

enum history_by { HISTORY_FILE, HISTORY_SAVE, HISTORY_UNDO, HISTORY_REMOVED, HISTORY_BY_COUNT };
extern const char *const history_by_names[HISTORY_BY_COUNT + 1];

struct history_version {
	uint32_t number;
	enum history_by by;
	uint64_t saved_ms, bytes;
};

struct history {
	struct history_version items[2 * HISTORY_MAX]; /* oldest first */
	size_t n;
};

/* What is there; an empty history if the folder is missing. */
int history_open(struct history *h, const char *past);
/* The text of a version. -ENOENT: there is none. */
int history_read(const struct history *h, const char *past, uint32_t number, struct buffer *ret);
/* One more version; makes the folders. mode: of the files, 0600 or 0644. */
int history_add(struct history *h, const char *past, const struct buffer *text, enum history_by by,
	unsigned mode);
/* Takes back what history_add() added last: it notes a change that was not made. */
void history_drop(struct history *h, const char *past);
/* The latest one, with a text; NULL: there is none, or the policy was removed. */
const struct history_version *history_latest(const struct history *h);
/* Whether the latest says this. */
bool history_is_latest(const struct history *h, const char *past, const struct buffer *text);

/* `seen`; "" if there is none. */
void history_seen(const char *past, char out[HISTORY_SEEN]);
int history_set_seen(const char *past, const char *text, unsigned mode);
/* What it says of a broken file that is replaced by this version. */
void history_print_broken(const struct stat *st, uint32_t version, char out[HISTORY_SEEN]);
/* The version that replaces the file st; 0: none does. */
uint32_t history_instead(const char *past, const struct stat *st);

/* Makes a folder with those above it. */
int history_make_folders(const char *path, unsigned mode);
/* Whether the histories in a folder have a version that is read here: 0; -ENOTSUP with a sentence.
 * The file `version` in it; those of the first version have none. */
int history_check_version(const char *folder, struct error *e);
/* Holds off other writers of a history until the descriptor is closed. Notes the version. */
int history_lock(const char *folder, unsigned mode, int *ret);
