/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server of corrald-http: connections on one side, frames to corrald on the other. It holds the
 * token, the keys of tabs and the latest events, and nothing else; it can do nothing by itself.
 *
 * Bounds: SERVER_* in internal.h. A new connection always finds a place: the one that was silent
 * longest goes, but none that listens for events or waits for an answer.
 */
#include <stddef.h>

struct server;
struct message_setup;

struct server_options {
	const struct message_setup *setup;
	int supervisor; /* non-blocking; stays the caller's */
	const char *version;
};

int server_new(struct server **ret, const struct server_options *o);
void server_free(struct server *s);
/* One turn of the loop. -EPIPE: corrald has gone. */
int server_turn(struct server *s, int ms);
size_t server_clients(const struct server *s);
