/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The exchanges of a remote (mcp/remote/remote.h) by libcurl: HTTP/1.1, each a request of its own,
 * so that what one answers is bounded apart from all others. While the client does not read, what
 * servers send stays in the kernel.
 *
 * A redirect is followed within the same scheme, host and port, and with the same method; to
 * another place none is. Nothing is taken from the environment: no proxy, no passwords, no cookies.
 */
#include "event/loop.h"
#include "mcp/remote/remote.h"

enum {
	HTTP_OUT_MAX = 4 << 20, /* bytes that the client has not read, before servers wait */
	HTTP_HOPS_MAX = 3,
	HTTP_CONNECT_MS = 15 * 1000,
	HTTP_NOTICE_MS = 30 * 1000, /* for what is answered at once */
	HTTP_GOODBYE_MS = 2 * 1000,
	HTTP_LINGER_MS = 1000, /* for a stream to end by itself after its answer */
};

struct http_options {
	const char *url;
	const char *bearer; /* NULL: none */
	const char *const *headers;
	size_t n_headers;
	const struct buffer *authorities; /* certificates, PEM; empty: the library's own */
};

struct http;

/* Before it: curl_global_init(). The options live as long as it. -ENOMEM. */
int http_new(
	struct http **ret, struct loop *loop, struct remote *remote, const struct http_options *o);
/* After each turn of the loop, and each change of the remote: sends what is new, ends what is gone.
 */
void http_turn(struct http *h);
void http_free(struct http *h);
