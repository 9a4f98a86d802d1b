/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server's name in the first message of TLS (RFC 8446, 6066), read and not touched. Pure, no
 * allocation; the message may come in pieces and in several records.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_HELLO_MAX = 64 << 10 };

struct tls_hello {
	bool has_name;
	char name[256]; /* as host_request wants it: lower case, without the dot at the end */
	bool encrypted; /* ECH: the name is that of the outer hello */
};

/* The first byte says whether it can be TLS at all. */
static inline bool tls_hello_is_likely(uint8_t first)
{
	return first == 0x16;
}

/*
 * 0: read. -EAGAIN: it goes on behind these bytes (all of them from the connection's start).
 * -EINVAL: this is no ClientHello, or one that contradicts itself (two names, a name that is no
 * DNS name, lengths that do not fit): deny. -E2BIG: longer than TLS_HELLO_MAX.
 */
int tls_hello_parse(struct tls_hello *ret, const uint8_t *data, size_t len);
