/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One connection of a client inside to a host with secrets: TLS to the client, with a certificate
 * of the sandbox's authority; TLS to the host, whose own certificate is verified; and between them
 * HTTP/2 (h2/h2.h), if both speak it, or HTTP/1.1 (requests.h, answers.h). The client is given what
 * the host chose of what the client offered, so nothing is translated.
 *
 * A connection that does not begin with TLS is refused: a value never goes out in the clear, and
 * none that a host has stored comes back in it.
 *
 * Where the host is that of a login, its answers with tokens are rewritten (login.h).
 *
 * Where the policy inspects the host, each request waits until it is allowed (inspection.h). One
 * that is not is answered with 403, which says why, and the connection ends.
 */
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"
#include "inject/authority.h"
#include "inject/placeholders.h"
#include "inject/requests.h"

struct injection;
struct ssl_ctx_st;

struct injection_options {
	struct loop *loop;
	struct authority *authority;
	struct ssl_ctx_st *client; /* how hosts are verified */
	const struct placeholders *placeholders;
	const struct masking *masking; /* of the secrets of this host */
	const char *host;              /* without brackets; the caller keeps it */
	uint16_t port;
	inject_may *may;
	uint32_t rewrites;             /* as of requests.h */
	bool is_plain;                 /* likewise */
	struct inspection *inspection; /* NULL: requests are not judged */
	struct inject_login *login;    /* NULL: its answers have no tokens to be replaced */
	uint64_t id;                   /* of the connection, for it */
	size_t *budget;                /* of all connections by HTTP/2 (h2/h2.h) */
	bool *is_used;                 /* of the host: a client has sent it a request */
	/* Of what may() has said no to since this was asked last: why all of it is denied, and not
	 * only the value left out. NULL: it is not. */
	inject_denied *denied;
	/* Something of it was refused, and it goes on: a sentence. */
	void (*note)(void *context, const char *text);
	/* It is over, and the injection is freed. text: why it failed, a sentence; NULL: it did
	 * not.
	 */
	void (*done)(void *context, struct injection *x, const char *text);
	void *context;
};

/* Non-blocking stream sockets, which become the injection's, also on failure. */
int injection_new(struct injection **ret, const struct injection_options *o, int inner, int outer);
/* Ends it without a word. */
void injection_free(struct injection *x);
