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
	uint64_t memory;  /* bytes */
	uint64_t pids;    /* processes and threads */
	uint64_t scratch; /* objects_scratch() when the command started */
	bool capped;      /* the kernel has a limit of processes, too (rlimits_caps_processes()) */
};

struct tally {
	/* Anonymous and shared memory, resident or swapped out, and what is there without a process
	 * (objects.h); or, where that alone settles it, what the whole machine uses. Bytes. */
	uint64_t memory;
	uint64_t tasks;   /* threads of all processes but pid 1; a dead one not yet reaped is 1 */
	uint64_t cost_us; /* of this look */
	/* Which of them are the whole machine's, at most as much as the limit. */
	bool memory_is_all, tasks_is_all;
};

/* What a look reads: /proc of the command's pid namespace, and two of its files that say something
 * of the whole machine. They stay open, so that a look opens nothing where it has to count nothing.
 */
struct tally_proc {
	int folder; /* O_PATH will not do */
	int load;   /* loadavg */
	int memory; /* meminfo */
};

#define TALLY_PROC_NONE ((struct tally_proc){ -1, -1, -1 })

/* Opens the caller's /proc. -errno: *ret is TALLY_PROC_NONE. */
int tally_open(struct tally_proc *ret);
void tally_close(struct tally_proc *proc);

enum {
	TALLY_WITHIN = 0,
	TALLY_MEMORY = 1 << 0,
	TALLY_PIDS = 1 << 1,
};

/*
 * Counts and judges: a bit set of TALLY_*, or a negative errno (then treat all limits as passed).
 * Stops early, with what it has, when a limit is passed.
 *
 * A page that several processes share is counted for each at first, so the sum is never too small.
 * If that is over the memory limit, it counts again with each shared page split among those that
 * share it, so that many forks of one large process are not killed for nothing. *ret is the last
 * count; it may be NULL.
 *
 * If the whole machine uses less than a limit, so does the command, and nothing is counted: a limit
 * that is a large share of the machine costs two calls to look after, however many processes there
 * are.
 */
int tally_check(
	const struct tally_proc *proc, const struct tally_limits *limits, struct tally *ret);

/*
 * How long to wait before looking again, from 2 ms to a second: as long as it takes to use up what
 * is left of a limit; past 100 ms, an eighth of that, so that many idle commands cost little and a
 * machine that is faster than thought goes over by little. Far from every limit no more than a
 * hundredth of the time is spent on looking, near one no more than a tenth, but there is a look
 * each second.
 */
int tally_interval_ms(const struct tally *now, const struct tally_limits *limits);
