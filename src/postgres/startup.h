/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a client of PostgreSQL sends before it is logged in, as bytes: packets of a length and a
 * code, without a type. One is read at a time; nothing of it is passed on as it came. The start is
 * written anew from what was understood, for protocol 3.0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	STARTUP_MAX = 10000, /* as PostgreSQL has it */
	STARTUP_PARAMETERS_MAX = 64,
	STARTUP_KEY_MAX = 256, /* of a cancellation, from protocol 3.2 on */
};

enum startup_kind {
	STARTUP_BROKEN, /* or more than is allowed */
	STARTUP_TLS,    /* SSLRequest: may it speak TLS? */
	STARTUP_GSS,    /* GSSENCRequest */
	STARTUP_CANCEL,
	STARTUP_LOGIN,
};

struct startup_parameter {
	const char *name, *value;
};

/* Texts point into what was read. */
struct startup {
	enum startup_kind kind;
	uint32_t minor;     /* of the protocol, 3.minor */
	uint32_t process;   /* of a cancellation */
	const uint8_t *key; /* also of one */
	size_t key_len;
	const char *user;                                            /* of a login */
	struct startup_parameter parameters[STARTUP_PARAMETERS_MAX]; /* all but `_pq_.…` */
	size_t n;
	const char *unknown[STARTUP_PARAMETERS_MAX]; /* names of `_pq_.…`: options of a protocol */
	size_t n_unknown;
};

/*
 * The first packet of these bytes. 0: it is not complete. Else its length. -EPROTO: it breaks the
 * rules, or is too long; -EACCES: it asks for replication, which is not a session of SQL.
 */
int startup_read(struct startup *ret, const void *data, size_t len);
/* Appends a login with these parameters. */
void startup_print(const struct startup *s, struct buffer *out);
void startup_print_cancel(const struct startup *s, struct buffer *out);
/* SSLRequest. */
void startup_print_tls(struct buffer *out);
/* To the client, before it is told that it is logged in: that this is 3.0, and what of its wishes
 * is not known. Nothing if it has none. */
void startup_print_negotiation(const struct startup *s, struct buffer *out);
/* An error that ends the session, with a code of SQL. */
void startup_print_error(const char *code, const char *text, struct buffer *out);
/* A message of a type: its length is put in. */
void startup_print_message(char type, const void *body, size_t len, struct buffer *out);
