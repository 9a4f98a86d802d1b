/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the relay tells: denials, and what went over connections that were allowed. A program that
 * tries the same in vain a million times makes one record of it, with a count.
 */
#include "event/loop.h"
#include "wire/record.h"

struct recorder;

/* New records of a kind (names that were asked for are a kind of their own) in a second. */
enum { RECORDER_PER_SECOND = 200 };

/*
 * Records go out by the socket, as FRAME_RECORD (wire/record.h). What is new is reported at once;
 * the same again (kind, target, reason, program) is counted, its bytes are added up, and it is
 * reported at most once a second, or when the reader asks (recorder_settle()). At most 4096
 * different ones of a kind are kept apart, and RECORDER_PER_SECOND are reported in a second; what
 * is beyond that becomes one record with the target "*". No count and no byte is lost as long as
 * there is a reader.
 *
 * The socket must be non-blocking (-EINVAL); it stays the caller's, who may watch it, too.
 */
int recorder_new(struct recorder **ret, struct loop *l, int socket);
/* Tells the rest, for which it waits a second at most. */
void recorder_free(struct recorder *r);
/* Texts are copied; NULL is "". */
void recorder_add(struct recorder *r, const struct record *record);
/* Tells what was only counted so far; what the socket does not take now follows from the loop. */
void recorder_flush(struct recorder *r);
/*
 * The same, and FRAME_SETTLE with this id after the last of it. From here on everything is new
 * again: the reader has heard all that came before, and asks when a command has ended, so that each
 * of them has its own records. The last id counts.
 */
void recorder_settle(struct recorder *r, uint64_t id);
