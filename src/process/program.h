/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * main() of a helper program that its starter hands sockets to (child.h): what a person who starts
 * it by hand is shown, and the way into its row of the table of processes.
 */
#include <stdbool.h>

#include "process/child.h"
#include "process/confinement.h"

struct program {
	enum process_role role;
	const char *name;     /* its manual page is in section 8 */
	const char *version;  /* what --version prints behind the name */
	const char *purpose;  /* a sentence without its subject and its end */
	const char *used_by;  /* a command that starts it */
	const char *sockets;  /* "3 to 5" */
	bool takes_arguments; /* one or more, the first an absolute path; false: none */
	/* SOCK_… of each descriptor from CHILD_SOCKET on; 0: of any kind */
	int types[1 + CHILD_FDS_MAX];
	/* Called as the row's process, with the arguments. Negative errno; -EPIPE: the starter is
	 * gone. */
	int (*serve)(const char *const *args);
};

/* Returns the status to exit with. */
int program_run(const struct program *p, int argc, char **argv);
