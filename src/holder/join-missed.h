/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Events that no daemon acknowledged, for a file (audit/missed.h). */
#include <stdbool.h>

#include "holder/join.h"

enum { JOIN_LOST_BYTES = 1024 }; /* for the event that says how many are missing */

/* A daemon made this folder once. Without XDG_RUNTIME_DIR root's daemon is the system's. */
int join_missed_place(struct buffer *out);
/* The folder of the daemon that we are or were connected to, or of the one that would be. */
int join_missed_open(struct holder_join *j);
/* No folder that is for us: no daemon of this user was here, or it does not keep such files. */
bool join_is_unwanted(int error);
/* Appends the events, in their order, as far as a file has room: the heavy ones first. *lost counts
 * the others. Returns whether there was any; *ret_last is the last then. */
bool join_collect_missed(const struct holder_join *j, struct buffer *bytes,
	struct holder_weights *lost, struct audit_event *ret_last);
/* Says how many are missing, in the words of one that is there; the reason is in the buffer. */
struct audit_event join_lost(
	const struct audit_event *like, const struct holder_weights *lost, struct buffer *reason);
