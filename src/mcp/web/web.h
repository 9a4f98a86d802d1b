/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * MCP over streamable HTTP, on a port of this machine, at /mcp: bytes and connections are those of
 * serve/, messages those of mcp/server.h.
 *
 *     2026-07-28               a POST stands alone: it has a server of its own, which ends with
 *                              it; its client cancels by closing the connection
 *     2025-11-25, 2025-06-18   `initialize` makes a session with a server of its own, and a random
 *                              id; GET listens, DELETE ends it
 *
 * A request is answered as JSON, or, if there is something to be said before the answer or it takes
 * long, by events. In this order a request is looked at:
 *
 *     403, 400   Host is another one (DNS rebinding), a page of another origin
 *     404, 405   another path, another method
 *     401        no token, or a wrong one
 *     406, 411   what the client takes; a body without a length, in chunks too
 *     413, 415   more than 16 MiB; not JSON
 *     400        header against body (mcp/web/head.h)
 *
 * Who is behind a request is its token alone. Sessions, and what the host makes for a principal,
 * are of one token: another one learns only that they are not there. Bounds: connections and bytes
 * by serve/room.h, half a request by time, sessions and calls for each token; a session that is not
 * used ends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mcp/server.h"
#include "mcp/web/tokens.h"

struct loop;
struct web;

/* What is served. */
struct web_host {
	/*
	 * A server begins, for a session or for one request (m) of a principal, by the place of its
	 * token: it gets its back end and what it asks with. Negative errno: it does not, and *why
	 * is for the client; -ENOENT: the request names something that is not there.
	 */
	int (*open)(void *context, struct mcp_server *s, size_t principal,
		const struct mcp_message *m, struct buffer *why);
	/* After it was deinitialised. */
	void (*close)(void *context, struct mcp_server *s);
	void *context;
};

struct web_options {
	struct loop *loop;
	const struct web_host *host;
	const struct web_tokens *tokens;
	uint64_t idle_ms; /* of a session that is not used; 0: half an hour */
};

/* What the options point to must outlive it. -ENOMEM. */
int web_new(struct web **ret, const struct web_options *o);
/* "PORT", "127.0.0.1:PORT", "[::1]:PORT"; port 0: any that is free. -EACCES: an address of another
 * machine's reach; with a sentence. */
int web_listen(struct web *w, const char *address, struct error *e);
/* "http://127.0.0.1:PORT/mcp" */
void web_url(const struct web *w, struct buffer *out);
/* After each turn of the loop: sends what there is. ms until it wants to be called again, or -1. */
int web_turn(struct web *w);
/* Calls f for each server that stands. */
void web_each(struct web *w, void (*f)(struct mcp_server *s, void *context), void *context);
/* Closes all; accepts NULL. */
void web_free(struct web *w);
