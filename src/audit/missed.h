/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Events that a daemon missed: a run that ends without one, or before it acknowledged all of them,
 * leaves them as a file in the folder `missed` beside the daemon's log. The daemon takes them into
 * the log, or removes the file when it has committed the same events. The daemon makes the folder;
 * where none ever ran there is none, and nothing is left.
 *
 *     ID       the events of one session, complete; ID is the session's, 16 hexadecimal digits
 *     ID.N     the same; what of them is in the log already is behind the record with number N:
 *              a daemon got them and did not acknowledge them, or is about to take the file
 *     .ID      is being written
 *     .full    4 bytes (little-endian) for each run that found the folder full: how many events
 *              it could not leave. The daemon puts their sum into the log
 *     .full.taken    the same, while the daemon does that
 *
 * A file is a line that says what it is, then for each event its length (4 bytes, little-endian)
 * and its encoding (event.h), then the length 0. What ends anywhere else is not complete.
 *
 * Files and folder are for the owner alone, and hidden from every sandbox as the log is. What is
 * read from them is foreign all the same: bounded, and checked to the last byte before it is used.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buffer.h"

enum {
	AUDIT_MISSED_ID = 16,
	AUDIT_MISSED_FILES_MAX = 4096,  /* in the folder; further runs leave nothing */
	AUDIT_MISSED_BYTES_MAX = 65536, /* of one file */
	AUDIT_MISSED_NAME = 64,         /* of "ID.N", with its NUL */
};

/* The user's folder, by the place of the log (place.h), or the system's: appended. -ENOENT. */
int audit_missed_place(bool is_system, struct buffer *out);
/*
 * Opens the folder; the caller owns it. -ENOENT: there is none. -EPERM: it belongs to another user,
 * or others can enter it. -ENOTDIR, -ELOOP: it is no folder.
 */
int audit_missed_open(const char *folder, int *ret);
/* Whether it is beside this log, which is there: by the files, not by their names. */
bool audit_missed_is_of(int folder, const char *log);

/* Writing */

/* Adds an encoded event, and what must stand before the first. False, and nothing was added: there
 * is no room for it, with `reserve` bytes left for others. */
bool audit_missed_add(struct buffer *out, const void *event, size_t len, size_t reserve);
/* What a name says. number: 0 for ID. */
struct audit_missed_name {
	char id[AUDIT_MISSED_ID + 1];
	bool is_noted; /* ID.N */
	uint64_t number;
};
/* -EINVAL: the id or the number is none. */
int audit_missed_print_name(const struct audit_missed_name *n, char ret[AUDIT_MISSED_NAME]);
/*
 * A file without a name, for audit_missed_put(): who has time now need not wait for it at the end.
 * The caller owns it. -EDQUOT; -EOPNOTSUPP and others: the file system has none.
 */
int audit_missed_prepare(int folder, int *ret);
/* Such a file, of another process: regular, empty, without a name, and ours. */
bool audit_missed_is_prepared(int fd);
/*
 * Ends the bytes and puts them into the folder, at once or not at all. prepared: as above, or -1.
 * -EDQUOT: there are too many files. -EINVAL: the name is none. Or of opening and writing it.
 */
int audit_missed_put(
	int folder, int prepared, const struct audit_missed_name *name, struct buffer *bytes);
#define AUDIT_MISSED_FULL ".full"
#define AUDIT_MISSED_TAKEN ".full.taken"
/* After -EDQUOT: so many events are not there. Beyond the size of a file it is not counted. */
void audit_missed_count(int folder, uint64_t events);

/* Reading */

/* False: it is none of a file to take. */
bool audit_missed_parse_name(const char *name, struct audit_missed_name *ret);
/*
 * The bytes of a file: a regular one of ours, for us alone, with one name. Neither follows a link
 * nor waits. -EPERM, -ELOOP, -EFBIG, or of opening and reading it.
 */
int audit_missed_read(int folder, const char *name, struct buffer *out);
/* AUDIT_MISSED_FULL becomes AUDIT_MISSED_TAKEN, so that runs begin another. -EEXIST: there is one
 * already. -ENOENT: there is neither. Or as audit_missed_read(). */
int audit_missed_take_count(int folder);
/* What AUDIT_MISSED_TAKEN says, as audit_missed_read(), after so many runs. *ret_events is a sum.
 */
int audit_missed_counted(int folder, uint64_t after, uint64_t *ret_runs, uint64_t *ret_events);
/* The version that the first line has; 0: it is no such file. */
uint64_t audit_missed_version(const void *data, size_t len);
/* How many events are in it; -EBADMSG: it is not complete, or has events of another session.
 * -ENOTSUP: its version is newer. */
int audit_missed_check(const void *data, size_t len, const char *id);
/* The events of checked bytes, one after the other, from *at = 0 on. False: that was the last. */
bool audit_missed_next(const void *data, size_t len, size_t *at, struct audit_event *ret);
