/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A few threads for what may block: reading from file systems, starting sandboxes. The loop hands
 * them jobs and hears of their ends; no thread but the loop's own touches anything else.
 *
 * Of one caller at most half of the threads are taken at once, so that calls which hang (a dead
 * network file system) hold up no others. Threads are started when there is something to do.
 */
#include <stdbool.h>
#include <stdint.h>

#include "event/loop.h"

struct pool;

struct pool_job {
	void (*work)(struct pool_job *j); /* in a thread */
	void (*done)(struct pool_job *j); /* in the loop, later */
	uint32_t caller;                  /* the calling process; 0: none */
	bool is_owed;                     /* pool_settle() sees to it */
	struct pool_job *next;
};

int pool_new(struct pool **ret, struct loop *l, unsigned threads);
/* Waits until all that was added is done. */
void pool_free(struct pool *p);
/* The job stays the caller's, and must stay where it is until it is done. Negative: no thread. */
int pool_add(struct pool *p, struct pool_job *j);
/* Takes a job back that has not begun: true. False: it runs, and will be done. */
bool pool_remove(struct pool *p, struct pool_job *j);
/*
 * Before the process ends: jobs that are owed and have not begun are done here, and all that run
 * are waited for, so long at most.
 */
void pool_settle(struct pool *p, uint64_t ms);
/* While held, no further job begins. */
void pool_hold(struct pool *p, bool held);
