/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The servers that bench-net's clients talk to, each a process of its own that ends with this one.
 */
#include <netinet/in.h>
#include <stdint.h>

enum net_server {
	NET_GREETS, /* sends a byte to whoever comes */
	NET_ECHOES, /* to any number of connections at once */
	NET_SENDS,  /* as many megabytes as it is asked for */
	NET_TAKES,  /* as many as it is told, then sends a byte */
	/* The two before, behind a process that does nothing but splice(): the least that something
	   between client and server can cost. */
	NET_PASSES_SENT,
	NET_PASSES_TAKEN,
	NET_SERVERS,
};

struct net_servers {
	struct in_addr address;
	int listeners[NET_SERVERS];
	uint16_t ports[NET_SERVERS];
};

/* Listens at this address, on ports that the kernel chooses; nobody answers yet. */
void net_servers_listen(struct net_servers *s, struct in_addr address);
/* Starts the processes. */
void net_servers_start(struct net_servers *s);
