/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the readers of TLS and HTTP are made of; pure, for them, their tests and fuzzers. */
#include <stddef.h>
#include <stdint.h>

#include "net/gate/http-requests.h"

/*
 * Names of hosts as they stand in foreign protocols: in the hello of TLS, in the Host field of
 * HTTP. ASCII only; what is no plain name is refused, not repaired, and no library is asked.
 */
enum { HOST_TEXT_BYTES = 256 };

/*
 * A DNS name of letters, digits, '-' and '_', in lower case and without the dot at the end: 0. An
 * IPv4 address of four decimal parts: 1, and it is written as it stands. -EINVAL: neither, or a
 * look-alike of an address (127.1, 0x7f.1). out is not touched then.
 */
int host_text_name(const char *text, size_t len, char out[HOST_TEXT_BYTES]);

/*
 * "name", "name:80", "1.2.3.4:80", "[2001:db8::1]:80". The name as above, an IPv6 address in its
 * brackets and in lower case; port 0: not said. -EINVAL; outputs are not touched then.
 */
int host_text_authority(
	const char *text, size_t len, char out[HOST_TEXT_BYTES], uint16_t *ret_port);

/*
 * The head of one request of HTTP/1, complete from its first line to the empty one: who is asked,
 * and how long the body is.
 */
struct http_head {
	struct http_request request; /* its texts live in this struct */
	uint64_t length;             /* of the body; 0 if there is none */
	bool chunked;                /* the body ends where its chunks say */

	/* private */
	unsigned seen; /* fields, as bits */
	bool is_1_0, has_authority, wants_upgrade;
	char *upgrade_to;
	char host[HOST_TEXT_BYTES];
	char text[HTTP_HEAD_MAX];
};

/*
 * Empty lines may stand in front; nothing may stand behind the empty line at the end. -EINVAL,
 * -E2BIG. It is big: fill it, use it, and keep only what is needed.
 */
int http_head_parse(struct http_head *ret, const uint8_t *data, size_t len);
/* The fields behind the last chunk, with the empty line: only looked at. -EINVAL, -E2BIG. */
int http_head_check_trailers(const uint8_t *data, size_t len);
/* A line of a chunked body without its CR LF: "1f;extension". -EINVAL. */
int http_head_parse_chunk(const uint8_t *line, size_t len, uint64_t *ret_size);
