/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A login as the vault keeps it: one value, so that what belongs together is replaced at once. The
 * client and the tokens are those of one issuer; at another they are not used. Pure.
 */
#include "codec/node.h"
#include "oauth/request.h"

enum { OAUTH_RECORD_MAX = 16 << 10 };

/* Texts are never NULL; "": there is none. */
struct oauth_record {
	const char *url;      /* of the server */
	const char *resource; /* what tokens are for */
	const char *issuer, *token, *revocation;
	const char *client_id, *client_secret;
	const char *method; /* "none", "client_secret_basic" … */
	const char *scope, *refresh;
	const char *refused; /* why there is none any more */
	uint64_t since_s;    /* of the login */
	/* private */
	struct document document;
};

/* The values may be those of a record that was read. -EFBIG: too long; -ENOMEM. */
int oauth_record_print(const struct oauth_record *r, struct buffer *out);
/* -EINVAL: it is none. */
int oauth_record_read(struct oauth_record *ret, const char *text, size_t len, struct error *e);
/* Its client; secret NULL where it has none. */
void oauth_record_client(const struct oauth_record *r, struct oauth_client *ret);
void oauth_record_deinit(struct oauth_record *r); /* wipes it */
#define auto_oauth_record __attribute__((cleanup(oauth_record_deinit))) struct oauth_record
