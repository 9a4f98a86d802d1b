/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the readers of TLS and HTTP are made of; pure, for them, their tests and fuzzers. */
#include <stddef.h>
#include <stdint.h>

#include "net/gate/http-head.h"

/*
 * Names of hosts as they stand in foreign protocols: in the hello of TLS, in the Host field of
 * HTTP. ASCII only; what is no plain name is refused, not repaired, and no library is asked.
 */
/*
 * A DNS name of letters, digits, '-' and '_', in lower case and without the dot at the end: 0. An
 * IPv4 address of four decimal parts: 1, and it is written as it stands. -EINVAL: neither, or a
 * look-alike of an address (127.1, 0x7f.1). out is not touched then.
 */
int host_text_name(const char *text, size_t len, char out[HOST_TEXT_BYTES]);

/*
 * "name", "name:80", "1.2.3.4:80", "[2001:db8::1]:80". The name as above, an IPv6 address in its
 * brackets and in lower case; port 0: not said. -EINVAL; outputs are not touched then.
 */
int host_text_authority(
	const char *text, size_t len, char out[HOST_TEXT_BYTES], uint16_t *ret_port);
