/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP for programs that cannot open a Unix socket: `POST /rpc` with what else is a line, and
 * `GET /health`. Pure.
 *
 * A page in a browser, or whatever else can be talked into sending requests, must gain nothing by
 * sending them here:
 *
 *     no token                    401, before a byte of the body is kept
 *     the host has another name   403: the name was made to lead here (DNS rebinding)
 *     there is an Origin          403: it is a page's request; none is a friend
 *     another type than JSON      415: what a form can send is none
 *     two lengths, chunks, spaces before a colon, bare line feeds, heads without an end
 *                                 400, 411, 431; serve/request.h takes one spelling of
 *                                 everything
 *
 * Behind what was refused nothing is read: the connection is closed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

enum { HTTP_FRONT_BODY_MAX = 8 << 20 };

struct http_guard {
	const char *token; /* that POST must show */
	uint16_t port;     /* of the listener */
};

enum http_what { HTTP_REFUSED, HTTP_CALL, HTTP_HEALTH };

struct http_message {
	enum http_what what;
	unsigned status;    /* of what was refused */
	const char *reason; /* the same in words */
	size_t head, body;  /* bytes */
	bool is_last;       /* the client wants the connection closed behind it */
};

/*
 * Looks for a request at the start. 1: *ret is one, or why there is none. 0: more bytes are needed.
 * The body may come later than its head: it is at data + head, and whole. *scanned is where the
 * search goes on with more bytes; 0 at first.
 */
int http_message_read(const struct http_guard *g, const char *data, size_t len, size_t *scanned,
	struct http_message *ret);
/* Appends the response to what is no call. */
void http_message_answer(struct buffer *out, const struct http_message *m);
/* Appends the head of a response with a body of so many bytes; last: the connection ends behind it.
 */
void http_message_begin(struct buffer *out, unsigned status, size_t len, bool last);
