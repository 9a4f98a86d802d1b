/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The way out of a sandbox whose policy grants hosts. It runs in a process of its own, outside the
 * sandbox's network, with the sockets that were made inside:
 *
 *     connections.h  TCP            flows.h    UDP             dns/server.h  names
 *     doors.h        unix sockets   publish.h  ports of the sandbox for the host
 *
 * All of them ask judge.h, and tell what they did by recorder.h. The relay reads what programs and
 * servers send: whoever runs it shuts it in first (warden/session/relay-process.h).
 */
#include "net/enter/doors.h"
#include "net/dns/lookup.h"
#include "net/enter/publish.h"
#include "net/lent.h"
#include "policy/policy.h"
#include "wire/ledger.h"

struct relay_options {
	const struct policy *policy;
	/* To the holder of the session, non-blocking: FRAME_SOCKETS, then FRAME_READY, come in;
	 * FRAME_RECORD goes out; FRAME_SETTLE is answered (recorder.h). From then on FRAME_POLICY
	 * may come: another policy, which holds for everything that is open as well when it is
	 * answered. With ask_ms FRAME_QUESTION and FRAME_QUESTION_OVER go out, too, and
	 * FRAME_ANSWER comes in (asker.h). */
	int socket;
	const struct lookup_config *lookup;
	struct door *doors; /* they become the relay's */
	size_t n_doors;
	struct publish_port *ports; /* likewise */
	size_t n_ports;
	uint32_t ask_ms; /* how long what the policy asks about waits; 0: it is refused */
	const struct net_lent *lent; /* hosts with secrets (net/lent.h) */
	size_t n_lent;
	struct ledger *ledger; /* with which limits are counted (net/quota.h); or NULL */
};

/* Serves until the holder hangs up (0), or something is broken. */
int relay_serve(const struct relay_options *o);
