/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a server of MCP over HTTP is, as a user writes it: an https URL, or an http one of this
 * machine. What is in it is in processes' arguments, in files and in logs, so a token in it is
 * refused, as are names and passwords; and so are headers that carry one. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/network/url.h"

enum { ENDPOINT_URL_MAX = 4096, ENDPOINT_PLACE_BYTES = 272 };

struct remote_endpoint {
	char place[ENDPOINT_PLACE_BYTES]; /* "host:port", as policies write it */
	bool is_https;
};

/* -EINVAL with a sentence in e; *ret is then untouched. where: of the URL in a file; may be NULL.
 */
int endpoint_read(struct remote_endpoint *ret, const char *url, const struct location *where,
	struct error *e);
/* Of a header that is sent to it, with each request. 0, or -EINVAL. */
int endpoint_check_header(
	const char *name, const char *value, const struct location *where, struct error *e);
