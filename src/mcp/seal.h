/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a question to the client is remembered by. Of a client without a handshake a call ends with
 * the question, and its retry brings back a text (requestState) that the client cannot read or
 * make: encrypted and authenticated (XChaCha20-Poly1305) with a key of this process. It says whose
 * call it was, which tool with which arguments, what was asked and what was answered before, and
 * until when it counts. It counts once: those that wait are kept here, too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	MCP_DIGEST = 32,
	MCP_ANSWERS_MAX = 8, /* to questions of one call */
	MCP_SEALED_MAX = 64, /* that wait at once; the oldest is dropped for one more */
	MCP_NOTE = 256,      /* bytes of a back end's note, with its NUL */
};

/* One question of a call: may it do this, to that? */
struct mcp_answered {
	uint32_t op; /* enum operation */
	bool is_allowed;
	unsigned char object[MCP_DIGEST];
};

struct mcp_claims {
	unsigned char principal[MCP_DIGEST];
	unsigned char request[MCP_DIGEST]; /* the tool with its arguments */
	uint32_t n;
	struct mcp_answered answers[MCP_ANSWERS_MAX]; /* of sealed ones the last is the question */
	/* It was asked for inputs (mcp/input.h): none of the answers above is a question. */
	bool is_input;
	char note[MCP_NOTE];
};

struct mcp_seal_waiting {
	unsigned char id[16];
	uint64_t until_ms; /* 0: free */
};

struct mcp_seal {
	unsigned char key[32];
	struct mcp_seal_waiting waiting[MCP_SEALED_MAX];
};

enum mcp_seal_fault {
	MCP_SEAL_GOOD,
	MCP_SEAL_ALTERED, /* or another process made it */
	MCP_SEAL_PRINCIPAL,
	MCP_SEAL_REQUEST,
	MCP_SEAL_EXPIRED,
	MCP_SEAL_USED,
	MCP_SEAL_FAULTS,
};

/* With a new key. -EIO: there is no cryptography. */
int mcp_seal_init(struct mcp_seal *s);
/* Appends the text; ttl_ms: for so long it counts. */
void mcp_seal_close(struct mcp_seal *s, const struct mcp_claims *c, uint64_t now_ms,
	uint64_t ttl_ms, struct buffer *out);
/*
 * What that text says, if it is for this principal and this request; *ret is not touched otherwise.
 * It is used up only if it is good, or too old.
 */
enum mcp_seal_fault mcp_seal_open(struct mcp_seal *s, const char *text, size_t len,
	const unsigned char principal[MCP_DIGEST], const unsigned char request[MCP_DIGEST],
	uint64_t now_ms, struct mcp_claims *ret);
/* A sentence. */
const char *mcp_seal_fault_text(enum mcp_seal_fault fault);
void mcp_seal_deinit(struct mcp_seal *s);

/* BLAKE2b. */
void mcp_digest(const void *data, size_t len, unsigned char ret[MCP_DIGEST]);
