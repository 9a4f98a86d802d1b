/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a watched run came to, from the process that ran it to the one that started it: JSON in a
 * file without a name. `corral learn` runs the command in a child process for each round.
 */
#include "base/error.h"
#include "cli/explain/denial.h"

struct run;

struct explain_report {
	int status;           /* that the run ended with: cli/run/run.h */
	bool is_watched;      /* else nothing of files is known */
	struct denials seen;  /* not gathered; each has its state */
	uint64_t missed;      /* that there was no room for */
	const char **allowed; /* hosts that were reached: "host:port" */
	size_t n_allowed, cap_allowed;
};

/* Replaces what is in the file. Negative errno. */
int explain_report_write(const struct run *r, int status, int fd);
/* Everything is in the arena. -ENODATA: the run ended before it could write. */
int explain_report_read(struct explain_report *ret, struct arena *a, int fd, struct error *e);
