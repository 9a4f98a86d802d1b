/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What patterns and requests are made of; for the host-*.c and hostset*.c files. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/host.h"

struct baseline_net;

enum { HOST_PORT_MAX = 65535, HOST_PARTS_MAX = 3 };

/* "host:port" taken apart, without judging the pieces. */
struct host_endpoint {
	const char *host; /* without brackets */
	size_t host_len;
	bool bracketed;
	const char *length; /* behind a bracket: "/32"; else empty */
	size_t length_len;
	const char *port; /* NULL: none */
	size_t port_len;
};

/*
 * Brackets hold colons together; without them, text with more than one colon is all host. -EINVAL
 * if a bracket is not closed or something else than a length and a port stands behind it.
 */
int host_endpoint_split(struct host_endpoint *ret, const char *text, size_t len);

/* A decimal number from 1 to 65535 without sign or leading zeros. */
int host_port_parse(const char *text, size_t len, uint16_t *ret);

/*
 * A host name in normal form, without a dot at the end: 0. Positive: it is (a look-alike of) the
 * IPv4 address in *ret_address. -EINVAL: it is neither; -ERANGE: it ends in a number, but is no
 * address; -ENOMEM.
 */
int host_name_parse(
	const char *text, size_t len, char out[HOST_NAME_BYTES], struct address *ret_address);

/* True if name is a subdomain of ancestor, at any depth. Both in normal form. */
bool host_name_below(const char *name, const char *ancestor);

/*
 * `localhost` stands for a name and two addresses: three patterns. Every other pattern is its own
 * only part. Returns how many.
 */
size_t host_pattern_split(const struct host_pattern *p, struct host_pattern ret[HOST_PARTS_MAX]);

/* The guard (baseline.h) that all of a part lies in, or NULL. */
const struct baseline_net *host_pattern_guard(const struct host_pattern *part);

/* Port 0 is a port that is not known, which any-port patterns cover, or that of a socket. */
bool host_pattern_has_port(const struct host_pattern *p, uint16_t port);

/* ":443", ":1-5", ":*". */
void host_ports_print(uint16_t lo, uint16_t hi, struct buffer *out);

/* True if the pattern says more than a connection can show. */
static inline bool host_pattern_is_narrowed(const struct host_pattern *p)
{
	return p->n_url_paths > 0 || p->methods != 0;
}
