/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The TCP connections of a sandbox. Each one was captured (capture.h) on its way to some address;
 * it is judged, dialled outside, and its first bytes are read before they are passed on (gate.h).
 * What is denied is reset at once, after a record was made of it. What the policy asks about waits
 * for an answer, if a user can be asked (asker.h).
 *
 * What goes to a port of loopback that the policy names comes here, too: to a server inside if
 * there is one, else to the host's.
 */
#include "net/asker.h"
#include "net/dial.h"
#include "net/enter/inner.h"
#include "net/lent.h"
#include "net/pump.h"
#include "net/owners.h"
#include "net/quota.h"
#include "net/recorder.h"
#include "net/dns/synthetic.h"

struct connections;

struct connections_options {
	const struct dialler *dialler;
	const struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
	struct owners *owners; /* NULL: no program is looked for */
	struct pump_room *room;
	struct asker *asker;      /* NULL: no user can be asked */
	struct inner_pool *inner; /* for servers inside; NULL: the host's loopback is not granted */
	const struct net_lent *lent; /* hosts with secrets */
	size_t n_lent;
	int listeners[2]; /* CAPTURE_TCP_*; -1: none. They become the connections'. */
};

int connections_new(struct connections **ret, const struct connections_options *o);
/* Accepts what waits at a listener of another owner (listeners.h). */
void connections_accept(struct connections *all, int listener);
/* The judge has another policy: what it does not allow is reset, with a record. */
void connections_review(struct connections *all);
/* Resets all of them. */
void connections_free(struct connections *c);
/* No process inside is left: ends those whose last bytes have left. Returns how many remain. */
size_t connections_drain(struct connections *c);
