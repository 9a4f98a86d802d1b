/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The requests of a client inside to one host with secrets, over HTTP/1.1, as they pass: in their
 * heads and bodies placeholders are replaced by values where the host may have them. Every other
 * byte stays as it was, but for Accept-Encoding: an answer that is not compressed can be searched
 * for values (answers.h).
 *
 * What another reader could take for another request is refused (net/gate/http-requests.h), and so
 * is a request to another host than the one that is connected: the value would go to whom the
 * request names.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "inject/heads.h"
#include "inject/placeholders.h"

struct http_request;
struct inject_requests;

struct inject_requests_options {
	const struct placeholders *placeholders;
	const char *host; /* as a request names it: lower case, an IPv6 address in brackets */
	uint16_t port;
	uint16_t usual_port; /* that a request need not name */
	/* Whether a secret may go to this host, in this place (VAULT_HEADER …). */
	inject_may *may;
	/* Places of bodies (VAULT_BODY, VAULT_FORM) where a value may go: those are sent with
	 * another length, or in chunks. */
	uint32_t rewrites;
	/* No secret goes to this host: every byte stays as it was. */
	bool is_plain;
	/* A request begins: HEAD has no body in its answer. Negative: it is refused. HTTP_HOLD: it
	 * waits, with all behind it, for the next call. */
	int (*begins)(void *context, const struct http_request *q);
	/* Of its body, before anything is replaced. NULL: nothing is done with it. */
	void (*body)(void *context, const void *data, size_t len);
	void *context;
};

int inject_requests_new(struct inject_requests **ret, const struct inject_requests_options *o);
void inject_requests_free(struct inject_requests *r);
/*
 * Takes some of the client's bytes, as they are there, and adds what goes to the server. Returns
 * how many it took; 0: more are needed. -EINVAL: ambiguous; -E2BIG; -EXDEV: of another host; or
 * what begins() said. `out` has values in it: wipe it.
 */
ssize_t inject_requests_feed(
	struct inject_requests *r, const uint8_t *data, size_t len, struct buffer *out);
/* After a request for another protocol: what the server said. */
void inject_requests_upgraded(struct inject_requests *r, bool accepted);
bool inject_requests_waits(const struct inject_requests *r);
