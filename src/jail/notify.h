/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Watching what a command asks for, for `--explain`: one more filter, which stops every call that
 * names a file, a program or a socket until whoever holds its listener has looked. The only answer
 * to these is "go on": the kernel then does what it would have done, behind the same mounts, the
 * same Landlock rules and the same other filters. So this widens nothing, and decides nothing. A
 * command that changes a name in its memory while it is looked at makes a record wrong and gains
 * nothing else.
 *
 * Calls for new namespaces are stopped, too, so that it can be told that a program wanted a sandbox
 * of its own. They are refused otherwise by the last filter; here it is the listener that refuses
 * them, always with EPERM, and whoever answers nothing leaves them refused (ENOSYS). The program
 * has no capabilities, and user namespaces are sealed (userns.h), so the kernel would refuse as
 * well.
 *
 * The kernel takes the strictest answer of all filters: a call that another one refuses is refused,
 * and is not seen here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/seccomp/table.h"

/* What a call wants of the path that it names. */
enum notify_kind {
	NOTIFY_NONE,      /* no call that is watched */
	NOTIFY_LOOK,      /* is it there, what is it? */
	NOTIFY_ACCESS,    /* a look with a mode, as access() has it */
	NOTIFY_OPEN,      /* as its flags say */
	NOTIFY_CHANGE,    /* what is there: its length, mode, owner, times */
	NOTIFY_MAKE,      /* a new name in a folder */
	NOTIFY_REMOVE,    /* a name out of a folder */
	NOTIFY_EXEC,      /* a program to run */
	NOTIFY_CONNECT,   /* an address of a socket, in place of a path */
	NOTIFY_NAMESPACE, /* new namespaces, as its flags say; no path. Always refused */
};

enum { NOTIFY_ABSENT = 0xff, NOTIFY_PATHS = 2 };

/* Which of a call's arguments are what. */
struct notify_path {
	uint8_t kind;
	uint8_t folder; /* a descriptor; NOTIFY_ABSENT: the current folder */
	uint8_t path;   /* a pointer */
};

struct notify_call {
	char name[16];
	struct notify_path paths[NOTIFY_PATHS]; /* of kind NOTIFY_NONE: there is none */
	/* OPEN, NAMESPACE: flags; ACCESS: mode; CONNECT: length; LOOK, CHANGE: flags of "at"; or
	 * ABSENT */
	uint8_t extra;
	bool itself; /* a link at the end of the path is meant, and not where it leads */
};

/* The calls by their numbers; NULL: that one is not watched. */
void notify_calls(const struct notify_call *ret[SECCOMP_NUMBERS], const struct seccomp_arch *arch);
/* The filter as a table. */
void notify_table(struct seccomp_table *ret, const struct seccomp_arch *arch);
/*
 * Installs it for the calling thread and what it starts, and returns the listener, close-on-exec.
 * Needs no_new_privs, and a base filter that lets it (seccomp.h); async-signal-safe. Negative
 * errno; -EBUSY: there is a listener already.
 */
int notify_install(void);
struct seccomp_notif_sizes;
/* How large the kernel's structures of a listener are: it may be newer than its header here. */
int notify_sizes(struct seccomp_notif_sizes *ret);
