/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Requests that a program of ours answers itself: the broker's front and corrald-http. Pure. The
 * head is read by the gate's reader (net/gate/http-head.h), which takes one spelling of everything;
 * here are the bounds of a server, and the fields that say who asks:
 *
 *     bare line feeds, heads without an end, fields that are there twice    400, 431
 *     a name that was made to lead here (DNS rebinding)                     http_served_is_host()
 *     a page of another origin                                              .origin
 *     no token                                                              http_served_is_token()
 *
 * Behind what was refused nothing is read: the connection is closed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/gate/http-head.h"

struct buffer;

enum { HTTP_SERVED_HEAD_MAX = 8 << 10 };

struct http_served {
	struct http_head head; /* the texts below live in it */
	size_t bytes;          /* of the head, up to the body */
	/* Fields; NULL: not there. */
	const char *origin, *authorization, *type, *event_id, *known_etag;
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
int http_served_read(struct http_served *ret, const char *data, size_t len, size_t *scanned);
/* Whether Host is this machine, at this port; port 0: at any, as by a Unix socket. */
bool http_served_is_host(const struct http_served *s, uint16_t port);
/* Whether Authorization is "Bearer TOKEN", compared in constant time. Never with an empty token. */
bool http_served_is_token(const struct http_served *s, const char *token);
/* "application/json", with or without "; charset=utf-8". */
bool http_served_is_json(const struct http_served *s);

/* "Not Found"; "Error" for those that we never send. */
const char *http_served_words(unsigned status);
