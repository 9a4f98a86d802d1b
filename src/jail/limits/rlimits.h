/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits that the kernel holds for one process and what comes from it: the floor under every other
 * way of limiting. docs/limits.md says what each of them is worth.
 */
#include <stdbool.h>
#include <stdint.h>

#include "wire/start.h"

enum {
	/* RLIMIT_NPROC counts all processes of the user in the sandbox's user namespace: room for
	 * zygote and waiting inits, so that a command's own share is not eaten by them. */
	RLIMITS_OURS = 16,
};

/*
 * Sets the limits of the calling process, for the programs that it is about to run. Memory is only
 * capped loosely, at twice the limit or more: tally.h holds the limit itself. Where a cgroup
 * holds memory or pids already, pass a copy of *s with that field 0. Never raises a hard limit.
 * Async-signal-safe; allocates nothing. Core files are rlimits_no_core()'s. Fields that are 0 leave
 * their limit as it was: whoever raised the soft number of open files must put it back first.
 * -errno: a limit could not be set; do not run the program.
 */
int rlimits_apply(const struct start *s);
/*
 * Whether RLIMIT_NPROC holds the processes of a sandbox: it does not bind root, and before
 * Linux 5.14 it counts all processes of the user, outside too, so it is not set there.
 */
bool rlimits_holds_processes(void);

/*
 * No core files, and no core handler: one that core_pattern pipes to runs as root outside every
 * jail, and a limit of 0 does not stop it. A limit of 1 does. Called before the filter, which lets
 * no process can change it again.
 */
int rlimits_no_core(void);
/*
 * Of what the kernel counts for the user as a whole, one sandbox may use a part: signals that wait
 * to be delivered, timers among them, and bytes of POSIX message queues. For the zygote, and so for
 * every command.
 */
int rlimits_share(void);
/*
 * Before rlimits_apply(), for commands: three quarters of the open files that the hard limit
 * allows. The number is also how many descriptors of the user may be under way in sockets when one
 * more is sent. So a command cannot keep as many under way as would stop processes of Corral's own,
 * which send by the whole of it (wire/frame.c).
 */
int rlimits_keep_room(void);
/* As many open files as the hard limit allows, for processes of Corral's own. */
void rlimits_raise_files(void);

/*
 * Caps the number of processes and threads in the pid namespace whose pid 1 is the caller, through
 * kernel.pid_max, which is a pid namespace's own since Linux 6.14. It is the only cap by the kernel
 * for uid 0 without a cgroup, since RLIMIT_NPROC does not bind root. proc_fd: /proc of that
 * namespace, still writable; needs CAP_SYS_ADMIN over the namespace. The cap is looser than pids
 * (see rlimits.c): it stops a fork bomb until the tally sees it.
 *
 * -EOPNOTSUPP: the kernel is older (there the setting is the whole machine's, so nothing is
 * tried); -EPERM: the caller is not pid 1; other errors as from write().
 */
int rlimits_pid_max(int proc_fd, uint64_t pids);
/*
 * Whether the kernel keeps a command that may have so many processes and threads from having very
 * many more, by one or the other: then the tally need not hurry. proc_fd: as above.
 */
bool rlimits_caps_processes(int proc_fd, uint64_t pids);
