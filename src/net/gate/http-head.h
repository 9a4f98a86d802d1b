/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/gate/http-requests.h"

enum { HOST_TEXT_BYTES = 256 };

/* A field: its name as it was written, its value without what stands around it. Not 0: -EINVAL. */
typedef int http_head_visit(void *context, const char *name, const char *value);

/*
 * The head of one request of HTTP/1, complete from its first line to the empty one: who is asked,
 * and how long the body is.
 */
struct http_head {
	struct http_request request; /* its texts live in this struct */
	uint64_t length;             /* of the body; 0 if there is none */
	bool chunked;                /* the body ends where its chunks say */
	bool closes;                 /* "Connection: close", or HTTP/1.0: it is the last request */

	/* private */
	unsigned seen; /* fields, as bits */
	bool is_1_0, has_authority, wants_upgrade;
	char *upgrade_to;
	http_head_visit *visit;
	void *context;
	char host[HOST_TEXT_BYTES];
	char text[HTTP_HEAD_MAX];
};

/*
 * Empty lines may stand in front; nothing may stand behind the empty line at the end. -EINVAL,
 * -E2BIG. It is big: fill it, use it, and keep only what is needed.
 */
int http_head_parse(struct http_head *ret, const uint8_t *data, size_t len);
/* The same, and each field that is not read here is visited. */
int http_head_parse_all(struct http_head *ret, const uint8_t *data, size_t len,
	http_head_visit *visit, void *context);
/* The fields after the last chunk, with the empty line: only looked at. -EINVAL, -E2BIG. */
int http_head_check_trailers(const uint8_t *data, size_t len);
/* A line of a chunked body without its CR LF: "1f;extension". -EINVAL. */
int http_head_parse_chunk(const uint8_t *line, size_t len, uint64_t *ret_size);
