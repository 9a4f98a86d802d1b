/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether a request may pass, where TLS is opened for the policy (network.inspect). The policy is
 * the relay's: each request is shown to it (wire/lend.h), and nothing of the request leaves before
 * it has answered. What cannot be shown as what it is, is denied here.
 *
 *     inspection_judge() -> HTTP_HOLD -> answered() -> inspection_judge() -> 0 or -EACCES
 *
 * One ask is for one request at a time: a connection of HTTP/1.1 has one, each stream of HTTP/2 one
 * of its own.
 */
#include "event/loop.h"
#include "net/gate/http-requests.h"

struct inspection_ask;

struct inspection {
	struct loop *loop;
	int socket;         /* the relay's */
	uint64_t last;      /* number of an ask */
	struct timer again; /* runs while the socket takes nothing */
	struct inspection_ask *first;
};

enum inspection_state {
	INSPECTION_NONE,
	INSPECTION_UNSENT, /* the relay has no room for it yet */
	INSPECTION_ASKED,
	INSPECTION_ALLOWED,
	INSPECTION_DENIED,
};

/* Zeroed but for the first members: nothing is asked. */
struct inspection_ask {
	struct inspection *all;
	uint64_t connection; /* as the relay calls it */
	/* Ask again. It may be left here. */
	void (*answered)(struct inspection_ask *a);

	/* private */
	enum inspection_state state;
	uint64_t number;
	char *why;
	struct inspection_ask *next;
};

void inspection_init(struct inspection *i, struct loop *loop, int socket);
/*
 * For each head of a request, once or until it is not held any more. 0: it passes. HTTP_HOLD.
 * -EACCES: it does not, and inspection_why() says why.
 */
int inspection_judge(struct inspection_ask *a, const struct http_request *r);
/* Lines for the client: "GET https://a.com:443/x: reason", and what would allow it. */
const char *inspection_why(const struct inspection_ask *a);
/* The request has ended, or its connection: no answer is waited for. */
void inspection_leave(struct inspection_ask *a);
/* Of LEND_ANSWER. Calls answered(). -EPROTO. */
int inspection_take_answer(struct inspection *i, uint64_t id, const void *body, size_t len);
