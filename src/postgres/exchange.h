/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a server of PostgreSQL sends from the login on until it is ready, as bytes. The login is by
 * SCRAM-SHA-256 alone, bound to TLS where the server offers that. All other methods are refused:
 * two of them (password, md5) give the server, or who stands in for it, what the password is good
 * for, and the others do not need one.
 *
 * Until the server has shown that it knows the password, nothing of it goes to the client but an
 * error that ends the session.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "postgres/scram.h"

enum {
	EXCHANGE_MESSAGE_MAX = 64 << 10,
	EXCHANGE_KEY_MAX = 256,
};

enum exchange_state {
	EXCHANGE_LOGIN,
	EXCHANGE_STARTING, /* it is logged in, and told how the session is */
	EXCHANGE_READY,    /* what follows passes as it is */
	EXCHANGE_REFUSED,  /* by the server, which said why to the client */
};

struct pg_exchange_options {
	bool is_tls;
	const void *binding; /* NULL: there is nothing to bind; with is_tls */
	size_t binding_len;
	const void *password;
	size_t password_len;
	const char *nonce; /* random; it is copied */
	/* What the client is told before it is logged in; it is copied. */
	const void *greeting;
	size_t greeting_len;
};

struct pg_exchange {
	struct pg_exchange_options o; /* the password stays its owner's */
	enum exchange_state state;
	struct scram scram;
	uint8_t binding[SCRAM_BINDING_MAX];
	char nonce[SCRAM_NONCE + 1];
	struct buffer greeting;
	bool is_proved; /* the proof went to the server */
	/* By which the session can be cancelled. */
	uint32_t process;
	uint8_t key[EXCHANGE_KEY_MAX];
	size_t key_len;  /* 0: not told */
	const char *why; /* of -EACCES: a sentence */
};

int exchange_init(struct pg_exchange *x, const struct pg_exchange_options *o);
void exchange_deinit(struct pg_exchange *x);
/*
 * Takes one message, and appends what goes where. 0: it is not complete. Else its length. -EACCES:
 * the session ends, x->why says why; -ENOMEM. Not after EXCHANGE_READY or EXCHANGE_REFUSED.
 */
int exchange_take(struct pg_exchange *x, const void *data, size_t len, struct buffer *to_server,
	struct buffer *to_client);
