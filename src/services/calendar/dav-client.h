/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP to one CalDAV server, by libcurl over connections of a connector (services/connector.h).
 * Paths only: what leads to another server is never asked for, redirects are not followed, and the
 * password goes to that server alone, by TLS unless its address is a loopback one.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

struct dav_client;

struct dav_client_options {
	const char *url;             /* https://host[:port]/path */
	const char *user, *password; /* may be NULL */
	const char *authorities;     /* a file with certificates; NULL: the system's */
};

struct dav_request {
	const char *method, *path;
	const char *depth;       /* "0", "1", or NULL */
	const char *match;       /* If-Match; NULL: none */
	bool is_new;             /* If-None-Match: * */
	const char *type, *body; /* NULL: none */
	size_t len;
};

struct dav_reply {
	long status;
	struct buffer body, tag; /* ETag; empty: none */
	struct buffer location;  /* of a redirect */
};

/*
 * Reads the certificates and starts the connector: call it before the process confines itself. No
 * other connect() works in the process from then on. -EINVAL …, with a sentence.
 */
int dav_client_new(struct dav_client **ret, const struct dav_client_options *o, struct error *e);
void dav_client_free(struct dav_client *c);
/* "https://host:443", and the path of the URL. */
const char *dav_client_origin(const struct dav_client *c);
const char *dav_client_path(const struct dav_client *c);
/*
 * Makes a request. A status is no error, whatever it is. -ETIMEDOUT, -EIO …, with a sentence;
 * -E2BIG: the answer is too large.
 */
int dav_client_request(struct dav_client *c, const struct dav_request *q, uint64_t until_ms,
	struct dav_reply *ret, struct error *e);
void dav_reply_deinit(struct dav_reply *r);
#define auto_dav_reply __attribute__((cleanup(dav_reply_deinit))) struct dav_reply
