/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Events that a daemon missed: a run that ends without one leaves them as a file in the folder
 * `missed` beside the daemon's log, and the daemon takes them into the log when it is back. The
 * daemon makes the folder; where none ever ran there is none, and nothing is left.
 *
 *     ID       the events of one session, complete; ID is the session's, 16 hexadecimal digits
 *     ID.N     the same, about to be taken; N is the log's last record before that
 *     .ID      is being written
 *
 * A file is a line that says what it is, then for each event its length (4 bytes, little-endian)
 * and its encoding (event.h), then the length 0. What ends anywhere else is not complete.
 *
 * Files and folder are for the owner alone, and hidden from every sandbox as the log is. What is
 * read from them is foreign all the same: bounded, and checked to the last byte before it is used.
 */
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

/* Writing */

/* Adds an encoded event, and what must stand before the first. False, and nothing was added: there
 * is no room for it, with `reserve` bytes left for others. */
bool audit_missed_add(struct buffer *out, const void *event, size_t len, size_t reserve);
/*
 * Ends the bytes and puts them into the folder, at once or not at all. -EDQUOT: there are too many
 * files. -EINVAL: the id is none.
 */
int audit_missed_put(int folder, const char *id, struct buffer *bytes);

/* Reading */

/* What a name says; false: it is none of a file to take. number: 0 for ID. */
struct audit_missed_name {
	char id[AUDIT_MISSED_ID + 1];
	bool is_noted;
	uint64_t number;
};
bool audit_missed_parse_name(const char *name, struct audit_missed_name *ret);
/*
 * The bytes of a file: a regular one of ours, for us alone, with one name. Neither follows a link
 * nor waits. -EPERM, -ELOOP, -EFBIG, or of opening and reading it.
 */
int audit_missed_read(int folder, const char *name, struct buffer *out);
/* How many events are in it; -EBADMSG: it is not complete, or has events of another session. */
int audit_missed_check(const void *data, size_t len, const char *id);
/* The events of checked bytes, one after the other, from *at = 0 on. False: that was the last. */
bool audit_missed_next(const void *data, size_t len, size_t *at, struct audit_event *ret);
