/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * pid 1 of a pid namespace in which one command runs at a time. It waits for a FRAME_START, runs
 * that command, reaps whatever ends up with it, forwards signals, looks after limits, and reports.
 * Before it reports, all that is left in the namespace is killed: nothing outlives its command.
 * Then it waits for the next, as new as it was: namespaces, Landlock and filters are the same for
 * all commands of a session, and there is nobody else in the namespace. When it ends itself, the
 * kernel kills what is there.
 *
 * A program must not be pid 1 itself: there it would ignore SIGTERM and SIGINT, and never reap.
 */
#include <stdbool.h>

#include "jail/tree.h"
#include "warden/session/watch.h"
#include "wire/ledger.h"

struct init {
	int socket;          /* to the warden */
	int rules;           /* Landlock's, to be entered by the command; -1: we are behind them */
	int names;           /* of a single command without a network (warden/asked.h); -1: none */
	bool is_unpublished; /* a server of it could be reached by nobody: that is reported */
	bool explain;        /* its calls are to be watched (jail/notify.h) */
	struct ledger *ledger; /* what it uses counts with others' (wire/ledger.h); NULL: alone */
	/* If this is the zygote of a single command: covers to look after; else NULL. */
	struct watch *watch;
	const struct tree *tree;
};

/* Never returns. Expects SIGCHLD to be blocked. */
_Noreturn void init_run(const struct init *i);
