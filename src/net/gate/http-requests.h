/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The requests on a connection of plain HTTP/1 (RFC 9112), as they pass from the client to the
 * server: each one's host is judged before a byte of it is passed on. Bodies are only counted.
 *
 * What two servers could read differently (two hosts, two lengths, a length beside chunks, spaces
 * before a colon, folded lines, bare CR, NUL …) is refused: else the one we read is not the one
 * that is served.
 *
 *     bytes of a first request  ->  http_requests_looks()  ->  it is HTTP: http_requests_new()
 *     bytes  ->  http_requests_feed()  ->  how many of them may be passed on
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { HTTP_HEAD_MAX = 32 << 10 };

struct http_request {
	const char *method; /* as written */
	/* Of the Host field, or of the target where that is a whole URL (then both are the same, or
	 * the request is refused); lower case, without the dot at the end, an IPv6 address in its
	 * brackets; "" if there is none, which only HTTP/1.0 may do. */
	const char *host;
	uint16_t port;          /* 0: not said */
	const char *path;       /* "/a/b", without the query; "*" for OPTIONS *, "" for CONNECT */
	bool upgrade;           /* it wants another protocol on this connection, or is CONNECT */
	const char *upgrade_to; /* the Upgrade field, "" for CONNECT */
	const char *query;      /* what stands behind the path's "?"; NULL: there is none */
};

enum http_looks { HTTP_NO, HTTP_YES, HTTP_MAYBE, HTTP_2 /* the preface of HTTP/2 */ };

/*
 * The first bytes of a connection. HTTP_MAYBE: more are needed (a line of at most 8 KiB is waited
 * for). Empty lines in front are skipped, as servers do. A line that ends in " HTTP/1.0" or
 * " HTTP/1.1" (or any " HTTP/") is HTTP, whatever the method's name. What some server could take
 * for a request is HTTP_YES, to be refused by http_requests_feed(): a longer line, too.
 */
enum http_looks http_requests_looks(const uint8_t *data, size_t len);

struct http_requests;

/*
 * Negative: the request must not pass; feed() returns it. HTTP_HOLD: it waits, and all that is
 * behind it; feed() takes nothing of it, and asks about it again in its next call.
 */
enum { HTTP_HOLD = 1 };
typedef int http_judge(void *context, const struct http_request *r);

int http_requests_new(struct http_requests **ret, http_judge *judge, void *context);
void http_requests_free(struct http_requests *h);
/*
 * Takes the next bytes, of which the first `return value` may be passed on; what is behind them has
 * to be given again, with more after (0: a head is not complete yet). Negative: -EINVAL, -E2BIG,
 * or what the judge said; nothing more may pass, ever. What is wrong after bytes that may pass is
 * said by the next call: so call again with the rest, at once, until it takes nothing.
 *
 * The caller must be able to keep HTTP_HEAD_MAX bytes; no more than those are ever waited for.
 *
 * After a request with `upgrade` (its head, and its body if it has one) nothing passes: from its
 * head on, http_requests_waits() is true until http_requests_upgraded() tells what the server said.
 */
ssize_t http_requests_feed(struct http_requests *h, const uint8_t *data, size_t len);
/*
 * The same for one part of a request: what is returned is all of a head, a line, a body's end, or
 * as much of a body as is there. So whoever passes it on can change it.
 */
enum http_part {
	HTTP_PART_HEAD,
	HTTP_PART_BODY,     /* with the data of chunks */
	HTTP_PART_FRAMING,  /* of chunks: their sizes and ends */
	HTTP_PART_TRAILERS, /* with the empty line */
	HTTP_PART_OPEN,     /* another protocol */
};
ssize_t http_requests_step(
	struct http_requests *h, const uint8_t *data, size_t len, enum http_part *ret);
/* The judge held what comes next. */
bool http_requests_held(const struct http_requests *h);
bool http_requests_waits(const struct http_requests *h);
/* The request has passed with its body: nothing more does before the server has answered. */
bool http_requests_stopped(const struct http_requests *h);
/* accepted: from here on everything passes. */
void http_requests_upgraded(struct http_requests *h, bool accepted);
/* Requests so far, with the one that waits, and the one that the judge is asked about. */
uint64_t http_requests_count(const struct http_requests *h);
/* How many bytes, from now on, pass without being looked at (the rest of a body); may be spliced,
 * and is told by http_requests_skip(). UINT64_MAX after an upgrade. */
uint64_t http_requests_free_bytes(const struct http_requests *h);
/* What comes next is of a body, of a known length or in chunks. */
bool http_requests_has_body(const struct http_requests *h);
void http_requests_skip(struct http_requests *h, uint64_t n);
