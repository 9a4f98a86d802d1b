/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The end of a log, and what comes behind it. Ten times a second the two files that a commit
 * changes are looked at (three calls of stat); only if they changed is the log opened, read on from
 * where we were, and closed. So nothing is held in between: it works for a log that is not there
 * yet, that is put in another's place, or that a writer leaves and another takes up.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "cli/audit/writer.h"

struct audit_follow {
	struct call *call;
	const char *path;
	const struct audit_filter *filter;
	struct audit_writer *writer;
	uint64_t lines; /* so many of those that are there already */
	/* The rest is zero at first. */
	uint64_t seen;  /* number of the last record that was looked at */
	bool has_begun; /* what comes now is new */
	bool was_there; /* a log, when we looked last */
	bool said_waiting;
	struct stat file, wal;  /* as they were then; zeroed: not there */
	uint64_t unreadable_ms; /* since when it is no log, though there is a file; 0: it is */
};

/* What is there now. */
int audit_follow_tail(struct audit_follow *f, struct audit_log *l);
/* That, and what comes, for ever; 0: nobody reads our output any more. */
int audit_follow_run(struct audit_follow *f);
