/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits for a command with all its processes, by cgroup2, where a part of the tree was given to us
 * (delegated). A home is the cgroup below which ours are made; it is found and tried once. Then
 * each command that has limits gets a cgroup of its own.
 *
 *     cgroup_home_new()  ->  cgroup_new()  ->  cgroup_add(init)  ->  cgroup_read(), cgroup_free()
 *
 * All of it is done from outside, by who holds the session: nothing of /sys/fs/cgroup is visible to
 * a command. When memory runs out, the kernel kills the whole cgroup, the init in it too: its end
 * without a report, together with usage.oom_kills, is REPORT_OUT_OF_MEMORY.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct cgroup_home;
struct cgroup;

/* 0: no limit. */
struct cgroup_limits {
	uint64_t memory; /* bytes; swap is off for it */
	uint64_t pids;   /* processes and threads, the init not counted */
};

struct cgroup_usage {
	uint64_t memory_peak; /* 0: the kernel (before 5.19) does not say */
	uint64_t oom_kills;
	uint64_t pids_refused; /* forks that failed for the limit */
	uint64_t user_us, system_us;
};

/*
 * Finds where our cgroups can live, and tries: makes one with both limits and removes it.
 * -EOPNOTSUPP: there is no such place; the sentence says why, the hint how to get one. Other errors
 * too mean: do without.
 *
 * If our own cgroup is delegated and holds no other process, the calling process moves into a leaf
 * of it (the kernel wants no processes beside children with controllers); cgroup_home_free() moves
 * it back.
 */
int cgroup_home_new(struct cgroup_home **ret, struct error *why);
void cgroup_home_free(struct cgroup_home *home);
/* The same and nothing kept: can a cgroup hold limits here? */
int cgroup_probe(struct error *why);

/* A new, empty cgroup with these limits. The home must outlive it. */
int cgroup_new(struct cgroup **ret, const struct cgroup_home *home, const struct cgroup_limits *l,
	struct error *e);
/* Moves a process (as this process numbers it) in; do it before it makes children. */
int cgroup_add(const struct cgroup *c, pid_t pid);
/* Kills everything in it. -ENOENT: the kernel (before 5.14) cannot; kill the init instead. */
int cgroup_kill(const struct cgroup *c);
int cgroup_read(const struct cgroup *c, struct cgroup_usage *ret);
/* Kills what is left, and removes it; gives up after a fifth of a second. */
void cgroup_free(struct cgroup *c);
