/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One request of HTTP/2: its fields become a head, and what comes out of that fields again. */
#include <stdint.h>

#include "inject/h2/fields.h"
#include "inject/request.h"
#include "net/gate/http-head.h"

struct h2_request {
	struct h2_fields fields, trailers; /* as they come */
	struct inject_request request;
	struct buffer text; /* until the head may go */
	bool is_complete;   /* all fields are here */
	bool has_gone;      /* its head */
	bool is_head;       /* HEAD: its answer has no body */
};

/* Of one host, for all its requests. */
struct h2_target_host {
	const char *host;
	uint16_t port, usual_port;
	struct http_head *room;
};

void h2_request_init(struct h2_request *q, const struct heads *heads, uint32_t rewrites);
void h2_request_deinit(struct h2_request *q);
/*
 * All fields are here. ended: there is no body. -EXDEV: for another host. -EINVAL: ambiguous, or
 * not for this server. -EKEYREJECTED; -E2BIG.
 */
int h2_request_begin(struct h2_request *q, const struct h2_target_host *to, bool ended);
/* Data of the body; what may go is added. last: it ends here. */
int h2_request_data(
	struct h2_request *q, const uint8_t *data, size_t len, bool last, struct buffer *out);
/* 1: the head goes now, with what stands behind it. Once. 0: it waits for the body. */
int h2_request_go(struct h2_request *q, struct h2_fields *ret, struct buffer *out);
/* All trailers are here: in place they are, and get no values. */
int h2_request_end(struct h2_request *q);
/* How many bytes it keeps. */
size_t h2_request_kept(const struct h2_request *q);
