/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who gives tokens for a server: it is asked (RFC 9728), and then the authorization server that it
 * names (RFC 8414, OpenID Connect Discovery). Then a client for it: one that the user has, one that
 * a document describes, or one that registers itself, in this order.
 */
#include "cli/link/request.h"
#include "oauth/request.h"

struct discovery {
	struct oauth_resource resource;
	struct oauth_server server;
	const char *scope; /* that the server asked for; NULL: none */
};

/* issuer: the one of several that the user chose; NULL: the first. Texts live in the arena. */
int discovery_run(struct requests *r, const char *url, const char *issuer, struct arena *a,
	struct discovery *ret, struct error *e);

struct discovery_client {
	const char *id, *secret; /* that the user has; NULL: none */
	const char *document;    /* the URL of a client's metadata; NULL: none */
	const char *redirect;    /* NULL: for a device */
	const char *scope;
};
int discovery_register(struct requests *r, const struct oauth_server *server,
	const struct discovery_client *of, struct arena *a, struct oauth_client *ret,
	struct error *e);
