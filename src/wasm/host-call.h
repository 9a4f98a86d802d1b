/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Calls of the host by a module: JSON in, JSON out, each a call of the sandbox's broker, which asks
 * the policy and keeps the record. The connection is made before the worker confines itself, and is
 * the only one it ever has.
 *
 * The broker reads lines. What a module gives is read as JSON and printed anew, so that it is one
 * line and one call, whatever is in it.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "broker/client/connection.h"

struct host_call {
	struct connection connection; /* .fd is -1 without a broker */
	unsigned number;
	bool has_opened; /* a socket, since host_call_end() */
};

/* Connects to the broker in SANDBOX_SOCKET; without one there is none. */
int host_call_open(struct host_call *h, struct error *e);
void host_call_close(struct host_call *h);
/*
 * The call of the skill is over: what it left open at the broker is closed, so that nothing of it
 * is there for the next. Negative errno: as host_call_make().
 */
int host_call_end(struct host_call *h);
/*
 * Calls the method with the parameters in the text; with NULL for a method the text has `method`
 * and `params`. *out gets the result, or {"error": {"code": …, "message": …}} of the broker, or of
 * here, if the text is no such call. Negative errno: there is no broker any more.
 */
int host_call_make(
	struct host_call *h, const char *method, const void *text, size_t len, struct buffer *out);
