/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Addresses in OAuth: servers, issuers, endpoints. Pure. https, or http to this machine alone; no
 * name or password, no fragment, visible ASCII.
 *
 * Most addresses are said by servers, not by the user, and a request goes wherever they lead. So a
 * server leads to names of the network, never to an address or to this machine, unless it is itself
 * asked there (oauth_place_may_lead()). What names lead to is the relay's matter.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

enum { OAUTH_URL_MAX = 2048, OAUTH_HOST_BYTES = 300 };

struct oauth_place {
	char scheme[8];
	char host[OAUTH_HOST_BYTES]; /* NAME:PORT, as grants of the vault have it */
	bool is_literal;             /* an address, or this machine by its name */
	const char *path;            /* in the text that was read: from its slash on; may be "" */
};

/* -EINVAL, with a sentence that begins with `what`. */
int oauth_place_read(struct oauth_place *ret, const char *url, const char *what, struct error *e);
/* Scheme, host and port. */
bool oauth_place_is_same(const struct oauth_place *a, const struct oauth_place *b);
/* Whether a server at `from` may send us to `to`. */
bool oauth_place_may_lead(const struct oauth_place *from, const struct oauth_place *to);
/* "https://host:port", the usual port left out. */
void oauth_place_print(const struct oauth_place *p, struct buffer *out);

/*
 * Where metadata may be, the n-th place to look at; 0, and it is appended; 1: there are no more.
 * Of a protected resource (RFC 9728) the name stands between host and path, then at the root. Of an
 * authorization server (RFC 8414) in front of the path, too, as is that of OpenID Connect, which
 * may also stand behind it.
 */
int oauth_place_of_resource(const char *url, unsigned n, struct buffer *out);
int oauth_place_of_server(const char *issuer, unsigned n, struct buffer *out);
