/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP/2 between a client inside and a host with secrets, as bytes: a session with each of them,
 * and streams that pass from one to the other. Nothing is translated: to a client that speaks
 * HTTP/1.1 to a host, corral-inject speaks HTTP/1.1.
 *
 *     bytes of a side  ->  h2_receive()
 *     h2_send()  ->  bytes for a side
 *     nothing more comes for now: h2_rest() says when to call h2_flush()
 *
 * Placeholders become values as in requests of HTTP/1.1 (request.h), and values stars on the way
 * back (masking.h). Windows are opened when bytes have passed on, so a side that does not read
 * holds up the other one. What a peer can make us keep is bounded: streams, fields, bytes of a
 * stream and of all, frames that ask for work and bring nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/heads.h"
#include "inject/masking.h"

enum {
	H2_STREAMS_MAX = 100, /* of one connection */
	H2_STREAM_WINDOW = 64 << 10,
	H2_FAST_WINDOW = 512 << 10, /* of a stream with much data, while the budget has room */
	H2_BUDGET_MAX = 512 << 20,  /* of all connections: then there is one stream on each */
	H2_QUEUED_MAX = 32 << 20,   /* of one connection, with values in place */
	H2_SESSION_MAX = 8 << 20,   /* what nghttp2 keeps for one side */
	H2_WAIT_MS = 200,           /* for what follows in a stream without a length */
	H2_MESSAGE_WAIT_MS = 5,     /* behind a message that is complete (gRPC) */
};

enum h2_side { H2_CLIENT, H2_HOST };

struct h2;

struct h2_options {
	const struct placeholders *placeholders;
	const struct masking *masking;
	const char *host; /* as a request names it: lower case, an IPv6 address in brackets */
	uint16_t port;
	uint16_t usual_port; /* that a request need not name */
	inject_may *may;
	uint32_t rewrites; /* as of request.h */
	/* After bytes of a request were looked at. NULL: nothing is denied. */
	inject_denied *denied;
	/* A request or an answer was refused: as of injection_explain(). NULL: nothing asks. */
	void (*refused)(void *context, int error);
	void *context;
	size_t *budget; /* of all connections, in bytes; NULL: this one has its own */
};

/* Whether this build has it. If not, it is not offered to clients. */
bool h2_is_there(void);
/* -ENOSYS: it has not. */
int h2_new(struct h2 **ret, const struct h2_options *o);
void h2_free(struct h2 *h);
/*
 * Bytes of a side, all of them. now: of the loop. Negative: this connection cannot go on (-EINVAL:
 * it is not HTTP/2; -E2BIG: too many frames that bring nothing; -ENOMEM).
 */
int h2_receive(struct h2 *h, enum h2_side from, const uint8_t *data, size_t len, uint64_t now);
/* Adds what is for a side, until `out` has this much. It has values in it: wipe it. */
int h2_send(struct h2 *h, enum h2_side to, struct buffer *out, size_t most);
/* The host has closed: answers that are complete still go to the client. */
void h2_host_ended(struct h2 *h);
/* Nothing more is to come, or to be sent. */
bool h2_is_over(const struct h2 *h);
/* All that the host sent was received: from now on the last bytes of answers wait. Returns when the
 * first of them go; UINT64_MAX: never. */
uint64_t h2_rest(struct h2 *h, uint64_t now);
/* After all that the host sent was received once more: those go whose time has come, and that
 * nothing has followed. Returns whether some went. */
bool h2_flush(struct h2 *h, uint64_t now);
/* How many values were overwritten. */
size_t h2_masked(const struct h2 *h);
