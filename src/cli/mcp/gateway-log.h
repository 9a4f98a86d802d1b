/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The calls of a gateway in the user's log (audit/trail.h). */
#include "audit/event.h"
#include "base/error.h"

struct audit_trail;

struct mcp_gateway_log {
	struct audit_trail *trail; /* NULL: there is none */
};

/* Opens the log that CORRAL_AUDIT names, or the user's own, which is made if it is missing. */
int mcp_gateway_log_open(struct mcp_gateway_log *l, struct error *e);
void mcp_gateway_log_add(struct mcp_gateway_log *l, const struct audit_event *event);
/* Writes what is due; ms until there is more, -1: nothing, less: it cannot, and *e says why. */
int mcp_gateway_log_turn(struct mcp_gateway_log *l, struct error *e);
int mcp_gateway_log_close(struct mcp_gateway_log *l, struct error *e);
