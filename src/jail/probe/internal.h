/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The checks, and what they are made of. A check runs in a child of its own, so it may leave behind
 * whatever it likes in that process: namespaces, filters, open descriptors. It must not allocate or
 * lock (the child may come from a program with threads), and answers by probe_fail() or 0.
 */
#include <stddef.h>

enum { PROBE_DETAIL_MAX = 160 };

struct probe_answer {
	int error;                     /* positive; 0: it works */
	char detail[PROBE_DETAIL_MAX]; /* works: what exactly; else: the step that failed */
};

/* Returns 0 if it works, else what probe_fail() returned. */
typedef int probe_check(struct probe_answer *a);

/* `return probe_fail(a, errno, "mounting /proc");` */
int probe_fail(struct probe_answer *a, int error, const char *step);
/*
 * Runs a check in a child, made with these clone flags; waits for it. A negative errno if there was
 * no child; else 0, and the answer is in *a.
 */
int probe_in_child(unsigned long flags, probe_check *check, struct probe_answer *a);
/* Enters a new user namespace, with further ones, as this user. */
int probe_enter(int namespaces, struct probe_answer *a);

/* What to do about something that failed; "" if there is nothing to say. */
const char *probe_hint(const char *name, int error);

/* The names that hints and tiers refer to. */
#define PROBE_USERNS "user namespaces"
#define PROBE_MOUNTNS "mount namespaces"
#define PROBE_MOUNT_CALLS "mount calls by descriptor"
#define PROBE_PIVOT "pivot_root"
#define PROBE_PIDNS "pid namespaces"
#define PROBE_NETNS "network namespaces"
#define PROBE_IPCNS "ipc namespaces"
#define PROBE_UTSNS "uts namespaces"
#define PROBE_CGROUPNS "cgroup namespaces"
#define PROBE_SEALED "nested user namespaces off"
#define PROBE_DEVPTS "private terminals"
#define PROBE_LANDLOCK "Landlock"
#define PROBE_NNP "no_new_privs"
#define PROBE_SECCOMP "seccomp filters"
#define PROBE_NOTIFY "seccomp notification"
#define PROBE_PIDFD "pidfds"
#define PROBE_GETFD "pidfd_getfd"
#define PROBE_OPENAT2 "openat2"
#define PROBE_MEMFD "memfds that cannot run"
#define PROBE_PID_MAX "pid_max of a pid namespace"
#define PROBE_NFT "nf_tables"
#define PROBE_TPROXY "tproxy"
#define PROBE_CGROUP "cgroup2 limits"

/* probe/namespaces.c */
probe_check probe_userns, probe_mountns, probe_pivot, probe_pidns, probe_netns, probe_ipcns,
	probe_utsns, probe_cgroupns, probe_sealed, probe_devpts, probe_pid_max;
/* probe/mounts.c */
probe_check probe_mount_calls;
/* probe/calls.c */
probe_check probe_no_new_privs, probe_seccomp, probe_notify, probe_pidfd, probe_getfd,
	probe_openat2, probe_memfd;
/* probe/landlock.c */
probe_check probe_landlock;
int probe_landlock_abi(void);
/* Appends the names of the rights that version has. */
void probe_landlock_rights(int abi, char *text, size_t size);
/* probe/nft.c */
probe_check probe_nft, probe_tproxy;
