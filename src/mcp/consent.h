/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the policy asks about, answered by the client's user (mcp/asking.h): while a tool runs, the
 * enclave asks here in place of the daemon. Without an answer the tool is not done, and the client
 * is asked; the tool runs anew when its answer came. An answer is used by that run alone, and
 * nothing of it stays behind. One rate counts for all questions of a client (holder/asking.h).
 */
#include <stdbool.h>

#include <corral/enclave.h>

#include "holder/asking.h"
#include "mcp/server.h"

struct mcp_consent {
	struct corral_enclave *enclave;
	struct holder_asking *rate; /* of all that one principal is asked */
	struct holder_asking own_rate;
	/* Of the tool that runs now. */
	struct mcp_call *call;
	enum operation op;
	struct buffer object, reason; /* of the question; an object of no bytes: none came up */
	const char *unasked;          /* why it is not put to the client; NULL: it is */
	bool is_refused;
};

/* Before a tool runs: what comes up is answered for this call, if its client can be asked. */
void mcp_consent_begin(struct mcp_consent *s, struct mcp_call *c);
/* After it has run, or was started. */
void mcp_consent_end(struct mcp_consent *s);
/* Whether a question came up, which was not answered. */
bool mcp_consent_is_wanted(const struct mcp_consent *s);
/* Whether the run that is under way was refused what it asked for. */
bool mcp_consent_refused(const struct mcp_consent *s);
/* Puts that question to the client. The call may be gone then. */
void mcp_consent_ask(struct mcp_consent *s, struct mcp_call *c);
void mcp_consent_deinit(struct mcp_consent *s);
