/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One request to a server of a login, by corral-fetch in a sandbox that reaches this host and no
 * other: what the server sends is read there, and comes here as records, bounded. Hosts are
 * verified as corral-inject does, by the authorities of the system and those beside the vault.
 *
 * A name that leads to a private address is refused by the sandbox's relay. Redirects are not
 * followed, but within the origin, for what is only read.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

struct fetcher;

struct requests {
	struct fetcher *fetcher; /* NULL: none was made yet */
	struct buffer trusted;   /* certificates */
};
void requests_deinit(struct requests *r);
#define auto_requests __attribute__((cleanup(requests_deinit))) struct requests

#define REQUEST_MCP_VERSION "2026-07-28"

struct request_of {
	const char *method, *url;
	const char *type;          /* of the body; NULL: there is none */
	const char *authorization; /* "" or NULL: none */
	const struct buffer *body;
	const char *mcp; /* a method of MCP: the headers of such a request go with it; or NULL */
};

struct request_answer {
	unsigned status;
	const char *challenge; /* WWW-Authenticate; "" if there is none */
	struct buffer body;
	struct arena arena; /* of texts */
};
/* Wipes the body. */
void request_answer_deinit(struct request_answer *a);
#define auto_request_answer __attribute__((cleanup(request_answer_deinit))) struct request_answer

/* *ret is zeroed. 0 with any status of the server's; negative with a sentence. */
int request_make(struct requests *r, const struct request_of *of, struct request_answer *ret,
	struct error *e);
