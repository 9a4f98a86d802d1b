/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who may ask, and with which body. Pure. A page in a browser, or whatever else can be made to send
 * requests, must gain nothing by sending them here. A server asks in this order, so that a client
 * that may not ask learns nothing and makes us keep nothing:
 *
 *     serve_guard_place()    403 Host is another one; 403 a page of another origin; 400 an upgrade
 *     (the server's paths)   404, 405
 *     serve_guard_token()    401, before a byte of the body is kept
 *     serve_guard_body()     411 no length; 413 too large; 415 not JSON, which no form can send
 *
 * Zeroed rules refuse: no name but this machine's, no page, no token, no body.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/request.h"

struct serve_guard {
	const char *host;       /* the only one; NULL: the names of this machine */
	uint16_t port;          /* that clients came by; 0: a Unix socket */
	const char *origin;     /* of the only page that may ask; NULL: none may */
	const char *other_host; /* said of another host; NULL: a sentence without advice */
};

struct serve_refusal {
	unsigned status;
	const char *reason;
};

/* Each: 0, or 1 and *ret says why it is refused. */
int serve_guard_place(
	const struct serve_guard *g, const struct serve_request *r, struct serve_refusal *ret);
int serve_guard_token(const char *token, const struct serve_request *r, struct serve_refusal *ret);
/* most: bytes; 0: there may be none. */
int serve_guard_body(
	const struct serve_request *r, size_t most, bool is_needed, struct serve_refusal *ret);
