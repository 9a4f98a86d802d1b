/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a call needs of its client: a form that its user fills in (elicitation/create), a sample of
 * its model (sampling/createMessage), its folders (roots/list). The call is made again when all
 * answers are there:
 *
 *     modern      it ends as `input_required`, with the requests and, if the back end has a note,
 *                 a sealed requestState (mcp/seal.h); the retry brings both answers and state
 *     handshake   the requests go to the client while the call waits; each answer has their number
 *
 * What the client answers is foreign: it says nothing about permissions, for which there is
 * mcp/asking.h alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/message.h"

struct mcp_call;
struct mcp_server;

enum { MCP_INPUTS_MAX = 8 };

struct mcp_input_request {
	const char *key, *method;
	const char *params; /* a map as JSON; NULL: an empty one */
};

/* Private: one that was sent, in a handshake. */
struct mcp_input {
	char *key;
	uint64_t number;
	bool is_answered;
	struct mcp_message answer;
	struct mcp_input *next; /* of the same call */
};

/*
 * Asks for these. The back end's call() follows, with the answers, for this call or for its retry;
 * this one may be gone on return, and must not be used any more. note: comes back with the answers,
 * and nobody else reads or changes it; NULL: there is nothing to be remembered. It needs
 * mcp_server.asking, and has MCP_NOTE - 1 bytes at most.
 */
void mcp_input_ask(
	struct mcp_call *c, const struct mcp_input_request *requests, size_t n, const char *note);
/* The client's answer; NULL: there is none (yet), or it was an error. */
const struct node *mcp_input_answer(const struct mcp_call *c, const char *key);
/* The note; NULL: nothing was asked with one. */
const char *mcp_input_note(const struct mcp_call *c);

/* For the server. */

/* An answer to a request of ours; takes *m over if it is one. */
bool mcp_input_replied(struct mcp_server *s, struct mcp_message *m);
