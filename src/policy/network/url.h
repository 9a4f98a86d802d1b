/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The host and the port of an absolute URL, as the WHATWG standard finds them, or a refusal: never
 * another answer than a browser's, and none where older programs would find another host. Schemes
 * http, https, ws, wss, ftp; others are refused. No allocation but what libidn2 needs for a name
 * that is not ASCII.
 *
 * NAME:PASSWORD@ is taken, and dropped, if it is made of letters, digits and -._~!$&'()*+,= alone,
 * escaped or not, with one colon at most. Refused: a second '@', any other character or escape in
 * front of it, an '@' with nothing in front of it, an '@' after a '?' or '#' if no path stands
 * between, a backslash after the host.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/network/address.h"

enum { URL_PATH_BYTES = 1024 };

struct url {
	char scheme[8];
	bool is_address;
	char host[256]; /* A-labels in lower case; a dot at the end is kept, as the standard does */
	struct address address;    /* as written, not address_plain */
	uint16_t port;             /* the scheme's own where none is given; never 0 */
	char path[URL_PATH_BYTES]; /* normal form (see below), without query and fragment */
	bool has_userinfo;
};

/* -EINVAL with a sentence in e (-ENOMEM from libidn2); *ret is then untouched. */
int url_parse(struct url *ret, const char *text, size_t len, struct error *e);
/* The port that a scheme stands for, in any case of letters; 0 if it is not one of the five. */
uint16_t url_scheme_port(const char *scheme, size_t len);

/*
 * URL paths as they are compared: one spelling for each path. Unreserved characters stand as they
 * are, everything that RFC 3986 has no place for in a path as %XX in upper case; reserved
 * characters stay as they were written, escaped or not, because servers may tell the two apart. Dot
 * segments are resolved.
 *
 * A path that a server could read as another one than the policy did is refused: "..", hidden
 * after an escaped slash (%2F), a path parameter (..;) or taking back an empty segment (//..).
 */

/* -EINVAL: hidden dots; -ENAMETOOLONG. "\" counts as "/", as it does in http URLs. */
int url_path_normal(const char *text, size_t len, char *out, size_t size);
/*
 * The same for a pattern over such paths: `*`, `[`, `]`, `{`, `}` and `,` keep their meaning.
 * -EINVAL: dot segments or empty ones, or an escape beside a [set], which matches single bytes.
 */
int url_path_pattern(const char *text, size_t len, char *out, size_t size);
