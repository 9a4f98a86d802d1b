/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a sandbox is to do for a call of the API; its reply is the answer. */
#include <stdint.h>

#include "base/buffer.h"
#include "wire/frame.h"

enum {
	ORDERS_MAX = 64,
	ORDER_MS = 10 * 1000, /* for a sandbox to carry one out */
};

struct order;
struct sandbox;
struct supervisor;

struct order_request {
	enum frame_type type;
	const struct buffer *body;
	uint64_t call;
	const char *done; /* {DONE: true} is the answer; NULL: {"id": …} of what was made */
};
void orders_send(struct sandbox *b, const struct order_request *r);
int orders_on_reply(struct sandbox *b, const struct frame *f);
/* The sandbox has gone; NULL: the daemon ends. */
void orders_drop(struct supervisor *s, const struct sandbox *b);
