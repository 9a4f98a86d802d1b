/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the monitor asks corral-fetch for: one request, as values (broker/value.h) on its stdin, up
 * to the end of the file. corral-fetch follows no redirect, so that the monitor can have each of
 * them judged.
 */
#include "broker/value.h"

/* Places of the values, in the order of fetch_request_fields. */
enum fetch_request_field {
	FETCH_URL,
	FETCH_METHOD,
	FETCH_HEADERS,
	FETCH_BODY,        /* not given: the request has none */
	FETCH_TIMEOUT_MS,  /* of all of it */
	FETCH_MAX_BYTES,   /* of the response's body, decompressed */
	FETCH_FLAGS,       /* FETCH_STOPS_AT_REDIRECT … */
	FETCH_AUTHORITIES, /* a file of certificates; not given: the system's */
	/* The certificates themselves (PEM), and no others: the host is verified as corral-inject
	 * does (strict.h). */
	FETCH_TRUSTED,
};

enum {
	FETCH_STOPS_AT_REDIRECT = 1 << 0, /* no body of a response that names another place */
	FETCH_DECODES = 1 << 1,           /* asks for compression, and takes it off */
	FETCH_FLAG_SET = 3,
	FETCH_TRUSTED_MAX = 2 << 20, /* bytes of certificates */
	FETCH_REQUEST_MAX = METHOD_DATA_MAX + FETCH_TRUSTED_MAX + (256 << 10), /* of all values */
	FETCH_HEADERS_MAX = 64 << 10,                                          /* of all headers */
	FETCH_URL_MAX = 8 << 10,
};

extern const struct schema_field fetch_request_fields[];

/*
 * Why a caller may not send this header; NULL: it may. What frames the request or belongs to the
 * connection is set by corral-fetch alone, and a value is one line.
 */
const char *fetch_header_fault(const char *name, const char *value);
/* Why this is no URL to fetch; NULL: it is one. http and https, without a name and password. */
const char *fetch_url_fault(const char *url);
