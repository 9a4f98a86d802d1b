/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory and tasks of a whole command, counted by looking at /proc: what holds a limit where no
 * cgroup can be had. Called again and again by the init of a command, whose /proc shows exactly the
 * command's processes. Allocates nothing, is bounded, and never waits for anybody.
 */
#include <stdbool.h>
#include <stdint.h>

/* 0: no limit. */
struct tally_limits {
	uint64_t memory; /* bytes */
	uint64_t pids;   /* processes and threads */
};

struct tally {
	uint64_t memory; /* anonymous and shared memory, resident or swapped out, bytes */
	uint64_t tasks;  /* threads of all processes but pid 1; a dead one not yet reaped is 1 */
};

enum {
	TALLY_WITHIN = 0,
	TALLY_MEMORY = 1 << 0,
	TALLY_PIDS = 1 << 1,
};

/*
 * Counts and judges: a bit set of TALLY_*, or a negative errno (then treat all limits as passed).
 * proc_fd: /proc of the command's pid namespace (O_PATH will not do). Stops early, with what it
 * has, when a limit is passed.
 *
 * A page that several processes share is counted for each at first, so the sum is never too small.
 * If that is over the memory limit, it counts again with each shared page split among those that
 * share it, so that many forks of one large process are not killed for nothing. *ret is the last
 * count; it may be NULL.
 */
int tally_check(int proc_fd, const struct tally_limits *limits, struct tally *ret);

/* How long to wait before looking again: 20 ms far from every limit, 2 ms near one, more if there
 * are many. */
int tally_interval_ms(const struct tally *now, const struct tally_limits *limits);
