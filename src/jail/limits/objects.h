/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory that is there without a process that has it mapped: SysV segments, messages and
 * semaphores, memfds that are only held by descriptors, files in the sandbox's own file system in
 * memory. The tally counts them beside what processes have. Allocates nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OBJECTS_SLOTS = 8192, OBJECTS_MEMFDS_MAX = OBJECTS_SLOTS / 2 };

struct objects {
	uint64_t bytes;
	/* The memfds that were counted, by their inodes; those beyond OBJECTS_MEMFDS_MAX are
	 * counted at each descriptor. */
	struct objects_memfd {
		bool used;
		dev_t dev;
		ino_t ino;
	} memfds[OBJECTS_SLOTS];
	size_t n_memfds;
	unsigned n_descriptors; /* that were looked at */
	dev_t scratch;          /* the device of the file system in memory */
	bool has_sysv;          /* there are segments */
};

/* What the sandbox's file system in memory holds, in bytes; 0 if there is none. Called before a
 * command starts: what others left there is not this command's. */
uint64_t objects_scratch(void);

/*
 * Begins to count: the SysV objects of the caller's IPC namespace, and what the file system in
 * memory holds beyond scratch_before. -errno: they cannot be counted.
 */
int objects_begin(struct objects *o, uint64_t scratch_before);
/*
 * Adds the memfds that a process has open. One that cannot be looked into (it is not dumpable) has
 * none that can be seen. -ENOENT, -ESRCH: it has ended.
 */
int objects_add_process(struct objects *o, int proc_fd, const char *pid);
/* A mapping of /proc/PID/smaps, by its first line: is what it maps among the objects? */
bool objects_has_mapping(const struct objects *o, const char *line);
