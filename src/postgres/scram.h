/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The client's half of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), as bytes. The
 * server learns that the client knows the password, and not the password; and it has to show that
 * it knows what was made of it, or scram_finish() fails.
 *
 * A server that does not know the password gets one thing to guess it by, offline: so an exchange
 * that costs less than PostgreSQL's default, SCRAM_ITERATIONS_LEAST, is refused. One that would
 * keep this process busy is, too.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	SCRAM_HASH = 32,
	SCRAM_NONCE = 24,       /* characters of ours */
	SCRAM_BINDING_MAX = 64, /* bytes of a hash of a certificate */
	SCRAM_MESSAGE_MAX = 4096,
	SCRAM_SALT_MAX = 1024,
	SCRAM_ITERATIONS_LEAST = 4096,
	SCRAM_ITERATIONS_MOST = 600000,
};

/* What is said about the channel. */
enum scram_channel {
	SCRAM_PLAIN,   /* there is no TLS, or nothing of it can be bound */
	SCRAM_UNBOUND, /* it could be, and the server has not offered it: one that has, refuses */
	SCRAM_BOUND,   /* -PLUS: by tls-server-end-point */
};

enum scram_stage { SCRAM_NOTHING, SCRAM_FIRST, SCRAM_FINAL, SCRAM_DONE };

struct scram {
	enum scram_stage stage;
	char nonce[SCRAM_NONCE + 1];
	struct buffer channel; /* the header of GSS, and what is bound */
	struct buffer first;   /* without that header */
	uint8_t signature[SCRAM_HASH];
};

/* What the password is, if it can be used. -EILSEQ: it has characters beyond ASCII, which would
 * have to be prepared (SASLprep); -EINVAL: it is empty, or has a NUL. */
int scram_check(const void *password, size_t len);

/* Appends the first message. nonce: random, of SCRAM_NONCE characters without commas. user: "" for
 * PostgreSQL, which knows it. binding: with SCRAM_BOUND. */
int scram_begin(struct scram *s, enum scram_channel channel, const void *binding, size_t len,
	const char *user, const char *nonce, struct buffer *out);
/* To the server's first message, the last of ours. -EPROTO: it breaks the rules, or its nonce does
 * not begin with ours; -ERANGE: its iterations are too few or too many. */
int scram_continue(struct scram *s, const char *message, size_t len, const void *password,
	size_t password_len, struct buffer *out);
/* Its last message. -EKEYREJECTED: it does not know the password. */
int scram_finish(struct scram *s, const char *message, size_t len);
void scram_deinit(struct scram *s);
