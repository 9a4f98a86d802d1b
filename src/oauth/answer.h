/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What servers answer to a client of OAuth 2.1, and the call-back that a browser brings. Pure. All
 * of it is JSON, bounded, each name once; texts are visible ASCII where they go into heads or are
 * shown. What has tokens is copied into the arena of the answer, which is wiped.
 */
#include <stdbool.h>
#include <stdint.h>

#include "oauth/metadata.h"

enum { OAUTH_TOKEN_MAX = 7 << 10, OAUTH_CODE_MAX = 2048, OAUTH_SAID_MAX = 200 };

/* Why a server gave no token. */
enum oauth_refusal {
	OAUTH_REFUSED, /* anything else */
	OAUTH_PENDING, /* of a device: the user has not answered yet */
	OAUTH_SLOWER,  /* the same, and the next time later */
	OAUTH_LOGIN,   /* invalid_grant: log in again */
	OAUTH_CLIENT,  /* invalid_client, unauthorized_client: the client is not known any more */
	OAUTH_DENIED,  /* by the user */
	OAUTH_EXPIRED, /* of a device: too late */
};

/* Texts live in the answer's own memory, which oauth_tokens_deinit() wipes. */
struct oauth_tokens {
	const char *access;
	const char *refresh; /* NULL: there is none */
	const char *scope;   /* NULL: as asked */
	uint64_t expires_in; /* 0: it does not say */
	/* private */
	char *room;
	size_t len;
};
void oauth_tokens_deinit(struct oauth_tokens *t);
#define auto_oauth_tokens __attribute__((cleanup(oauth_tokens_deinit))) struct oauth_tokens

/*
 * Of the token endpoint, with its status. 0: tokens. 1: *ret_why says why there are none, and the
 * sentence has the server's own word. -EINVAL: it is no such answer, or its token is for another
 * resource; -ENOMEM. resource: what was asked for.
 */
int oauth_answer_tokens(struct oauth_tokens *ret, enum oauth_refusal *ret_why, unsigned status,
	const char *body, size_t len, const char *resource, struct error *e);
/* A token that says for whom it is (a JWT with `aud` in URLs) says it of this resource. */
bool oauth_answer_is_for(const char *token, const char *resource);

struct oauth_device {
	const char *code; /* secret */
	const char *user_code, *page, *whole_page /* with the code in it; NULL: none */;
	uint64_t expires_in, interval;
};
/* Of the device endpoint; server: whose page it may be. */
int oauth_answer_device(struct oauth_device *ret, const struct oauth_server *server,
	unsigned status, const char *body, size_t len, struct arena *a, struct error *e);

/*
 * Of a registration. *ret_secret NULL: there is none, or the server takes none. redirect: what was
 * registered, or NULL. methods: in, those of the server; out, those that are left by the answer.
 */
int oauth_answer_client(const char **ret_id, const char **ret_secret, unsigned *methods,
	const char *redirect, unsigned status, const char *body, size_t len, struct arena *a,
	struct error *e);

/*
 * The query of a call-back. 0: *ret_code is the code. -EACCES: it is not of this login (its state
 * is another one): to be ignored. Other errors end the login, with a sentence: -ECANCELED the
 * server said no, -EINVAL.
 */
int oauth_answer_callback(const char **ret_code, const char *query, const char *state,
	const struct oauth_server *server, struct arena *a, struct error *e);
