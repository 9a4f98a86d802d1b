/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A part of the set-up that a process of its own carries out, beside the caller. It shares the
 * caller's memory, descriptors, root and current directory; credentials, namespaces and the filter
 * of system calls are its own from then on.
 *
 * errno and the heap are shared as well. So only one of the two allocates at a time, and whatever
 * the other does meanwhile is expected to succeed: a call that succeeds does not touch errno.
 */
#include <sys/types.h>

/* Zero: none was begun. */
struct beside {
	pid_t pid; /* 0: there is none, or it was waited for */
	void (*run)(struct beside *b);
	void *data;
	void *stack;
	int is_running; /* a futex; the kernel clears it, too, when the process ends */
	int result;
};

/* If no process can be started, the caller runs it. */
void beside_begin(struct beside *b, void (*run)(struct beside *b), void *data);
/* In that process: what it was begun for is done, or failed. It may go on, but allocates nothing.
 */
void beside_report(struct beside *b, int result);
/* Returns what was reported; -EIO: it ended without a word. */
int beside_hear(struct beside *b);
/* Waits until it has ended. Without beside_begin() it does nothing. */
int beside_end(struct beside *b);
/* After beside_end(): unmaps its stack. That interrupts the processor that it ran on, so a caller
 * that ends soon need not do it. */
void beside_free(struct beside *b);
