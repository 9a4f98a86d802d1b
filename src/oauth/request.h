/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a client of OAuth 2.1 sends: the address that the browser opens, and bodies of requests.
 * Pure: random bytes are the caller's. Bodies have secrets in them: the caller wipes them.
 */
#include <stdint.h>

#include "base/buffer.h"
#include "oauth/metadata.h"

enum { OAUTH_RANDOM_BYTES = 32, OAUTH_WORD_BYTES = 44 /* of those, as base64url */ };

struct oauth_client {
	const char *id;
	const char *secret; /* NULL: a public one */
	unsigned method;    /* one of enum oauth_client_method */
};

/* How it shows its secret there, to client->method. -EOPNOTSUPP with a sentence. */
int oauth_client_choose(struct oauth_client *c, unsigned methods, struct error *e);

/* A state, or a verifier of PKCE; and what is said of a verifier before it is shown (S256). */
void oauth_request_word(const uint8_t random[OAUTH_RANDOM_BYTES], char ret[OAUTH_WORD_BYTES]);
void oauth_request_challenge(const char *verifier, char ret[OAUTH_WORD_BYTES]);

/* A login that is under way. */
struct oauth_login {
	const struct oauth_server *server;
	struct oauth_client client;
	const char *resource;
	const char *scope;    /* NULL: what the server gives */
	const char *redirect; /* of a code */
	char state[OAUTH_WORD_BYTES], verifier[OAUTH_WORD_BYTES];
};

/* What the browser opens. -EOPNOTSUPP: this server has no login by a code, or none with S256. */
int oauth_request_page(const struct oauth_login *l, struct buffer *out, struct error *e);

/* A body of a form, and the field Authorization; "" if there is none. */
struct oauth_form {
	struct buffer body, authorization;
};
void oauth_form_deinit(struct oauth_form *f); /* wipes both */
#define auto_oauth_form __attribute__((cleanup(oauth_form_deinit))) struct oauth_form

/* Each appends to a zeroed form. -ENOMEM. */
int oauth_request_code(const struct oauth_login *l, const char *code, struct oauth_form *f);
int oauth_request_device(const struct oauth_login *l, struct oauth_form *f);
int oauth_request_poll(const struct oauth_login *l, const char *device_code, struct oauth_form *f);
int oauth_request_refresh(const struct oauth_client *c, const char *token, const char *resource,
	struct oauth_form *f);
/* hint: "refresh_token" or "access_token". */
int oauth_request_revocation(
	const struct oauth_client *c, const char *token, const char *hint, struct oauth_form *f);
/* JSON of a dynamic registration (RFC 7591). redirect NULL: for devices. */
int oauth_request_registration(
	const char *redirect, const char *scope, unsigned methods, struct buffer *out);
