/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process in which the relay runs (net/relay.h): a child of whoever holds the session, outside
 * the sandbox's namespaces, behind walls of its own. It reads what programs and servers send, so it
 * may open no file, run no program and see no other process; what is left to it is the network, and
 * the policy that it asks.
 *
 * It ends with its holder. Without it a sandbox has no way out: nothing inside gets further than
 * the listeners, which end with it.
 */
#include <sys/types.h>

#include "base/error.h"
#include "jail/plan/plan.h"
#include "wire/ledger.h"

struct relay_process {
	pid_t pid; /* 0: none */
	int pidfd, socket;
};

/* The plan must outlive it. ledger: with which it counts (wire/ledger.h); or NULL. */
int relay_process_start(
	struct relay_process *ret, const struct plan *plan, struct ledger *ledger, struct error *e);
/* Kills it, and waits for its end. */
void relay_process_end(struct relay_process *r);
