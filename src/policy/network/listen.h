/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An entry of network.listen: a port of the sandbox that is published on the host.
 *
 *   8080               127.0.0.1 and ::1, the same port inside
 *   8080:80            port 80 inside
 *   0.0.0.0:8080       every IPv4 address of this machine
 *   [::]:8080:80       every IPv6 address, port 80 inside
 *   localhost:8080     8080
 *
 * A host is an address: a name could lead elsewhere later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/network/address.h"

struct buffer;

/* Goes over the wire as it is: without padding. */
struct listen_entry {
	struct address host; /* bits 0: 127.0.0.1 and ::1 */
	uint8_t reserved;    /* 0 */
	uint16_t port;       /* of the host */
	uint16_t inner;      /* of the sandbox */
};

/* -EINVAL with a sentence at `where`, which may be NULL. */
int listen_parse(
	const char *text, struct listen_entry *ret, const struct location *where, struct error *e);
/* The canonical text. */
void listen_print(const struct listen_entry *l, struct buffer *out);
/* By port, host and port inside; 0: equal. */
int listen_compare(const struct listen_entry *a, const struct listen_entry *b);
/* What listen_parse() could have made: for entries that came over the wire. */
static inline bool listen_is_valid(const struct listen_entry *l)
{
	size_t used = l->host.bits / 8;

	if ((l->host.bits != 0 && l->host.bits != 32 && l->host.bits != 128) || l->reserved ||
		!l->port || !l->inner)
		return false;
	for (size_t i = used; i < sizeof(l->host.bytes); i++)
		if (l->host.bytes[i])
			return false;
	return true;
}
/* Other machines may reach it. */
bool listen_is_public(const struct listen_entry *l);
