/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What each process of Corral's may do: one table, a row for each. A process that reads foreign
 * bytes enters its row before it reads the first of them, for good, and all threads with it, so
 * before the first is made. docs/processes.md is printed from the table.
 *
 * Zygote, init and command have steps of their own (warden/zygote.c, jail/confine.h), whose order
 * matters; their rows are data for the document.
 */
#include <stdbool.h>
#include <stddef.h>

#include "jail/seccomp/seccomp.h"

enum process_role {
	/* They enter their rows by confinement_enter(). */
	PROCESS_FRONT,
	PROCESS_HTTP,
	PROCESS_RELAY,
	PROCESS_RELAY_DOORS, /* the relay of a policy that grants Unix sockets of the host */
	PROCESS_WARDEN,
	PROCESS_HOLDER,
	PROCESS_BACKEND, /* of a service, once it has opened what it serves */
	PROCESS_CALENDAR,
	PROCESS_CLIPBOARD, /* the back end of a clipboard, with the programs that it starts */
	PROCESS_CONNECTOR,
	PROCESS_WORKER,
	PROCESS_COMPILER,
	PROCESS_INSPECTOR,
	PROCESS_VAULT,
	PROCESS_INJECTOR,
	PROCESS_POSTGRES,
	PROCESS_SSH_AGENT,
	PROCESS_MCP_FILTER,
	PROCESS_MCP_REMOTE, /* inside the sandbox that it is started in */
	PROCESS_CALLBACK,
	PROCESS_CONFINED, /* how many these are */
	/* They have steps of their own. */
	PROCESS_ZYGOTE = PROCESS_CONFINED,
	PROCESS_COMMAND,
	PROCESS_NAMES, /* of a command without a network (warden/asked.h) */
	PROCESS_COMMAND_WRITES,
	/* They have the rights of the user. */
	PROCESS_CORRAL,
	PROCESS_BROKER,
	PROCESS_KEEPER,
	PROCESS_LAUNCHER,
	PROCESS_DAEMON,
	PROCESS_ENCLAVE,
	PROCESS_LENDER,
	PROCESS_SOURCE,
	PROCESS_ROLES,
};

struct confinement_place {
	const char *path;
	unsigned access; /* LANDLOCK_* (jail/landlock.h) */
};

struct confinement {
	const char *name;    /* unique */
	const char *program; /* that runs as this process */
	const char *task;    /* a sentence without its end */
	/* Of a row with steps of its own: what confines it, in words. NULL: nothing, or the rest.
	 */
	const char *steps;
	/* Not NULL: the process's name, and the preamble of confinement_begin(). */
	const char *comm;
	unsigned n_fds; /* descriptors from this one on are closed by it */
	bool raises_files;
	/* Of a row that is entered. */
	struct seccomp_options filter;
	const struct confinement_place *places; /* path NULL behind the last; NULL: none */
	const char *granted;                    /* further files, in words: confinement_more */
	bool signals_others; /* may signal processes outside, and connect to abstract sockets */
	bool no_ports;       /* no TCP port, where Landlock has version 4 */
	bool no_core;
	bool is_hidden; /* no process of the same user may look into it */
};

extern const struct confinement confinements[PROCESS_ROLES];

/* What is granted to one process of a role, beside the places of its row. */
struct confinement_grant {
	const char *path;
	int fd;          /* in its place, if path is NULL: it stays the caller's */
	unsigned access; /* LANDLOCK_* */
	bool is_needed;  /* an error if it cannot be opened; else it is left out then */
	bool is_folder;  /* a path that is none cannot be opened */
};

struct confinement_more {
	const struct confinement_grant *grants;
	size_t n;
	/* Called without privileges, while files can still be opened. NULL: nothing is. */
	void (*load)(void);
};

/*
 * For a helper program whose row has a comm: it ends with its parent, has no descriptor beyond
 * those of its row, gets errors and no signals for closed connections.
 */
int confinement_begin(enum process_role role);
/*
 * In this order: no core file, no privileges and none to get, Landlock, the filter, and hidden from
 * other processes. What is open stays open. more: NULL for none. Negative errno: the process must
 * not go on; -ENOSYS, -EOPNOTSUPP: this kernel has no Landlock.
 */
int confinement_enter(enum process_role role, const struct confinement_more *more);
