/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The checks (checks.c), and the child in which one runs (probe.c). A child is a check's own, so it
 * may leave behind whatever it likes in that process: namespaces, filters, open descriptors. It
 * must not allocate or lock (the child may come from a program with threads), and answers by
 * probe_fail() or 0.
 */
#include <stddef.h>

#include "jail/probe/probe.h"

enum { PROBE_DETAIL_MAX = 160 };

struct probe_answer {
	int error;                     /* positive; 0: it works */
	char detail[PROBE_DETAIL_MAX]; /* works: what exactly; else: the step that failed */
};

/* Returns 0 if it works, else what probe_fail() returned. */
typedef int probe_try(struct probe_answer *a);

enum {
	PROBE_AS_IS = -1,  /* in no new namespace */
	PROBE_OURSELF = -2 /* cgroups, which are tried by the caller's own process */
};

struct probe_check {
	const char *name, *needed_for;
	enum probe_weight weight;
	int namespaces; /* to enter first, with a user namespace; or one of those */
	probe_try *try; /* then; NULL: that was all */
};
/* Sorted so that the first thing missing is the cause of what is missing after it. */
extern const struct probe_check probe_checks[];
extern const size_t probe_n_checks;

/* `return probe_fail(a, errno, "mounting /proc");` */
int probe_fail(struct probe_answer *a, int error, const char *step);
/*
 * Runs a check in a child, made with these clone flags; waits for it. A negative errno if there was
 * no child; else 0, and the answer is in *a.
 */
int probe_in_child(unsigned long flags, int namespaces, probe_try *try, struct probe_answer *a);
/* Enters a new user namespace, with further ones (but that of pids), as this user. */
int probe_enter(int namespaces, struct probe_answer *a);
/* What to do about something that failed; "" if there is nothing to say. */
const char *probe_hint(const char *name, int error);
/* Appends the names of the rights that a version of Landlock has. */
void probe_landlock_rights(int abi, char *text, size_t size);

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
#define PROBE_DEVICES "devices"
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
