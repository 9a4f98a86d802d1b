/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One connection of a client inside to a PostgreSQL that a password is lent for. The client's
 * start is read (startup.h), with TLS by the sandbox's authority if it wants that; the server is
 * logged in to (exchange.h); the client is told that it is in. From then on all passes as it is.
 *
 * Over a network the server has TLS and a certificate that is verified, or nothing of the login is
 * sent: who could listen would have something to guess the password by, and then the session. A
 * server that is granted by a loopback address or as localhost, and is at one, is not asked for
 * TLS.
 *
 * A cancellation has no login: it passes if its key is one that a session to this host was given
 * that still is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"
#include "inject/authority.h"

struct pg_session;
struct ssl_ctx_st;

/* Of one host: its sessions, which the keys of cancellations are looked for in. */
struct pg_sessions {
	struct pg_session *first;
};

struct pg_session_options {
	struct loop *loop;
	struct authority *authority;
	struct ssl_ctx_st *client; /* how hosts are verified */
	struct pg_sessions *all;
	const char *host; /* without brackets; the caller keeps it */
	/* Which password a user is logged in by; false: none. */
	bool (*password)(void *context, const char *user, const void **ret, size_t *len);
	/* The proof of one went to the server. */
	void (*used)(void *context, const char *user);
	/* Why it failed, a sentence. */
	void (*failed)(void *context, const char *text);
	void *context;
};

/* Non-blocking stream sockets, which become the session's, also on failure. It frees itself. */
int pg_session_new(const struct pg_session_options *o, int inner, int outer);
