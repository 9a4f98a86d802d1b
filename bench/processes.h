/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The processes below this one, as /proc shows them: what a sandbox holds, seen from outside.
 * Looking into a warden or a zygote needs root, since they let nobody of the same user look into
 * them.
 */
#include <stddef.h>
#include <sys/types.h>

struct processes {
	size_t n, zombies; /* all below the given one, itself not counted */
	size_t fds;        /* of all of them together; 0: not for us to see */
	size_t mounts;     /* lines of mountinfo, of all of them together */
	size_t private_kb; /* of all of them together; what forks share is counted for each */
	size_t pss_kb;     /* of all of them together, each page by its share */
	pid_t child;       /* the first child of the given one; 0: there is none */
};

void processes_below(pid_t pid, struct processes *ret);
/*
 * Pages that one process has written, in kB; 0: not for us to see. What it shares with its forks
 * counts for it, since it is nobody else's. Clean pages of files are the cache's: they turn private
 * when somebody else who maps the same file ends, and nothing has grown by that.
 */
size_t processes_private_kb(pid_t pid);
size_t processes_fds(pid_t pid);
/* The same, each page by its share. */
size_t processes_pss_kb(pid_t pid);
/* What the kernel could still give to programs, in kB. */
size_t processes_available_kb(void);
/* Seconds of the processor that one has used, its children not counted. */
double processes_processor(pid_t pid);
/* The children of one whose names begin so; how many. */
size_t processes_children(pid_t pid, const char *name, pid_t *ret, size_t max);
