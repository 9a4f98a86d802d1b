/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What corral-vault and those who use it say to each other: one body for all frames of the vault.
 * A body that has a secret fits into a packet, so it is never in a memory file. Texts are never
 * NULL once decoded.
 *
 *     VAULT_CALL    starter -> vault: an operation            answered by VAULT_ANSWER
 *     VAULT_CLIENT  starter -> vault; fds: a socket of one sandbox's process; name: the sandbox;
 *                   text: the secrets that it may ask for, each with a newline behind it
 *     VAULT_GET     client -> vault: a value                  answered by VAULT_ANSWER
 *     VAULT_SOURCE  vault -> starter, by its second socket    answered by VAULT_VALUE
 *     EVENT         vault -> starter, by its second socket    answered by VAULT_VALUE: it is in the
 * log
 */
#include <stddef.h>
#include <stdint.h>

#include "vault/format.h"
#include "wire/frame.h"

enum vault_op {
	VAULT_NOTHING,
	VAULT_INIT,       /* secret: a passphrase */
	VAULT_UNLOCK,     /* secret: a passphrase, or the key of slot `text`; number: seconds to
			     remember */
	VAULT_LOCK,       /* forget */
	VAULT_STATUS,     /* answer: text, JSON */
	VAULT_LIST,       /* answer: text, JSON */
	VAULT_SET,        /* name; secret, or text: a source; number: expires, or how long to keep;
			     fields: what stands for it in each run, or "" */
	VAULT_ROTATE,     /* name; secret: another value, or none: ask the source; number: expires;
			     fields: what stands for it from now on, or "": as before; or text:
			     another source; number: how long to keep */
	VAULT_REKEY,      /* secret: another passphrase; all other slots go */
	VAULT_SLOT_BEGIN, /* answer: secret, a new key to be stored elsewhere */
	VAULT_SLOT_ADD,   /* text: the kind; secret: what opens it there, if anything */
	VAULT_REMOVE,     /* name */
	VAULT_GRANT,      /* name, text: HOST:PORT, places, fields, programs, principal */
	VAULT_REVOKE,     /* name, text: HOST:PORT, or "" for all; principal */
	VAULT_EXPORT,     /* name; answer: secret */
	VAULT_GET,  /* of a client: name, text: HOST:PORT, one place (or field), principal: that of
		       the answer before, or ""; answer: secret, fields: what stands for it in
		       each run, or "", programs: that it is granted to, principal: the secret's
		       state; with VAULT_FLAG_SAME no secret: it is as it was */
	VAULT_KEEP, /* name, of a secret with a source link:; secret: its value, or none; number:
		       expires */
	VAULT_OPS,
};

/* Of VAULT_UNLOCK: an older file was put back on purpose. */
enum { VAULT_FLAG_RESTORED = 1 };
/* Of the answer to VAULT_GET. */
enum { VAULT_FLAG_SAME = 2, VAULT_STATE_MAX = 32 /* characters of a state */ };

struct vault_message {
	uint32_t op;   /* enum vault_op; of requests */
	int32_t error; /* of answers: 0, or a negative errno; text and principal: sentence and hint
			*/
	uint32_t flags, places;
	uint64_t number;
	const char *name, *text, *principal;
	const char *fields;   /* with VAULT_FIELD: vault/format.h; or a stand-in */
	const char *programs; /* of a grant: vault/format.h */
	const void *secret;
	uint32_t secret_len;
};

enum { VAULT_PASSPHRASE_MAX = 1024, VAULT_SECRET_MAX = VAULT_VALUE_MAX };

/* How many bytes it takes. */
size_t vault_message_size(const struct vault_message *m);
/* Writes exactly those. */
void vault_message_encode(const struct vault_message *m, void *out);
/* Texts and secret point into the body. -EPROTO, and *ret is untouched. */
int vault_message_decode(struct vault_message *ret, const void *body, size_t len);
/*
 * Sends one. room: locked memory for its body, if it has a secret, of FRAME_BODY_MAX bytes, which
 * is wiped again. -EMSGSIZE: a secret that does not fit.
 */
int vault_message_send(int socket, enum frame_type type, uint64_t id, const struct vault_message *m,
	struct secret *room);
