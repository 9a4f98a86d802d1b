/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The host and the port of an absolute URL, as the WHATWG standard finds them, or a refusal. Schemes http, https,
 * ws, wss, ftp; others are refused. No allocation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/address.h"

struct url {
	char scheme[8];
	bool is_address;
	char host[256]; /* A-labels in lower case; the dot at the end, if any, is kept as the standard does */
	struct address address; /* as written, not address_plain */
	uint16_t port;          /* the scheme's own where none is given */
	char path[1024];        /* dot segments resolved, percent-escapes of unreserved characters decoded */
	bool has_userinfo;
};

int url_parse(struct url *ret, const char *text, size_t len, struct error *e);
