/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * SMTP by libcurl: one connection for one mail, so that nothing of one reaches another. All
 * recipients are taken, or the mail is sent to none.
 *
 * TLS is verified, whichever way it starts: a server that does not offer STARTTLS any more, or
 * whose certificate is another, gets no password and no mail. Without TLS is possible where the
 * configuration says so; a password goes in clear to this machine only.
 *
 * What the server says is bounded: bytes of its replies, and time in all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/rpc.h"

enum smtp_tls {
	SMTP_TLS,      /* from the first byte, as on port 465 */
	SMTP_STARTTLS, /* as on port 587 */
	SMTP_PLAIN,
};

struct smtp_server {
	const char *host;
	uint16_t port;
	enum smtp_tls tls;
	const char *user, *password; /* NULL: no login */
	const char *authorities;     /* certificates (PEM) that may sign the server's */
	size_t authorities_len;
	const char *hello; /* what this client calls itself: a domain */
	/* A connected socket, which is given away; or negative errno. */
	int (*connect)(void *context, uint64_t timeout_ms);
	void *context;
};

struct smtp_mail {
	const char *from;      /* an address */
	const char *const *to; /* addresses of all recipients */
	size_t n_to;
	const char *text; /* lines that end with CR LF */
	size_t len;
};

/* How it failed: for the caller. */
struct smtp_failure {
	enum rpc_class class;
	char text[768];
	const char *hint; /* NULL: none */
};

/* Before the process confines itself. -ELIBACC: libcurl cannot be used. */
int smtp_begin(void);
/* The system's file of certificates; NULL: libcurl knows none. */
const char *smtp_authorities(void);
/* 0: the server has taken it. -EIO: see *why. */
int smtp_send(const struct smtp_server *s, const struct smtp_mail *m, uint64_t timeout_ms,
	struct smtp_failure *why);
/* Connects, logs in, and says NOOP. The same. */
int smtp_probe(const struct smtp_server *s, uint64_t timeout_ms, struct smtp_failure *why);
