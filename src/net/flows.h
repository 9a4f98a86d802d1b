/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Datagrams. A flow is a pair of a sender inside and a destination: the first datagram is judged
 * and dialled, and what comes back goes to the sender from the address it had sent to. A flow ends
 * when nothing was heard for a minute; there are at most 4096, the one that was silent longest
 * makes room. What is denied gets an ICMP answer and a record. What the policy asks about waits for
 * an answer, if a user can be asked (asker.h): its first datagrams are kept, others are lost. All
 * flows that wait use at most half of the bytes that all flows may keep.
 */
#include "net/asker.h"
#include "net/dial.h"
#include "net/owners.h"
#include "net/quota.h"
#include "net/recorder.h"
#include "net/dns/synthetic.h"

struct flows;

enum {
	FLOWS_MAX = 4096,
	FLOWS_IDLE_MS = 60000,
	FLOWS_WAITING_MAX = 8,             /* datagrams of a flow that waits or is being dialled; */
	FLOWS_WAITING_BYTES = 64 << 10,    /* their bytes, */
	FLOWS_ASKING_BYTES = 16 << 10,     /* while it waits for the user, */
	FLOWS_WAITING_BYTES_ALL = 4 << 20, /* and those of all flows together */
};

struct flows_options {
	const struct dialler *dialler;
	const struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
	struct owners *owners; /* NULL: no program is looked for */
	struct asker *asker;   /* NULL: no user can be asked */
	/* CAPTURE_UDP_*, CAPTURE_GROUP_*, CAPTURE_RAW_*; -1: none. They become the flows', also on
	 * failure. */
	int udp[2];
	int groups[2];
	int raw[2];
	uint64_t idle_ms; /* 0: FLOWS_IDLE_MS */
};

int flows_new(struct flows **ret, const struct flows_options *o);
void flows_free(struct flows *f);
/* The judge has another policy: what it denies ends, with an ICMP answer and a record. */
void flows_review(struct flows *all);
size_t flows_count(const struct flows *f);
