/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The loopback address that a browser brings a code to (RFC 8252, 7.3). A process of its own reads
 * what comes, confined (PROCESS_CALLBACK): it knows no state, no verifier and no token, and hands
 * over the query of each request for the one page. Who else can send something there, and what
 * becomes of it:
 *
 *     a page of another site, by a name that leads here   Host is not 127.0.0.1: 403
 *     a page that calls by script, or posts               Origin, or another method: 403, 405
 *     a page that navigates there, another program        the state is not ours: 400, and the wait
 *                                                         goes on
 *     half a request, slowly; many connections            bounded by the server's room
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { CALLBACK_PORT = 8765, CALLBACK_QUERY_MAX = 8 << 10, CALLBACK_URI_BYTES = 64 };

struct callback {
	pid_t pid; /* 0: none */
	int control;
	char uri[CALLBACK_URI_BYTES]; /* http://127.0.0.1:PORT/callback */
};
#define CALLBACK_NONE ((struct callback){ .control = -1 })

/* port 0: 8765, or any that is free where that is not. Before this process has secrets. */
int callback_start(struct callback *ret, uint16_t port, struct error *e);
/* The next query, of at most CALLBACK_QUERY_MAX bytes. 0: the time is over. */
int callback_wait(struct callback *c, uint64_t until_ms, char *query, struct error *e);
/* What the page says that waits: whether the login goes on by it. */
void callback_answer(struct callback *c, bool is_ours, bool is_good);
/* Lets the last page be read, and ends it. */
void callback_end(struct callback *c);
#define auto_callback __attribute__((cleanup(callback_end))) struct callback
