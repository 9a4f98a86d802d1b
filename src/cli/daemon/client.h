/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Asks the daemon, over its Unix socket and with its token (corrald(8)). */
#include <stddef.h>

#include "base/buffer.h"
#include "cli/verb.h"
#include "codec/node.h"

enum { DAEMON_ANSWER_MAX = 8 << 20 };

/* The daemon's program: CORRALD, or the installed one; "": this Corral was built without it. */
const char *daemon_client_program(void);

/*
 * Connects, and sends one request with the token. *ret: the socket. -ECONNREFUSED: there is no
 * daemon; the call's error says what to do.
 */
int daemon_client_open(
	struct call *c, const char *method, const char *path, const char *header, int *ret);
/*
 * The whole of it, with JSON as the body unless that is NULL: *ret has the answer's JSON as it
 * came, and *doc read. A refusal is -EPERM, with the daemon's words in the error.
 */
int daemon_client_send(struct call *c, const char *method, const char *path, const char *json,
	struct buffer *ret, struct document *doc);
/* The same without a body. */
int daemon_client_ask(struct call *c, const char *method, const char *path, struct buffer *ret,
	struct document *doc);
/* The answer as it came, for --json. */
int daemon_client_print(struct call *c, const struct buffer *json);
