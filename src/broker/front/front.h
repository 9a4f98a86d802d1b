/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The front of a broker: it accepts programs that run inside, reads their lines, and hands what it
 * understood to the monitor. It has no rights of its own: whoever takes it over can send frames,
 * and the monitor decides each of them.
 *
 * Attacks, and what holds against them:
 *
 *     a line without an end      bounded; it must be complete after FRONT_STALL_MS
 *     a client that never reads  its answers are bounded; it is closed after FRONT_STALL_MS
 *     pipelined calls            so many are under way at once, of one connection, one process and
 *                                of all; the rest is not read from the socket
 *     large batches              are worked through in pieces, turn by turn with the others
 *     many connections           bounded; for a new one the process that has most loses one: that
 *                                which was silent longest
 *     many processes             no one has more calls under way than are left for the others
 *     memory                     one budget for all; the process that holds most loses the
 *                                connection that holds most
 *     descriptors                are not taken, and who sends any is closed
 *     a monitor that is slow     only calls for it wait; who has waited longest goes first
 *
 * One thread. Nothing blocks but front_turn() itself.
 */
#include <stddef.h>

struct front;

enum {
	FRONT_CLIENTS_MAX = 1024,
	/* Calls under way; the monitor takes no more. */
	FRONT_CALLS_MAX = 1024,
	FRONT_PEER_CALLS_MAX = 64,   /* of one process */
	FRONT_CLIENT_CALLS_MAX = 32, /* of one connection */
	FRONT_TURN_CALLS_MAX = 64,   /* of one client, before others have their turn */
	FRONT_PEER_TURN_MAX = 256,   /* of one process */
	FRONT_TURN_BYTES = 4 << 10,  /* of a line, that count as one call */
	FRONT_OUT_MAX = 1 << 20,     /* bytes of answers that wait: no further call is taken */
	FRONT_BYTES_MAX = 64 << 20,  /* that all clients may hold */
	FRONT_STALL_MS = 30 * 1000,
	FRONT_CLOSE_MS = 2 * 1000, /* for a client to close what was refused */
	FRONT_TOKEN_LEAST = 32,    /* characters */
};

struct front_options {
	int listener; /* a listening stream socket, non-blocking; stays the caller's */
	int monitor;  /* a socket of frames, non-blocking; stays the caller's */
	const char *version;
	unsigned stall_ms; /* 0: FRONT_STALL_MS */
	/* For HTTP (broker/front/http.h): what its clients must show, at least 32 characters; NULL:
	 * there is no HTTP. And a listening TCP socket of the sandbox's loopback, as `listener`. */
	const char *token;
	int http;
};

int front_new(struct front **ret, const struct front_options *o);
void front_free(struct front *f);
/* Waits (at most ms; -1: for ever) and does what is to be done. -EPIPE: the monitor has gone. */
int front_turn(struct front *f, int ms);
/* How many clients there are, and how many bytes they hold. */
size_t front_clients(const struct front *f);
size_t front_bytes(const struct front *f);
