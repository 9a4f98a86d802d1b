/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Questions to the client, in the words of its era, and their answers:
 *
 *     modern      the call ends as `input_required`, with what is asked and a sealed requestState
 *                 (mcp/seal.h); its retry brings both the answer and that text
 *     handshake   `elicitation/create` goes to the client while the call waits; the answer has its
 *                 id. None in time is a no, and the client is told that it is not waited for
 *
 * A client is asked only if it said that it shows forms (the capability `elicitation`). Whatever it
 * answers but an `accept` with `allow` true is a no. An answer counts for one call: for what was
 * asked, with this tool and these arguments.
 */
#include <stdbool.h>
#include <stdint.h>

#include "mcp/seal.h"
#include "policy/operation.h"

struct mcp_call;
struct mcp_message;
struct mcp_server;
struct node;

struct mcp_asking {
	struct mcp_seal seal;
	const char *principal;    /* who the client is: another one's requestState is refused */
	uint64_t (*now_ms)(void); /* a clock that nobody sets */
	uint64_t patience_ms;     /* how long an answer is waited for */
	uint64_t last;            /* private: the number of the last request */
};

enum mcp_word { MCP_WORD_NONE, MCP_WORD_NO, MCP_WORD_YES };

/* For the back end. */

/* Whether the client can be asked about this call (once more). */
bool mcp_asking_is_possible(const struct mcp_call *c);
/* What its user said about it, for this call. */
enum mcp_word mcp_asking_word(const struct mcp_call *c, enum operation op, const char *object);
/*
 * Asks. The back end's call() follows, with the answer, for this call or for its retry; this one
 * may be gone on return, and must not be used any more. message: for the user.
 */
void mcp_asking_ask(struct mcp_call *c, enum operation op, const char *object, const char *message);

/* For the server. */

/* Whether a client with these capabilities shows forms. */
bool mcp_asking_can(const struct node *capabilities);
/* A retry: takes what its parameters answer. false: it was refused, with an error. */
bool mcp_asking_resume(struct mcp_call *c);
/* Appends the requestState of a call that ends with a question: its claims, sealed. */
void mcp_asking_seal(struct mcp_call *c, struct buffer *out);
/* An answer to a request of ours, if it is one. */
void mcp_asking_replied(struct mcp_server *s, const struct mcp_message *m);
/* The call is cancelled: nothing is waited for. */
void mcp_asking_forget(struct mcp_call *c);
/* Answers for those who did not, in time; ms until the next one ends, or -1. */
int mcp_asking_turn(struct mcp_server *s);
