/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Connections to one server, for a back end that may open no socket itself. The back end parses
 * what the server sends, and may be taken over by it; so a second process resolves the name and
 * connects, to the host and port that stand in its own arguments, and hands the connected socket
 * over. It reads no byte of a connection, and knows no password: it is the back end's program once
 * more, started before the back end confines itself.
 *
 * This holds for every kernel that has Landlock at all: rules for ports are newer, and there are
 * none for hosts.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The first argument of a program that is to be the connector: connector_main(). */
#define CONNECTOR_WORD "connect-for-corral"

struct connector {
	pid_t pid;
	int socket;
	uint64_t count; /* of requests */
	bool is_lost;   /* it has gone */
};

/* Starts it. host: a name or an address. Its end is the end of this process, at the latest. */
int connector_start(struct connector *ret, const char *host, uint16_t port);
/*
 * A connected, non-blocking socket, the caller's. -ENOENT: no such name; -ECONNREFUSED and what
 * else connect() says; -ETIMEDOUT; -EPIPE: the connector has gone.
 */
int connector_connect(struct connector *c, uint64_t timeout_ms);
/* The whole main() of the connector. */
int connector_main(int argc, char **argv);
