/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * pid 1 of a session's namespaces. All that can be done once is done here: the user namespace, the
 * loopback interface, the tree of mounts, the base filter. It is started before the plan is made:
 * the kernel takes as long for the namespaces as we do for the policy. Then it makes an init for
 * each command, ahead of time, and hands its socket and pidfd to the warden; it never sees a
 * command itself.
 *
 * It keeps one capability over its own namespaces, the one to mount and to make pid namespaces; it
 * reads nothing but frames from the warden. For a single command it becomes that command's init.
 */
#include <stdbool.h>
#include <sys/types.h>

struct zygote {
	int socket; /* to the warden */
	bool single;
	bool own_network;
	bool host_root; /* the plan will most likely show the host's root: nothing is prepared */
	uid_t uid;      /* as outside */
	gid_t gid;
};

/* In the process that is to be the zygote. */
_Noreturn void zygote_run(const struct zygote *z);
