/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the built-in profiles: what leaves the machine usable, whatever the command does, and
 * no build comes near. Shares of the machine, found by two system calls.
 */
#include <sched.h>
#include <sys/sysinfo.h>

#include "cli/profile/profile.h"

enum {
	/* Enough for an agent with its servers, and for a build that runs some processes of some
	 * threads on each processor. */
	TASKS = 1024,
	TASKS_PER_PROCESSOR = 64,
	/* The kernel lets there be a task for each 128 KiB of memory: no more than half of them. */
	MEMORY_PER_TASK = 256 << 10,
};

void profile_limits(struct limits *ret)
{
	struct sysinfo machine;
	cpu_set_t set;
	uint64_t memory = 0, tasks = TASKS;

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		ret->values[i] = LIMIT_NONE;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		tasks += TASKS_PER_PROCESSOR * (uint64_t)CPU_COUNT(&set);
	if (sysinfo(&machine) == 0)
		memory = (uint64_t)machine.totalram * machine.mem_unit;
	if (memory > 0) {
		/* A number that people can read. */
		ret->values[LIMIT_MEMORY] = memory / 4 * 3 >> 20 << 20;
		if (tasks > memory / MEMORY_PER_TASK)
			tasks = memory / MEMORY_PER_TASK;
	}
	ret->values[LIMIT_PIDS] = tasks;
}
