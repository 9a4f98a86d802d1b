/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Requests that a program of ours answers itself. Pure. The head is read by the gate's reader
 * (net/gate/http-head.h), which takes one spelling of everything; here are the bounds of a server,
 * and the fields that say who asks:
 *
 *     400, 431                    bare line feeds, heads without an end, fields that come twice
 *     serve_request_is_host()     a name that was made to lead here (DNS rebinding)
 *     .origin                     a page of another origin
 *     serve_request_is_token()    no token
 *
 * Behind what was refused nothing is read: the connection is closed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/gate/http-head.h"

struct buffer;

enum { SERVE_REQUEST_HEAD_MAX = 8 << 10 };

/* A field that only one server looks at. */
struct serve_header {
	const char *name;
	const char *value; /* NULL: it is not there */
};

struct serve_request {
	struct http_head head; /* the texts below live in it */
	size_t bytes;          /* of the head, up to the body */
	/* Fields; NULL: not there. */
	const char *origin, *authorization, *type, *event_id, *known_etag;
	/* Of the server's own, which sets the names before it reads. Each may come once. */
	struct serve_header *own;
	size_t n_own;
	/* Where there is no request: why. */
	unsigned status;
	const char *reason;
	/* private */
	unsigned seen;
};

/*
 * Looks for the head of a request at the start. 1: *ret has one, or a status. 0: more bytes are
 * needed. *scanned is where the search goes on with more bytes; 0 at first. It is big: one is
 * enough, for all connections.
 */
int serve_request_read(struct serve_request *ret, const char *data, size_t len, size_t *scanned);
/* Whether Host is this machine, at this port; port 0: at any, as by a Unix socket. */
bool serve_request_is_host(const struct serve_request *s, uint16_t port);
/* Whether Authorization is "Bearer TOKEN", compared in constant time. Never with an empty token. */
bool serve_request_is_token(const struct serve_request *s, const char *token);
/* "application/json", with or without "; charset=utf-8". */
bool serve_request_is_json(const struct serve_request *s);

/* "Not Found"; "Error" for those that we never send. */
const char *serve_request_words(unsigned status);
