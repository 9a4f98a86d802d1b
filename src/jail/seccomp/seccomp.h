/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * System calls that a command may make: a list of allowed ones with checks of arguments, as two
 * filters. seccomp_base() is installed once, by the zygote, and inherited; it still lets mount and
 * the making of namespaces through, for which the zygote has capabilities and commands have none.
 * seccomp_close() is small and is installed for each command: it shuts those as well.
 *
 * Calls that are not on the list fail with ENOSYS when they are unknown or new (programs then fall
 * back), with EPERM where a program should hear "no". Calls of a foreign architecture (x32, i386,
 * 32-bit Arm) kill the process.
 */
#include <stdbool.h>

struct seccomp_options {
	bool no_memfd_exec; /* memfd_create only with MFD_NOEXEC_SEAL */
	bool listener;      /* notify_install() may follow; seccomp_close() ends that */
	/* The namespaces are the host's: no Unix sockets but pairs that are connected for good, no
	 * System V IPC, no POSIX queues. All of these lead to processes outside. */
	bool shared;
	/* All that seccomp_close() shuts is shut from the start: one filter, not two. For processes
	 * of Corral's own that confine themselves and start no commands, as are: */
	bool closed;
	bool pairs;      /* with no_unix: pairs of streams, connected for good */
	bool no_unix;    /* no sockets of AF_UNIX, so none of the host's can be connected to */
	bool only_unix;  /* no sockets but AF_UNIX, and of these streams */
	bool no_sockets; /* no socket at all: what is open stays */
	bool no_exec;    /* no program */
	bool keys;       /* may keep a key in the user's keyring (vault/keys.h) */
};

/* Both need no_new_privs or CAP_SYS_ADMIN. Negative errno. */
int seccomp_base(const struct seccomp_options *o);
/*
 * From here on connect() does nothing in this process, for good, and returns 0: for one that is
 * given connected sockets, of whose libraries one insists on connecting them (libcurl 7.88). Before
 * seccomp_base() with `closed`, which ends calls of another architecture; sets no_new_privs.
 */
int seccomp_feign_connect(void);
/* watched: notify_install() was before, and its listener refuses new namespaces instead. */
int seccomp_close(bool watched);
