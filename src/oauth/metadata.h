/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What servers say of themselves: a protected resource (RFC 9728), an authorization server (RFC
 * 8414, and OpenID Connect Discovery, which is written alike). Pure; texts live in the arena.
 *
 * Who answers is not trusted more than what was asked for: a resource is the server that the user
 * named, or a part of its path above; an issuer is the one that was looked for, to the letter.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	OAUTH_ANSWER_MAX = 256 << 10, /* bytes of any answer */
	OAUTH_SERVERS_MAX = 8,
	OAUTH_TEXT_MAX = 2048,
};

struct oauth_resource {
	const char *resource; /* what a token is asked for (RFC 8707) */
	const char *servers[OAUTH_SERVERS_MAX];
	size_t n;
	const char *scope; /* all that are there, with blanks; NULL: it does not say */
};

/* url: the server. -EINVAL with a sentence, -ENOMEM. */
int oauth_resource_read(struct oauth_resource *ret, const char *url, const char *body, size_t len,
	struct arena *a, struct error *e);
/* Whether a token for `resource` is one for `url`: of its origin, and at its path or below. */
bool oauth_resource_covers(const char *resource, const char *url);

/* How a client shows its secret: bits. */
enum oauth_client_method { OAUTH_BY_NONE = 1, OAUTH_BY_BASIC = 2, OAUTH_BY_POST = 4 };
/* By its name, as in client_secret_basic; 0: one that is not known here. */
unsigned oauth_method_read(const char *name);
const char *oauth_method_name(unsigned method); /* of one bit */

struct oauth_server {
	const char *issuer, *token;
	const char *authorization, *device, *registration, *revocation; /* NULL: none */
	unsigned methods;  /* enum oauth_client_method */
	bool has_s256;     /* else no login by a code */
	bool has_document; /* a client may be named by the URL of its document */
	bool says_issuer;  /* in call-backs (RFC 9207) */
	bool has_offline;  /* the scope offline_access leads to a refresh token */
};

int oauth_server_read(struct oauth_server *ret, const char *issuer, const char *body, size_t len,
	struct arena *a, struct error *e);
