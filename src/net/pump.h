/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bytes between two sockets, both ways, until both have said all. Small messages are copied, since
 * that takes the fewest calls; when a read fills its buffer, the kernel moves the bytes (splice) by
 * a pipe, which is lent only while something is in it. A connection that is silent costs nothing
 * but this struct.
 *
 * The ends of streams and resets are passed on as they come; what a side said before it was reset
 * still passes. A gate can hold back what was not judged yet.
 *
 * SIGPIPE has to be ignored: splice() knows no other way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"
#include "net/quota.h"

/* What all pumps of a loop share. */
struct pump_room;
int pump_room_new(struct pump_room **ret, struct loop *l);
void pump_room_free(struct pump_room *r);

enum pump_side { PUMP_INNER, PUMP_OUTER };

struct pump_stream {
	uint64_t allowed; /* bytes that may pass; UINT64_MAX: all */
	uint64_t moved;
	int pipe[2];
	size_t in_pipe;
	char *kept; /* what the sink did not take of a copy */
	size_t n_kept;
	bool bulk;    /* the last read was full */
	bool dry;     /* or had less than there was room for: nothing more is there now */
	bool ended;   /* the source said all */
	bool closed;  /* and the sink was told */
	bool waiting; /* the gate waits for something else than more bytes */
	bool asks;    /* and that is an answer of the user: the end of its source ends the pump */
	bool blocked; /* the sink takes no more now */
	bool held;    /* the gate has bytes of it that it wants to judge before it reads more */
};

struct pump {
	/* Both were closed in order (0), or one was reset, or the gate or the quota ended it
	 * (negative; -ECONNABORTED: its source ended while the gate waited for the user). The
	 * descriptors are the caller's to close; pump_stop() was called. */
	void (*done)(struct pump *p, int error);
	/*
	 * The bytes that `from` may send are used up: read some and pump_give() them, or raise
	 * streams[from].allowed, or set its `ended`. -EAGAIN: not enough is there, or `waiting` was
	 * set. Another error ends the pump. last: nothing more will come. NULL: everything passes.
	 */
	int (*gate)(struct pump *p, enum pump_side from, bool last);
	struct quota_account *account; /* or NULL */

	/* private, but for `allowed`, `moved`, `waiting`, `asks` and `ended` */
	struct pump_room *room;
	struct {
		struct watcher watcher;
		int fd;
		bool hung_up; /* both ways: it can only be read to its end */
	} sides[2];
	int error;                     /* a side was reset, the other gets what that had said */
	struct pump_stream streams[2]; /* by the side that they come from */
};

/* Non-blocking stream sockets. On failure nothing was started. */
int pump_start(struct pump *p, struct pump_room *r, int inner, int outer);
void pump_stop(struct pump *p);
/* For the gate: these bytes are next on their way from that side. -EDQUOT, -ENOMEM. */
int pump_give(struct pump *p, enum pump_side from, const void *data, size_t len);
/* After `allowed` or `waiting` changed outside the gate. May call done(). */
void pump_again(struct pump *p);

/* Closes so that the other side gets a reset. */
void pump_reset(int fd);
