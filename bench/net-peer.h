/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Clients (net-client.c) that wait for work: bare, in a sandbox of ours, in one of others. */
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct net_peer {
	FILE *in, *out; /* its */
	pid_t pid;      /* 0: somebody else's child */
};

/* For measure.run: what its context says. */
struct net_work {
	const char *name;
	struct net_peer *peer;
	const char *what;
	unsigned n;
	uint16_t port;
};
double net_work_run(void *context);

/* Descriptors for a client's stdio, to be closed when it has them; ours go into *p. */
void net_peer_stdio(struct net_peer *p, int stdio[3]);
void net_peer_start(struct net_peer *p, const char *const *argv);
/* Hangs up, and waits for it if it is our child. */
void net_peer_end(struct net_peer *p);
