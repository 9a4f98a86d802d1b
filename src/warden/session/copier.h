/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One standard stream of a command, copied between a descriptor of the host and a pipe that was
 * made for this command alone. A pipe that goes in as it is can be opened again through
 * /proc/self/fd in the other direction, and a file that goes in for writing can be truncated, with
 * O_APPEND too. What goes in here leads to nothing but the copier.
 *
 * The host's descriptor is shared with others, so its flags stay as they are, and the copier never
 * waits on it. Of input the command gets what bare programs get, and the rest stays for the next
 * reader, as far as the kernel lets us:
 *
 *   a pipe      the first 64 KiB are duplicated (tee) page by page and taken out of the host's pipe
 *               only when the command has read them. A command that reads more is taken for one
 *               that reads all: up to a pipe's size may be taken and not be read.
 *   a file      what was not read is given back (lseek) in the end. Meanwhile the place in the file
 *               is after it: a command whose output is the same open file (<>f >&0) writes there.
 *   a socket    as much as a pipe holds may be taken and not be read
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"

struct copier {
	int from, to;      /* ours to close; -1: done, or never opened */
	int unread;        /* of a file: the command's end, to see what it did not read; or -1 */
	struct loop *loop; /* where both are watched */
	struct watcher from_watch, to_watch;
	void (*ready)(void *owner);
	void *owner;
	bool is_input;
	bool is_pipe, is_socket, is_file; /* the host's side */
	bool is_named;                    /* of a pipe: in a folder */
	bool keeps_waiting;               /* the host's pipe may block: it is asked before */
	bool may_splice, is_bulk;         /* the kernel moves the bytes */
	bool is_large;                    /* the command's pipe */
	size_t lent;    /* duplicated into the command's pipe, and still in the host's */
	uint64_t taken; /* by the command, of a pipe */
	uint64_t given; /* copied by way of memory */
	uint64_t left;  /* how much the file may still grow */
	int error;      /* why output was lost; 0, or negative errno */
	size_t at, len; /* of `bytes`: what was read and not written yet */
	char *bytes;
};

/* None; closing it does nothing. */
#define COPIER_NONE                                                                        \
	{                                                                                  \
		.from = -1, .to = -1, .unread = -1, .from_watch.fd = -1, .to_watch.fd = -1 \
	}

/*
 * Makes the pipe. fd: the host's, which stays the caller's; ret: the command's end, the caller's
 * from here on. limit: bytes that a file may have in the end; 0: no limit.
 */
int copier_open(struct copier *c, int fd, bool is_input, uint64_t limit, int *ret);
/* In this loop ready(owner) is called whenever copier_run() may have something to do. It must not
 * move in memory from here on. */
int copier_watch(struct copier *c, struct loop *l, void (*ready)(void *owner), void *owner);
/* Moves what can be moved now. */
void copier_run(struct copier *c);
/*
 * The command is no more: gives back what it did not read. True if nothing is left to be written;
 * else events go on.
 */
bool copier_finish(struct copier *c);
/* Drops the rest. `error` stays. */
void copier_close(struct copier *c);
